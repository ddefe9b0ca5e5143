"""Which rows were counted, which periods are missing, and what a state can hold."""

import os
from collections import Counter
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from trueodds import CalibrationMonitor, OnlineCalibrator, state_file
from trueodds.exceptions import InputError, StateFormatError
from trueodds.maps import LogOddsMap
from trueodds.watch import StreamWatch, Watch
from trueodds.watch.periods import missing_periods
from trueodds.watch.rows_seen import (
    CHANGED,
    COUNTED,
    NEW,
    FileRecord,
    RowArrays,
    compare_rows,
    holds_most,
    rows_digest,
    rows_keys,
    rows_values,
)
from trueodds.watch.state import Written

ROWS = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.integers(0, 2)), max_size=30)


def values(rows):
    keys = rows_keys(None, np.array([p for p, _ in rows], dtype=float), None, None)
    return rows_values(keys, np.array([y for _, y in rows], dtype=np.intp))


@settings(max_examples=300, deadline=None)
@given(before=ROWS, now=ROWS)
def test_rows_are_compared_as_collections_of_rows(before, now):
    """Against counters of rows, then of scores."""
    status, withdrawn = compare_rows(np.sort(values(before)), values(now))
    same = Counter(before) & Counter(now)
    left, rest = Counter(before) - same, Counter(now) - same
    old, new = (Counter(p for p, _ in rows.elements()) for rows in (left, rest))
    changed = old & new
    assert (status == COUNTED).sum() == same.total()
    assert (status == CHANGED).sum() == changed.total()
    assert (status == NEW).sum() == (new - changed).total()
    assert withdrawn == (old - changed).total()
    taken = Counter(row for row, kind in zip(now, status, strict=True) if kind == COUNTED)
    assert taken == same


@pytest.mark.parametrize(("kept", "expected"), [(100, True), (50, True), (49, False), (0, False)])
def test_a_file_is_known_by_half_of_its_rows_whatever_their_labels(kept, expected):
    before = [(k / 200, 0) for k in range(100)]
    now = [(p, 1) for p, _ in before[:kept]] + [(0.5 + k / 2000, 0) for k in range(900)]
    assert holds_most(np.sort(values(before)), values(now)) is expected


@settings(max_examples=100, deadline=None)
@given(rows=ROWS)
def test_a_record_is_read_as_it_was_written(rows):
    kept = np.sort(values(rows))
    record = FileRecord("0" * 32, 1, 2, len(kept), 2**64 - 1, len(kept), values=kept)
    again = FileRecord.from_dict(record.to_dict(), len(kept))
    np.testing.assert_array_equal(again.values, kept)
    assert again.to_dict() == record.to_dict()
    if len(kept):
        with pytest.raises(StateFormatError, match="cannot be read, or there are too many"):
            FileRecord.from_dict(record.to_dict(), len(kept) - 1)


def test_rows_that_differ_in_any_part_have_other_keys():
    scores, ones = np.array([0.5, 0.5]), np.ones(2)
    day = np.array([1, 1])
    names = np.array(["a", "a"], dtype=object)
    plain = rows_keys(day, scores, ones, names)
    assert plain[0] == plain[1]
    for other in (
        rows_keys(day + 1, scores, ones, names),
        rows_keys(day, scores + 0.1, ones, names),
        rows_keys(day, scores, 2 * ones, names),
        rows_keys(day, scores, ones, np.array(["b", None], dtype=object)),
        rows_keys(None, scores, ones, names),
    ):
        assert not set(other.tolist()) & set(plain.tolist())
    assert rows_keys(None, np.array([-0.0]), None, None) == rows_keys(None, np.zeros(1), None, None)


def test_keys_are_the_same_in_every_version():
    """A state of an earlier version must know its rows; these were computed by hand in Python."""
    mask = 2**64 - 1

    def mixed(x):
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
        return x ^ (x >> 31)

    bits = int(np.array([0.25]).view(np.uint64)[0])
    expected = mixed((mixed((bits + 0x9E3779B97F4A7C15) & mask) + 7 + 0x9E3779B97F4A7C15) & mask)
    found = rows_keys(np.array([7]), np.array([0.25]), None, None)
    assert found.tolist() == [expected]


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, seed=st.integers(0, 5))
def test_rows_of_one_time_have_an_order_of_their_own(rows, seed):
    def ordered(rows):
        n = len(rows)
        moments = np.array([round(10 * score) % 2 for score, _ in rows], dtype=float)
        codes = np.array([code for _, code in rows], dtype=np.intp)
        keys = rows_keys(moments, np.array([score for score, _ in rows]), None, None)
        plain, never = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=bool)
        read = RowArrays(keys, codes, plain, never, never, moments, ~never)
        order = read.in_order(~never)
        assert sorted(order.tolist()) == list(range(n))
        assert moments[order].tolist() == sorted(moments)
        return [rows[i] for i in order]

    again = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    assert ordered(rows) == ordered(again)


def test_equal_rows_are_not_sorted_by_their_labels():
    n = 2000
    moments, codes = np.zeros(n), np.repeat([0, 1], n // 2)
    keys = rows_keys(moments, np.full(n, 0.25), None, None)
    never = np.zeros(n, dtype=bool)
    read = RowArrays(keys, codes, np.zeros(n, dtype=np.int32), never, never, moments, ~never)
    labels = codes[read.in_order(~never)]
    walk = np.cumsum(2 * labels - 1)
    assert np.abs(walk).max() < 2.5 * np.sqrt(n)  # of a random order
    runs = 1 + int((np.diff(labels) != 0).sum())
    assert abs(runs - n / 2) < 4 * np.sqrt(n) / 2


def test_the_sum_of_rows_is_the_same_in_any_order_and_sees_labels():
    keys, codes = rows_keys(None, np.array([0.1, 0.2, 0.3]), None, None), np.array([0, 1, -1])
    digest = rows_digest(keys, codes)
    assert rows_digest(keys[::-1], codes[::-1]) == digest
    assert rows_digest(keys, np.array([1, 0, -1])) != digest


@settings(max_examples=100, deadline=None)
@given(present=st.sets(st.integers(0, 13), min_size=2))
def test_missing_days_are_those_of_the_calendar(present):
    days = [date(2026, 2, 20) + timedelta(days=number) for number in sorted(present)]
    every = [days[0] + timedelta(days=k) for k in range((days[-1] - days[0]).days)]
    expected = [f"{day} 00:00:00" for day in every if day not in days]
    assert missing_periods([f"{day} 00:00:00" for day in days], "day") == expected


@pytest.mark.parametrize(
    ("step", "seen", "expected"),
    [
        ("month", ["2025-11-01", "2026-02-01"], ["2025-12-01", "2026-01-01"]),
        ("quarter", ["2025-10-01", "2026-04-01"], ["2026-01-01"]),
        ("year", ["2023-01-01", "2025-01-01"], ["2024-01-01"]),
        ("week", ["2026-10-05", "2026-10-19"], ["2026-10-12"]),
        ("day", ["2026-10-05"], []),
    ],
)
def test_missing_periods_of_every_length(step, seen, expected):
    found = missing_periods([f"{day} 00:00:00" for day in seen], step)
    assert found == [f"{day} 00:00:00" for day in expected]


@pytest.mark.parametrize("seed", range(4))
def test_a_change_never_begins_after_its_alarm(seed):
    """A second, greater change after the alarm looks like the better start."""
    rng = np.random.default_rng(seed)
    z, at = rng.normal(-0.5, 1.5, 8000), np.arange(8000)
    shift = np.select([at < 2000, at < 5000], [0.0, 0.4], 2.0)
    y = rng.random(8000) < 1 / (1 + np.exp(-z - shift))
    monitor = CalibrationMonitor().update(1 / (1 + np.exp(-z)), y, time=at)
    since = monitor.change_point
    assert since.low <= since.row <= since.high <= monitor.alarm_row < 5000
    assert since.time_low <= since.time <= since.time_high <= monitor.alarm_time


def test_nanoseconds_are_times(tmp_path):
    now = 1763400000000000000
    monitor = CalibrationMonitor().update([0.2, 0.4], [0, 1], time=[now, now + 1])
    monitor.save(tmp_path / "s.json")
    assert CalibrationMonitor.load(tmp_path / "s.json").last_time == now + 1
    huge = CalibrationMonitor().update([0.2], [0], time=[10**30]).save(tmp_path / "s.json")
    assert CalibrationMonitor.load(huge).last_time == str(10**30)


@pytest.mark.parametrize("label", [float("inf"), float("nan"), None, b"x"])
def test_classes_that_no_state_can_hold_are_refused_at_once(label):
    with pytest.raises(InputError, match="classes must be texts or finite numbers"):
        CalibrationMonitor(classes=[0.0, label])


def test_a_state_that_could_not_be_read_again_does_not_replace_the_old_one(tmp_path, monkeypatch):
    path = CalibrationMonitor(classes=["a", "b"]).save(tmp_path / "s.json")
    before = path.read_bytes()
    monkeypatch.setattr(state_file, "LARGEST_FILE", 1000)
    with pytest.raises(InputError, match="was not saved because it could not be read back"):
        CalibrationMonitor(classes=["a", "b" * 1000]).save(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("load", [CalibrationMonitor.load, Watch.load])
def test_devices_and_pipes_are_no_states(tmp_path, load):
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("zero.json", "pipe.json"):
        with pytest.raises(StateFormatError, match="is not a regular file"):
            load(tmp_path / name)


@pytest.mark.parametrize("load", [CalibrationMonitor.load, Watch.load])
def test_a_state_of_millions_of_values_is_not_parsed(tmp_path, load):
    path = tmp_path / "s.json"
    path.write_text("[," * 500_001)
    with pytest.raises(StateFormatError, match="holds more than 1,000,000 values"):
        load(path)


def _states(folder):
    monitor = CalibrationMonitor().update([0.2, 0.7, 0.4], [0, 1, 1], time=["a", "b", "c"])
    online = OnlineCalibrator(start=LogOddsMap(a=0.8, b=0.9, c=-0.2)).update([0.2, 0.7], [0, 1])
    online.ask(0.4, "waits")
    watch = Watch("sha256:0", monitor, "day")
    for name, state in {
        "monitor": monitor,
        "online": online,
        "watch": watch,
        "stream": StreamWatch(
            online, Watch("sha256:0", monitor, None), output=Written("f.csv", 7, "ab", True)
        ),
    }.items():
        state.save(folder / f"{name}.json")
        yield type(state).load, folder / f"{name}.json"


def test_any_changed_bit_of_a_state_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    for load, path in _states(tmp_path):
        whole = path.read_bytes()
        for at in rng.integers(0, 8 * len(whole.rstrip()), 150).tolist():
            changed = bytearray(whole)
            changed[at // 8] ^= 1 << at % 8
            path.write_bytes(bytes(changed))
            with pytest.raises(StateFormatError, match=r"\w"):
                load(path)
        path.write_bytes(whole)
        load(path)


def test_a_damaged_number_is_named_as_damage(tmp_path):
    path = CalibrationMonitor(alpha=0.05).save(tmp_path / "s.json")
    path.write_text(path.read_text().replace('"alpha":0.05', '"alpha":0.06'))
    with pytest.raises(StateFormatError, match=r"s\.json is damaged: its checksum does not match"):
        CalibrationMonitor.load(path)
