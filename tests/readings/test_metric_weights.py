"""What a row is worth, for every public metric and decision.

Importances: a common factor changes nothing. Counts: k is k rows. A new public function must be
added here, or exempted with a reason.
"""

import dataclasses
import inspect

import numpy as np
import pytest

from trueodds import ScoreTable, decisions, metrics
from trueodds.exceptions import InputError

RANDOM = {"n_resamples": 20, "random_state": 0}
NO_ROWS = "takes no labeled rows"
EXEMPT = {
    "adjust_map_prior": NO_ROWS,
    "adjust_prior": "gives each row its own result",
    "best_decision": "gives each row its own result",
    "expected_cost": "gives each row its own result",
    "optimal_threshold": NO_ROWS,
    "undersampling_correction": NO_ROWS,
    "validation_sample_size": "plans rows that nobody has seen",
}
ONLY_COUNTS = {
    "calibration_band": "its guarantee is one of counts",
    "estimate_positive_rate": "its labeled rows are a random sample",
    "guaranteed_threshold": "its guarantee is one of counts",
    "guaranteed_thresholds": "its guarantee is one of counts",
}
OPTIONS = {
    "confidence_interval": {"metric": metrics.debiased_calibration_error, **RANDOM},
    "compare_metric": {"metric": metrics.brier_score, **RANDOM},
    "validation_report": RANDOM,
    "evaluate_counts": RANDOM,
    "evaluate_labels": RANDOM,
    "reliability_curve": RANDOM,
    "net_benefit": {"threshold": 0.2},
    "realized_cost": {"cost_matrix": [[0, 1], [4, 0]]},
    "cost_curve": {"cost_fp": 1, "cost_fn": 4},
    "guaranteed_threshold": {"at_most": 0.9},
    "guaranteed_thresholds": {"at_most": 0.9},
    "estimate_positive_rate": {"y_prob_unlabeled": np.arange(1, 100) / 100},
    "estimate_prior": {"old_prior": 0.4},
    "multicalibration_error": RANDOM,
}
OF_GROUPS = (
    "evaluate_groups",
    "group_test",
    "guaranteed_thresholds",
    "multicalibration_error",
    "worst_group_error",
)
OF_TABLES = ("evaluate_counts", "evaluate_groups")
DRAWN_BY_PLACE = (
    "confidence_interval",
    "compare_metric",
    "validation_report",
    "evaluate_classes",
)
NAMES = [*metrics.__all__, *decisions.__all__]


def function(name):
    return getattr(metrics, name, None) or getattr(decisions, name)


FUNCTIONS = [n for n in NAMES if not inspect.isclass(function(n)) and n not in EXEMPT]
CASES = [(name, {}) for name in FUNCTIONS]
CASES += [
    ("calibration_test", {"method": method, **RANDOM})
    for method in ("exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms", metrics.log_loss)
]
CASES += [
    ("reliability_curve", {"strategy": strategy, "band": band, **RANDOM})
    for strategy in ("uniform", "corp", "smooth", "loess", "splines")
    for band in ("consistency", "confidence")
]
IMPORTANT = [case for case in CASES if case[0] not in ONLY_COUNTS]
IDS = [f"{name}-{'-'.join(map(str, options.values()))[:20]}" for name, options in CASES]


def lines():
    """Scores in whole per cent, rare events, an empty line, and counts up to 40."""
    rng = np.random.default_rng(0)
    p = np.repeat(np.arange(2, 62, 4) / 100, 2)
    y = np.tile([0, 1], 15)
    return p, y, rng.poisson(40 * np.where(y, p, 1 - p) ** 1.3)


def rows_and_importances(n=200):
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, n).round(2).clip(0.01, 0.99)
    return p, (rng.random(n) < p**1.3).astype(int), rng.lognormal(0, 1, n)


def same(values):
    """The values themselves."""
    return values


def result(name, p, y, options, read=same, label=same, **weights):
    """The result of a function for rows of two classes, with their weights.

    Arrays are passed as ``read`` makes them, labels of two classes as those of ``label``.
    """
    given = dict(OPTIONS.get(name, {})) | options
    group = np.where(np.round(100 * p) % 3 == 0, "a", "b")
    if name in OF_TABLES:
        return _of_tables(name, p, y, group, given, **weights)
    if name == "evaluate_classes":
        y = np.where(y == 1, 1 + (np.round(100 * p) % 8 == 2), 0)
        p = np.stack([1 - p, 0.7 * p, 0.3 * p], axis=1)
    if name in ("per_label", "evaluate_labels"):
        y, p = np.stack([y, 1 - y], axis=1), np.stack([p, 0.9 * (1 - p)], axis=1)
    if name in OF_GROUPS:
        given["groups"] = group
    named = {"y_prob": p, "y_prob_a": p, "y_prob_b": p**1.5, "y_true": y}
    if name == "estimate_prior":
        named = {"y_prob_unlabeled": p}
    parameters = inspect.signature(function(name)).parameters
    if np.ndim(y) == 1 and np.max(y) == 1:
        named["y_true"] = label(y)
    named = {key: read(value) for key, value in named.items() if key in parameters}
    weights = {key: read(value) for key, value in weights.items()}
    return function(name)(**named, **given, **weights)


def _of_tables(name, p, y, group, options, sample_weight=None, counts=None):
    def table(own):
        parts = {"sample_weight": sample_weight, "counts": counts}
        parts = {key: None if part is None else part[own] for key, part in parts.items()}
        return ScoreTable.from_arrays(p[own], y[own], pos_label=1, **parts)

    if name == "evaluate_counts":
        return metrics.evaluate_counts(table(slice(None)), **options)
    groups = (metrics.GroupCounts("g", each, 0, table(group == each)) for each in ("a", "b"))
    return metrics.evaluate_groups(groups, **options)


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


def assert_equal(found, wanted, **tolerance):
    found, wanted = numbers(found), numbers(wanted)
    assert len(found) == len(wanted) > 0
    np.testing.assert_allclose(found, wanted, **{"rtol": 0, "atol": 0} | tolerance)


def test_every_function_of_rows_takes_counts_and_importances():
    for name in FUNCTIONS:
        if name in (*OF_TABLES, "per_label"):
            continue
        parameters = inspect.signature(function(name)).parameters
        assert parameters["counts"].kind is inspect.Parameter.KEYWORD_ONLY, name
        assert ("sample_weight" in parameters) == (name not in ONLY_COUNTS), name


@pytest.mark.parametrize(("name", "options"), IMPORTANT)
def test_a_factor_of_all_importances_changes_nothing(name, options):
    p, y, weight = rows_and_importances()
    once = result(name, p, y, options, sample_weight=weight)
    assert_equal(result(name, p, y, options, sample_weight=np.ldexp(weight, -30)), once)
    many = result(name, p, y, options, sample_weight=1e6 * weight)
    assert_equal(many, once, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_counts_are_rows(name, options):
    p, y, counts = lines()
    order = np.repeat(np.arange(len(p)), counts)
    if "random_state" not in OPTIONS.get(name, {}) | options:
        order = np.random.default_rng(1).permutation(order)
    found = result(name, p, y, options, counts=counts)
    wanted = result(name, p[order], y[order], options)
    if name == "evaluate_groups" or callable(options.get("method")):
        assert_alike(found, wanted)
    else:
        assert_equal(found, wanted, rtol=1e-7, atol=1e-9)


def assert_alike(found, wanted):
    """Results that draw other numbers of the same distribution."""
    found, wanted = numbers(found), numbers(wanted)
    assert len(found) == len(wanted)
    np.testing.assert_allclose(found, wanted, rtol=0.2, atol=0.05)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_what_weighs_nothing_is_left_out_and_equal_weights_are_none(name, options):
    p, y, weight = rows_and_importances(120)
    ghosts = np.append(p, [0.99, 0.5, 0.01]), np.append(y, [0, 0, 1])
    alone = result(name, p, y, options)
    zero = np.append(np.ones(len(p), int), [0, 0, 0])
    assert_equal(result(name, *ghosts, options, counts=zero), alone)
    if name in ONLY_COUNTS:
        return
    assert_equal(result(name, p, y, options, sample_weight=np.full(len(p), 0.7)), alone)
    assert_equal(result(name, *ghosts, options, sample_weight=0.7 * zero), alone)
    weighted = result(name, p, y, options, sample_weight=weight)
    left_out = result(name, *ghosts, options, sample_weight=np.append(weight, [0, 0, 0]))
    assert_equal(left_out, weighted)


@pytest.mark.parametrize(("name", "options"), IMPORTANT)
def test_counts_of_importances_are_rows_of_importances(name, options):
    p, y, weight = rows_and_importances(150)
    counts = np.random.default_rng(2).integers(0, 4, 150)
    order = np.repeat(np.arange(150), counts)
    found = result(name, p, y, options, sample_weight=weight, counts=counts)
    wanted = result(name, p[order], y[order], options, sample_weight=weight[order])
    if callable(options.get("method")):
        assert_alike(found, wanted)
    else:
        assert_equal(found, wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("name", "options"), IMPORTANT)
def test_the_order_of_rows_does_not_matter(name, options):
    p, y, weight = rows_and_importances(100)
    order = np.random.default_rng(3).permutation(100)
    found = result(name, p[order], y[order], options, sample_weight=weight[order])
    wanted = result(name, p, y, options, sample_weight=weight)
    rows_are_drawn = (
        "confidence_interval",
        "compare_metric",
        "validation_report",
        "evaluate_classes",
    )
    if name in rows_are_drawn or callable(options.get("method")):
        assert_estimates_agree(found, wanted)
    else:
        assert_equal(found, wanted, rtol=1e-9, atol=1e-9)


def assert_estimates_agree(found, wanted):
    for key in ("estimate", "difference", "statistic", "mean_confidence", "c_statistic"):
        if hasattr(found, key):
            assert_equal(getattr(found, key), getattr(wanted, key), rtol=1e-9, atol=1e-12)


HUGE = 10**10


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_trillions_of_counts_are_no_rows(name, options):
    """4·10¹² rows in 30 lines; results are finite where those of a thousandth are."""
    p, y, counts = lines()
    huge = result(name, p, y, options, counts=counts * HUGE)
    assert len(numbers(huge)) > 0


def coverage(interval, truth, n_samples=100, n=400):
    """How often intervals of 90% hold the truth, with lognormal importances of σ = 1."""
    hits = 0
    for seed in range(n_samples):
        rng = np.random.default_rng([seed, 7])
        p = rng.beta(2, 2, n)
        y, weight = rng.random(n) < p, rng.lognormal(0, 1, n)
        low, high = interval(y, p, weight, seed)
        hits += low <= truth <= high
    return hits / n_samples


def test_intervals_of_importances_cover():
    # Of calibrated scores of Beta(2, 2): E[p(1 − p)] = 1/5, and E[p] = 1/2.
    def brier(y, p, weight, seed):
        found = metrics.confidence_interval(
            metrics.brier_score, y, p, sample_weight=weight, n_resamples=59, random_state=seed
        )
        return found.low, found.high

    def benefit(y, p, weight, _):
        found = decisions.decision_curve(y, p, thresholds=[1e-12], sample_weight=weight)
        return found.treat_all.low[0], found.treat_all.high[0]

    def group(y, p, weight, _):
        found = metrics.group_test(y, p, np.full(len(y), "a"), sample_weight=weight)[0]
        return found.observed_low, found.observed_high

    assert 0.78 < coverage(brier, 0.2) < 0.97
    assert 0.83 < coverage(benefit, 0.5) < 0.97
    assert 0.83 < coverage(group, 0.5) < 0.97


@pytest.mark.parametrize("method", ["spiegelhalter", "exact", "cox", "hosmer_lemeshow", "ece"])
def test_p_values_of_importances_are_even_if_scores_are_right(method):
    options = {"n_resamples": 50} if method == "ece" else {}
    found = []
    for seed in range(200):
        rng = np.random.default_rng([seed, 8])
        p = rng.beta(2, 2, 400)
        y, weight = rng.random(400) < p, rng.lognormal(0, 1, 400)
        test = metrics.calibration_test(
            y, p, method=method, sample_weight=weight, random_state=seed, **options
        )
        found.append(test.p_value)
    # 5% and 20% of 200, with three standard errors.
    assert np.mean(np.array(found) < 0.05) < 0.1
    assert 0.1 < np.mean(np.array(found) < 0.2) < 0.29


def test_the_most_frequent_values_are_those_of_the_most_rows():
    p, y, counts = lines()
    names = np.array(["a", "a", "b", "c", "d", "d"])[np.arange(len(p)) % 6]
    counts = np.where(names == "b", 50 * counts, counts)
    order = np.repeat(np.arange(len(p)), counts)
    options = {"max_values": 2, "n_resamples": 20}
    found = metrics.multicalibration_error(y, p, names, counts=counts, **options)
    wanted = metrics.multicalibration_error(y[order], p[order], names[order], **options)
    assert found.to_dict()["worst"]["values"] == wanted.to_dict()["worst"]["values"]
    assert_equal(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("times", [1, 10**5])
def test_intervals_of_counts_have_the_width_of_the_formula(times):
    """Below a million rows, and where only the number of each kind of row is drawn."""
    p, y, counts = lines()
    counts = counts * times
    loss, n = (p - y) ** 2, counts.sum()
    mean = counts @ loss / n
    half = 1.645 * np.sqrt(counts @ (loss - mean) ** 2) / n
    options = {"counts": counts, "n_resamples": 400, "random_state": 0}
    scores = np.stack([1 - p, p, np.zeros(len(p))], axis=1)
    found = [
        metrics.confidence_interval(metrics.brier_score, y, p, **options),
        metrics.validation_report(y, p, **options).brier_score,
        metrics.evaluate_counts(
            ScoreTable.from_arrays(p, y, counts=counts), n_resamples=400
        ).metrics["brier_score"],
        metrics.evaluate_classes(y, scores, classes=[0, 1, 2], counts=counts).metrics[
            "brier_score"
        ],
    ]
    for interval, scale in zip(found, (1, 1, 1, 2), strict=True):
        assert interval.high - interval.low == pytest.approx(2 * scale * half, rel=0.15)
        assert interval.low < scale * mean < interval.high


@pytest.mark.parametrize("function", [metrics.confidence_interval, metrics.validation_report])
def test_groups_that_are_drawn_together_hold_their_counts(function):
    p, y, counts = lines()
    day = np.arange(len(p)) // 3
    order = np.repeat(np.arange(len(p)), counts)
    given = [metrics.brier_score] if function is metrics.confidence_interval else []
    found = function(*given, y, p, clusters=day, counts=counts, **RANDOM)
    wanted = function(*given, y[order], p[order], clusters=day[order], **RANDOM)
    assert_equal(found, wanted, rtol=1e-7, atol=1e-9)


def test_a_metric_gets_weights_by_the_names_of_its_arguments():
    p, y, weight = rows_and_importances(120)
    counts = np.random.default_rng(2).integers(1, 4, 120)

    def mean(y, p, sample_weight=None, counts=None):
        return np.average(p - y, weights=sample_weight * counts)

    def of_product(y, p, sample_weight=None):
        return np.average(p - y, weights=sample_weight)

    options = {"counts": counts, **RANDOM}
    by_name = metrics.confidence_interval(mean, y, p, sample_weight=weight, **options)
    product = metrics.confidence_interval(of_product, y, p, sample_weight=weight, **options)
    assert_equal(by_name, product, rtol=1e-9, atol=1e-12)

    def of_rows(y, p):
        return np.mean(p - y)

    def counted(y, p, counts):
        return np.average(p - y, weights=counts)

    written, drawn = (metrics.confidence_interval(m, y, p, **options) for m in (of_rows, counted))
    assert_equal(written, drawn, rtol=1e-9, atol=1e-12)
    with pytest.raises(InputError, match="of_rows takes neither counts nor sample_weight"):
        metrics.confidence_interval(of_rows, y, p, counts=counts * 10**9)
    with pytest.raises(InputError, match="counted has no argument sample_weight"):
        metrics.confidence_interval(counted, y, p, counts=counts, sample_weight=weight)
