"""Change saved maps of all families at random, and see what the library does with them.

    python -m support.mutate_maps --mutations 1000000 --seed 0

A changed map is refused with a ``MapFormatError``, or its probabilities, the ends of its band and what
its Python source returns lie in [0, 1] for all scores. Whatever else happens is shown, and the exit code
is 1. Memory and the longest time that one map took are shown at the end.
"""

# ruff: noqa: E501, T201
# mypy: disable-error-code="arg-type"
from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np

from support.mutate_json import Mutator
from trueodds import maps
from trueodds.exceptions import MapFormatError
from trueodds.maps._json import parse_text

SLOW = 1.0
"""CPU seconds."""
LONGEST_SENTENCE = 1_000
EXPORTED = 10
"""One in so many maps that load is also written as Python and as SQL."""
SAME, HALF = maps.LogOddsMap(a=1.0, b=1.0, c=0.0), maps.LogOddsMap(a=0.5, b=0.7, c=0.1)
PLACES = [
    0.0, 5e-324, 2e-313, 2.3e-308, 1e-300, 1e-17, 0.1, 0.3, math.nextafter(0.3, 1), 0.5, 0.9, 1 - 2**-53, 1.0,
]  # fmt: skip
SIZES = [0.0, 5e-324, 1e-300, 1e-17, 0.3, 1.0, 37.0, 745.0, 1e16, 1e154, 1e300, 1e308, 1.7e308]


def examples() -> list[maps.CalibrationMap]:
    """Maps of every family, on every scale."""
    found: list[maps.CalibrationMap] = []
    for scale in ("probability", "logit", "raw"):
        one: Any = {"scale": scale}
        x = [-np.inf, -2.0, 0.3, 2.0] if scale == "logit" else [0.1, 0.3, 0.7]
        found += [
            maps.IdentityMap(**one),
            maps.LogOddsMap(a=0.4, b=0.6, c=0.1, upper=36.0, classes=("no", "yes"), **one),
            maps.LogOddsMap(a=0.4, b=0.4, c=-0.1, axis="raw", **one),
            maps.CharcoalGrillMap(
                means=[-3.0, 1.0, 3.0], temperatures=[1.0, 2.0, 5.0], widths=[1.0, 1.5, 1.0], **one
            ),
            maps.QuadraticMap(a=0.1, b=0.6, c=0.1, lower=-5.0, upper=36.0, **one),
            maps.StepMap(edges=[0.1, 0.3, 0.5], values=[0.0, 0.25, 0.5, 1.0], **one),
            maps.PiecewiseLinearMap(x=x, y=np.linspace(0, 1, len(x)), **one),
            maps.LogOddsCurveMap(x=[-2.0, 0.1, 3.0], y=[-1.0, 0.2, 9.0], **one),
            maps.SoftmaxMap(weights=[1.0, 2.0, 0.3], bias=[0.0, 0.1, -1.0], floor=-3.5, **one),
            maps.SoftmaxMap(weights=np.eye(3) + 0.1, bias=[0.0, 0.1, 0.2], classes=(0, 1, 2), **one),
            maps.CharcoalSoftmaxMap(
                means=[[0.0, -3.0, -3.0], [-1.0, -1.0, -1.0]], temperatures=[2.0, 1.0],
                widths=[1.0, 1.0], bias=[0.0, 0.0, 0.1], **one,
            ),
            maps.StructuredSoftmaxMap(
                tau=0.5, floor=1e-9, mixing=0.01, prior=[0.6, 0.4], bias=[0.1, 0.0], on_logs=np.eye(2),
                on_probabilities=np.ones((2, 2)), shared=[0.1, 0.2, 0.3, 0.2], **one,
            ),
            maps.StructuredSoftmaxMap(
                tau=0.5, floor=1e-9, mixing=0.01, prior=[0.5, 0.3, 0.2], bias=[0.1, 0.0, 0.2],
                on_logs=[0.1, 0.2, 0.3], on_probabilities=[], shared=[0.1, 0.0, 0.0, 0.2], unit=2.0, **one,
            ),
        ]  # fmt: skip
        half = maps.LogOddsMap(a=0.5, b=0.7, c=0.1, **one)
        curve = maps.LogOddsCurveMap(x=[-1.0, 1.0], y=[-2.0, 2.0], **one)
        found += [
            maps.OneVsRestMap(maps=(half, maps.IdentityMap(**one), curve), **one),
            maps.AverageMap(maps=(half, maps.IdentityMap(**one), curve), weights=[0.25, 0.25, 0.5], **one),
            half.with_band(curve, half, level=0.9),
            maps.TreeMap(
                maps=(half, half, curve, half), parent=[-1, 0, 0, 0], attribute=[1, -1, -1, -1],
                cut=[0.0, 0.0, 0.0, 0.0], weight=[90.0, 50.0, 20.0, 20.0], names=("age", "town"),
                categories=(None, ("A", "B", "C")), fill=[35.0, 1.0], **one,
            ),
        ]  # fmt: skip
        age = maps.GroupTerm(
            0, (0,), ([30.0, 50.0],), [0.1, 0.2, 0.3, 0], [0.1, 0, 0, 0], np.full((3, 4), 0.2)
        )
        both = maps.GroupTerm(
            0, (1, -1), (None, [0.5]), np.arange(8) / 9, [], [np.ones(8)], np.ones((2, 8))
        )
        every = maps.GroupTerm(0, (), (), [0.2], [0.1], [[0.01], [0.0], [0.02]])
        found.append(
            maps.GroupMap(
                base=half, center=[0.1], unit=[1.5], names=("age", "town"), terms=(every, age, both),
                categories=(None, ("A", "B")), **one,
            )
        )  # fmt: skip
    lines = tuple(maps.LogOddsMap(a=a, b=a, c=0.1, scale="raw") for a in (0.5, 1.0, 2.0))
    planes = tuple(
        maps.SoftmaxMap(weights=np.eye(3) * a, bias=[0.0, 0.1, 0.2], scale="raw")
        for a in (0.5, 1.0, 2.0)
    )
    node: dict[str, Any] = {
        "parent": [-1, 0, 0], "attribute": [0, -1, -1], "cut": [0.5, 0.0, 0.0], "weight": [9.0, 5.0, 4.0],
        "names": None, "categories": (None,), "fill": [0.1],
    }  # fmt: skip
    found += [maps.TreeMap(maps=lines, **node), maps.TreeMap(maps=planes, **node)]
    found.append(SAME.with_metadata({"method": "beta", "notes": {"by hand": [1, None, True, "x"]}}))
    return found


def map_mutator(seed: int) -> Mutator:
    """Draws documents that are nearly maps."""
    return Mutator([example.to_dict() for example in examples()], seed)


def asked(scale: str, columns: int) -> np.ndarray[Any, Any]:
    """Scores at all ends of a scale: 1-D, or with as many columns."""
    if scale == "probability":
        places = np.array(PLACES)
    else:
        places = np.array([*SIZES, *(-size for size in SIZES)])
    if columns == 1:
        ends = [np.inf, -np.inf] if scale == "logit" else []
        return np.concatenate([places, ends])
    if scale == "probability":
        rows = np.zeros((len(places), columns))
        rows[:, 0], rows[:, -1] = places, 1 - places
        return np.concatenate([rows, np.full((1, columns), 1 / columns)])
    rng = np.random.default_rng(columns)
    rows = rng.choice(places, (60, columns))
    rows[:10] = places[:10, None]
    if scale == "logit":
        rows[10:20, 0] = -np.inf
    return rows


def check_map(fitted: maps.CalibrationMap, *, exported: bool) -> None:
    """Ask a map that was loaded for all it can say; AssertionError if something is outside [0, 1]."""
    columns = 1 if fitted.takes_one_score else fitted.n_classes or 3
    if columns > 50:
        return
    scores = asked(fitted.scale, columns)
    extra: dict[str, Any] = {}
    if isinstance(fitted, (maps.TreeMap, maps.GroupMap)):
        extra = {"features": features_of(fitted, len(scores))}
    _check(fitted(scores, **extra), "probabilities")
    if fitted.band is not None:
        for end in fitted.interval(scores, **extra):
            _check(end, "the band")
    if exported and not extra:
        fitted.to_sql("p" if columns == 1 else [f"p{k}" for k in range(columns)])
        names: dict[str, Any] = {}
        exec(fitted.to_python(), names)  # noqa: S102
        within = np.where(np.isfinite(scores), np.clip(scores, -1e299, 1e299), scores)
        answers = np.array([names["calibrate"](row) for row in within.tolist()])
        _check(answers, "the Python source")


def features_of(tree: maps.TreeMap | maps.GroupMap, rows: int) -> Any:
    """Attributes of the kinds that a tree or groups ask for, some missing and some never seen."""
    drawn = np.empty((rows, len(tree.categories)), dtype=object)
    for k, known in enumerate(tree.categories):
        values = (
            [0.3, -1e308, None] if known is None else [known[0] if known else "A", "unseen", None]
        )
        drawn[:, k] = [values[row % 3] for row in range(rows)]
    return drawn


def _check(p: Any, what: str) -> None:
    assert ((p >= 0) & (p <= 1)).all(), f"{what} outside [0, 1]: {p[~((p >= 0) & (p <= 1))][:3]}"


def try_text(text: str, *, exported: bool) -> str:
    """What happened to one document: ``refused``, ``answered``, or what must not be."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            fitted = maps.CalibrationMap.from_dict(parse_text(text, "map.json"))
        except MapFormatError as error:
            if len(str(error)) > LONGEST_SENTENCE:
                raise AssertionError(f"a sentence of {len(str(error))} characters") from None
            return "refused"
        check_map(fitted, exported=exported)
    return "answered"


def main() -> int:
    """Run the mutations, and say what happened."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    mutator = map_mutator(arguments.seed)
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    begin = time.perf_counter()
    for number in range(arguments.mutations):
        text = mutator.text()
        start = time.process_time()
        try:
            outcome = try_text(text, exported=number % EXPORTED == 0)
        except Exception as error:
            outcome = f"{type(error).__name__}: {str(error)[:120]}"
            if not outcomes[outcome]:
                print(f"{outcome}\n  {text[:2000]}", flush=True)
        seconds = time.process_time() - start
        slowest = max(slowest, seconds)
        outcomes[outcome if seconds < SLOW else "took more than a second"] += 1
    for outcome, count in outcomes.most_common():
        print(f"{count:9,}  {outcome}")
    import resource  # Windows has none, and imports this module in tests of maps

    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"slowest {slowest:.3f} CPU s, memory {memory:.0f} MB, {time.perf_counter() - begin:.0f} s in all"
    )
    return 0 if outcomes.keys() <= {"refused", "answered"} else 1


if __name__ == "__main__":
    sys.exit(main())
