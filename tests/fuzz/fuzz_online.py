"""States of online calibrators from strangers: refused by an error of ours, or they work.

python -m fuzz.fuzz_online --states 100000 --seed 0    # in tests/: changed states, without atheris
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import warnings
from typing import Any

import numpy as np

from support.mutate_json import JsonChanges, Mutator
from trueodds import LogisticCalibrator, OnlineCalibrator
from trueodds.exceptions import StateFormatError
from trueodds.state_file import parse_state

__all__ = ["TOKENS", "change", "check", "learn", "seeds", "some_rows", "try_states"]


def some_rows(seed: int, n: int, n_classes: int = 2) -> tuple[Any, Any]:
    """Scores that are too high, the ends among them, and labels."""
    rng = np.random.default_rng(seed)
    if n_classes > 2:
        scores = rng.dirichlet(np.ones(n_classes), n)
        return scores, np.array([rng.choice(n_classes, p=p) for p in scores])
    scores = rng.uniform(0, 1, n)
    scores[:2] = 0.0, 1.0
    return scores, (rng.random(n) < scores**2).astype(int)


def learn(online: OnlineCalibrator, scores: Any, y: Any, ids: list[Any]) -> None:
    """Some rows at once, some asked and answered later or never."""
    labels = y if online.classes is None else np.array(online.classes)[y]
    half = len(y) // 2
    online.update(scores[:half], labels[:half])
    online.ask(scores[half:], ids=ids)
    online.answer(ids[: half // 2][::-1], labels[half : half + half // 2][::-1])


def _documents() -> list[dict[str, Any]]:
    ids = [*range(15), *"abcdefghijklmno"]
    start = LogisticCalibrator().fit(*some_rows(9, 300))
    kinds: list[tuple[OnlineCalibrator, int]] = [
        (OnlineCalibrator(), 2),
        (OnlineCalibrator(start=start), 2),
        (OnlineCalibrator(), 3),
        (OnlineCalibrator(classes=["no", "yes"], monotone=True, max_pending=40), 2),
    ]
    for online, n_classes in kinds:
        learn(online, *some_rows(4, 60, n_classes), ids)
    raw = OnlineCalibrator(scale="raw").update([-3.0, 8.0, 1.0], [0, 1, 1])
    return [online.to_dict() for online in (*(one for one, _ in kinds), OnlineCalibrator(), raw)]


DOCUMENTS = _documents()
TOKENS = sorted({*DOCUMENTS[0], *DOCUMENTS[0]["streams"][0], *DOCUMENTS[0]["pending"]})
_changes = JsonChanges(DOCUMENTS)


def change(data: bytes, seed: int) -> bytes | None:
    """A change of the document, or of a number in one of its texts in base 85."""
    if seed % 5 == 1:
        try:
            document = json.loads(data)
            _change_text(document, np.random.default_rng(seed))
        except (ValueError, RecursionError, LookupError, TypeError):
            return None
        return json.dumps(document).encode()
    return _changes(data, seed)


def _change_text(document: Any, rng: np.random.Generator) -> None:
    """Another number among those that stand in base 85."""
    places = [(one, "open") for one in document["streams"] if one["open"] is not None]
    if document["pending"] is not None:
        places.append((document["pending"], "rows"))
    if not places:
        return
    part, key = places[rng.integers(len(places))]
    content = bytearray(base64.b85decode(part[key]))
    if key == "open":
        numbers = np.frombuffer(content, "<f8")
        numbers[rng.integers(len(numbers))] = rng.choice(
            [0.0, -1.0, 1.0, np.nan, np.inf, 1e300, -1e17, 1e17, 5e-324, rng.normal() * 1e3]
        )
    elif content:
        content[rng.integers(len(content))] = int(rng.integers(256))
    part[key] = base64.b85encode(bytes(content)).decode()


def seeds() -> list[bytes]:
    """Calibrators of every kind, with rows that wait."""
    return [json.dumps(document, separators=(",", ":")).encode() for document in DOCUMENTS]


def check(data: bytes) -> None:
    """A state is refused with one sentence, or it forecasts, learns and is saved again."""
    _is_fine(data)


def _is_fine(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            online = parse_state(data.decode("utf-8", "replace"), "it", OnlineCalibrator.from_dict)
        except StateFormatError as error:
            assert 0 < len(str(error)) < 1_000  # noqa: PT017
            return False
        _use(online)
        again = OnlineCalibrator.from_dict(json.loads(json.dumps(online.to_dict())))
        assert again.to_dict() == online.to_dict()
    return True


def _use(online: OnlineCalibrator) -> None:
    n_classes = max(2, len(online._streams))
    rows = np.full((2, n_classes), 1 / n_classes) if n_classes > 2 else np.array([0.3, 0.9])
    labels = [None, 0] if online.classes is None else [None, online.classes[0]]
    waiting = [] if online._pending is None else list(online._pending._place)[:3]
    for _ in range(2):
        _check(online.replay(rows, labels))
    _check(online.ask(rows, ids=["one of these", "another"]))
    online.answer([*waiting, "another"], [labels[1]] * (len(waiting) + 1))
    online.answer(["one of these"], [labels[0]])
    _check(online.predict_proba(rows))
    assert not np.isnan(online.bound_).any()
    assert not np.isnan(online.regret_).any()


def _check(p: Any) -> None:
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def try_states(count: int, seed: int) -> int:
    """Check changed states; returns how many of them work."""
    mutator, fine, own = Mutator(DOCUMENTS, seed), 0, seeds()
    for number in range(count):
        text: bytes | None = None
        if number % 5 == 0:
            text = change(own[number // 5 % len(own)], 5 * (seed + number) + 1)
        if text is None:
            text = mutator.text().encode("utf-8", "surrogatepass")
        fine += _is_fine(text)
    return fine


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    works = try_states(options.states, options.seed)
    sys.stdout.write(f"{options.states:,} states: {works:,} work, all others were refused\n")
