"""``trueodds.metrics`` in Python: every function against its oracle."""

import dataclasses

import numpy as np
import pytest
from scipy import special, stats

from oracle import oracles, samples
from oracle.figures import Near, chance
from trueodds import ScoreTable, metrics
from trueodds.model_selection import update_model

SAMPLES = samples.all_samples()
NAMES = [one.name for one in SAMPLES]
INNER = [one for one in SAMPLES if one.name in ("distinct", "percent", "rare", "counts", "tiny")]
pytestmark = pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")


def fields(result, *names):
    return {name: getattr(result, name) for name in names}


@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_losses_errors_and_ranking(one, figures):
    y, p, w = one.rows
    even, equal = oracles.uniform_bins(p, 10), oracles.quantile_edges(p, w, 15)
    equal = oracles.bins_between(p, equal)
    six = oracles.bins_between(p, oracles.quantile_edges(p, w, 6))
    rate = np.sum(w * y) / w.sum()
    square = oracles.brier(y, p, w)
    found = {
        "log_loss": metrics.log_loss(y, p, **one.given),
        "brier_score": metrics.brier_score(y, p, **one.given),
        "root_mean_squared_error": metrics.root_mean_squared_error(y, p, **one.given),
        "accuracy": metrics.accuracy(y, p, **one.given),
        "c_statistic": metrics.c_statistic(y, p, **one.given),
        "scaled_brier_score": metrics.scaled_brier_score(y, p, **one.given),
        "observed_expected_ratio": metrics.observed_expected_ratio(y, p, **one.given),
        "ece": metrics.expected_calibration_error(y, p, **one.given),
        "ece, equal": metrics.expected_calibration_error(y, p, **one.given, weighting="equal"),
        "ece, quantile": metrics.expected_calibration_error(
            y, p, **one.given, strategy="quantile", n_bins=6
        ),
        "mce": metrics.maximum_calibration_error(y, p, **one.given),
        "mce, quantile": metrics.maximum_calibration_error(
            y, p, **one.given, strategy="quantile", n_bins=6
        ),
        "debiased": metrics.debiased_calibration_error(y, p, **one.given),
        "debiased, squared": metrics.debiased_calibration_error(y, p, **one.given, squared=True),
        "debiased, uniform": metrics.debiased_calibration_error(
            y, p, **one.given, strategy="uniform", n_bins=10, squared=True
        ),
    }
    expected = {
        "log_loss": oracles.log_loss(y, p, w),
        "brier_score": square,
        "root_mean_squared_error": np.sqrt(square),
        "accuracy": oracles.mean(1.0 * ((p > 0.5) == y), w),
        "c_statistic": oracles.auc(y, p, w),
        "scaled_brier_score": 1 - square / (rate * (1 - rate)),
        "observed_expected_ratio": np.sum(w * y) / np.sum(w * p),
        "ece": oracles.calibration_error(y, p, w, even),
        "ece, equal": oracles.calibration_error(y, p, w, even, "equal"),
        "ece, quantile": oracles.calibration_error(y, p, w, six),
        "mce": oracles.calibration_error(y, p, w, even, "max"),
        "mce, quantile": oracles.calibration_error(y, p, w, six, "max"),
        "debiased": oracles.debiased(y, p, w, equal, one.squares),
        "debiased, squared": oracles.debiased_square(y, p, w, equal, one.squares),
        "debiased, uniform": oracles.debiased_square(y, p, w, even, one.squares),
    }
    figures.compare("metrics: losses, errors, ranking", found, expected)


@pytest.mark.parametrize("one", [samples.tiny(), samples.percent()], ids=["tiny", "percent"])
def test_bins_that_part_ties_are_filled_to_the_same_number_of_rows(one, figures):
    y, p, _ = one.rows
    order = np.lexsort((y, p))
    p, y = p[order], y[order].copy()
    _, place = np.unique(p, return_inverse=True)
    y = (np.bincount(place, y) / np.bincount(place))[place]  # the frequency of its tie
    place = np.arange(len(y)) * 5 // len(y)
    expected = oracles.calibration_error(y, p, np.ones(len(y)), place)
    found = metrics.expected_calibration_error(
        one.y, one.p, strategy="quantile", ties="share", n_bins=5
    )
    figures.compare("metrics: losses, errors, ranking", found, expected)


@pytest.mark.parametrize("one", [samples.tiny(), samples.counts()], ids=["tiny", "counts"])
def test_smooth_error_is_its_integral(one, figures):
    y, p, w = one.rows
    at = metrics.smooth_calibration_error(y, p, bandwidth=0.07, **one.given)
    found = [at, metrics.smooth_calibration_error(y, p, **one.given)]
    fixed = oracles.smooth_calibration_error(y, p, w)
    expected = [oracles.smooth_error(y, p, w, 0.07), fixed]
    near = [Near(value, 3e-4 * value) for value in expected]
    figures.compare("metrics: smooth error, decompositions, ends", found, near)


@pytest.mark.parametrize("loss", ["brier", "log"])
@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_decompositions_add_up_to_the_loss(loss, one, figures):
    y, p, w = one.rows
    held = w > 0
    y, p, w = y[held], p[held], w[held]
    given = {name: values[held] for name, values in one.given.items()}
    _, place = np.unique(p, return_inverse=True)
    corp = metrics.corp_decomposition(y, p, loss=loss, **given)
    parts = metrics.calibration_refinement(y, p, loss=loss, **given)
    figures.compare(
        "metrics: smooth error, decompositions, ends",
        [dataclasses.asdict(corp), dataclasses.asdict(parts)],
        [oracles.corp(y, p, w, loss), oracles.refinement(y, p, w, place, loss)],
    )
    if one.name in ("surprised", "saturated"):
        return
    by_mass = oracles.bins_between(p, oracles.quantile_edges(p, w, 10))
    for strategy, place in (("uniform", oracles.uniform_bins(p, 10)), ("quantile", by_mass)):
        binned = metrics.calibration_refinement(
            y, p, loss=loss, n_bins=10, strategy=strategy, **given
        )
        figures.compare(
            "metrics: smooth error, decompositions, ends",
            dataclasses.asdict(binned),
            oracles.refinement(y, p, w, place, loss),
        )


@pytest.mark.parametrize("fraction", [0.025, 0.3])
@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_ends_of_the_ranking(one, fraction, figures):
    y, p, w = one.rows
    found = metrics.tail_calibration(y, p, fraction=fraction, **one.given)
    low = oracles.lowest_part(y, p, w, fraction)
    high = oracles.lowest_part(1 - y, 1 - p, w, fraction)
    figures.compare(
        "metrics: smooth error, decompositions, ends",
        [found.low_prob, found.low_rate, found.high_prob, found.high_rate],
        [*low, 1 - high[0], 1 - high[1]],
    )


@pytest.mark.parametrize("one", INNER, ids=[one.name for one in INNER])
def test_tests_of_calibration(one, figures):
    y, p, w = one.expanded
    found = {
        method: fields(metrics.calibration_test(y, p, method=method), "statistic", "p_value")
        for method in ("spiegelhalter", "cox", "hosmer_lemeshow")
    }
    expected = {
        "spiegelhalter": oracles.spiegelhalter(y, p, w),
        "cox": oracles.cox(y, p, w),
        "hosmer_lemeshow": oracles.hosmer_lemeshow(y, p, w),
    }
    named = {k: dict(zip(("statistic", "p_value"), v, strict=True)) for k, v in expected.items()}
    figures.compare("metrics: tests", found, named, rel=1e-6)
    shape = [metrics.calibration_intercept(y, p), metrics.calibration_slope(y, p)]
    expected = [oracles.intercept(y, p, w)[0], oracles.slope(y, p, w)[0]]
    figures.compare("metrics: tests", shape, expected, rel=1e-6)


def test_weights_of_a_test_are_one_row_each(figures):
    y, p, w = samples.fractions().rows
    found = metrics.calibration_test(y, p, sample_weight=w)
    q = np.column_stack([1 - p, p])
    z, p_value = oracles.spiegelhalter_classes(y.astype(int), q, w)
    figures.compare("metrics: tests", [found.statistic, found.p_value], [z, p_value])


@pytest.mark.parametrize("method", ["ece", "mce", "rms"])
def test_redrawn_labels_give_the_p_value_of_a_binned_error(method, figures):
    """The p-value is a share of draws, so two sets of draws agree within four of their errors."""
    one = samples.tiny()
    y, p, w = one.rows
    found = metrics.calibration_test(
        y, p, method=method, n_bins=4, n_resamples=4000, random_state=1
    )
    place = oracles.bins_between(p, oracles.quantile_edges(p, w, 4))

    def error(labels):
        predicted, observed, n = oracles.bin_table(labels, p, w, place)
        gap = np.abs(predicted - observed)
        if method == "mce":
            return gap.max()
        return np.sum(n * gap) / n.sum() if method == "ece" else np.sqrt(np.sum(n * gap**2) / 20)

    rng = np.random.default_rng(2)
    drawn = np.array([error(1.0 * (rng.random(20) < p)) for _ in range(4000)])
    share = np.mean(drawn >= error(y) - 1e-12)
    figures.compare(
        "metrics: tests",
        [found.statistic, found.p_value, found.expected],
        [error(y), Near(share, 0.045), Near(drawn.mean(), 4 * drawn.std() / np.sqrt(2000))],
    )


@pytest.mark.parametrize("kernel", ["epanechnikov", "tricube"])
def test_flexible_curve_is_a_local_parabola(kernel, figures):
    one = samples.spelled("0", "1")
    y, p, w = one.rows
    curve = oracles.loess(y, p, w, p, 0.75, kernel)
    _check_curve(figures, one, curve, curve="loess", kernel=kernel)


@pytest.mark.parametrize("n_knots", [3, 4, 5])
def test_flexible_curve_is_a_restricted_cubic_spline(n_knots, figures):
    one = samples.spelled("0", "1")
    curve = oracles.spline_curve(*one.rows, n_knots=n_knots)
    _check_curve(figures, one, curve, curve="splines", n_knots=n_knots)


def _check_curve(figures, one, fitted, **options):
    y, p, _ = one.rows
    errors = metrics.curve_errors(y, p, **options)
    assert metrics.integrated_calibration_index(y, p, **options) == errors.ici
    found = {name: getattr(errors, name) for name in ("ici", "e50", "e90", "emax", "eci")}
    figures.compare("metrics: validation", found, oracles.curve_errors(p, fitted, y), rel=1e-6)
    raw = 100 * np.mean((fitted - p) ** 2)
    figures.compare("metrics: validation", errors.unscaled_eci, raw, rel=1e-6)


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize(
    "one", [samples.spelled("0", "1"), samples.percent()], ids=["400", "percent"]
)
def test_validation_table_by_its_formulas(one, level, figures):
    y, p, w = one.rows
    table = metrics.validation_report(y, p, level=level, n_resamples=20)
    by_formula = ("observed_expected", "intercept", "slope", "c_statistic", "brier_score")
    by_formula += ("scaled_brier",)
    found = {name: fields(getattr(table, name), "estimate", "low", "high") for name in by_formula}
    expected = {
        "observed_expected": oracles.observed_expected(y, p, level),
        "intercept": oracles.intercept_interval(y, p, level),
        "slope": oracles.wald(*oracles.slope(y, p, w), level),
        "c_statistic": oracles.c_interval(y, p, level),
        "brier_score": oracles.mean_interval(oracles.losses(y, p, "brier"), level),
        "scaled_brier": oracles.scaled_brier(y, p, level),
    }
    expected = {
        name: {end: value[end] for end in ("estimate", "low", "high")}
        for name, value in expected.items()
    }
    figures.compare("metrics: validation", found, expected, rel=1e-6)
    figures.compare(
        "metrics: validation",
        [table.n, table.events, table.cox_test.p_value, table.hosmer_lemeshow.p_value],
        [len(y), y.sum(), oracles.cox(y, p, w)[1], oracles.hosmer_lemeshow(y, p, w)[1]],
        rel=1e-6,
    )


def test_sample_sizes_follow_riley(figures):
    p = samples.distinct().p
    found = metrics.validation_sample_size(
        y_prob=p, prevalence=0.2, c_statistic=0.75, threshold=0.15, sensitivity=0.8, specificity=0.7
    )
    expected = oracles.sample_sizes(p, 0.2, 0.75, 0.9, 0.15, 0.8, 0.7)
    rounded = {name: np.ceil(value) for name, value in expected.items()}
    rounded |= {"n": max(rounded.values())}
    figures.compare("metrics: validation", fields(found, *rounded), rounded)


def test_sample_sizes_of_a_calibrated_model_use_its_own_accuracy(figures):
    p = samples.counts().p
    found = metrics.validation_sample_size(y_prob=p, threshold=0.3)
    rate, act = p.mean(), p >= 0.3
    sens, spec = np.sum(p[act]) / p.sum(), np.sum((1 - p)[~act]) / np.sum(1 - p)
    y, both = np.repeat([1.0, 0.0], len(p)), np.tile(p, 2)
    c = oracles.auc(y, both, np.concatenate([p, 1 - p]))
    expected = oracles.sample_sizes(p, rate, c, 0.9, 0.3, sens, spec)
    rounded = {name: np.ceil(value) for name, value in expected.items()}
    rounded["n"] = max(rounded.values())
    rounded["events"] = Near(rounded["n"] * rate, 1)
    figures.compare("metrics: validation", fields(found, *rounded), rounded)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("log_loss", lambda y, p: oracles.losses(y, p)),
        ("brier_score", lambda y, p: oracles.losses(y, p, "brier")),
    ],
)
def test_intervals_of_means_have_their_standard_errors(name, values, figures):
    y, p, _ = samples.distinct().rows
    found = metrics.confidence_interval(getattr(metrics, name), y, p)
    expected = oracles.mean_interval(values(y, p), 0.9)
    figures.compare("metrics: intervals", fields(found, *expected), expected, rel=1e-6)
    drawn = metrics.confidence_interval(
        getattr(metrics, name), y, p, method="bca", n_resamples=4000, random_state=0
    )
    # The quantiles of 4,000 draws are known to a tenth of an error.
    near = {end: Near(expected[end], 0.25 * expected["standard_error"]) for end in ("low", "high")}
    figures.compare("metrics: intervals", fields(drawn, *near), near)


@pytest.mark.parametrize("groups", [False, True], ids=["rows", "groups"])
def test_difference_of_two_models_on_the_same_rows(groups, figures):
    y, p, _ = samples.distinct(2000).rows
    other = p**0.8
    owner = np.arange(2000) // 4 if groups else None
    found = metrics.compare_metric(metrics.brier_score, y, p, other, clusters=owner)
    gap = oracles.losses(y, p, "brier") - oracles.losses(y, other, "brier")
    units = gap.reshape(500, 4).mean(1) if groups else gap
    expected = oracles.mean_interval(units, 0.9)
    error = (expected["high"] - expected["low"]) / 3.29
    z = abs(expected["estimate"]) / error
    figures.compare(
        "metrics: intervals",
        fields(found, "difference", "low", "high", "estimate_a", "estimate_b", "p_value"),
        {
            "difference": expected["estimate"],
            "low": Near(expected["low"], 0.25 * error),
            "high": Near(expected["high"], 0.25 * error),
            "estimate_a": np.mean((p - y) ** 2),
            "estimate_b": np.mean((other - y) ** 2),
            "p_value": Near(2 * stats.norm.sf(z), 0.02),
        },
    )


@pytest.mark.parametrize("one", [samples.tiny(), samples.counts()], ids=["tiny", "counts"])
def test_guaranteed_band_is_that_of_all_runs_of_neighbors(one, figures):
    y, p, _ = one.expanded
    band = metrics.calibration_band(y, p, n_cells=None)
    lower, upper = oracles.calibration_band(y, p, 0.9)
    low, high = band.interval(np.unique(p))
    figures.compare("metrics: curves", [low, high], [lower, upper], rel=1e-6)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_reliability_curve_has_the_means_of_its_bins(one, strategy, figures):
    y, p, w = one.rows
    w = w * w.sum() / one.squares.sum()  # importances sum to the effective rows
    curve = metrics.reliability_curve(y, p, strategy=strategy, n_bins=10, band=None, **one.given)
    edges = oracles.quantile_edges(p, w, 10)
    place = oracles.uniform_bins(p, 10) if strategy == "uniform" else oracles.bins_between(p, edges)
    expected = oracles.bin_table(y, p, w, place)
    histogram = np.bincount(oracles.uniform_bins(p, 20), w, 20)
    figures.compare(
        "metrics: curves",
        [curve.prob_pred, curve.prob_true, curve.weight, curve.hist_weight],
        [*expected, histogram],
    )


def test_consistency_band_holds_redrawn_frequencies(figures):
    """Ends of the band against the binomial distribution of each tied score."""
    p = np.repeat([0.05, 0.2, 0.5, 0.9], 200)
    y = samples.drawn(np.random.default_rng(0), p)
    curve = metrics.reliability_curve(
        y, p, strategy="uniform", n_bins=10, n_resamples=4000, random_state=0
    )
    scores = np.unique(p)
    ends = [stats.binom.ppf(level, 200, scores) / 200 for level in (0.05, 0.95)]
    figures.compare(
        "metrics: curves",
        [curve.band_x, curve.band_low, curve.band_high],
        [scores, *([Near(end, 1.01 / 200) for end in side] for side in ends)],
    )


def test_corp_curve_is_the_isotonic_fit(figures):
    one = samples.percent()
    curve = metrics.reliability_curve(one.y, one.p, strategy="corp", band=None)
    fitted = oracles.isotonic(*one.rows)
    at = np.interp(one.p, curve.prob_pred, curve.prob_true)
    figures.compare("metrics: curves", at, fitted)


def test_flexible_curves_of_the_diagram_are_those_of_the_errors(figures):
    one = samples.spelled("0", "1")
    y, p, w = one.rows
    curve = metrics.reliability_curve(y, p, strategy="loess", band=None)
    wanted = oracles.loess(y, p, w, curve.prob_pred, 0.75, "epanechnikov")
    figures.compare("metrics: curves", curve.prob_true, wanted, rel=1e-6)
    curve = metrics.reliability_curve(y, p, strategy="splines", band=None)
    order = np.argsort(p)
    wanted = np.interp(curve.prob_pred, p[order], oracles.spline_curve(y, p, w)[order])
    figures.compare("metrics: curves", curve.prob_true, [Near(v, 2e-3) for v in wanted])


@pytest.mark.parametrize("one", [samples.spelled("0", "1"), samples.fractions()], ids=["1", "w"])
def test_smooth_curve_is_a_kernel_average(one, figures):
    """Of residuals, by a reflected Gaussian with the bandwidth of the smooth calibration error."""
    y, p, w = one.rows
    curve = metrics.reliability_curve(y, p, strategy="smooth", band=None, **one.given)
    sigma = oracles.smooth_calibration_error(y, p, w)
    images = [2 * k + sign * p for k in range(-1, 3) for sign in (1, -1)]
    kernel = sum(
        np.exp(-0.5 * ((curve.prob_pred[:, None] - image) / sigma) ** 2) for image in images
    )
    crowded = kernel @ w > 5
    wanted = np.clip(curve.prob_pred + kernel @ (w * (y - p)) / (kernel @ w), 0, 1)[crowded]
    figures.compare("metrics: curves", curve.prob_true[crowded], [Near(v, 5e-3) for v in wanted])


def test_updates_of_a_model_by_likelihood(figures):
    """Intercept, intercept and slope, a spline of three knots: twice the log-likelihoods."""
    y, p, w = samples.spelled("0", "1").rows
    z = special.logit(p)
    line = np.column_stack([np.ones(len(z)), z])
    spline = oracles.spline_basis(z, np.quantile(z, oracles.HARRELL[3]))
    none = float(np.sum(y * z - np.logaddexp(0, z)))
    shift, _, moved = oracles.logistic(line[:, :1], y, w, z)
    (a, b), _, logistic = oracles.logistic(line, y, w)
    curve = oracles.logistic(spline, y, w)[2]
    found = update_model(y, p, alpha=0.99)  # all steps are taken
    statistic = [2 * (curve - smaller) for smaller in (none, moved, logistic)][: len(found.steps)]
    degrees = [3, 2, 1][: len(found.steps)]
    figures.compare(
        "metrics: validation",
        [[step.statistic, step.degrees, step.p_value] for step in found.steps],
        [[s, d, stats.chi2.sf(s, d)] for s, d in zip(statistic, degrees, strict=True)],
        rel=1e-5,
    )
    intercept = update_model(y, p, method="intercept")
    both = update_model(y, p, method="logistic")
    figures.compare(
        "metrics: validation",
        [intercept.intercept, intercept.slope, both.intercept, both.slope],
        [shift[0], 1.0, a, b],
        rel=1e-5,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_several_classes(weighted, figures):
    rows = samples.classes()
    w = rows.w if weighted else np.ones(len(rows.w))
    given = rows.w if weighted else None
    found = metrics.evaluate_classes(rows.labels, rows.q, classes=rows.names, sample_weight=given)
    top = rows.q.max(1)
    right = 1.0 * (rows.q.argmax(1) == rows.codes)
    equal = oracles.bins_between(top, oracles.quantile_edges(top, w, 15))
    each = oracles.class_losses(rows.codes, rows.q)
    expected = {name: oracles.mean(values, w) for name, values in each.items()}
    even = oracles.uniform_bins(top, 10)
    expected["expected_calibration_error"] = oracles.calibration_error(right, top, w, even)
    expected["debiased_calibration_error"] = oracles.debiased(right, top, w, equal, w**2)
    estimates = {name: one.estimate for name, one in found.metrics.items()}
    figures.compare("metrics: several classes", estimates, expected)
    z, p_value = oracles.spiegelhalter_classes(rows.codes, rows.q, w)
    figures.compare(
        "metrics: several classes",
        [found.test.statistic, found.test.p_value, found.mean_confidence, found.n],
        [z, p_value, oracles.mean(top, w), len(w)],
    )
    options = {"classes": rows.names, "sample_weight": given}
    classwise = [
        oracles.calibration_error(
            1.0 * (rows.codes == k), rows.q[:, k], w, oracles.uniform_bins(rows.q[:, k], 10)
        )
        for k in range(3)
    ]
    pooled_p, pooled_y = rows.q.ravel(), np.eye(3)[rows.codes].ravel()
    pooled = oracles.calibration_error(
        pooled_y, pooled_p, np.repeat(w, 3), oracles.uniform_bins(pooled_p, 10)
    )
    ece = metrics.expected_calibration_error
    figures.compare(
        "metrics: several classes",
        [
            ece(rows.labels, rows.q, multiclass="classwise", **options),
            ece(rows.labels, rows.q, multiclass="pooled", **options),
            metrics.root_mean_squared_error(rows.labels, rows.q, **options),
            metrics.log_loss(rows.labels, rows.q, **options),
            metrics.brier_score(rows.labels, rows.q, **options),
            metrics.accuracy(rows.labels, rows.q, **options),
        ],
        [
            np.mean(classwise),
            pooled,
            np.sqrt(oracles.mean(each["brier_score"], w) / 3),
            expected["log_loss"],
            expected["brier_score"],
            expected["accuracy"],
        ],
    )


@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_a_table_of_counts_equals_its_rows(one, figures):
    """Every estimate and test of ``evaluate_counts``: weights, and the same rows written out."""
    if one.name == "fractions":
        pytest.skip("fractions cannot be written out as rows")
    y, p, _ = one.expanded
    table = ScoreTable.from_arrays(one.p, one.y, **one.given)
    rows = ScoreTable.from_arrays(p, y)
    first = metrics.evaluate_counts(table, n_resamples=20)
    second = metrics.evaluate_counts(rows, n_resamples=20)
    names = ("statistic", "p_value", "expected")
    for found, expected in ((first, second), (first, _by_rows(y, p))):
        figures.compare(
            "metrics: rows = table of counts",
            {
                "metrics": {name: m.estimate for name, m in found.metrics.items()},
                "test": fields(found.test, *names[:2]),
                "rest": fields(found, "n", "prevalence", "mean_score"),
            },
            expected
            if isinstance(expected, dict)
            else {
                "metrics": {name: m.estimate for name, m in expected.metrics.items()},
                "test": fields(expected.test, *names[:2]),
                "rest": fields(expected, "n", "prevalence", "mean_score"),
            },
        )


def _by_rows(y, p):
    w = np.ones(len(y))
    z, p_value = oracles.spiegelhalter(y, p, w)
    return {
        "metrics": oracles.metrics(y, p, w),
        "test": {"statistic": z, "p_value": p_value},
        "rest": {"n": len(y), "prevalence": y.mean(), "mean_score": p.mean()},
    }


@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_the_mean_is_tested_by_the_poisson_binomial_distribution(one, figures):
    if one.name == "fractions":
        pytest.skip("the exact distribution is one of counts")
    table = ScoreTable.from_arrays(one.p, one.y, **one.given)
    found = metrics.evaluate_counts(table, n_resamples=20).mean_test.p_value
    figures.compare("metrics: tests of evaluate", found, chance(oracles.mean_test(*one.rows)))


@pytest.mark.parametrize("one", INNER, ids=[one.name for one in INNER])
def test_the_slope_is_tested_as_if_counts_were_rows(one, figures):
    table = ScoreTable.from_arrays(one.p, one.y, **one.given)
    found = metrics.evaluate_counts(table, n_resamples=20)
    figures.compare(
        "metrics: tests of evaluate",
        [found.slope_test.statistic, found.slope_test.p_value],
        oracles.cox(*one.rows),
        rel=1e-6,
    )
