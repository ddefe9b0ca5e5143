"""Samples at the edges of what floats can hold: what ``torture.py`` and the tests fit."""

# ruff: noqa: E501
from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

__all__ = ["BINARY", "CLASSES", "EVERYWHERE", "LEFT_OUT", "LONG", "Case", "Sample"]

ROWS = 240
SUBNORMAL = 5e-324
LARGEST = 1.7e308
PLACES = np.array(
    [0.0, SUBNORMAL, 2e-316, 2e-313, 1e-310, 3e-308, 1e-300, 1e-17, 0.1, 0.5, 0.9, 1 - 2**-53, 1.0]
)
EVERYWHERE = {
    "probability": np.unique(np.concatenate([PLACES, np.nextafter(PLACES, 0.5)])),
    "raw": np.concatenate([
        [sign * size for sign in (-1, 1) for size in (LARGEST, 1e300, 1e16, 700, 1, 1e-300, 5e-324)],
        [0.0, np.nextafter(1.0, 2), np.nextafter(1e300, 0)],
    ]),
}  # fmt: skip
"""Scores of each scale on which every map is evaluated after a fit."""
EVERYWHERE["logit"] = np.concatenate([EVERYWHERE["raw"], [-np.inf, np.inf]])


@dataclass(frozen=True)
class Sample:
    """What is fitted."""

    scores: Any
    y: Any
    weight: Any = None
    scale: Literal["probability", "logit", "raw"] = "probability"


@dataclass(frozen=True)
class Case:
    """A sample with a name; drawn anew, and the same, each time."""

    name: str
    draw: Callable[[np.random.Generator], Sample]

    def sample(self) -> Sample:
        """The rows."""
        return self.draw(np.random.default_rng(zlib.crc32(self.name.encode())))


def _binary(rng: np.random.Generator, rows: int = ROWS) -> tuple[Any, Any]:
    """Log-odds, and labels that they overstate."""
    z = rng.normal(0, 2, rows)
    y = (rng.random(rows) < 1 / (1 + np.exp(-z / 2))).astype(int)
    y[:2] = 0, 1
    return z, y


def _classes(rng: np.random.Generator, rows: int = ROWS, k: int = 3) -> tuple[Any, Any]:
    z = rng.normal(0, 2, (rows, k))
    y = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    y[:k] = np.arange(k)
    return z, y


def _sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def _softmax(z: Any) -> Any:
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _log_uniform(rng: np.random.Generator, low: float, high: float, shape: Any) -> Any:
    return 10.0 ** rng.uniform(low, high, shape)


Weights = Callable[[np.random.Generator], Any]


def _same(weight: float) -> Weights:
    return lambda rng: np.full(ROWS, weight)


def _but_one(weight: float, other: float) -> Weights:
    return lambda rng: np.concatenate([np.full(ROWS - 1, weight), [other]])


WEIGHTS: dict[str, Weights] = {
    "weights of 1e-300": _same(1e-300),
    "weights of 5e-324": _same(SUBNORMAL),
    "weights 1e-300 to 1e15": lambda rng: _log_uniform(rng, -300, 15, ROWS),
    "weights 1e-323 to 1e-290": lambda rng: _log_uniform(rng, -323, -290, ROWS),
    "weights of 1e-300, one of 1": _but_one(1e-300, 1.0),
    "weights of 1, one of 1e-300": _but_one(1.0, 1e-300),
    "weights of 1, one of 1e15": _but_one(1.0, 1e15),
    "weights of 1e15": _same(1e15),
    "weights 2e4 to 1e5": lambda rng: rng.uniform(2e4, 1e5, ROWS),
    "weights of 1e300": _same(1e300),
    "weights 1e-300 to 1e300": lambda rng: _log_uniform(rng, -300, 300, ROWS),
    "weights whose sum overflows": _same(LARGEST),
}
Margins = Callable[[np.random.Generator, Any], Any]


def _outlier(size: float) -> Margins:
    def change(rng: np.random.Generator, z: Any) -> Any:
        z = z.copy()
        z.flat[len(z) // 2] = size
        return z

    return change


MARGINS: dict[str, Margins] = {
    "1e300·z": lambda rng, z: 1e300 * z,
    "1e100·z": lambda rng, z: 1e100 * z,
    "1e16·z": lambda rng, z: 1e16 * z,
    "1e-16·z": lambda rng, z: 1e-16 * z,
    "1e-300·z": lambda rng, z: 1e-300 * z,
    "1e-320·z": lambda rng, z: 1e-320 * z,
    "±1e308": lambda rng, z: np.where(z > 0, 1e308, -1e308),
    "±1.7e308 and 0": lambda rng, z: np.where(np.abs(z) > 1, LARGEST * np.sign(z), 0.0),
    "log-uniform 1e-300 to 1e300": lambda rng, z: (
        np.sign(z) * _log_uniform(rng, -300, 300, z.shape)
    ),
    "one outlier of 1e308": _outlier(1e308),
    "one outlier of -1e308": _outlier(-1e308),
    "1e9 + z": lambda rng, z: 1e9 + z,
}


def _binary_scores(scores: Callable[[np.random.Generator, Any], Any]) -> Any:
    def draw(rng: np.random.Generator) -> Sample:
        z, y = _binary(rng)
        return Sample(scores(rng, z), y)

    return draw


def _weighted_binary(weights: Weights) -> Any:
    def draw(rng: np.random.Generator) -> Sample:
        z, y = _binary(rng)
        return Sample(_sigmoid(z), y, weights(rng))

    return draw


def _weighted_classes(weights: Weights) -> Any:
    def draw(rng: np.random.Generator) -> Sample:
        z, y = _classes(rng)
        return Sample(_softmax(z), y, weights(rng))

    return draw


def _decision_values(change: Margins, scale: Any, base: Any) -> Any:
    def draw(rng: np.random.Generator) -> Sample:
        z, y = base(rng)
        return Sample(change(rng, z), y, None, scale)

    return draw


def _separable(rng: np.random.Generator) -> Sample:
    z, _ = _binary(rng)
    return Sample(_sigmoid(z), (z > 0).astype(int))


def _separable_classes(rng: np.random.Generator) -> Sample:
    z, _ = _classes(rng)
    return Sample(_softmax(z), z.argmax(axis=1))


def _one_positive(rng: np.random.Generator, rows: int = 2_000) -> Sample:
    y = np.zeros(rows, dtype=int)
    y[rows // 3] = 1
    return Sample(rng.random(rows) ** 3, y)


def _absent_class(rng: np.random.Generator) -> Sample:
    z, y = _classes(rng, k=4)
    return Sample(_softmax(z), np.where(y == 3, 0, y))


def _subnormal_rows(rng: np.random.Generator) -> Sample:
    p = rng.choice(PLACES[1:8], (ROWS, 3))
    y = rng.integers(0, 3, ROWS)
    p[np.arange(ROWS), rng.integers(0, 3, ROWS)] = 1.0
    return Sample(np.where(p == 1, 1.0, p), y)


BINARY = [
    *(Case(name, _weighted_binary(weights)) for name, weights in WEIGHTS.items()),
    Case(
        "probabilities among subnormals", _binary_scores(lambda r, z: r.choice(PLACES[1:6], ROWS))
    ),
    Case("probabilities of all kinds", _binary_scores(lambda r, z: r.choice(PLACES, ROWS))),
    Case(
        "probabilities one ulp apart",
        _binary_scores(lambda r, z: 0.5 + np.argsort(np.argsort(z)) * 2.0**-53),
    ),
    Case(
        "probabilities 1e-320 to 1",
        _binary_scores(lambda r, z: _log_uniform(r, -320, 0, ROWS)),
    ),
    Case("only 0 and 1", _binary_scores(lambda r, z: (z > 0).astype(float))),
    Case("all tied", _binary_scores(lambda r, z: np.full(ROWS, 0.3))),
    Case("all tied at 0", _binary_scores(lambda r, z: np.zeros(ROWS))),
    Case("all tied but the ends", _binary_scores(lambda r, z: np.where(z > 2, 1.0, z < -2.0))),
    Case("separable", _separable),
    Case("one row per class", lambda rng: Sample(np.array([0.3, 0.6]), np.array([0, 1]))),
    Case("1 positive in 2,000", _one_positive),
    *(
        Case(f"{word} {name}", _decision_values(change, scale, _binary))
        for scale, word in (("logit", "log-odds"), ("raw", "decision values"))
        for name, change in MARGINS.items()
    ),
]
CLASSES = [
    *(Case(name, _weighted_classes(weights)) for name, weights in WEIGHTS.items()),
    Case("probabilities among subnormals", _subnormal_rows),
    Case(
        "only 0 and 1",
        lambda rng: Sample(np.eye(3)[rng.integers(0, 3, ROWS)], rng.integers(0, 3, ROWS)),
    ),
    Case(
        "all tied",
        lambda rng: Sample(np.tile([0.2, 0.3, 0.5], (ROWS, 1)), rng.integers(0, 3, ROWS)),
    ),
    Case("separable", _separable_classes),
    Case("one row per class", lambda rng: Sample(_softmax(rng.normal(size=(3, 3))), np.arange(3))),
    *(
        Case(f"{word} {name}", _decision_values(change, scale, _classes))
        for scale, word in (("logit", "logits"), ("raw", "decision values"))
        for name, change in MARGINS.items()
    ),
]


def _thousand_classes(rng: np.random.Generator) -> Sample:
    z, y = _classes(rng, 5_000, 1_000)
    return Sample(_softmax(z), y)


def _many(rng: np.random.Generator) -> Sample:
    z, y = _binary(rng, 10_000_000)
    return Sample(_sigmoid(z), y)


LONG = [
    Case("1 positive in 10⁶", lambda rng: _one_positive(rng, 1_000_000)),
    Case("1,000 classes", _thousand_classes),
    Case("10⁷ rows", _many),
]
"""What takes seconds to minutes: not in the tests."""
LEFT_OUT = {
    (
        "abb",
        "1,000 classes",
    ): "all binnings are averaged in O(n²), here once for each class: more than 120 CPU s",
    (
        "bayesian_isotonic",
        "1,000 classes",
    ): "Markov chains for each class separately: more than 120 CPU s",
    (
        "dirichlet",
        "1,000 classes",
    ): "a million parameters without structure: 100 classes took 0.9 CPU s, 200 took 3.9",
    (
        "tree",
        "1,000 classes",
    ): "every node has a softmax of all classes: 25 classes took 0.7 CPU s, 50 took 4.6",
}
"""Fits that would take more than two minutes by the nature of the method, and why."""
