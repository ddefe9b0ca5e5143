"""At least one map of every family, with scores that lie where formulas go wrong."""

import json
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from trueodds.export import SqlDialect
from trueodds.maps import (
    AverageMap,
    CalibrationMap,
    CharcoalGrillMap,
    CharcoalSoftmaxMap,
    GroupMap,
    GroupTerm,
    IdentityMap,
    LogOddsCurveMap,
    LogOddsMap,
    OneVsRestMap,
    PiecewiseLinearMap,
    QuadraticMap,
    SoftmaxMap,
    StepMap,
    StructuredSoftmaxMap,
    TreeMap,
)

INF = np.inf
SCALES = ("probability", "logit", "raw")
N_ROWS = 100_000
N_SPECIAL = 700  # rows of one column that hold what is special
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Example:
    """A map, the scores to call it on, and attributes for a tree or groups."""

    name: str
    map: CalibrationMap
    n_scores: int = 1
    features: pd.DataFrame | None = None
    is_first: bool = True  # of its family: these see all rows, others the special ones and some

    @property
    def scores(self) -> np.ndarray:
        scores = (
            one_column(self.map.scale)
            if self.n_scores == 1
            else several_columns(self.map.scale, self.n_scores)
        )
        return np.asarray(scores[self.rows])

    @property
    def rows(self) -> np.ndarray:
        every = np.arange(N_ROWS)
        return every if self.is_first else some_rows()

    @cached_property
    def expected(self) -> np.ndarray:
        if self.map.features:
            return self.map(self.scores, features=self.features)
        return self.map(self.scores)

    @property
    def columns(self) -> list[str]:
        # The same name means the same scores in all examples, so that one query can hold many.
        return [f"{self.map.scale}_{self.n_scores}_{k}" for k in range(self.n_scores)]

    def frame(self) -> pd.DataFrame:
        """The scores and attributes as a frame."""
        table = self.scores.reshape(len(self.scores), -1)
        rows = pd.DataFrame(dict(zip(self.columns, table.T, strict=True)))
        return rows if self.features is None else pd.concat([rows, self.features], axis=1)

    def sql(self, dialect: SqlDialect) -> list[str]:
        """One expression for each output."""
        if self.n_scores == 1:
            return [self.map.to_sql(self.columns[0], dialect=dialect)]
        return self.map.to_sql(self.columns, dialect=dialect)

    def check(self, found: np.ndarray) -> None:
        """What was found is what NumPy gives."""
        expected = self.expected
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def small_examples() -> list["Example"]:
    """Of each family and number of scores, a map whose SQL is short in every dialect.

    What is searched in arrays, or has parts that occur often, is long where they cannot be named.
    """
    long = {"charcoal_grill", "charcoal_softmax", "one_vs_rest", "structured_softmax"}
    long |= {"average", "group", "tree"}
    found: dict[tuple[str, int], Example] = {}
    for example in examples():
        drawn = example.map
        if drawn.family not in long and len(json.dumps(drawn.to_dict())) <= 400:
            found.setdefault((drawn.family, example.n_scores), example)
    assert {family for family, _ in found} == {e.map.family for e in examples()} - long
    return list(found.values())


def some_rows() -> np.ndarray:
    """Every special row, and some of every kind of the others."""
    return np.concatenate([np.arange(N_SPECIAL), np.arange(N_SPECIAL, N_ROWS, 331)])


@cache
def one_column(scale: str) -> np.ndarray:
    """10⁵ scores with 0, 1, both infinities where legal, edges, their neighbors, and ties."""
    rng = np.random.default_rng(1)
    edges = [0.1, 0.3, 0.30000000000000004, 0.5, 0.9]
    special = [0.0, 1.0, 5e-324, 2.3e-308, 1e-300, 1e-17, *edges]
    special += [float(np.nextafter(x, side)) for x in edges for side in (0.0, 1.0)]
    special += [1 - 2**-53, 1 - 2**-40]
    if scale != "probability":
        special += [-x for x in special]
        special += [-2.0, 2.0, 36.7, -36.7, 708.0, -708.0, 709.8, -745.2, 1e5, -1e5, 1e299, -1e299]
    if scale == "logit":
        special += [INF, -INF]
    assert 10 * len(special) <= N_SPECIAL
    size = N_ROWS - 10 * len(special)
    drawn = rng.beta(0.3, 0.4, size) if scale == "probability" else rng.normal(0, 8, size)
    drawn[: size // 4] = np.round(drawn[: size // 4], 2)  # ties
    return np.concatenate([np.tile(special, 10), drawn])


@cache
def several_columns(scale: str, n_classes: int) -> np.ndarray:
    """Rows of class scores, with zeros and certainties."""
    rng = np.random.default_rng(n_classes)
    logits = rng.normal(0, 3, (N_ROWS, n_classes))
    logits[: N_ROWS // 10] *= 100
    logits[N_ROWS // 10 : N_ROWS // 5].round(0, out=logits[N_ROWS // 10 : N_ROWS // 5])
    if scale == "raw":
        return logits
    rows = np.arange(0, N_ROWS, 7)
    logits[rows, rng.integers(0, n_classes, len(rows))] = -INF
    certain = np.arange(0, N_ROWS, 31)
    logits[certain] = -INF
    logits[certain, rng.integers(0, n_classes, len(certain))] = 2.0
    if scale == "logit":
        return logits
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


@cache
def attributes() -> pd.DataFrame:
    """Numbers, texts and numeric categories, with missing and unseen values."""
    rng = np.random.default_rng(7)
    age = rng.normal(40, 15, N_ROWS).round(0)
    age[rng.random(N_ROWS) < 0.1] = np.nan
    age[:5] = [INF, -INF, 40.0, 55.0, np.nan]
    towns = np.array(["Ulm", "O'Fallon", 'the "Bay" \\', "unseen", None, "--; drop table t"])
    codes = np.array([1.0, 2.0, 3.0, 9.0, np.nan])
    return pd.DataFrame(
        {
            "age": age,
            "home town": rng.choice(towns, N_ROWS),
            "code": rng.choice(codes, N_ROWS),
        }
    )


def attributes_of(example: Example) -> pd.DataFrame:
    """The attributes of an example's rows."""
    return attributes().iloc[example.rows].reset_index(drop=True)


def tree_of(maps: tuple[CalibrationMap, ...], scale: str) -> TreeMap:
    """A tree of nine nodes that asks for a number, a text and a numeric category."""
    assert len(maps) == 9
    texts = tuple(sorted(["Ulm", "O'Fallon", 'the "Bay" \\']))
    return TreeMap(
        maps=maps,
        parent=[-1, 0, 1, 1, 1, 0, 5, 5, 5],
        attribute=[0, 1, -1, -1, -1, 2, -1, -1, -1],
        cut=[40.0, 0, 0, 0, 0, 0, 0, 0, 0],
        weight=np.ones(9),
        names=("age", "home town", "code"),
        categories=(None, texts, (1.0, 2.0, 3.0)),
        fill=[45.0, 1.0, 2.0],
        scale=scale,
    )


def structured_map(k: int, scale: str, kind: str = "full", unit: float = 1.0) -> CalibrationMap:
    """A structured softmax with every block, a diagonal one, or nothing but its base."""
    rng = np.random.default_rng(k)
    size = {"full": (k, k), "diagonal": (k,), "base": (k,)}[kind]
    strength = 0.0 if kind == "base" else 0.3
    on_probabilities = strength * rng.normal(size=(k, k)) if kind == "full" else np.zeros(0)
    return StructuredSoftmaxMap(
        tau=0.7, floor=1e-5, mixing=0.01, prior=np.arange(1, k + 1) / (k * (k + 1) / 2),
        bias=strength * rng.normal(size=k), on_logs=strength * rng.normal(size=size),
        on_probabilities=on_probabilities, shared=strength * rng.normal(size=4), unit=unit,
        scale=scale,
    )  # fmt: skip


def _binary(scale: str) -> list[CalibrationMap]:
    edges = [0.1, 0.3, 0.30000000000000004, 0.9]
    many = np.unique(np.random.default_rng(3).random(300))
    slopes = [(0.4, 0.4), (0.4, 0.9), (-1.4, 0.7), (2.0, 0.0), (0.0, 0.5), (0.0, 0.0), (60.0, 60.0)]
    maps: list[CalibrationMap] = [IdentityMap(scale=scale)]
    maps += [LogOddsMap(a=a, b=b, c=0.1, scale=scale) for a, b in slopes]
    maps += [
        LogOddsMap(a=a, b=b, c=0.1, lower=-3.3, upper=30.0, scale=scale) for a, b in slopes[:3]
    ]
    maps += [
        LogOddsMap(a=3.0, b=3.0, c=0.1, axis="raw", scale=scale),
        QuadraticMap(a=0.05, b=0.9, c=0.1, lower=-6.0, upper=30.0, scale=scale),
        QuadraticMap(a=-40.0, b=60.0, c=0.1, lower=-30.0, upper=0.7, scale=scale),
        StepMap(edges=edges, values=[0.0, 0.2, 0.3, 0.3, 1.0], scale=scale),
        StepMap(edges=[], values=[0.4], scale=scale),
        StepMap(edges=many, values=np.linspace(0, 1, len(many) + 1) ** 2, scale=scale),
        PiecewiseLinearMap(x=[0.0, *edges], y=[0.1, 0.2, 0.3, 0.4, 1.0], scale=scale),
        PiecewiseLinearMap(x=[0.5], y=[0.4], scale=scale),
        PiecewiseLinearMap(x=many, y=np.sqrt(many), scale=scale),
        LogOddsCurveMap(x=[-30, -2, 0.1, 0.3, 5], y=[-9, -3, 0.5, 0.2, 40], scale=scale),
        LogOddsCurveMap(x=[0.5], y=[0.4], scale=scale),
        LogOddsCurveMap(x=np.linspace(-700, 30, 300), y=np.linspace(-40, 20, 300), scale=scale),
        CharcoalGrillMap(
            means=[-3.0, 3.0, 0.0], temperatures=[1.0, 5.0, 0.3], widths=[1.0, 1.0, 2.0], bias=0.2,
            scale=scale,
        ),
        CharcoalGrillMap(
            means=[-3.0, 3.0], temperatures=[1.0, 5.0], widths=[0.5, 0.5], lower=-9.0, upper=31.0,
            scale=scale,
        ),
        CharcoalGrillMap(means=[-3.0], temperatures=[1.5], widths=[1.0], bias=0.2, scale=scale),
        structured_map(2, scale),
        AverageMap(
            maps=(IdentityMap(scale=scale), LogOddsMap(a=0.5, b=0.5, c=0.1, scale=scale),
                  structured_map(2, scale, "base")),
            weights=[0.2, 0.3, 0.5], scale=scale,
        ),
    ]  # fmt: skip
    if scale == "logit":
        maps += [
            StepMap(edges=[-INF, -1, 2, INF], values=[0.0, 0.2, 0.3, 0.5, 1.0], scale=scale),
            PiecewiseLinearMap(x=[-INF, -1, 2, INF], y=[0.0, 0.3, 0.5, 1.0], scale=scale),
            PiecewiseLinearMap(x=[-INF, INF], y=[0.1, 0.3], scale=scale),
            PiecewiseLinearMap(x=[-INF], y=[0.3], scale=scale),
            PiecewiseLinearMap(x=[INF], y=[0.3], scale=scale),
        ]
    return maps


def _several(scale: str) -> list[CalibrationMap]:
    full = [[1.2, -0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.9]]
    means = [[0, -3, -3], [-1, -1, -1], [-4, -0.1, -4]]
    maps: list[CalibrationMap] = [IdentityMap(scale=scale)]
    for floor in (-INF, -20.0):
        maps += [
            SoftmaxMap(weights=[0.5, 1.5, 0.0], bias=[0.1, -0.2, 0.3], floor=floor, scale=scale),
            SoftmaxMap(weights=full, bias=[0.1, -0.2, 0.3], floor=floor, scale=scale),
        ]
    maps += [
        CharcoalSoftmaxMap(
            means=means, temperatures=[2.0, 1.0, 0.5], widths=widths, bias=[0.1, 0.0, -0.1],
            floor=floor, scale=scale,
        )
        for widths in ([1.0, 1.0, 1.0], [1.0, 2.0, 0.7])
        for floor in (-700.0, -20.0)
    ]  # fmt: skip
    if scale != "probability":
        maps += [
            CharcoalSoftmaxMap(
                means=means, temperatures=[2.0, 1.0, 0.5], widths=widths, bias=[0.1, 0.0, -0.1],
                axis="raw", scale=scale,
            )
            for widths in ([1.0, 1.0, 1.0], [1.0, 2.0, 0.7])
        ]  # fmt: skip
    maps.append(
        CharcoalSoftmaxMap(
            means=means[:1], temperatures=[2.0], widths=[1.0], bias=[0.1, 0.0, -0.1], scale=scale
        )
    )
    maps.append(
        OneVsRestMap(
            maps=(
                LogOddsMap(a=0.5, b=0.9, c=0.1, scale=scale),
                StepMap(edges=[0.1, 0.4], values=[0.0, 0.3, 0.9], scale=scale),
                PiecewiseLinearMap(x=[0.1, 0.7], y=[0.0, 0.8], scale=scale),
            ),
            scale=scale,
        )
    )
    maps += [structured_map(3, scale, kind) for kind in ("full", "diagonal", "base")]
    if scale != "probability":
        maps.append(structured_map(3, scale, unit=2.0**20))
    pool = (IdentityMap(scale=scale), structured_map(3, scale), maps[1])
    maps.append(AverageMap(maps=pool, weights=[0.2, 0.3, 0.5], scale=scale))
    # A row that every map sends to 0 becomes uniform.
    zero = StepMap(edges=[2.0], values=[0.0, 0.5], scale=scale)
    maps.append(OneVsRestMap(maps=(zero, zero, zero), scale=scale))
    return maps


def _trees(scale: str) -> list[tuple[CalibrationMap, int]]:
    lines = tuple(LogOddsMap(a=a, b=a, c=0.3, scale="raw") for a in np.linspace(0.2, 1.5, 9))
    betas = tuple(LogOddsMap(a=a, b=1.0, c=0.3, scale=scale) for a in np.linspace(0.2, 1.5, 9))
    planes = tuple(
        SoftmaxMap(weights=np.eye(3) * a + 0.1, bias=[0.1, 0.0, 0.2], scale="raw")
        for a in np.linspace(0.2, 1.5, 9)
    )
    pairs = tuple(
        SoftmaxMap(weights=np.eye(2) * a + 0.1, bias=[0.1, 0.0], scale="raw")
        for a in np.linspace(0.2, 1.5, 9)
    )
    found: list[tuple[CalibrationMap, int]] = [
        (tree_of(lines, scale), 1),
        (tree_of(betas, scale), 1),
        (tree_of(pairs, scale), 1),
        (tree_of(planes, scale), 3),
    ]
    return found


def groups_of(base: CalibrationMap, scale: str, n_outputs: int = 1, **changes: Any) -> GroupMap:
    """Effects of a number, a text, a numeric category and the score, alone and together."""
    rng = np.random.default_rng(n_outputs)
    texts = tuple(sorted(["Ulm", "O'Fallon", 'the "Bay" \\', "Zürich"]))
    ages, few, scores = np.array([25.0, 40.0, 55.5]), np.array([39.5]), np.array([-1.05, 0.35])

    def term(
        output: int, features: Any, cuts: Any, n_levels: int, slope: bool = False
    ) -> GroupTerm:
        spread = rng.uniform(0, 0.5, (3 if slope else 1, n_levels))
        if slope:
            spread[1] = 0.9 * np.sqrt(spread[0] * spread[2]) * rng.choice([-1, 1], n_levels)
        sizes = rng.normal(size=(2, n_levels))
        slopes = sizes[1][: n_levels * slope]
        interval = [0.9 * sizes[0], 1.1 * slopes, *(1.5 * spread)] if slope else None
        return GroupTerm(output, features, cuts, sizes[0], slopes, spread, interval)

    terms = [
        term(output, features, cuts, n_levels, slope)
        for output in range(n_outputs)
        for features, cuts, n_levels, slope in (
            ((), (), 1, True),
            ((-1,), (scores,), 3, False),
            ((0,), (ages,), 5, True),
            ((1,), (None,), 6, True),
            ((2,), (None,), 5, False),
            ((1, 0), (None, few), 18, False),
            ((-1, 2), (scores, None), 15, False),
        )
    ]
    fields: dict[str, Any] = {
        "base": base,
        "center": np.linspace(-0.4, 0.3, n_outputs),
        "unit": np.linspace(1.3, 2, n_outputs),
        "names": ("age", "home town", "code"), "categories": (None, texts, (1.0, 2.0, 3.0)),
        "terms": tuple(terms), "scale": scale,
    }  # fmt: skip
    return GroupMap(**{**fields, **changes})


def _groups(scale: str) -> list[tuple[CalibrationMap, int]]:
    curve = LogOddsCurveMap(x=[-30, -2, 0.1, 0.3, 5], y=[-9, -3, 0.5, 0.9, 40], scale=scale)
    planes = SoftmaxMap(weights=[0.5, 1.5, 0.3], bias=[0.1, -0.2, 0.3], floor=-20.0, scale=scale)
    return [
        (groups_of(curve, scale), 1),
        (groups_of(IdentityMap(scale=scale), scale), 1),
        (groups_of(planes, scale, 3), 3),
    ]


def example_of_some_rows(m: CalibrationMap, n_scores: int, name: str) -> Example:
    """A map with the scores that are not only for the first of a family."""
    example = Example(name, m, n_scores, is_first=False)
    return replace(example, features=attributes_of(example)) if m.features else example


@cache
def examples() -> tuple[Example, ...]:
    """Every family on every scale of scores."""
    found: list[tuple[CalibrationMap, int]] = []
    for scale in SCALES:
        found += [(m, 1) for m in _binary(scale)]
        found += [(m, 3) for m in _several(scale)]
        found.append((LogOddsMap(a=0.4, b=0.9, c=0.1, scale=scale), 2))
        found += _trees(scale)
        found += _groups(scale)
    seen: set[str] = set()
    result = []
    for index, (m, n_scores) in enumerate(found):
        example = Example(f"{index}-{m.family}-{m.scale}-{n_scores}", m, n_scores)
        example = replace(example, is_first=m.family not in seen)
        if m.features:
            example = replace(example, features=attributes_of(example))
        seen.add(m.family)
        result.append(example)
    return tuple(result)


def small_tree(**changes: Any) -> TreeMap:
    """Root asks for age; older than 40 asks for the color, which is blue or red."""
    fields: dict[str, Any] = {
        "maps": tuple(LogOddsMap(a=a, b=a, c=0.0) for a in (1.0, 0.5, 2.0, 3.0, 4.0)),
        "parent": [-1, 0, 0, 2, 2],
        "attribute": [0, -1, 1, -1, -1],
        "cut": [40.0, 0.0, 0.0, 0.0, 0.0],
        "weight": [100.0, 60.0, 40.0, 10.0, 30.0],
        "names": ("age", "color"),
        "categories": (None, ("blue", "red")),
        "fill": [35.0, 1.0],
    }
    return TreeMap(**{**fields, **changes})
