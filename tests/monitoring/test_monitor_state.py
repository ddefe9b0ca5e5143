"""States: going on where one stopped, and files of strangers."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from support.naive_monitor import stream
from trueodds import CalibrationMonitor
from trueodds.exceptions import InputError, StateFormatError
from trueodds.watch import Watch


@pytest.fixture(scope="module")
def state():
    p, y = stream(2000, shift=0.5)
    names = np.array(["a", "b"])[np.arange(2000) % 2]
    return CalibrationMonitor().update(p, y, time=np.arange(2000), group=names).to_dict()


@pytest.mark.parametrize("several", [False, True])
def test_a_killed_monitor_goes_on_bit_for_bit(several, tmp_path):
    p, y = stream(3000, shift=0.5)
    scores = np.stack([1 - p, 0.6 * p, 0.4 * p], axis=1) if several else p
    through = CalibrationMonitor().update(scores, y)
    CalibrationMonitor().update(scores[:1234], y[:1234]).save(tmp_path / "s.json")
    resumed = CalibrationMonitor.load(tmp_path / "s.json").update(scores[1234:], y[1234:])
    assert resumed.to_dict() == through.to_dict()
    assert (resumed.e_value, resumed.alarm_row) == (through.e_value, through.alarm_row)


def test_state_stays_small(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, 300_000)
    names = rng.integers(0, 20, len(p)).astype(str)
    monitor = CalibrationMonitor().update(p, rng.random(len(p)) < p, group=names)
    assert monitor.save(tmp_path / "s.json").stat().st_size < 100_000


def test_a_monitor_that_saw_nothing_can_be_saved():
    assert CalibrationMonitor.from_dict(CalibrationMonitor().to_dict()).n_rows == 0


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from leaves(item, (*path, k))
    yield path


HOSTILE = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1e308,
        -1e308,
        10**400,
        "x",
        "x" * 10**4,
        [],
        [[]],
        {},
        {"a": 1},
        0.5,
        2**62,
    ]
)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_state_with_any_value_replaced_is_refused_or_works(state, data):
    paths = [path for path in leaves(state) if path]
    path = data.draw(st.sampled_from(paths))
    changed = copy.deepcopy(state)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if data.draw(st.booleans()):
        place[path[-1]] = data.draw(HOSTILE)
    else:
        del place[path[-1]]
    try:
        monitor = CalibrationMonitor.from_dict(changed)
    except StateFormatError as error:
        assert len(str(error)) < 400  # noqa: PT017
        return
    with np.errstate(all="ignore"):
        monitor.update(
            [0.2, 0.9],
            [0, 1],
            group=["a", "z"] if monitor._bets is None or monitor._bets.n_groups else None,
        )
        monitor.summary()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_a_file_of_any_bytes_is_refused_with_one_sentence(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("s") / "s.json"
    path.write_bytes(content)
    with pytest.raises(StateFormatError):
        CalibrationMonitor.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("NaN", "NaN is not valid JSON"),
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
        ('{"format": "trueodds-monitor", "version": 2}', "reads up to 1: upgrade"),
        ('{"format": "trueodds-monitor", "version": true}', "must be a positive integer"),
        ('{"format": "trueodds-monitor", "version": 1}', "missing or unknown keys"),
        ("1" * 5000, "not valid JSON|not the state"),
    ],
)
def test_hostile_files_get_one_clear_sentence(tmp_path, content, message):
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(StateFormatError, match=message):
        CalibrationMonitor.load(path)


def test_a_large_file_is_not_even_read(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps("x" * 33_000_000))
    with pytest.raises(StateFormatError, match="too large"):
        CalibrationMonitor.load(path)


def test_great_weights_are_answered_or_refused():
    p, y = [0.3] * 40, [0, 1] * 20
    monitor = CalibrationMonitor().update(p, y, counts=np.full(40, 1e15))
    summary = json.dumps(monitor.summary(), allow_nan=False)
    assert '"weight": 4e+16' in summary
    assert CalibrationMonitor.from_dict(monitor.to_dict()).summary() == monitor.summary()
    with pytest.raises(InputError, match=r"counts must not exceed 1e\+15.*got 1e\+16 at index 1"):
        CalibrationMonitor().update([0.3, 0.3], [0, 1], counts=[1, 1e16])


def test_a_state_of_more_weight_than_its_rows_can_have_is_refused(state):
    changed = copy.deepcopy(state)
    changed["stream"]["history"]["cells"][0][0][0] = 1e40
    with pytest.raises(StateFormatError, match=r"cells must hold numbers between 0 and 2e\+18"):
        CalibrationMonitor.from_dict(changed)


@pytest.mark.parametrize("classes", [[], ["ill"], ["ill", "ill"], [1, 1.0]])
def test_classes_that_are_no_two_labels_are_refused_before_any_row_was_seen(classes):
    with pytest.raises(InputError, match="two or more distinct labels"):
        CalibrationMonitor(classes=classes)
    state = CalibrationMonitor(classes=["healthy", "ill"]).to_dict()
    with pytest.raises(StateFormatError, match="two or more distinct labels"):
        CalibrationMonitor.from_dict({**state, "classes": classes})


def test_classes_that_cannot_be_labels_are_refused():
    with pytest.raises(InputError, match="two or more distinct labels"):
        CalibrationMonitor(classes=[["healthy"], ["ill"]])


def test_the_monitor_of_a_scheduled_job_is_read_from_its_state(tmp_path):
    monitor = CalibrationMonitor().update(*stream(500, shift=0.5))
    Watch("0" * 64, monitor, None).save(tmp_path / "job.json")
    assert Watch.load(tmp_path / "job.json").monitor.to_dict() == monitor.to_dict()
    with pytest.raises(StateFormatError, match=r"Watch\.load\(path\)\.monitor"):
        CalibrationMonitor.load(tmp_path / "job.json")
    monitor.save(tmp_path / "alone.json")
    with pytest.raises(StateFormatError, match="not the state of a scheduled job"):
        Watch.load(tmp_path / "alone.json")


@pytest.mark.parametrize(
    ("place", "value"), [(1, 15.5), (1, -15.5), (2, -1e-9), (3, -1.0), (4, 7.5)]
)
def test_an_impossible_clock_is_refused(state, place, value):
    broken = copy.deepcopy(state)
    broken["stream"]["clock"][place] = value
    with pytest.raises(StateFormatError, match=r"state\.stream\.clock"):
        CalibrationMonitor.from_dict(broken)
