"""The kernel of the online calibrator against its naive twin."""

import numpy as np
import pytest

from support.naive_online import NaiveOnline, sigmoid
from trueodds.kernels.online import OnlineState, clipped_log_odds, clipped_log_odds_into
from trueodds.online._settings import CODES, new_arrays, settings


def a_stream(seed, n, drift=0.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 2.0, n)
    z[:3] = [-13.8, 13.8, 0.0]
    z[5:8] = [12.0, -8.0, 0.5]  # on knots and places
    truth = 1 / (1 + np.exp(-(0.6 * z - 0.7 + drift * np.arange(n))))
    return z, (rng.random(n) < truth).astype(np.float64), rng


def new_state(with_start=False):
    arrays = new_arrays(with_start)
    return arrays, OnlineState(settings(with_start), arrays)


@pytest.mark.parametrize(("seed", "drift"), [(0, 0.0), (1, 0.02)])
def test_forecasts_and_stakes_are_those_of_the_twin(seed, drift):
    z, y, _ = a_stream(seed, 60, drift)
    arrays, state = new_state()
    out = np.empty(len(z))
    state.learn(z, z, y, np.ones(len(z)), out)
    twin = NaiveOnline()
    expected = [twin.learn(z[i], z[i], int(y[i])) for i in range(len(z))]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(arrays["weights"], twin.weights, atol=1e-9)
    np.testing.assert_allclose(arrays["mixtures"], twin.mixtures, atol=1e-9)
    bets = [[twin.stake[f"bet {b} {i}"] for i in range(14)] for b in range(18)]
    np.testing.assert_allclose(arrays["stakes"], bets, atol=1e-10)
    np.testing.assert_allclose(arrays["residual"][:17], twin.residual, atol=1e-7)
    np.testing.assert_allclose(arrays["track"], [twin.residual, twin.variance], atol=1e-7)
    curve = twin.regressions[-1]
    bands = [np.diag(curve.precision, -k) for k in range(3)]
    for k in range(3):
        np.testing.assert_allclose(
            arrays["curve_precision"][2, k, : 25 - k], bands[k], rtol=1e-9, atol=1e-12
        )


def test_weights_and_a_start_map_are_those_of_the_twin():
    z, y, rng = a_stream(2, 40)
    score = z + rng.normal(0, 1, len(z)).clip(-2, 2)
    weight = rng.uniform(0.1, 3.0, len(z))
    weight[7] = 40.0  # more than powers that are multiplied directly
    _, state = new_state(with_start=True)
    out = np.empty(len(z))
    state.learn(z, score, y, weight, out)
    twin = NaiveOnline(with_start=True)
    expected = [twin.learn(z[i], score[i], int(y[i]), weight[i]) for i in range(len(z))]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-9)


def test_late_rows_are_judged_by_what_was_said_when_they_were_asked():
    """Generations of 12 rows; of each, one is given up and one comes after the generation."""
    z, y, rng = a_stream(3, 60)
    z = z.astype(np.float32).astype(np.float64)
    arrays, state = new_state()
    twin = NaiveOnline()
    orphan = None
    for begin in range(0, 60, 12):
        own = np.arange(begin, begin + 12)
        told, codes = np.empty(12, np.float32), np.empty((12, CODES), np.int16)
        state.ask(z[own], z[own], told, codes)
        # Codes are exact to 0.2% of the distance from z, at least 0.00004.
        heard = z[own, None] + np.sinh(0.004 * codes) / 60
        rows = []
        for k, i in enumerate(own):
            said = twin.experts(z[i], z[i])
            exact = np.log(said[2:] / (1 - said[2:]))
            assert (np.abs(heard[k] - exact) <= 0.0021 * np.abs(exact - z[i]) + 4e-5).all()
            said[2:] = np.clip([sigmoid(h) for h in heard[k]], 1e-6, 1 - 1e-6)
            mixtures, _, v, words = twin.asked(said)
            assert told[k] == pytest.approx(v, abs=1e-6)
            rows.append((int(y[i]), 1.0, said, mixtures, float(told[k]), words))
        answered = [int(k) for k in rng.permutation(12)]
        late, never = answered.pop(), answered.pop()
        if orphan is not None:
            i, row, said_then = orphan
            state.learn_late(z[i], z[i], y[i], 1.0, row[4], said_then, False)
            twin.teach(z[i], int(y[i]), 1.0)
        for k in answered:
            i = own[k]
            state.learn_late(z[i], z[i], y[i], 1.0, float(told[k]), codes[k], True)
            twin.teach(z[i], int(y[i]), 1.0)
        state.drop_row()
        assert never not in answered
        assert arrays["open_clock"][:2].tolist() == [11, 10]
        state.learn(z[:1], z[:1], np.zeros(1), np.zeros(1), np.empty(1))  # weight 0 closes nothing
        assert arrays["open_clock"][0] == 11
        # The row before which half of the generation is answered; it is a generation of its own.
        out = np.empty(1)
        twin.settle([rows[k] for k in answered])
        if orphan is not None:
            twin.see(orphan[1][0], 1.0, orphan[1][4])
        state.learn(np.array([0.3]), np.array([0.3]), np.ones(1), np.ones(1), out)
        assert out[0] == pytest.approx(twin.learn(0.3, 0.3, 1), abs=1e-8)
        orphan = (own[late], rows[late], codes[late])
    np.testing.assert_allclose(arrays["weights"], twin.weights, atol=1e-8)
    np.testing.assert_allclose(arrays["mixtures"], twin.mixtures, atol=1e-8)
    probe = np.linspace(-6, 6, 25)
    out = np.empty(25)
    state.forecast(probe, probe, out)
    np.testing.assert_allclose(out, [twin.forecast(x, x) for x in probe], atol=1e-7)


def test_the_smallest_bets_shrink_after_many_rows():
    z, y, _ = a_stream(7, 20)
    arrays = new_arrays(False)
    arrays["clock"][6] = 4e10
    state = OnlineState(settings(False), arrays)
    out = np.empty(len(z))
    state.learn(z, z, y, np.ones(len(z)), out)
    twin = NaiveOnline()
    twin.generations = 4e10
    expected = [twin.learn(z[i], z[i], int(y[i])) for i in range(len(z))]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-9)
    gain = arrays["stakes"][17, 7] / arrays["stakes"][17, 0]
    assert gain == pytest.approx(twin.stake["bet 17 7"] / twin.stake["bet 17 0"], rel=1e-9)
    assert twin.bet(7) == pytest.approx(5e-6, rel=1e-6)


def test_stakes_are_fair_for_either_label():
    """The total of all stakes is 1 before and after a row, whatever its label is."""
    z, y, rng = a_stream(4, 400, 0.01)
    arrays, state = new_state()
    state.learn(z, z, y, np.ones(len(z)), np.empty(len(z)))
    twin = NaiveOnline()
    for i in range(60):
        twin.learn(z[i], z[i], int(y[i]))
    for x in rng.normal(0, 3, 20):
        q = twin.mixture(twin.experts(x, x))
        v = twin.fair(q)
        f = sigmoid(v)
        for label in (0, 1):
            total = 0.0
            for name, stake in twin.stake.items():
                p = twin.says(name, v, q)
                total += stake * (p / f if label else (1 - p) / (1 - f))
            assert total == pytest.approx(1, abs=1e-9)
    total = arrays["clock"][3] + arrays["trackers"].sum() + arrays["stakes"].sum()
    assert total == pytest.approx(1, abs=1e-13)


def test_a_row_of_weight_0_is_forecast_and_not_learned():
    z, y, _ = a_stream(5, 50)
    arrays, state = new_state()
    state.learn(z, z, y, np.ones(50), np.empty(50))
    before = {name: array.copy() for name, array in arrays.items()}
    out, expected = np.empty(2), np.empty(2)
    state.forecast(z[:2], z[:2], expected)
    state.learn(z[:2], z[:2], y[:2], np.zeros(2), out)
    assert (out == expected).all()
    assert all((arrays[name] == before[name]).all() for name in arrays)


@pytest.mark.slow
def test_masses_stay_1_after_many_rows():
    rng = np.random.default_rng(6)
    arrays, state = new_state()
    for _ in range(10):
        z = rng.normal(0, 3, 30_000)
        y = (rng.random(30_000) < 1 / (1 + np.exp(-z))).astype(float)
        state.learn(z, z, y, np.ones(len(z)), np.empty(len(z)))
    total = arrays["clock"][3] + arrays["trackers"].sum() + arrays["stakes"].sum()
    assert abs(total - 1) < 1e-13
    assert np.abs(arrays["weights"].sum(axis=1) - 1).max() < 1e-13


def test_places_of_scores_are_their_log_odds_within_reach():
    scores = np.array([0.0, 1e-9, 1e-6, 0.2, 0.5, 0.999, 1 - 1e-9, 1.0])
    out = np.empty(len(scores))
    clipped_log_odds_into(scores, True, out)
    inside = np.clip(scores, 1e-6, 1 - 1e-6)
    np.testing.assert_allclose(out, np.log(inside / (1 - inside)), rtol=1e-10)
    assert [clipped_log_odds(s, True) for s in scores] == out.tolist()
    assert [clipped_log_odds(z, False) for z in (-1e9, 2.5, np.inf)] == [out[0], 2.5, out[-1]]
