"""Rows drawn to hurt: ties, percent, rare events, weights, groups of five, scores of 0 and 1."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of two classes, and how a file spells them."""

    name: str
    p: Floats
    y: Floats
    w: Floats | None = None
    group: npt.NDArray[Any] | None = None
    labels: tuple[str, str] = ("0", "1")  # of negatives, of positives

    @property
    def weight(self) -> Floats:
        return np.ones(len(self.p)) if self.w is None else self.w

    @property
    def rows(self) -> tuple[Floats, Floats, Floats]:
        """Labels, probabilities and weights, as oracles take them."""
        return self.y, self.p, self.weight

    @property
    def are_counts(self) -> bool:
        """Whether the weights are whole numbers of rows."""
        return bool(np.all(self.weight == np.round(self.weight)))

    @property
    def squares(self) -> Floats:
        """The weights in the variance of a sum."""
        return self.weight if self.are_counts else self.weight**2

    @property
    def given(self) -> dict[str, Any]:
        """The weights as arguments of Python."""
        return {} if self.w is None else {"counts" if self.are_counts else "sample_weight": self.w}

    @property
    def expanded(self) -> tuple[Floats, Floats, Floats]:
        """A weight of k as k rows."""
        times = self.weight.astype(int)
        y, p = np.repeat(self.y, times), np.repeat(self.p, times)
        return y, p, np.ones(len(y))

    def options(self) -> list[str]:
        """How a command is told of the columns."""
        words = ["--score", "p", "--label", "y"]
        if self.w is not None:
            words += ["--counts" if self.are_counts else "--weight", "w"]
        # Where the order of the labels leaves no doubt, the default is tested.
        return words + ([] if self.labels == ("0", "1") else ["--positive", self.labels[1]])

    def write(self, folder: Path, kind: str = "csv") -> Path:
        path = folder / f"{self.name}.{kind}"
        columns: dict[str, Any] = {
            "p": self.p.tolist(),
            "y": [self.labels[int(value)] for value in self.y],
        }
        if self.w is not None:
            columns["w"] = self.w.tolist()
        if self.group is not None:
            columns["g"] = self.group.tolist()
        if path.exists():
            return path
        if kind == "parquet":
            pyarrow.parquet.write_table(pa.table(columns), path)
        else:
            with path.open("w", newline="") as file:
                lines = csv.writer(file)
                lines.writerow(columns)
                lines.writerows(zip(*columns.values(), strict=True))
        return path


def sigmoid(z: Floats) -> Floats:
    return 1 / (1 + np.exp(-z))


def drawn(rng: np.random.Generator, truth: Floats) -> Floats:
    return (rng.random(len(truth)) < truth).astype(float)


def distinct(n: int = 5000) -> Sample:
    """Log-odds 1.6 times too large; no two scores are equal."""
    rng = np.random.default_rng(5)
    z = rng.normal(-0.4, 1.3, n)
    name = "distinct" if n == 5000 else f"distinct-{n}"
    return Sample(name, sigmoid(1.6 * z), drawn(rng, sigmoid(z)))


def percent(seed: int = 1) -> Sample:
    """Whole percents, 2,000 rows of few positives, slope 0.57."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-3, 1, 2000)
    y = drawn(rng, sigmoid(z))
    p = np.round(sigmoid(-3 + 1.5 * (z + 3) - 0.17), 2).clip(0.01, 0.99)
    return Sample("percent", p, y)


def tiny() -> Sample:
    """Twenty rows on six values, each an edge of ten bins of equal width."""
    rng = np.random.default_rng(11)
    p = rng.choice([0.1, 0.2, 0.3, 0.5, 0.7, 0.9], 20)
    return Sample("tiny", p, drawn(rng, p))


def rare() -> Sample:
    """One positive in 1,000, scores with four decimals."""
    rng = np.random.default_rng(3)
    p = np.round(rng.beta(0.5, 400, 5000), 4).clip(0.0001, 1)
    return Sample("rare", p, drawn(rng, p))


def saturated() -> Sample:
    """Scores of exactly 0 and 1, all of them right, among others that are not."""
    rng = np.random.default_rng(4)
    p = np.round(sigmoid(rng.normal(0, 2.5, 600)), 2)
    y = drawn(rng, np.clip(0.25 + 0.5 * p, 0, 1))
    y[p == 0], y[p == 1] = 0, 1
    return Sample("saturated", p, y)


def surprised() -> Sample:
    """One row had a probability of 0 and happened: the log-loss is infinite."""
    base = saturated()
    y = base.y.copy()
    y[np.flatnonzero(base.p == 0)[0]] = 1
    return Sample("surprised", base.p, y)


def constant() -> Sample:
    """The same score for 60 rows."""
    rng = np.random.default_rng(6)
    return Sample("constant", np.full(60, 0.3), drawn(rng, np.full(60, 0.5)))


def counts() -> Sample:
    """A table of counts: weights 0 to 5, with repeated scores."""
    rng = np.random.default_rng(7)
    p = np.round(rng.beta(1, 1.5, 400), 2).clip(0.01, 0.99)
    w = rng.integers(0, 6, 400).astype(float)
    return Sample("counts", p, drawn(rng, np.sqrt(p) * 0.9), w)


def fractions() -> Sample:
    """Importance weights between 0.1 and 2.5."""
    rng = np.random.default_rng(8)
    p = rng.beta(1, 1.5, 500)
    return Sample("fractions", p, drawn(rng, 0.8 * p), rng.uniform(0.1, 2.5, 500))


def small_groups() -> Sample:
    """Thirty groups of five rows, most scores sure, and one of 60 rows that is far off."""
    rng = np.random.default_rng(9)
    p = rng.choice([0.8, 0.9, 0.95, 0.99], 210)
    p[100:150] = rng.choice([0.4, 0.5, 0.6], 50)
    y = drawn(rng, p)
    group = np.array([f"g{i // 5:02d}" for i in range(150)] + ["off"] * 60)
    y[150:] = drawn(rng, np.full(60, 0.6))
    return Sample("groups", p, y, group=group)


def spelled(negative: str, positive: str) -> Sample:
    """The same 400 rows with labels in words; scores are of ``positive``."""
    rng = np.random.default_rng(10)
    z = rng.normal(-0.7, 1.5, 400)
    base = Sample("", np.round(sigmoid(1.4 * z), 3).clip(0.001, 0.999), drawn(rng, sigmoid(z)))
    name = f"{negative}-{positive}".replace(" ", "_")
    return replace(base, name=name, labels=(negative, positive))


SPELLINGS = [
    ("nein", "ja"),
    ("ja", "nein"),
    ("good", "bad"),
    ("bad", "good"),
    ("no claim", "claim"),
    ("claim", "no claim"),
    ("1", "0"),
    ("0", "1"),
]


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows of several classes with text names that are not in the order of the columns."""

    q: Floats
    codes: npt.NDArray[np.intp]
    w: Floats
    names: tuple[str, ...]

    @property
    def labels(self) -> list[str]:
        return [self.names[code] for code in self.codes]

    def options(self) -> list[str]:
        words = [word for name in self.names for word in ("--score", f"p_{name}")]
        return [*words, "--label", "y"]

    def write(self, folder: Path) -> Path:
        path = folder / "classes.csv"
        if not path.exists():
            with path.open("w", newline="") as file:
                lines = csv.writer(file)
                lines.writerow([*(f"p_{name}" for name in self.names), "y", "w"])
                for row, label, weight in zip(self.q, self.labels, self.w, strict=True):
                    lines.writerow([*row, label, weight])
        return path


def classes(names: tuple[str, ...] = ("zebra", "ant", "cat")) -> Classes:
    """Overconfident probabilities in eighths: ties, exact zeros, equally probable classes."""
    rng = np.random.default_rng(12)
    eighths = rng.multinomial(8, [0.2, 0.5, 0.3], 600)
    q = eighths / 8
    truth = 0.6 * q + 0.4 / 3
    truth[q == 0] = 0
    truth /= truth.sum(1, keepdims=True)
    codes = np.array([rng.choice(3, p=row) for row in truth])
    return Classes(q, codes, rng.integers(1, 4, 600).astype(float), names)


def all_samples() -> list[Sample]:
    return [
        distinct(),
        percent(),
        tiny(),
        rare(),
        saturated(),
        surprised(),
        constant(),
        counts(),
        fractions(),
    ]
