"""Base learners, each as the paper that used it describes it.

A learner here is a function ``(X, y, others) → list of arrays``: trained on the rows X with labels
y (0 and 1), it returns scores of shape (n, k) for each matrix in ``others``. It gets plain float64
matrices without missing values (see :func:`~trueodds_studies.as_matrix`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from trueodds.estimator import Estimator
from trueodds.exceptions import InputError
from trueodds.inputs import Floats

__all__ = [
    "BoostedStumps",
    "Learner",
    "boosted_stumps",
    "coded_matrix",
    "naive_bayes",
    "real_boosted_stumps",
]

Learner = Callable[[Floats, npt.NDArray[Any], Sequence[Floats]], list[Floats]]


def coded_matrix(X: Any) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """A float64 matrix of a pandas frame, NaN where a value is missing; which columns are codes.

    Codes number the categories in their order (sorted, unless the data set defines another), as the
    programs of the papers do.
    """
    nominal = np.array([hasattr(X[name], "cat") for name in X.columns])
    columns = [
        np.where(X[name].cat.codes < 0, np.nan, X[name].cat.codes)
        if is_nominal
        else X[name].to_numpy(dtype=np.float64, na_value=np.nan)
        for name, is_nominal in zip(X.columns, nominal, strict=True)
    ]
    return np.column_stack(columns), nominal


class BoostedStumps(Estimator):
    """AdaBoost of decision stumps, with the kinds of probability that the beta paper compares.

    ``"original"`` (Ada-O) is 1/(1 + exp(−2F)) of Friedman, Hastie and Tibshirani (2000), where F is
    the weighted sum of votes. With many stumps these probabilities are close to 0 and 1.
    ``"samme"`` is scikit-learn's rule for the same stumps: F is divided by the sum of the weights,
    so probabilities stay between 0.12 and 0.88. ``"samme.r"`` boosts other stumps, which vote
    0.5·ln(w₁/w₀) by the weights of the classes on either side. F is divided by the number of
    stumps. It was scikit-learn's default until version 1.6 removed it.

    Parameters
    ----------
    n_estimators : int, default=200
    probabilities : {"original", "samme", "samme.r"}, default="original"

    Attributes
    ----------
    attribute_, threshold_, left_, right_, alpha_ : ndarray of shape (n_stumps,)
        The vote is ``left_`` for rows whose feature is at most the threshold, and ``right_`` for
        others.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds_studies import BoostedStumps
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = BoostedStumps(probabilities="samme").fit(X, [0, 1, 0, 1])
    >>> model.predict_proba(X)[:, 1].round(2)
    array([0.34, 0.66, 0.34, 0.66])
    """

    def __init__(self, *, n_estimators: int = 200, probabilities: str = "original") -> None:
        self.n_estimators = n_estimators
        self.probabilities = probabilities

    def fit(self, X: Any, y: Any) -> BoostedStumps:
        """Boost on rows X (n, d) with two classes y."""
        from trueodds_studies.kernels.learners import boost_stumps

        X = np.ascontiguousarray(X, dtype=np.float64)
        self.classes_, codes_of_y = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise InputError(f"y must have two classes; got {len(self.classes_)}.")
        if self.probabilities not in ("original", "samme", "samme.r"):
            raise InputError(
                "probabilities must be 'original', 'samme' or 'samme.r'; got "
                f"{self.probabilities!r}."
            )
        n, d = X.shape
        codes = np.empty((d, n), np.int32)
        distinct = []
        for f in range(d):
            values, codes[f] = np.unique(X[:, f], return_inverse=True)
            distinct.append(values)
        counts = np.array([len(values) for values in distinct], np.int32)
        positive, real = codes_of_y.astype(np.int8), self.probabilities == "samme.r"
        found = boost_stumps(codes, counts, positive, self.n_estimators, real)
        self.attribute_, cut, self.left_, self.right_, self.alpha_ = found
        self.threshold_ = np.array(
            [
                _between(distinct[f][c], distinct[f][c + 1])
                for f, c in zip(self.attribute_, cut, strict=True)
            ]
        )
        return self

    def margins(self, X: Any) -> Floats:
        """F: the weighted sum of votes for the second class."""
        from trueodds_studies.kernels.learners import stump_margins

        self._check_fitted("alpha_")
        X = np.ascontiguousarray(X, dtype=np.float64)
        found: Floats = stump_margins(
            X, self.attribute_, self.threshold_, self.left_, self.right_, self.alpha_
        )
        return found

    def log_odds(self, X: Any) -> Floats:
        """Log-odds of the second class by the chosen kind of probability."""
        margins = self.margins(X)
        if self.probabilities == "original":
            return np.asarray(2 * margins)
        total = float(self.alpha_.sum())
        return np.asarray(2 * margins / total) if total > 0 else margins

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of shape (n, 2)."""
        p = expit(self.log_odds(X))
        return np.column_stack([1 - p, p])


def _between(low: float, high: float) -> float:
    middle = low / 2 + high / 2
    return low if middle >= high else middle


def boosted_stumps(X: Floats, y: npt.NDArray[Any], others: Sequence[Floats]) -> list[Floats]:
    """Log-odds by 200 boosted stumps: column 0 is Ada-O's, column 1 is Ada-S's."""
    model = BoostedStumps().fit(X, y)
    total = float(model.alpha_.sum()) or 1.0
    margins = [model.margins(other) for other in others]
    return [np.column_stack([2 * margin, 2 * margin / total]) for margin in margins]


def real_boosted_stumps(X: Floats, y: npt.NDArray[Any], others: Sequence[Floats]) -> list[Floats]:
    """Log-odds by 200 stumps of SAMME.R, in one column."""
    model = BoostedStumps(probabilities="samme.r").fit(X, y)
    return [model.log_odds(other)[:, None] for other in others]


def naive_bayes(X: Floats, y: npt.NDArray[Any], others: Sequence[Floats]) -> list[Floats]:
    """Log-odds of scikit-learn's Gaussian naive Bayes, in one column.

    Features are standardized by the training rows, because the smoothing of variances (a share of
    the largest) would depend on their units.
    """
    from sklearn.naive_bayes import GaussianNB

    center, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1
    model = GaussianNB().fit((X - center) / spread, y)
    found = []
    for other in others:
        joint = model.predict_joint_log_proba((other - center) / spread)
        found.append((joint[:, 1] - joint[:, 0])[:, None])
    return found
