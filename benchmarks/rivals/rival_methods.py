"""Methods that other packages have too: how far apart the results are, and what each costs.

    python benchmarks/rivals/rival_methods.py [REPEATS]

Run it in the environment of the rivals (``make bench`` makes it). Results are compared on two
samples: 1,000 distinct scores, on a grid between them; and 2,000 scores of 63 values, where they
lie; for several classes, on 1,000 rows of three and of five. The first difference is to the
unchanged package, the second to the package with its solver run to convergence. The second must
stay below the tolerance; otherwise the program exits with 1. Times are CPU seconds of a fit and a
prediction of the same rows, the median of REPEATS (default 3). Packages that are not installed are
named and left out.

Methods for several classes are timed on five of them. The package dirichletcal, which ``make
bench`` does not install, runs without the last class as a reference, which would penalize the
weights of the others by their difference from it.

splinecalib is a special case: ``SplineCalibrator`` has another penalty. Compared is our solver on
splinecalib's own basis, penalty and rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from trueodds import (
    CenteredIsotonicCalibrator,
    DirichletCalibrator,
    KernelCalibrator,
    QuadraticCalibrator,
    ScalingBinningCalibrator,
    SplineCalibrator,
    StructuredMatrixCalibrator,
    StructuredVectorCalibrator,
    VennAbersCalibrator,
)
from trueodds.calibrators._spline import FINE, PenalizedLogistic

Array = np.ndarray
Predictor = Callable[[Array], Array]
Fit = Callable[[Array, Array], Predictor]
SIZES = (1000, 10_000)


@dataclass(frozen=True)
class Method:
    """Our fit and the package's; ``converged`` is the latter with its solver run to the end."""

    name: str
    package: str
    ours: Fit
    theirs: Fit
    converged: Fit | None = None
    tolerance: float = 1e-6
    compared: Fit | None = None  # what is compared, if it is not what is timed
    several_classes: bool = False


def of(calibrator: Any) -> Fit:
    def fit(p: Array, y: Array) -> Predictor:
        fitted = calibrator.fit(p, y)
        return lambda new: fitted.predict_proba(new)[:, 1]

    return fit


def of_classes(calibrator: Any) -> Fit:
    return lambda p, y: calibrator.fit(p, y).predict_proba


def logistic_to_the_end(features: Array, y: Array, *, intercept: bool) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-13, max_iter=100_000)
    return model.fit(features, y)


def quadratic() -> Method:
    from probmetrics.calibrators import BinaryLogisticCalibrator

    def theirs(p: Array, y: Array) -> Predictor:
        calibrator = BinaryLogisticCalibrator(type="quadratic").fit(p, y)
        return lambda new: calibrator.predict_proba(new)[:, 1]

    def converged(p: Array, y: Array) -> Predictor:
        calibrator = BinaryLogisticCalibrator(type="quadratic")
        features = calibrator._get_logits(p).astype(float)
        calibrator.cal_ = logistic_to_the_end(features, y, intercept=False)
        return lambda new: calibrator._predict_proba_impl(new)[:, 1]

    return Method("quadratic", "probmetrics", of(QuadraticCalibrator()), theirs, converged)


def centered_isotonic() -> Method:
    from cir_model import CenteredIsotonicRegression

    def theirs(p: Array, y: Array) -> Predictor:
        return CenteredIsotonicRegression().fit(p, y).transform

    ours = of(CenteredIsotonicCalibrator())
    return Method("centered isotonic", "cir-model", ours, theirs, tolerance=1e-12)


def venn_abers() -> Method:
    from venn_abers import VennAbers

    def theirs(p: Array, y: Array) -> Predictor:
        calibrator = VennAbers()
        calibrator.fit(np.stack([1 - p, p], axis=1), y)
        return lambda new: calibrator.predict_proba(np.stack([1 - new, new], axis=1))[0][:, 1]

    return Method("Venn–Abers", "venn-abers", of(VennAbersCalibrator()), theirs, tolerance=1e-12)


def scaling_binning() -> Method:
    from calibration import PlattBinnerCalibrator, utils

    def theirs(p: Array, y: Array) -> Predictor:
        calibrator = PlattBinnerCalibrator(num_calibration=None, num_bins=10)
        calibrator.train_calibration(p, y)
        return lambda new: calibrator.calibrate(new)

    def scaler_to_the_end(p: Array, y: Array) -> Predictor:
        def log_odds(p: Array) -> Array:
            return np.log(p / (1 - p))[:, None]

        model = logistic_to_the_end(log_odds(p), y, intercept=True)
        return lambda new: model.predict_proba(log_odds(np.asarray(new)))[:, 1]

    def converged(p: Array, y: Array) -> Predictor:
        scaler, utils.get_platt_scaler = utils.get_platt_scaler, scaler_to_the_end
        try:
            return theirs(p, y)
        finally:
            utils.get_platt_scaler = scaler

    ours = of(ScalingBinningCalibrator())
    return Method("scaling and binning", "uncertainty-calibration", ours, theirs, converged)


def kernel() -> Method:
    from probmetrics.calibrators import KernelCalibrator as Theirs

    def theirs(p: Array, y: Array) -> Predictor:
        calibrator = Theirs()
        calibrator.fit(p, y)
        return lambda new: calibrator.predict_proba(new)[:, 1]

    return Method("kernel", "probmetrics", of(KernelCalibrator()), theirs)


def spline() -> Method:
    from splinecalib import SplineCalib, calib_utils

    to_the_end = {"tol": 1e-12, "max_iter": 100_000}

    def fitted(p: Array, y: Array, **options: Any) -> Any:
        calibrator = SplineCalib(**options)
        calibrator.fit(p.copy(), y)  # it clips its input in place
        return calibrator

    def theirs(p: Array, y: Array) -> Predictor:
        return fitted(p, y).calibrate

    def converged(p: Array, y: Array) -> Predictor:
        return fitted(p, y, **to_the_end).calibrate

    def our_solver(p: Array, y: Array) -> Predictor:
        found = fitted(
            p, y, **to_the_end
        )  # for its knots, its strength and the rows that it leaves out
        label = np.concatenate([y, found.unity_prior_gridpts]).astype(float)
        used = calib_utils.get_stratified_foldnums(label, 5) != 0
        design, weight = found.X_mat_used[used], found.final_weightvec[used]
        size = design.shape[1]
        n_pos = weight * label[used]
        problem = PenalizedLogistic(design, n_pos, weight, np.eye(size), np.zeros((size, 0)))
        strength = 2 * found.best_reg_param * used.sum() / size
        coef = problem.fit(strength, np.zeros(size), FINE).coef

        def predict(new: Array) -> Array:
            z = np.log(new / (1 - new))
            basis = calib_utils._natural_cubic_spline_basis_expansion(z, found.knot_vec_tr)
            return 1 / (1 + np.exp(-basis @ coef))

        return predict

    ours = of(SplineCalibrator())
    # Its solver ends for want of precision: the coefficients are ill-conditioned.
    return Method("spline", "splinecalib", ours, theirs, converged, 5e-6, compared=our_solver)


def structured(name: str, ours: Any) -> Method:
    import torchmin
    from probmetrics.calibrators import logistic

    kind = getattr(logistic, name)
    minimize = torchmin.minimize
    least = np.finfo(np.float32).tiny

    def theirs(p: Array, y: Array) -> Predictor:
        return kind().fit(p, y).predict_proba

    def to_the_end(loss: Any, start: Any, **_: Any) -> Any:
        return minimize(loss, start.double(), method="newton-exact", tol=1e-14)

    def in_double(q: Array) -> Array:
        return np.log(np.maximum(q.astype(float), least))

    def converged(p: Array, y: Array) -> Predictor:
        precise = mock.patch.object(logistic, "multiclass_probs_to_logits", in_double)
        with precise, mock.patch.object(torchmin, "minimize", to_the_end):
            calibrator = kind().fit(p, y)

        def predict(new: Array) -> Array:
            with precise:
                return calibrator.predict_proba(new)

        return predict

    title = ours.title
    return Method(title, "probmetrics", of_classes(ours()), theirs, converged, several_classes=True)


def structured_vector() -> Method:
    return structured("SVSCalibrator", StructuredVectorCalibrator)


def structured_matrix() -> Method:
    return structured("SMSCalibrator", StructuredMatrixCalibrator)


def dirichlet() -> Method:
    from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator

    def theirs(p: Array, y: Array) -> Predictor:
        calibrator = FullDirichletCalibrator(reg_lambda=0.03, reg_mu=0.03, ref_row=False)
        return calibrator.fit(p, y).predict_proba

    ours = of_classes(DirichletCalibrator(off_diagonal_penalty=0.03, intercept_penalty=0.03))
    return Method("Dirichlet", "dirichletcal", ours, theirs, several_classes=True)


def class_rows(seed: int, n: int, k: int) -> tuple[Array, Array]:
    """Scores that mix classes up; a fifth of the labels are arbitrary."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, k))
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    y = ((0.8 * p + 0.2 / k).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    q = np.exp(1.5 * logits @ (np.eye(k) + 0.1 * rng.normal(size=(k, k))))
    return (q / q.sum(axis=1, keepdims=True)).astype(np.float32).astype(float), y


def class_samples() -> list[tuple[Array, Array, Array]]:
    rows = (class_rows(seed, 1000, k) for seed, k in ((0, 3), (1, 5)))
    return [(p, y, p) for p, y in rows]


def samples() -> list[tuple[Array, Array, Array]]:
    """Scores, labels, and where to compare. Single precision holds the scores exactly."""
    rng = np.random.default_rng(0)
    result = []
    for n, tied in ((1000, False), (2000, True)):
        p = rng.beta(0.6, 0.9, n).astype(np.float32).astype(float)
        if tied:
            p = np.clip(np.round(p * 64), 1, 63) / 64
        y = (rng.random(n) < np.where(p < 0.5, p, 0.5 + 0.6 * (p - 0.5))).astype(int)
        inside = np.linspace(p.min(), p.max(), 1003)[1:-1].astype(np.float32).astype(float)
        result.append((p, y, np.unique(p) if tied else inside))
    return result


def difference(a: Fit, b: Fit, several_classes: bool) -> float:
    rows = class_samples() if several_classes else samples()
    return max(float(np.abs(a(p, y)(new) - b(p, y)(new)).max()) for p, y, new in rows)


def cpu_seconds(fit: Fit, n: int, repeats: int, several_classes: bool) -> float:
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 0.9, n)
    y = (rng.random(n) < p).astype(int)
    if several_classes:
        p, y = class_rows(2, n, 5)
    fit(p[:200], y[:200])(p[:200])  # imports are not counted
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        fit(p, y)(p)
        times.append(time.process_time() - begin)
    return float(np.median(times))


BINARY = (quadratic, centered_isotonic, venn_abers, scaling_binning, kernel, spline)
METHODS = (*BINARY, structured_vector, structured_matrix, dirichlet)


def main(repeats: str = "3") -> int:
    warnings.simplefilter("ignore")
    too_far = False
    heads = ["method", "package", "difference", "run to the end", "tolerance"]
    heads += [f"{who}, {n:,} rows" for n in SIZES for who in ("ours", "theirs")]
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for make in METHODS:
        try:
            method = make()
        except ImportError as error:
            print(f"{make.__name__} was left out: {error}")
            continue
        compared = method.compared or method.ours
        several = method.several_classes
        final = as_it_is = difference(compared, method.theirs, several)
        if method.converged:
            final = difference(compared, method.converged, several)
        too_far |= not final <= method.tolerance
        cells = [method.name, method.package, f"{as_it_is:.1e}", f"{final:.1e}"]
        cells.append(f"{method.tolerance:g}")
        for n in SIZES:
            both = (method.ours, method.theirs)
            times = [cpu_seconds(fit, n, int(repeats), several) for fit in both]
            cells += [f"{1000 * seconds:.3g} ms" for seconds in times]
        print("| " + " | ".join(cells) + " |", flush=True)
    return int(too_far)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
