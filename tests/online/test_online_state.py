"""Saved states of the online calibrator: exact, bounded in size, and refused if they are wrong."""

import base64
import json

import numpy as np
import pytest

from fuzz.fuzz_online import learn, some_rows, try_states
from trueodds import LogisticCalibrator, OnlineCalibrator
from trueodds.exceptions import StateFormatError


def started():
    scores, y = some_rows(9, 300)
    return OnlineCalibrator(start=LogisticCalibrator().fit(scores, y))


KINDS = {
    "plain": (OnlineCalibrator, 2),
    "start": (started, 2),
    "three classes": (OnlineCalibrator, 3),
    "named": (lambda: OnlineCalibrator(classes=["no", "yes"], monotone=True, max_pending=40), 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_calibrator_goes_on_bit_for_bit(kind, tmp_path):
    make, n_classes = KINDS[kind]
    unbroken, scores, y = make(), *some_rows(0, 240, n_classes)
    broken = make()
    for k, part in enumerate(np.array_split(np.arange(240), 12)):
        ids = [f"{k} {i}" if k % 2 else 1000 * k + i for i in range(len(part) - len(part) // 2)]
        learn(unbroken, scores[part], y[part], ids)
        broken = OnlineCalibrator.load(broken.save(tmp_path / "state.json"))
        learn(broken, scores[part], y[part], ids)
    assert broken.to_dict() == unbroken.to_dict()
    assert (broken.predict_proba(scores) == unbroken.predict_proba(scores)).all()
    assert broken.n_pending == unbroken.n_pending > 0


def test_one_row_at_a_time_equals_one_batch():
    scores, y = some_rows(1, 500)
    batch = OnlineCalibrator().update(scores, y)
    single, mixed = OnlineCalibrator(), OnlineCalibrator()
    for s, label in zip(scores.tolist(), y.tolist(), strict=True):
        single.update(s, label)
    for part in (slice(0, 3), slice(3, 4), slice(4, 500)):
        mixed.update(list(scores[part]), y[part].astype(bool))
    assert batch.to_dict() == single.to_dict() == mixed.to_dict()


def test_late_labels_one_at_a_time_equal_one_batch():
    scores, y = some_rows(2, 200)
    batch, single = OnlineCalibrator(), OnlineCalibrator()
    for begin in range(0, 200, 50):
        part = range(begin, begin + 50)
        batch.ask(scores[part.start : part.stop], ids=part)
        for i in part:
            single.ask(float(scores[i]), ids=i)
        order = np.random.default_rng(begin).permutation(50) + begin
        batch.answer(order, y[order])
        for i in part:
            single.answer(i, int(y[i]))
    assert batch.to_dict() == single.to_dict()


def test_the_size_of_a_state_is_bounded():
    scores, y = some_rows(3, 50_000)
    online = OnlineCalibrator().update(scores, y)
    assert len(json.dumps(online.to_dict())) < 20_000
    online.ask(scores[:1000], ids=range(10**7, 10**7 + 1000))
    text = json.dumps(online.to_dict(), separators=(",", ":"))
    assert len(text) < 64_000
    assert OnlineCalibrator.from_dict(json.loads(text)).to_dict() == online.to_dict()


def test_mutated_states_are_refused_or_work():
    assert try_states(300, seed=0) > 20


@pytest.mark.slow
def test_many_mutated_states_are_refused_or_work():
    assert try_states(2500, seed=1) > 200


def change_open(document, place, value):
    numbers = np.frombuffer(base64.b85decode(document["streams"][0]["open"]), "<f8").copy()
    numbers[place] = value
    document["streams"][0]["open"] = base64.b85encode(numbers.tobytes()).decode()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: d.update(format="x"), "not the state of an online calibrator"),
        (lambda d: d.update(version=9), "this trueodds reads up to 1"),
        (lambda d: d.update(more=1), "missing or unknown keys"),
        (lambda d: d["streams"][0]["weights"][0].__setitem__(0, 0.9), "weights must sum to 1"),
        (lambda d: d["streams"][0]["mixtures"].__setitem__(0, 0.9), "mixtures must sum to 1"),
        (lambda d: d["streams"][0]["trackers"].__setitem__(0, 0.9), "stakes must sum to 1"),
        (lambda d: d["streams"][0]["line_precision"][0].__setitem__(1, 1e9), "line_precision"),
        (lambda d: d["streams"][0]["curve_precision"][0][1].__setitem__(3, 1e9), "curve_precision"),
        (lambda d: d["streams"][0]["clock"].__setitem__(0, 1.5), "whole number of rows"),
        (lambda d: d["streams"].append(d["streams"][0]), "one for each class"),
        (lambda d: d["pending"]["ids"].__setitem__(1, 0), "must be different"),
        (lambda d: d["pending"].update(rows="x"), "32 bytes in base 85"),
        (lambda d: d["pending"]["generations"].__setitem__(0, 99), "must be of the streams"),
        (lambda d: d["pending"]["generations"].__setitem__(-1, -1), "that the streams wait for"),
        (lambda d: d["streams"][0].update(open="x"), "numbers in base 85"),
        (lambda d: d["streams"][0].update(open=None), "that the streams wait for"),
        (lambda d: change_open(d, 1, 1e3), "more rows asked than answered"),
        (lambda d: change_open(d, 30, np.nan), "must hold numbers within"),
        (lambda d: d["streams"][0]["track"][1].__setitem__(0, -1.0), "variances of 0 or more"),
        (lambda d: d["streams"][0]["stakes"][0].__setitem__(0, 0.0), "stakes must"),
    ],
)
def test_what_is_wrong_with_a_state_is_said(change, match):
    online, scores, y = OnlineCalibrator(), *some_rows(5, 40)
    learn(online, scores, y, list(range(20)))
    document = json.loads(json.dumps(online.to_dict()))
    change(document)
    with pytest.raises(StateFormatError, match=match):
        OnlineCalibrator.from_dict(document)
