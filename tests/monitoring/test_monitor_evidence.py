"""What is bet, and that nobody can win against forecasts that are right."""

import json

import numpy as np
import pytest

from support.naive_monitor import stream
from trueodds import CalibrationMonitor
from trueodds.exceptions import InputError
from trueodds.monitoring._bets import shares


def test_no_bet_gains_on_average_wherever_the_truth_lies_in_the_band():
    for p in (0.004, 0.3, 0.97):
        for truth in np.clip([p - 0.02, p, p + 0.02], 0, 1):
            after = [CalibrationMonitor(tolerance=0.02).update(p, y).e_value for y in (0, 1)]
            assert (1 - truth) * after[0] + truth * after[1] <= 1 + 1e-12


@pytest.mark.parametrize(("classes", "groups"), [(0, 0), (0, 20), (7, 0), (7, 20)])
def test_shares_of_all_places_sum_to_one(classes, groups):
    assert shares(classes, groups).sum() == pytest.approx(1.0, abs=1e-12)


def test_single_rows_and_batches_give_the_same_state_bit_for_bit():
    p, y = stream(700, shift=0.5)
    names = np.array(["a", "b", "c"])[np.arange(700) % 3]
    whole = CalibrationMonitor().update(p, y, time=np.arange(700), group=names)
    single = CalibrationMonitor()
    for row in range(700):
        single.update(p[row], y[row], time=row, group=names[row])
    assert single.to_dict() == whole.to_dict()


def test_an_alarm_inside_a_batch_is_kept_even_if_the_evidence_falls_again():
    p, y = stream(1000, shift=2.0)
    q, x = stream(60_000, seed=1)
    monitor = CalibrationMonitor().update(np.r_[p, q], np.r_[y, x], time=np.arange(61_000))
    assert monitor.alarm
    assert monitor.e_value < 20 <= monitor.peak_e_value
    assert monitor.alarm_row - 1 == monitor.alarm_time < 1000


@pytest.mark.slow
def test_alarms_on_calibrated_streams_stay_below_alpha():
    alarms = sum(
        CalibrationMonitor(alpha=0.2).update(*stream(2000, seed)).alarm for seed in range(400)
    )
    assert alarms / 400 < 0.2


def test_tolerated_errors_raise_no_alarm_and_greater_ones_do():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 60_000)
    y = rng.random(60_000) < p + 0.015
    assert CalibrationMonitor().update(p, y).alarm
    assert not CalibrationMonitor(tolerance=0.02).update(p, y).alarm
    assert CalibrationMonitor(tolerance=0.005).update(p, y).alarm


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"shift": 0.7}, "too low"),
        ({"shift": -0.7}, "too high"),
        ({"slope": 0.5}, "too extreme"),
        ({"slope": 2.0}, "not extreme enough"),
    ],
)
def test_the_kind_of_error_is_named(change, place):
    monitor = CalibrationMonitor().update(*stream(8000, seed=2, **change))
    assert monitor.alarm
    assert place in [str(found) for found in monitor.regions]
    opposite = {"too low": "too high", "too high": "too low"}.get(place)
    if "shift" in change:
        assert opposite not in [str(found) for found in monitor.regions]


def test_the_group_that_is_wrong_is_named_and_no_other():
    p, y = stream(12_000, seed=5)
    names = np.array(["east", "west", "north"])[np.arange(12_000) % 3]
    wrong = names == "west"
    rng = np.random.default_rng(6)
    y[wrong] = rng.random(wrong.sum()) < np.clip(p[wrong] + 0.12, 0, 1)
    monitor = CalibrationMonitor().update(p, y, group=names)
    assert {found.name for found in monitor.regions if found.kind == "group"} == {"west"}


def test_groups_beyond_the_room_count_everywhere_else():
    p, y = stream(300)
    names = np.arange(300).astype(str)
    monitor = CalibrationMonitor(max_groups=5).update(p, y, group=names)
    assert monitor.n_rows == 300
    assert len(monitor.to_dict()["stream"]["groups"]) == 5


def test_several_classes_are_watched_by_top_label_and_class_by_class():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 6000)
    true = p * np.array([1.0, 1.0, 2.0, 1.0])
    true /= true.sum(axis=1, keepdims=True)
    y = (true.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
    right = (p.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
    monitor = CalibrationMonitor(classes=list("abcd")).update(p, np.array(list("abcd"))[y])
    assert ("class", "c", "too low") in {(w.kind, w.name, w.direction) for w in monitor.regions}
    assert not CalibrationMonitor().update(p, right).alarm


def test_a_row_of_weight_two_bets_as_two_rows_that_start_together():
    p, y = stream(200, shift=1.0)
    counted = CalibrationMonitor().update(p, y, counts=np.full(200, 2))
    repeated = CalibrationMonitor().update(np.repeat(p, 2), np.repeat(y, 2))
    assert np.log(counted.e_value) == pytest.approx(np.log(repeated.e_value), rel=0.05)
    assert counted.miscalibration().observed == repeated.miscalibration().observed


def test_rows_without_a_label_are_counted_and_left_out():
    p, y = stream(100)
    labels = [None if k % 5 == 0 else int(v) for k, v in enumerate(y)]
    monitor = CalibrationMonitor().update(p, labels)
    kept = np.arange(100) % 5 > 0
    assert (monitor.n_rows, monitor.n_unlabeled) == (80, 20)
    assert monitor.e_value == CalibrationMonitor().update(p[kept], y[kept]).e_value
    numbers = np.where(kept, y, np.nan)
    assert CalibrationMonitor().update(p, numbers).to_dict() == monitor.to_dict()
    with pytest.raises(InputError, match=r"got 0\.5 at index 1"):
        monitor.update(p[:2], [1.0, 0.5])


def test_forecasts_of_zero_and_one_are_taken_as_they_are():
    monitor = CalibrationMonitor().update([0.0, 1.0, 0.0, 1.0], [0, 1, 0, 1])
    assert monitor.e_value <= 1.0 + 1e-12
    wrong = CalibrationMonitor().update(np.zeros(60), np.ones(60, dtype=int))
    assert wrong.alarm
    assert np.isfinite(wrong.e_value)
    json.dumps(wrong.summary(), allow_nan=False, default=str)


def test_evidence_never_overflows():
    p = np.full(200_000, 0.01)
    monitor = CalibrationMonitor().update(p, np.ones(200_000, dtype=int))
    assert np.isfinite(monitor.e_value)
    json.dumps(monitor.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must be a number strictly between 0 and 1"),
        ({"tolerance": -0.1}, "tolerance must be a number of at least 0"),
        ({"tolerance": 0.5}, "tolerance must be below 0.5; got 0.5"),
        ({"max_groups": 0}, "max_groups must be an integer of at least 1"),
        ({"max_groups": 101}, "max_groups must be at most 100; got 101"),
    ],
)
def test_bad_options_get_one_sentence(options, message):
    with pytest.raises(InputError, match=message):
        CalibrationMonitor(**options)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([1.2], [1]), "scores must lie in"),
        (([0.2], [2]), "y must hold labels of"),
        (([0.2, 0.3], [1]), "differ in length: 2 and 1"),
        (([0.2], [1], [-1.0]), "sample_weight must not be negative"),
    ],
)
def test_bad_rows_get_one_sentence(rows, message):
    with pytest.raises(InputError, match=message):
        CalibrationMonitor().update(*rows)


def test_rows_of_another_kind_are_refused():
    monitor = CalibrationMonitor().update([0.2], [1])
    with pytest.raises(InputError, match="scores have 3 classes; earlier rows had 2"):
        monitor.update([[0.2, 0.3, 0.5]], [1])
    with pytest.raises(InputError, match="group must be given always or never"):
        monitor.update([0.2], [1], group=["a"])
