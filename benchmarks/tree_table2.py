"""Calibration trees on naive Bayes, beside Table 2 of the paper.

    TRUEODDS_DATA=folder python benchmarks/tree_table2.py [set ...]

10-fold cross-validation, once (the paper: ten times); inside each fold the scores to calibrate come
from 5-fold cross-validation of naive Bayes, which is then fitted on the whole training part. RMSE
is equation 3 of the paper. PCT is TreeCalibrator, PS LogisticCalibrator (log-odds, one class
against the rest), IR IsotonicCalibrator. Naive Bayes follows Weka's: normal densities over
intervals of the attribute's precision, Laplace-corrected frequencies, missing values left out.

A name marked * is a substitute for, or a part of, the paper's set. ``+`` and ``-`` mark what the
paper calls significant: PCT better or worse than the method. The last lines count how often the
winner of such a comparison is the same here.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logsumexp, ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from trueodds import IsotonicCalibrator, LogisticCalibrator, TreeCalibrator
from trueodds.exceptions import TrueoddsWarning

# file, name in the paper, RMSE of PCT, PS, IR, significance against PS and IR
TABLE = [
    ("audiology", "audiology", 0.136, 0.152, 0.128, " ", " "),
    ("bankruptcy-5year", "bankruptcy*", 0.180, 0.212, 0.212, "+", "+"),
    ("credit-rating", "credit-rating", 0.322, 0.369, 0.354, "+", "+"),
    ("cylinder-bands", "cylinder-bands", 0.400, 0.420, 0.416, "+", " "),
    ("german-credit", "german-credit", 0.410, 0.413, 0.410, " ", " "),
    ("hand-postures-part", "hand-postures*", 0.120, 0.312, 0.259, "+", "+"),
    ("htru2", "htru2", 0.134, 0.163, 0.160, "+", "+"),
    ("kr-vs-kp", "kr-vs-kp", 0.080, 0.296, 0.296, "+", "+"),
    ("led24-regenerated", "led24*", 0.194, 0.194, 0.194, " ", "-"),
    ("mfeat-factors", "mfeat-factors", 0.113, 0.127, 0.106, "+", " "),
    ("mfeat-fourier", "mfeat-fourier", 0.164, 0.174, 0.173, "+", "+"),
    ("mfeat-karhunen", "mfeat-karhunen", 0.084, 0.094, 0.097, "+", "+"),
    ("mfeat-morphological", "mfeat-morph", 0.195, 0.224, 0.196, "+", " "),
    ("mfeat-pixel", "mfeat-pixel", 0.081, 0.086, 0.100, "+", "+"),
    ("mice-protein", "mice-protein", 0.015, 0.209, 0.140, "+", "+"),
    ("news-popularity-part", "news-popularity*", 0.471, 0.491, 0.483, "+", "+"),
    ("nursery", "nursery", 0.137, 0.152, 0.158, "+", "+"),
    ("optdigits", "optdigits", 0.123, 0.170, 0.116, "+", "-"),
    ("page-blocks", "page-blocks", 0.104, 0.152, 0.128, "+", "+"),
    ("pendigits", "pendigits", 0.076, 0.141, 0.143, "+", "+"),
    ("phishing", "phishing", 0.240, 0.273, 0.274, "+", "+"),
    ("diabetes", "pima-diabetes", 0.410, 0.412, 0.410, " ", " "),
    ("segment", "segment", 0.112, 0.213, 0.166, "+", "+"),
    ("shuttle", "shuttle", 0.020, 0.108, 0.094, "+", "+"),
    ("sick", "sick", 0.100, 0.184, 0.178, "+", "+"),
    ("spambase", "spambase", 0.242, 0.337, 0.286, "+", "+"),
    ("taiwan-credit", "taiwan-credit", 0.369, 0.380, 0.375, "+", "+"),
    ("tic-tac", "tic-tac-toe", 0.359, 0.431, 0.413, "+", "+"),
    ("vote", "vote", 0.189, 0.254, 0.250, "+", "+"),
    ("vowel-weka", "vowel", 0.151, 0.207, 0.208, "+", "+"),
    ("yeast", "yeast", 0.239, 0.250, 0.236, "+", "-"),
]
IDENTIFIERS = {"cylinder-bands": ["x0", "x1", "x2", "x3"]}
# Codes that are categories although the file has numbers.
NOMINAL = {"tic-tac", "nursery", "phishing", "kr-vs-kp", "led24-regenerated", "vote", "mfeat-pixel"}


class NaiveBayes(ClassifierMixin, BaseEstimator):
    """Weka's naive Bayes on a frame of numbers and categories with missing values."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        m = len(self.classes_)
        counts = np.bincount(codes, minlength=m)
        self.prior_ = np.log((counts + 1) / (counts.sum() + m))
        self.models_ = [
            self._numeric(X[c].to_numpy(float), codes, m)
            if pd.api.types.is_numeric_dtype(X[c])
            else self._nominal(X[c], codes, m)
            for c in X
        ]
        return self

    @staticmethod
    def _numeric(x, codes, m):
        distinct = np.unique(x[~np.isnan(x)])
        precision = np.diff(distinct).mean() if len(distinct) > 1 else 0.01
        rounded = np.rint(x / precision) * precision
        mean, spread = np.zeros(m), np.full(m, precision / 6)
        for k in range(m):
            own = rounded[(codes == k) & ~np.isnan(x)]
            if len(own):
                mean[k], spread[k] = own.mean(), max(own.std(), precision / 6)
        return precision, mean, spread

    @staticmethod
    def _nominal(x, codes, m):
        values = pd.Index(x.dropna().unique())
        place = values.get_indexer(x)
        table = np.ones((len(values), m))
        np.add.at(table, (place[place >= 0], codes[place >= 0]), 1)
        return values, np.log(table / table.sum(axis=0))

    def predict_proba(self, X):
        total = np.tile(self.prior_, (len(X), 1))
        for name, model in zip(X, self.models_, strict=True):
            if len(model) == 2:
                values, logs = model
                place = values.get_indexer(X[name])
                total[place >= 0] += logs[place[place >= 0]]
            else:
                precision, mean, spread = model
                x = X[name].to_numpy(float)
                known = ~np.isnan(x)
                z = np.rint(x[known] / precision)[:, None] * precision - mean
                half = precision / 2
                mass = np.abs(ndtr((z + half) / spread) - ndtr((z - half) / spread))
                total[known] += np.log(np.maximum(mass, 1e-75))
        return np.exp(total - logsumexp(total, axis=1, keepdims=True))


def rmse(p, codes):
    return np.sqrt(np.mean((p - np.eye(p.shape[1])[codes]) ** 2))


def load(folder, name):
    frame = pd.read_parquet(folder / f"{name}.parquet")
    codes = np.unique(frame.pop("y").astype(str), return_inverse=True)[1]
    frame = frame.drop(columns=IDENTIFIERS.get(name, []))
    for column in frame:
        series = frame[column]
        if not pd.api.types.is_numeric_dtype(series) or name in NOMINAL:
            texts = series.astype("string").astype(object)
            frame[column] = texts.where(series.notna(), None)
        else:
            frame[column] = series.astype(float)
    return frame, codes


def scored(model, X, codes, X_test, m):
    """Out-of-fold probabilities of the training rows, and probabilities of the test rows."""
    p = np.zeros((len(X), m))
    for train, held in StratifiedKFold(5, shuffle=True, random_state=0).split(X, codes):
        fitted = model.fit(X.iloc[train], codes[train])
        p[np.ix_(held, fitted.classes_)] = fitted.predict_proba(X.iloc[held])
    fitted = model.fit(X, codes)
    p_test = np.zeros((len(X_test), m))
    p_test[:, fitted.classes_] = fitted.predict_proba(X_test)
    return p, p_test


def run(folder, name):
    X, codes = load(folder, name)
    m = codes.max() + 1
    methods = {"PCT": TreeCalibrator(), "PS": LogisticCalibrator(), "IR": IsotonicCalibrator()}
    errors = {method: [] for method in methods}
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, codes):
        X_train, X_test, y = X.iloc[train], X.iloc[test], codes[train]
        p, p_test = scored(NaiveBayes(), X_train, y, X_test, m)
        for method, calibrator in methods.items():
            extra = {"features": X_train} if method == "PCT" else {}
            calibrator.set_params(classes=np.arange(m)).fit(p, y, **extra)
            extra = {"features": X_test} if method == "PCT" else {}
            errors[method].append(rmse(calibrator.predict_proba(p_test, **extra), codes[test]))
    return {method: float(np.mean(values)) for method, values in errors.items()}


def main():
    folder = Path(os.environ["TRUEODDS_DATA"])
    chosen = set(sys.argv[1:])
    warnings.simplefilter("ignore", TrueoddsWarning)
    warnings.simplefilter("ignore", UserWarning)  # classes with fewer rows than folds
    print(f"{'':18}{'paper':^22}   {'here':^20}")
    print(f"{'set':18}{'PCT':>6}{'PS':>7} {'IR':>7}     {'PCT':>6}{'PS':>7}{'IR':>7}   seconds")
    same = {"PS": [], "IR": []}
    for file, name, pct, ps, ir, against_ps, against_ir in TABLE:
        if (chosen and file not in chosen) or not (folder / f"{file}.parquet").exists():
            continue
        start = time.perf_counter()
        ours = run(folder, file)
        print(
            f"{name:18}{pct:6.3f}{ps:7.3f}{against_ps}{ir:7.3f}{against_ir}    "
            f"{ours['PCT']:6.3f}{ours['PS']:7.3f}{ours['IR']:7.3f}"
            f"{time.perf_counter() - start:9.1f}",
            flush=True,
        )
        for method, mark in (("PS", against_ps), ("IR", against_ir)):
            if mark != " ":
                same[method].append((ours["PCT"] < ours[method]) == (mark == "+"))
    for method, agreements in same.items():
        if agreements:
            print(
                f"PCT against {method}: same winner on {sum(agreements)} of {len(agreements)} sets "
                f"that the paper calls significant ({np.mean(agreements):.0%})"
            )


if __name__ == "__main__":
    main()
