"""Win rates, gains and differences, against values computed by hand."""

import math

import numpy as np
import pytest
from contest.leaderboard import (
    by_size,
    differences,
    over_sets,
    standings,
    table_of,
    win_rates,
)
from contest.methods import BASE, make_method, select
from contest.results import SMALLEST, losses

NAN = math.nan


def row(set_, n, method, loss, *, seconds=1.0):
    failed = loss is None
    return {
        "experiment": f"{set_}/{n}",
        "set": set_,
        "n": n,
        "method": method,
        "brier": loss,
        "log_loss": None if failed else 2 * loss,
        "fit_seconds": None if failed else seconds,
        "predict_seconds": None if failed else 0.5,
        "error": "ValueError: no" if failed else None,
    }


@pytest.fixture
def rows():
    """Two experiments on set a, one on set b; rival fails in the first."""
    return [
        *(row("a", 100, m, x) for m, x in ((BASE, 0.5), ("ours", 0.3), ("rival", None))),
        *(row("a", 300, m, x) for m, x in ((BASE, 0.5), ("ours", 0.2), ("rival", 0.4))),
        *(row("b", 100, m, x) for m, x in ((BASE, 0.4), ("ours", 0.5), ("rival", 0.4))),
    ]


@pytest.fixture
def table(rows):
    return table_of(rows, [BASE, "ours", "rival"])[0]


def test_a_win_rate_is_the_mean_share_of_the_others_that_are_beaten():
    # First: 1, ½, 0. Second: ½, 1, 0.
    assert win_rates(np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])).tolist() == [0.75, 0.75, 0.0]


def test_a_tie_counts_half():
    assert win_rates(np.array([[1.0, 1.0, 3.0]])).tolist() == [0.75, 0.75, 0.0]


def test_a_failed_method_loses_to_everyone_who_did_not_fail():
    assert win_rates(np.array([[1.0, NAN, 3.0]])).tolist() == [1.0, 0.0, 0.5]
    assert win_rates(np.array([[1.0, NAN, NAN]])).tolist() == [1.0, 0.25, 0.25]


def test_win_rates_sum_to_half_the_number_of_methods():
    rates = win_rates(np.random.default_rng(0).normal(size=(20, 7)).round(1))
    assert rates.sum() == pytest.approx(3.5)


def test_standings_have_gains_over_the_base_model_and_the_share_made_worse(table):
    by_method = {line.method: line for line in standings(table)}
    ours, rival = by_method["ours"], by_method["rival"]
    assert ours.gain["brier"] == pytest.approx((0.2 + 0.3 - 0.1) / 3)
    assert ours.worse["brier"] == pytest.approx(1 / 3)
    assert ours.win_rate["brier"] == pytest.approx((1 + 1 + 0) / 3)
    # The failure leaves one with the base model: no gain, not worse.
    assert rival.gain["log_loss"] == pytest.approx(2 * 0.1 / 3)
    assert rival.worse["brier"] == 0
    assert (rival.failures, rival.seconds) == (1, 1.5)
    # Experiment by experiment: 0; ½; ½ for the tie, 1 for ours: ¾.
    assert rival.win_rate["brier"] == pytest.approx((0 + 0.5 + 0.75) / 3)
    assert by_method[BASE].gain == {"brier": 0, "log_loss": 0}


def test_harm_is_the_share_of_experiments_worse_than_the_base_model_by_more_than_two_thousandths():
    losses_of_ours = (0.5001, 0.502, 0.4, 0.5009)  # log-losses are twice these
    rows = [
        row(name, 100, method, loss)
        for name, ours in zip("abcd", losses_of_ours, strict=True)
        for method, loss in ((BASE, 0.5), ("ours", ours))
    ]
    found = {line.method: line for line in standings(table_of(rows, [BASE, "ours"])[0])}
    assert found["ours"].harmed == 0.25
    assert found["ours"].worse["log_loss"] == 0.75
    assert found[BASE].harmed == 0


def test_the_standard_error_is_that_of_the_means_of_sets_not_of_experiments():
    # Three experiments of set a count as one observation of 2; those of b and c as 5 and 8.
    mean, error, means = over_sets(np.array([1.0, 2, 3, 5, 8]), ["a", "a", "a", "b", "c"])
    assert means.tolist() == [2, 5, 8]
    assert mean == 5
    assert error == pytest.approx(3 / math.sqrt(3))


def test_differences_are_of_the_rival_to_ours_over_sets(table):
    by_rival = {line.rival: line for line in differences(table, "ours", "brier")}
    # Set a: (0.2, the failure being the base model, + 0.2) / 2; set b: −0.1.
    assert by_rival["rival"].mean == pytest.approx((0.2 - 0.1) / 2)
    assert by_rival["rival"].standard_error == pytest.approx(0.3 / math.sqrt(2) / math.sqrt(2))
    assert (by_rival["rival"].sets_ahead, by_rival["rival"].n_sets) == (1, 2)


def test_a_table_of_one_size_holds_its_experiments_only(table):
    parts = by_size(table)
    assert {n: part.experiments for n, part in parts.items()} == {
        100: ["a/100", "b/100"],
        300: ["a/300"],
    }
    assert parts[300].losses["brier"].tolist() == [[0.5, 0.2, 0.4]]


def test_a_method_that_was_not_run_everywhere_is_left_out_and_named(rows):
    table, incomplete = table_of(rows[:-1], [BASE, "ours", "rival"])
    assert table.methods == [BASE, "ours"]
    assert incomplete == {"rival": 2}


def test_a_method_that_failed_everywhere_is_left_out(rows):
    rows = [{**r, "error": "no"} if r["method"] == "rival" else r for r in rows]
    table, incomplete = table_of(rows, [BASE, "ours", "rival"])
    assert table.methods == [BASE, "ours"]
    assert incomplete == {}


def test_losses_are_those_of_calarena():
    # (0.3² + 0.3²) and (0.8² + 0.8²); −ln 0.7 and −ln 0.2.
    brier, log_loss = losses([0.7, 0.8], np.array([1, 0]), 2)
    assert brier == pytest.approx((0.18 + 1.28) / 2)
    assert log_loss == pytest.approx(-(math.log(0.7) + math.log(0.2)) / 2)


def test_a_probability_of_zero_costs_87_nats():
    _, log_loss = losses([[1.0, 0.0, 0.0]], np.array([2]), 3)
    assert log_loss == pytest.approx(-math.log(SMALLEST))
    assert 87 < log_loss < 88


@pytest.mark.parametrize("bad", [[0.5, NAN], [0.5], [[0.2, 0.3, 0.5]] * 2])
def test_what_is_no_forecast_is_refused(bad):
    with pytest.raises(ValueError, match="finite probabilities"):
        losses(bad, np.array([0, 1]), 2)


def test_methods_are_chosen_by_name_pattern_and_options():
    names = [BASE, "trueodds/beta", "probmetrics/Beta", "probmetrics/ETS"]
    assert select(["beta"], names) == ["trueodds/beta"]
    assert select(["probmetrics/*"], names) == ["probmetrics/Beta", "probmetrics/ETS"]
    assert select(["beta(parameters='am')"], names) == ["trueodds/beta(parameters='am')"]


def test_options_reach_the_calibrator():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    plain, smoothed = (
        make_method(name, "binary")(p, y, p).probabilities
        for name in ("trueodds/beta", "trueodds/beta(label_smoothing='platt')")
    )
    assert np.abs(plain - smoothed).max() > 1e-4
