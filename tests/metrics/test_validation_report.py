from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri

from support import naive_validation as naive
from trueodds import metrics
from trueodds.decisions import net_benefit
from trueodds.exceptions import FewEventsWarning, InputError, UndefinedReplicatesWarning
from trueodds.metrics import (
    calibration_test,
    confidence_interval,
    reliability_curve,
    validation_report,
    validation_sample_size,
)
from trueodds.metrics._curves import CurveOptions, FlexibleCurve
from trueodds.metrics._sample import read_sample


def curve_error(name):
    def figure(y, p, **options):
        return getattr(metrics.curve_errors(y, p, **options), name)

    figure.__name__ = name
    return figure


FIGURES = (
    metrics.observed_expected_ratio,
    metrics.calibration_intercept,
    metrics.calibration_slope,
    *(curve_error(name) for name in ("ici", "e50", "e90", "emax", "eci", "unscaled_eci")),
    metrics.c_statistic,
    metrics.scaled_brier_score,
)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    z = rng.normal(-0.5, 1.5, 500)
    return (rng.random(500) < expit(0.7 * z + 0.4)).astype(int), expit(z)


@pytest.fixture
def ovarian(data_sets):
    """ADNEX's risks of 894 patients, from the case study of Van Calster et al."""
    import pandas as pd

    rows = pd.read_parquet(data_sets / "pred-ovarian-adnex.parquet")
    return rows["y"].to_numpy(), rows["score"].to_numpy()


def test_published_figures_of_the_ovarian_tumours_are_met_to_their_digits(ovarian):
    y, p = ovarian
    assert f"{metrics.observed_expected_ratio(y, p):.4f}" == "1.2281"
    assert f"{metrics.calibration_intercept(y, p):.4f}" == "0.8096"
    assert f"{metrics.calibration_slope(y, p):.3f}" == "0.934"
    assert f"{metrics.integrated_calibration_index(y, p):.4f}" == "0.0943"
    assert f"{metrics.curve_errors(y, p).eci:.4f}" == "0.1042"
    assert f"{net_benefit(y, p, 0.1):.4f}" == "0.4427"


def test_the_kernel_of_rs_loess_is_on_request(sample):
    y, p = sample
    curve = np.clip(naive.loess(p, y.astype(float), p, powers=(3, 3)), 0, 1)
    found = metrics.integrated_calibration_index(y, p, kernel="tricube")
    assert found == pytest.approx(np.abs(curve - p).mean(), abs=1e-12)


def test_loess_is_that_of_an_independent_computation(sample):
    y, p = sample
    expected = np.clip(naive.loess(p, y.astype(float), p), 0, 1)
    gap = np.abs(expected - p)
    found = metrics.curve_errors(y, p)
    assert found.ici == pytest.approx(gap.mean(), abs=1e-12)
    assert found.e50 == pytest.approx(np.median(gap), abs=1e-12)
    assert found.e90 == pytest.approx(np.quantile(gap, 0.9), abs=1e-12)
    assert found.emax == pytest.approx(gap.max(), abs=1e-12)
    assert metrics.integrated_calibration_index(y, p) == found.ici
    curve = reliability_curve(y, p, strategy="loess", band=None)
    points = np.clip(naive.loess(p, y.astype(float), curve.prob_pred), 0, 1)
    np.testing.assert_allclose(curve.prob_true, points, atol=1e-10)


@pytest.mark.parametrize("n_knots", [3, 5])
def test_splines_are_those_of_harrells_basis(sample, n_knots):
    y, p = sample
    shares = {3: (0.1, 0.5, 0.9), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}[n_knots]
    gap = np.abs(naive.spline_curve(p, y.astype(float), shares) - p)
    found = metrics.curve_errors(y, p, curve="splines", n_knots=n_knots)
    assert found.ici == pytest.approx(gap.mean(), abs=1e-5)
    assert found.emax == pytest.approx(gap.max(), abs=1e-4)


def test_many_probabilities_are_put_in_cells_that_change_next_to_nothing():
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 2, 4600)
    y = (rng.random(4600) < p**1.3).astype(float)
    expected = np.abs(np.clip(naive.loess(p, y, p[:500]), 0, 1) - p[:500])
    curve = FlexibleCurve.of(read_sample(y, p), CurveOptions())
    assert not curve.exact
    values = curve.values(np.ones(4600), fine=True)[curve.index]
    np.testing.assert_allclose(np.abs(values - p)[:500], expected, atol=2e-3)
    assert np.abs(values - p)[:500].mean() == pytest.approx(expected.mean(), abs=2e-5)


def test_delongs_interval_is_that_of_all_pairs():
    rng = np.random.default_rng(2)
    p = np.round(rng.random(150), 2)  # ties
    y = (rng.random(150) < p).astype(int)
    c, variance = naive.delong(p, y)
    found = validation_report(y, p, n_resamples=20).c_statistic
    assert found.estimate == pytest.approx(c, abs=1e-12)
    assert found.standard_error == pytest.approx(np.sqrt(variance), abs=1e-12)


def test_intercept_and_slope_are_those_of_an_unpenalised_logistic_regression(sample):
    from sklearn.linear_model import LogisticRegression

    y, p = sample
    model = LogisticRegression(C=1e12, tol=1e-10).fit(logit(p)[:, None], y)
    table = validation_report(y, p, n_resamples=20)
    assert table.slope.estimate == pytest.approx(float(model.coef_[0, 0]), abs=1e-5)
    q = model.predict_proba(logit(p)[:, None])[:, 1]
    design = np.stack([np.ones(len(p)), logit(p)], axis=1)
    covariance = np.linalg.inv((design * (q * (1 - q))[:, None]).T @ design)
    assert table.slope.standard_error == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-4)
    shifted = expit(logit(p) + table.intercept.estimate)
    assert shifted.sum() == pytest.approx(y.sum(), abs=1e-8)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)
def test_a_count_of_k_equals_k_repetitions(sample, figure):
    y, p = sample[0][:80], sample[1][:80]
    counts = np.random.default_rng(3).integers(0, 4, 80)
    repeated = figure(np.repeat(y, counts), np.repeat(p, counts))
    assert figure(y, p, counts=counts) == pytest.approx(repeated, abs=1e-9)


def test_probabilities_of_exactly_0_and_1_have_a_finite_slope(sample):
    y, p = sample[0].copy(), sample[1].copy()
    p[:5], y[:5] = 0.0, 0
    p[5:9], y[5:9] = 1.0, [1, 1, 1, 0]
    assert 0.3 < metrics.calibration_slope(y, p) < 1.2
    assert np.isfinite(metrics.integrated_calibration_index(y, p, curve="splines"))
    with pytest.raises(InputError, match=r"exactly 1 was given to what did not happen \(row 8"):
        metrics.calibration_intercept(y, p)
    y[8] = 1
    inner = slice(9, None)
    assert metrics.calibration_intercept(y, p) == pytest.approx(
        metrics.calibration_intercept(y[inner], p[inner])
    )


def test_what_has_no_finite_value_is_said_in_one_sentence():
    with pytest.raises(InputError, match="separate those with the event from those without"):
        metrics.calibration_slope([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(InputError, match="all probabilities are equal"):
        metrics.calibration_slope([0, 1], [0.4, 0.4])
    with pytest.raises(InputError, match="the event never happened"):
        metrics.calibration_intercept([0, 0], [0.4, 0.3])
    with pytest.raises(InputError, match="y_prob must be of two classes; got 3 columns"):
        metrics.calibration_slope([0, 1, 2], np.eye(3))
    with pytest.raises(InputError, match="n_knots must be 3 to 7; got 8"):
        metrics.curve_errors([0, 1], [0.2, 0.4], n_knots=8)


def test_without_events_the_ratio_is_0_with_an_exact_upper_end():
    with pytest.warns(FewEventsWarning, match="0 are with the event"):
        table = validation_report([0] * 10, [0.1] * 5 + [0.2] * 5, n_resamples=20)
    assert table.observed_expected.estimate == table.observed_expected.low == 0
    # Ten rows without an event: up to 1 − 0.05^(1/10) of them may have one.
    assert table.observed_expected.high == pytest.approx((1 - 0.05**0.1) * 10 / 1.5)
    assert np.isnan(table.slope.estimate)
    assert len(table.notes) == 5
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["slope"]["estimate"] is None


def test_the_table_has_every_figure_in_each_of_its_forms(sample):
    y, p = sample
    table = validation_report(y, p, n_resamples=50)
    for row in table.rows():
        if row["figure"] in ("e50", "e90", "emax"):
            assert np.isnan([row["low"], row["high"]]).all()
        else:
            assert row["low"] <= row["estimate"] <= row["high"], row["figure"]
    single = {
        "observed_expected": metrics.observed_expected_ratio,
        "ici": metrics.integrated_calibration_index,
        "eci": curve_error("eci"),
        "scaled_brier": metrics.scaled_brier_score,
    }
    for name, figure in single.items():
        assert getattr(table, name).estimate == pytest.approx(figure(y, p), abs=1e-12)
    assert f"| C statistic | {table.c_statistic.estimate:.3f} |" in table.to_markdown()
    assert r"90\% interval \\" in table.to_latex()
    assert list(table.to_frame()["figure"])[:3] == ["observed_expected", "intercept", "slope"]
    assert "Hosmer–Lemeshow" in str(table)


FORMULAS = {
    "slope": metrics.calibration_slope,
    "observed_expected": metrics.observed_expected_ratio,
    "c_statistic": metrics.c_statistic,
}


def test_intervals_by_formula_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(4)
    many = rng.normal(size=400_000)
    c = metrics.c_statistic(rng.random(400_000) < expit(many), expit(many))
    # Log-odds 1.5 times too large, of events that are as many as expected.
    truth = {"slope": 2 / 3, "observed_expected": 1.0, "c_statistic": c}
    hits = dict.fromkeys(truth, 0)
    for _ in range(300):
        z = rng.normal(size=400)
        y = rng.random(400) < expit(z)
        for name, metric in FORMULAS.items():
            interval = confidence_interval(metric, y, expit(1.5 * z))
            hits[name] += interval.low <= truth[name] <= interval.high
    # Of 300, 270 are expected with a standard error of 5.2.
    assert all(255 < count < 286 for count in hits.values()), hits


def test_coxs_test_keeps_its_level_and_sees_a_wrong_slope():
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(300):
        z = rng.normal(size=300)
        y = rng.random(300) < expit(z)
        p_values.append(calibration_test(y, expit(z), method="cox").p_value)
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09
    assert calibration_test(y, expit(2 * z), method="cox").p_value < 0.01


def test_hosmer_and_lemeshows_statistic_by_hand():
    p = np.repeat([0.2, 0.6], 10)
    y = np.repeat([1, 0, 1, 0], [4, 6, 5, 5])
    found = calibration_test(y, p, method="hosmer_lemeshow", n_bins=2)
    assert found.statistic == pytest.approx((4 - 2) ** 2 / 1.6 + (5 - 6) ** 2 / 2.4)
    assert found.expected == 2
    with pytest.raises(InputError, match="needs two classes; got 3"):
        calibration_test([0, 1, 2], np.eye(3), method="hosmer_lemeshow")


@pytest.mark.parametrize("strategy", ["loess", "splines"])
def test_bands_hold_what_they_are_around(sample, strategy):
    y, p = sample
    curve = reliability_curve(y, p, strategy=strategy, band="confidence")
    assert ((curve.band_low <= curve.prob_true) & (curve.prob_true <= curve.band_high)).all()
    around = reliability_curve(y, p, strategy=strategy, band="consistency")
    inside = slice(20, -20)
    assert (around.band_low[inside] <= curve.prob_pred[inside]).all()
    assert (curve.prob_pred[inside] <= around.band_high[inside]).all()
    assert curve.weight.sum() == len(y)


def test_a_functions_own_slope_works_as_it_is(sample):
    y, p = sample

    def slope(y, p):
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=1e9).fit(logit(p)[:, None], y).coef_[0, 0]

    own = confidence_interval(slope, y, p, n_resamples=60, random_state=0)
    options = {"method": "bca", "n_resamples": 60, "random_state": 0}
    ours = confidence_interval(metrics.calibration_slope, y, p, **options)
    # The same resamples: rows repeated, or weighted.
    assert own.estimate == pytest.approx(ours.estimate, abs=1e-3)
    np.testing.assert_allclose(own.replicates, ours.replicates, atol=2e-3)
    assert confidence_interval(lambda y, p: float(np.mean(p)), y, p, n_resamples=20).low < p.mean()


def test_a_function_without_weights_is_not_given_any(sample):
    y, p = sample

    def bias(y, p):
        return np.mean(p - y)

    with pytest.raises(InputError, match="bias has no argument sample_weight"):
        confidence_interval(bias, y, p, sample_weight=np.arange(1, 1 + len(y)))


def test_resamples_that_raise_an_error_have_no_value():
    def fragile(y, p):
        if len(set(y.tolist())) < 2:
            raise ValueError("one class")
        return float(p.mean())

    y, p = np.array([0, 0, 0, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    few = pytest.warns(FewEventsWarning)
    with few, pytest.warns(UndefinedReplicatesWarning, match="no finite value in"):
        found = confidence_interval(fragile, y, p, n_resamples=100, random_state=0)
    assert len(found.replicates) < 100


def test_the_sample_size_gives_intervals_of_the_widths_it_promises():
    size = validation_sample_size(log_odds_mean=-1.0, log_odds_sd=1.5, threshold=0.2)
    rng = np.random.default_rng(6)
    z = rng.normal(-1.0, 1.5, size.slope)
    y = rng.random(size.slope) < expit(z)
    found = validation_report(y, expit(z), n_resamples=20)
    assert found.slope.high - found.slope.low == pytest.approx(0.2, rel=0.1)
    assert size.n == max(size.observed_expected, size.slope, size.c_statistic, size.net_benefit)
    assert size.observed_expected == pytest.approx(
        (1 - y.mean()) / y.mean() / (np.arcsinh(0.1) / 1.645) ** 2, rel=0.1
    )
    same = validation_sample_size(y_prob=expit(z), threshold=0.2)
    assert same.c_statistic == pytest.approx(size.c_statistic, rel=0.15)
    with pytest.raises(InputError, match="pass y_prob, or log_odds_mean and log_odds_sd"):
        validation_sample_size(log_odds_mean=1.0)


def test_levels_next_to_0_and_1_have_finite_quantiles():
    """(1 + level) / 2 rounds to one half and to one."""
    options = {"log_odds_mean": -1.0, "log_odds_sd": 1.5, "threshold": 0.2}
    sizes = [
        validation_sample_size(**options, level=level).n
        for level in (1e-320, 1e-17, 0.5, 0.9, np.nextafter(1.0, 0.0))
    ]
    assert sizes == sorted(sizes)
    widest = validation_sample_size(**options, level=1 - 2**-53).observed_expected
    ordinary = validation_sample_size(**options, level=0.9).observed_expected
    quantiles = ndtri([2**-54, 0.05])
    assert widest / ordinary == pytest.approx((quantiles[0] / quantiles[1]) ** 2, rel=1e-3)


GROUP_FIGURES = ("observed_expected", "intercept", "slope", "ici", "c_statistic")


@pytest.mark.parametrize("kind", ["plain", "sample_weight", "counts", "clusters"])
def test_the_figures_of_a_group_are_those_of_its_rows_alone(kind):
    rng = np.random.default_rng(3)
    z = rng.normal(-0.5, 1.5, 700)
    site = rng.choice(["Ulm", "Graz", "few"], 700, p=[0.7, 0.28, 0.02])
    y = (rng.random(700) < expit(0.7 * z + 0.8 * (site == "Ulm"))).astype(int)
    p = expit(z)
    options = {
        "plain": {},
        "sample_weight": {"sample_weight": rng.choice([0.0, 0.3, 2.0], 700)},
        "counts": {"counts": rng.integers(0, 3, 700)},
        "clusters": {"clusters": rng.integers(0, 150, 700)},
    }[kind]
    found = validation_report(y, p, groups={"site": site}, n_resamples=40, **options)
    assert [(g.column, g.value) for g in found.groups] == [
        ("site", "Graz"),
        ("site", "Ulm"),
        ("site", "few"),
    ]
    for group in found.groups[:2]:
        own = site == group.value
        given = {name: values[own] for name, values in options.items()}
        alone = validation_report(y[own], p[own], n_resamples=40, **given)
        assert (group.n, group.events) == (alone.n, alone.events)
        for name in GROUP_FIGURES:
            a, b = getattr(group, name), getattr(alone, name)
            assert [a.estimate, a.low, a.high] == pytest.approx([b.estimate, b.low, b.high])
        times = (
            next(iter(given.values()))
            if kind in ("sample_weight", "counts")
            else np.ones(own.sum())
        )
        ratio = (times * y[own]).sum() / (times * p[own]).sum()
        assert group.observed_expected.estimate == pytest.approx(ratio)
    few = found.groups[2]
    assert np.isfinite(few.observed_expected.low)
    assert all(np.isnan(getattr(few, name).estimate) for name in GROUP_FIGURES[1:])


def test_groups_have_a_table_of_their_own(sample):
    y, p = sample
    age = np.arange(500) / 5
    found = validation_report(y, p, groups={"age_%": age}, n_resamples=20)
    plain = validation_report(y, p, n_resamples=20)
    assert found.groups[0].value == "below 20"
    assert str(found).startswith(str(plain))
    rest = str(found)[len(str(plain)) + 1 :].splitlines()
    titles = ["O:E", "Intercept", "Slope", "ICI", "C"]
    assert rest[0].split() == ["Group", "Rows", "(with", "event)", *titles]
    assert len(rest) == 6
    assert rest[1].startswith("age_% = below 20")
    assert found.to_latex().count("\\begin{tabular}") == 2
    assert "age\\_\\% = below 20 & 100" in found.to_latex()
    assert found.to_markdown().count("|---|---|---|---|---|---|---|") == 1
    assert json.loads(json.dumps(found.to_dict()))["groups"][0]["value"] == "below 20"
    assert plain.to_dict()["groups"] == []


def test_a_slope_with_weights_at_the_limits_of_float64_warns_of_nothing():
    p, y = [0.5, 1.0, 1 - 1e-16, 1e-16], [0, 1, 0, 1]
    weight = [2.5e-73, 2e-37, 7e-39, 8.442194637851236e284]
    with suppress(InputError):
        assert np.isfinite(metrics.calibration_slope(y, p, sample_weight=weight))
