"""Since when, how much, and what to do."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, xlogy

from support.naive_monitor import stream
from trueodds import CalibrationMonitor
from trueodds.exceptions import InputError
from trueodds.monitoring import ForecastComparison
from trueodds.monitoring._bets import MAX_STRETCHES, History
from trueodds.monitoring._diagnosis import (
    fit_line,
    log_likelihood,
    mean_interval,
    points,
    start_level,
)


def test_a_change_is_dated_with_its_time():
    p, y = stream(9000, seed=1, shift=0.9, start=5000)
    monitor = CalibrationMonitor().update(p, y, time=np.arange(9000) // 100)
    change = monitor.change_point
    assert change.low <= 5001 <= change.high
    assert not change.from_start
    assert change.time_low <= 50 <= change.time_high
    assert 45 <= change.time <= 55


def test_forecasts_wrong_from_the_first_row_are_said_to_be():
    monitor = CalibrationMonitor().update(*stream(4000, shift=0.6))
    assert monitor.change_point.from_start
    assert monitor.change_point.row < 400


def test_without_an_alarm_there_is_no_change_and_no_place():
    monitor = CalibrationMonitor()
    assert (monitor.alarm, monitor.e_value, monitor.change_point, monitor.regions) == (
        False,
        1.0,
        None,
        (),
    )
    assert monitor.miscalibration() is None
    assert monitor.recommendation().action == "keep"
    monitor.update(*stream(500))
    assert (monitor.change_point, monitor.recommendation().action) == (None, "keep")


def test_a_shift_is_advised_with_its_size():
    advice = CalibrationMonitor().update(*stream(12_000, shift=0.5)).recommendation()
    assert advice.action == "shift"
    assert advice.shift == pytest.approx(0.5, abs=0.1)
    assert 0 < advice.gain < 0.1
    assert advice.rows >= advice.rows_needed


def test_a_refit_is_advised_if_the_slope_is_wrong():
    advice = CalibrationMonitor().update(*stream(12_000, slope=0.5)).recommendation()
    assert advice.action == "refit"
    assert advice.sentence.startswith("Fit a new map")


def test_estimates_from_counts_are_those_from_rows():
    p, y = stream(20_000, shift=0.3, slope=0.8)
    monitor = CalibrationMonitor().update(p, y)

    z = np.log(p / (1 - p))

    def loss(theta):
        eta = theta[0] + theta[1] * z
        return np.sum(np.logaddexp(0, eta) - y * eta)

    exact = minimize(loss, [0.0, 1.0]).x
    assert monitor.miscalibration(1).slope == pytest.approx(exact[1], abs=0.02)


def test_intervals_hold_the_truth_and_shrink():
    p, y = stream(30_000, shift=0.4)
    monitor, widths = CalibrationMonitor(), []
    truth = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + 0.4)))
    for end in range(3000, 30_001, 3000):
        part = slice(end - 3000, end)
        off = monitor.update(p[part], y[part]).miscalibration(1)
        assert off.ratio_low <= truth[:end].sum() / p[:end].sum() <= off.ratio_high
        assert off.intercept_low <= 0.4 <= off.intercept_high
        assert off.slope_low <= 1.0 <= off.slope_high
        widths.append(off.ratio_high - off.ratio_low)
    assert widths[-1] < 0.5 * widths[0]


LEVELS = np.array([0.02, 0.15, 0.3, 0.6, 0.85])
"""One forecast in each of five score ranges, so that counts lose nothing of the rows."""


def few_forecasts(truth, n=6000):
    rng = np.random.default_rng(4)
    place = rng.integers(0, len(LEVELS), n)
    return LEVELS[place], (rng.random(n) < np.asarray(truth)[place]).astype(int)


def gain_of_line(p, y, size):
    """Gain in log-likelihood, parameters beyond a slope of 1, and their information."""
    design = np.stack([np.ones(len(p)), logit(p)], axis=1)[:, :size]

    def likelihood(theta):
        eta = logit(p) + design @ theta
        return np.sum(y * eta - np.logaddexp(0, eta))

    found = minimize(lambda theta: 0.005 * theta @ theta - likelihood(theta), np.zeros(size)).x
    q = expit(logit(p) + design @ found)
    return likelihood(found) - likelihood(0 * found), found, (design.T * (q * (1 - q))) @ design


@pytest.mark.parametrize(("name", "size"), [("intercept", 1), ("slope", 2)])
def test_the_width_of_an_interval_is_that_of_a_gaussian_mixture(name, size):
    p, y = few_forecasts(expit(0.2 + 0.9 * logit(LEVELS)))
    off = CalibrationMonitor(alpha=0.1).update(p, y).miscalibration(1)
    _, theta, information = gain_of_line(p, y, size)
    # Half of alpha is for intervals from the first row on, and a third of that for each of three.
    evidence = -np.log(0.1 / 2 / 3) + theta @ theta / 2
    evidence += np.linalg.slogdet(np.eye(size) + information)[1] / 2
    margin = np.sqrt(2 * evidence * np.linalg.inv(information)[-1, -1])
    middle = theta[-1] + (name == "slope")
    found = [getattr(off, f"{name}{end}") for end in ("", "_low", "_high")]
    np.testing.assert_allclose(found, [middle, middle - margin, middle + margin], atol=1e-4)


@pytest.mark.parametrize(
    ("truth", "action", "best"),
    [
        (expit(logit(LEVELS) + 0.5), "shift", 0),
        (expit(0.4 * logit(LEVELS)), "refit", 1),
        ([0.3, 0.02, 0.6, 0.3, 0.95], "refit", 2),
        ([0.0, 0.5, 0.3, 0.2, 1.0], "refit", 2),
    ],
    ids=["shift", "line", "frequencies", "none and all"],
)
def test_the_gain_of_an_action_is_less_by_one_for_each_parameter(truth, action, best):
    """Akaike's estimate; a parameter that is fitted to n rows costs 1/(2·n) on each new one."""
    p, y = few_forecasts(truth)
    monitor = CalibrationMonitor().update(p, y)
    first = monitor.change_point.row - 1
    p, y = p[first:], y[first:]
    rate = np.array([y[p == level].mean() for level in LEVELS])
    size = np.array([(p == level).sum() for level in LEVELS])
    frequencies = size @ (xlogy(rate, rate / LEVELS) + xlogy(1 - rate, (1 - rate) / (1 - LEVELS)))
    gains = [gain_of_line(p, y, 1)[0] - 1, gain_of_line(p, y, 2)[0] - 2, frequencies - 5]
    advice = monitor.recommendation()
    assert (advice.action, advice.rows) == (action, len(p))
    assert advice.gain == pytest.approx(gains[best] / len(p), rel=1e-4)
    assert advice.refit_gain == pytest.approx(max(gains[1:]) / len(p), rel=1e-4)
    assert advice.rows_needed == np.ceil((1, 2, 5)[best] / 2 / (0.1 * advice.gain))


def test_a_refit_must_gain_two_units_of_log_likelihood_more_than_a_shift():
    """One number is easy to review; few rows after a shift never show that a curve is better."""
    seen = {"shift": 0, "refit": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = LEVELS[rng.integers(0, len(LEVELS), 500)]
        slope = 0.75 if seed % 2 else 1.0
        y = (rng.random(500) < expit(0.9 + slope * logit(p))).astype(int)
        monitor = CalibrationMonitor().update(p, y)
        if not monitor.alarm or monitor.change_point.row > 1:
            continue
        rate = np.array([y[p == level].mean() for level in LEVELS])
        size = np.array([(p == level).sum() for level in LEVELS])
        frequencies = (
            size @ (xlogy(rate, rate / LEVELS) + xlogy(1 - rate, (1 - rate) / (1 - LEVELS))) - 5
        )
        shift = gain_of_line(p, y, 1)[0] - 1
        extra = max(gain_of_line(p, y, 2)[0] - 2, frequencies) - shift
        loss = -np.sum(np.log(np.where(y == 1, p, 1 - p)))
        if extra <= 0.002 * loss or abs(extra - 2) < 0.1:
            continue  # too little for the loss of these rows, or too close to call
        expected = "refit" if extra > 2 else "shift"
        assert monitor.recommendation().action == expected, seed
        seen[expected] += 1
    assert min(seen.values()) >= 4


def test_shares_of_alpha_of_all_first_rows_sum_to_alpha_at_most():
    rows = np.arange(0, 64 * 100_000, 64) + 1
    assert sum(start_level(int(row), 0.05) for row in rows) <= 0.05


@pytest.mark.parametrize("observed", [0.0, 3.0, 100.0])
def test_the_interval_of_a_mean_holds_the_mean(observed):
    low, high = mean_interval(100.0, observed, 0.05)
    assert 0.0 <= low <= observed / 100 <= high <= 1.0
    assert mean_interval(0.0, 0.0, 0.05) == (0.0, 1.0)


def test_history_keeps_all_rows_in_few_stretches_with_the_newest_short():
    history, rows = History(), 0
    while rows < 200_000:
        if not history.room(rows):
            history.open(rows, rows)
        taken = history.room(rows)
        history.cells[-1][0, 0] += taken
        rows += taken
    assert len(history.starts) <= MAX_STRETCHES
    assert history.starts[0] == 0
    assert history.starts == history.moments
    assert history.stack()[:, 0, 0].sum() == rows
    lengths = np.diff([*history.starts, rows])
    assert lengths[-1] < rows / 256
    assert max(lengths / (rows - np.array(history.starts))[:]) <= 1.0


def test_two_points_have_the_mean_of_the_rows_that_they_stand_for():
    cells = np.zeros((14, 4))
    cells[3] = [10.0, 0.8, 2.0, 0.066]
    p, weight, positives = points(cells)
    assert p[3].mean() == pytest.approx(0.08)
    assert (weight.sum(), positives.sum()) == (10.0, 2.0)


def test_a_line_is_fitted_where_all_labels_are_the_same():
    cells = np.zeros((14, 4))
    cells[3] = [10.0, 0.8, 0.0, 0.066]
    theta, _ = fit_line(cells, free_slope=True)
    assert np.isfinite(theta).all()
    assert log_likelihood(cells, *theta) >= log_likelihood(cells, 0.0, 1.0)


def test_no_point_has_more_positives_than_rows():
    cells = np.zeros((14, 4))
    cells[10] = [10.0, 9.0, 10.0, 8.2]
    _, weight, positives = points(cells)
    np.testing.assert_allclose(positives[10], weight[10])


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_a_line_is_the_most_probable_one_even_where_all_labels_are_the_same(label):
    rng = np.random.default_rng(0)
    weight, p = rng.integers(1, 50, 14).astype(float), rng.uniform(0.05, 0.95, 14)
    cells = np.stack([weight, weight * p, label * weight, weight * (p**2 + 1e-3)], axis=1)
    theta, _ = fit_line(cells, free_slope=True)

    def loss(theta):
        prior = 0.005 * (theta[0] ** 2 + (theta[1] - 1) ** 2)
        return prior - log_likelihood(cells, *theta)

    other = minimize(
        loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    np.testing.assert_allclose(theta, other.x, rtol=1e-4)


def test_the_better_forecast_is_found_and_the_evidence_does_not_depend_on_batches():
    p, y = stream(3000, shift=1.0)
    better = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + 1.0)))
    whole = ForecastComparison().update(p, better, y)
    parts = ForecastComparison()
    for part in np.array_split(np.arange(3000), 7):
        parts.update(p[part], better[part], y[part])
    assert whole.winner == parts.winner == "new"
    assert parts.e_value_new == pytest.approx(whole.e_value_new, rel=1e-9)
    assert ForecastComparison().update(better, p, y).winner == "old"
    assert whole.mean_difference > 0
    assert ForecastComparison.from_dict(whole.to_dict()).to_dict() == whole.to_dict()


@pytest.mark.slow
def test_equal_forecasts_are_rarely_told_apart():
    wrong = 0
    for seed in range(200):
        p, y = stream(1000, seed)
        noise = np.random.default_rng(seed).normal(0, 0.3, 1000)
        z = np.log(p / (1 - p))
        old = 1 / (1 + np.exp(-(z + noise)))
        wrong += ForecastComparison().update(p, old, y).winner == "new"
    assert wrong / 200 <= 0.05


def test_an_importance_of_one_is_a_row_and_more_is_refused():
    p, y = [0.2, 0.7, 0.4], [0, 1, 1]
    plain = CalibrationMonitor().update(p, y)
    whole = CalibrationMonitor().update(p, y, sample_weight=[1.0, 1.0, 1.0])
    assert whole.e_value == plain.e_value
    with pytest.raises(InputError, match=r"sample_weight must be at most 1 in a stream; got 1\.0"):
        CalibrationMonitor().update(p, y, sample_weight=[1.0, 1.01, 1.0])


def test_forecasts_that_are_too_extreme_are_a_slope_without_expected_and_observed():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 6000)
    true = 1 / (1 + np.exp(-0.4 * np.log(p / (1 - p))))
    regions = CalibrationMonitor().update(p, rng.random(6000) < true).regions
    found = [place for place in regions if place.kind == "slope"]
    assert [(place.name, place.direction) for place in found] == [("all rows", "too extreme")]
    assert (found[0].expected, found[0].observed) == (None, None)
    # The other way round: forecasts that are not extreme enough.
    true = 1 / (1 + np.exp(-2.2 * np.log(p / (1 - p))))
    regions = CalibrationMonitor().update(p, rng.random(6000) < true).regions
    assert [place.direction for place in regions if place.kind == "slope"] == ["not extreme enough"]


@pytest.mark.parametrize("kind", ["sample_weight", "counts"])
def test_rows_of_no_weight_at_all_are_rows_that_say_nothing(kind):
    p, y = stream(300, shift=0.5)
    plain = CalibrationMonitor().update(p, y)
    more = CalibrationMonitor().update(p, y).update([0.2, 0.9], [1, 0], **{kind: [0, 0]})
    assert more.n_rows == 302
    found, expected = more.miscalibration(1), plain.miscalibration(1)
    assert (found.weight, found.observed) == (expected.weight, expected.observed)
    # Stakes are put on starts after them, so that the evidence is nearly the same.
    assert more.e_value == pytest.approx(plain.e_value, rel=0.01)


def test_times_of_several_types_keep_their_types():
    p, y = stream(64)
    times = [17, "later", *[None] * 61, 3.5]
    monitor = CalibrationMonitor().update(p, y, time=times).update(0.3, 0, time="end")
    assert monitor.last_time == "end"
    assert monitor.to_dict()["stream"]["history"]["moments"] == [17, "end"]
    single = CalibrationMonitor().update([0.3, 0.4], [0, 1], time=[1, "a"])
    assert single.to_dict()["stream"]["history"]["moments"] == [1]
    assert single.last_time == "a"
