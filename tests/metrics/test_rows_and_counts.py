"""A table of counts gives what its rows give: every metric, interval and test."""

import dataclasses
import inspect

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from trueodds import ScoreTable, decisions, metrics
from trueodds.exceptions import InputError

RANDOM = {"n_resamples": 30, "random_state": 0}
OPTIONS = {
    "confidence_interval": {"metric": metrics.debiased_calibration_error, **RANDOM},
    "compare_metric": {"metric": metrics.brier_score, **RANDOM},
    "validation_report": RANDOM,
    "reliability_curve": RANDOM,
    "net_benefit": {"threshold": 0.2},
    "realized_cost": {"cost_matrix": [[0, 1], [4, 0]]},
    "cost_curve": {"cost_fp": 1, "cost_fn": 4},
    "guaranteed_threshold": {"at_most": 0.9},
    "guaranteed_thresholds": {"at_most": 0.9},
    "estimate_positive_rate": {"y_prob_unlabeled": np.arange(1, 100) / 100},
    "multicalibration_error": RANDOM,
}
OF_GROUPS = ("group_test", "guaranteed_thresholds", "multicalibration_error", "worst_group_error")
CASES = [(name, {}) for name in (*metrics.__all__, *decisions.__all__)]
CASES += [
    ("calibration_test", {"method": method, **RANDOM})
    for method in ("exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms")
]
CASES += [
    ("reliability_curve", {"strategy": strategy, "band": band, **RANDOM})
    for strategy in ("uniform", "corp", "smooth", "loess", "splines")
    for band in ("consistency", "confidence")
]


def function(name):
    return getattr(metrics, name, None) or getattr(decisions, name)


def takes_rows(name):
    found = function(name)
    parameters = inspect.signature(found).parameters if inspect.isfunction(found) else {}
    return "y_true" in parameters and not {"counts", "sample_weight"}.isdisjoint(parameters)


OF_MATRICES = ("evaluate_labels",)
CASES = [case for case in CASES if takes_rows(case[0]) and case[0] not in OF_MATRICES]


def sample():
    """Scores in whole per cent, rare events, an empty line, and counts up to 40."""
    rng = np.random.default_rng(0)
    p = np.repeat(np.arange(2, 62, 4) / 100, 2)
    y = np.tile([0, 1], 15)
    return p, y, rng.poisson(40 * np.where(y, p, 1 - p) ** 1.3)


def arguments(name, p, y):
    given = dict(OPTIONS.get(name, {}))
    parameters = inspect.signature(function(name)).parameters
    given["y_true"] = y
    for key in ("y_prob", "y_prob_a"):
        if key in parameters:
            given[key] = p
    if "y_prob_b" in parameters:
        given["y_prob_b"] = p**1.5
    if name == "evaluate_classes":
        given["y_prob"] = np.stack([1 - p, 0.7 * p, 0.3 * p], axis=1)
    if name in OF_GROUPS:
        given["groups"] = np.where(np.round(100 * p) % 3 == 0, "a", "b")
    return given


def numbers(value):
    """All numbers in a result, in order."""
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [n for item in value for n in numbers(item)]
    if value is None or isinstance(value, (str, bytes)):
        return []
    return np.ravel(np.asarray(value, dtype=float)).tolist()


@pytest.mark.parametrize(("name", "options"), CASES)
def test_counts_give_what_the_rows_give(name, options):
    p, y, counts = sample()
    if name == "evaluate_classes":
        y = np.where(y == 1, 1 + (np.arange(len(y)) % 4 == 1), 0)
    taken = (
        "counts" if "counts" in inspect.signature(function(name)).parameters else "sample_weight"
    )
    from_counts = function(name)(**arguments(name, p, y) | options, **{taken: counts})
    order = np.repeat(np.arange(len(p)), counts)
    if "random_state" not in inspect.signature(function(name)).parameters:
        order = np.random.default_rng(1).permutation(order)
    from_rows = function(name)(**arguments(name, p[order], y[order]) | options)
    found, wanted = numbers(from_counts), numbers(from_rows)
    assert len(found) == len(wanted) > 0
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


def test_whatever_states_a_confidence_takes_counts():
    """Tests and intervals depend on the number of rows, which importance weights do not give."""
    found = set()
    for name in (*metrics.__all__, *decisions.__all__):
        if takes_rows(name):
            parameters = set(inspect.signature(function(name)).parameters)
            if parameters & {"level", "n_resamples", "alpha"}:
                assert "counts" in parameters, name
                found.add(name)
    assert len(found) >= 8


def test_importance_weights_leave_a_row_one_observation():
    p, y, counts = sample()
    order = np.repeat(np.arange(len(p)), counts)
    p, y = p[order], y[order]
    p = p**1.4 / (p**1.4 + (1 - p) ** 1.4)
    for method in ("exact", "spiegelhalter", "cox", "hosmer_lemeshow"):
        once = metrics.calibration_test(y, p, method=method)
        heavy = metrics.calibration_test(y, p, method=method, sample_weight=np.full(len(y), 7.0))
        # With weights the exact test is a normal one.
        near = 0.4 if method == "exact" else 1e-9
        assert np.log(heavy.p_value) == pytest.approx(np.log(once.p_value), rel=near)
        often = metrics.calibration_test(y, p, method=method, counts=np.full(len(y), 7))
        assert often.p_value < 1e-2 * once.p_value


def likelihood_ratio(p, y):
    """Cox's test by SciPy's minimizer."""
    z = np.log(p / (1 - p))

    def loss(line):
        t = line[0] + line[1] * z
        return np.sum(np.logaddexp(0, t) - y * t)

    statistic = 2 * (loss([0.0, 1.0]) - minimize(loss, [0.0, 1.0], method="BFGS").fun)
    return chi2.sf(statistic, 2)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_coxs_test_of_an_evaluation_is_right_for_scores_in_whole_per_cent(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(-3, 1, 2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-z))).astype(int)
    p = np.round(1 / (1 + np.exp(-(-3 + 1.5 * (z + 3) - 0.17))), 2).clip(0.01, 0.99)
    found = metrics.evaluate_counts(ScoreTable.from_arrays(p, y), n_resamples=20)
    assert np.log(found.slope_test.p_value) == pytest.approx(
        np.log(likelihood_ratio(p, y)), rel=1e-4
    )
    assert found.slope_test.p_value < 1e-4
    assert found.p_value < 0.001
    assert found.finding().startswith("Not calibrated.")


def test_a_table_of_importances_is_worth_its_effective_rows():
    rng = np.random.default_rng(5)
    p = rng.random(400)
    y = rng.random(400) < p**1.5
    rows = metrics.evaluate_counts(ScoreTable.from_arrays(p, y), n_resamples=50)
    heavy = ScoreTable.from_arrays(p, y, np.full(400, 12.5))
    found = metrics.evaluate_counts(heavy, n_resamples=50)
    assert found.n == pytest.approx(400)
    assert found.metrics["brier_score"].low == pytest.approx(rows.metrics["brier_score"].low)
    assert found.test.p_value == pytest.approx(rows.test.p_value)
    assert found.slope_test.p_value == pytest.approx(rows.slope_test.p_value)
    # Normal tests, not exact ones.
    assert np.log(found.p_value) == pytest.approx(np.log(rows.p_value), rel=0.1)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], r"counts must have shape \(3,\); got \(2,\)"),
        ([1, 2.5, 1], "counts must be whole numbers of rows, 0 or more; got 2.5 at index 1"),
        ([1, -1, 1], "got -1 at index 1.*pass them as sample_weight"),
        ([0, 0, 0], "counts are zero everywhere"),
        ([[1], [1], [1]], r"counts must have shape \(3,\); got \(3, 1\)"),
    ],
)
def test_what_does_not_count_rows_is_refused(counts, message):
    with pytest.raises(InputError, match=message):
        metrics.calibration_test([0, 1, 1], [0.2, 0.5, 0.6], counts=counts)
