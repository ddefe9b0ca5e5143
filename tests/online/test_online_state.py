"""Saved states of the online calibrator: exact, bounded in size, and refused if they are wrong."""

import json

import numpy as np
import pytest

from support.mutate_json import Mutator
from trueodds import LogisticCalibrator, OnlineCalibrator
from trueodds.exceptions import InputError, StateFormatError


def some_rows(seed, n, n_classes=2):
    rng = np.random.default_rng(seed)
    if n_classes > 2:
        scores = rng.dirichlet(np.ones(n_classes), n)
        return scores, np.array([rng.choice(n_classes, p=p) for p in scores])
    scores = rng.uniform(0, 1, n)
    scores[:2] = 0.0, 1.0
    return scores, (rng.random(n) < scores**2).astype(int)


def started():
    scores, y = some_rows(9, 300)
    return OnlineCalibrator(start=LogisticCalibrator().fit(scores, y))


KINDS = {
    "plain": (OnlineCalibrator, 2),
    "start": (started, 2),
    "three classes": (OnlineCalibrator, 3),
    "named": (lambda: OnlineCalibrator(classes=["no", "yes"], monotone=True, max_pending=40), 2),
}


def learn(online, scores, y, ids):
    """Some rows at once, some asked and answered later or never."""
    labels = y if online.classes is None else np.array(online.classes)[y]
    half = len(y) // 2
    online.update(scores[:half], labels[:half])
    online.ask(scores[half:], ids=ids)
    online.answer(ids[: half // 2][::-1], labels[half : half + half // 2][::-1])


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


def documents():
    found = []
    for make, n_classes in KINDS.values():
        online, scores, y = make(), *some_rows(4, 60, n_classes)
        learn(online, scores, y, [*range(15), *"abcdefghijklmno"])
        found.append(online.to_dict())
    raw = OnlineCalibrator(scale="raw").update([-3.0, 8.0, 1.0], [0, 1, 1])
    return [*found, OnlineCalibrator().to_dict(), raw.to_dict()]


def check_mutated(count, seed):
    """Each changed state is refused by an error of ours, or works; returns how many work."""
    mutator, fine = Mutator(documents(), seed), 0
    for _ in range(count):
        try:
            text = mutator.text()
            content = json.loads(text)
        except (ValueError, RecursionError):
            continue
        try:
            online = OnlineCalibrator.from_dict(content)
        except InputError:
            continue
        fine += 1
        n_classes = max(2, len(online._streams)) if online._streams else 2
        scores = np.full((2, n_classes), 1 / n_classes) if online.scale == "probability" else None
        rows = np.array([0.3, 0.9]) if n_classes == 2 else scores
        labels = [None, 0] if online.classes is None else [None, online.classes[0]]
        for _ in range(2):
            p = online.replay(rows, labels)
            assert np.isfinite(p).all()
            assert ((p >= 0) & (p <= 1)).all()
            np.testing.assert_allclose(p.sum(axis=1), 1)
        again = OnlineCalibrator.from_dict(json.loads(json.dumps(online.to_dict())))
        assert again.to_dict() == online.to_dict()
    return fine


def test_mutated_states_are_refused_or_work():
    assert check_mutated(600, seed=0) > 20


@pytest.mark.slow
def test_many_mutated_states_are_refused_or_work():
    assert check_mutated(8000, seed=1) > 300


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
        (lambda d: d["pending"].update(rows="x"), "35 bytes in base 85"),
        (lambda d: d["pending"]["learned"].__setitem__(0, 99), "must count rows"),
    ],
)
def test_what_is_wrong_with_a_state_is_said(change, match):
    online, scores, y = OnlineCalibrator(), *some_rows(5, 40)
    learn(online, scores, y, list(range(20)))
    document = json.loads(json.dumps(online.to_dict()))
    change(document)
    with pytest.raises(StateFormatError, match=match):
        OnlineCalibrator.from_dict(document)
