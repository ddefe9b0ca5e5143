"""``trueodds diff``: compare two saved maps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from trueodds.basics.shown import one_line
from trueodds.cli import options as o
from trueodds.cli.output import emit_json, in_brief, number, say, show_table

__all__ = ["diff"]

First = Annotated[str, typer.Argument(metavar="A.JSON", help="A saved map.")]
Second = Annotated[str, typer.Argument(metavar="B.JSON", help="The map to compare it with.")]
LONGEST = 60
MOST_ROWS = 60
"""Number of differences shown; --json has all."""
TREE = ("parent", "attribute", "cut", "names", "categories", "fill")
"""Parameters of a tree that determine a row's leaf."""


@dataclass(frozen=True)
class Gap:
    """Predictions of two maps on a grid of scores."""

    score: Any
    curves: list[tuple[str, Any, Any]]
    """Names, and predictions of the first and second map."""

    def to_dict(self) -> dict[str, Any]:
        """Return the largest difference, its score, and the mean difference."""
        import numpy as np

        gaps = np.array([np.abs(b - a) for _, a, b in self.curves])
        curve, place = np.unravel_index(int(gaps.argmax()), gaps.shape)
        name, a, b = self.curves[curve]
        return {
            "largest": float(gaps.max()),
            "mean": float(gaps.mean()),
            "at_score": float(self.score[place]),
            "of": name or None,
            "first": float(a[place]),
            "second": float(b[place]),
            "score_range": [float(self.score[0]), float(self.score[-1])],
        }


def diff(first: First, second: Second, as_json: o.Json = False) -> None:
    """Compare two saved maps: their metadata and their predictions.

    The mean difference is over an even grid of scores, not weighted by data.

    Examples
    --------
    trueodds diff map.json map.json
    """
    a, b = o.load_map(first), o.load_map(second)
    found = [row for row in _differences(a.to_dict(), b.to_dict(), "") if row[0] != "version"]
    reason = _why_not(a, b)
    gap = None if reason else _gap(a, b)
    if as_json:
        listed = [{"what": what, "first": x, "second": y} for what, x, y in found]
        content = {"maps": [first, second], "fingerprints": [a.fingerprint, b.fingerprint]}
        forecasts = {"reason": reason} if gap is None else gap.to_dict()
        emit_json(
            "diff", {**content, "same": a == b, "differences": listed, "forecasts": forecasts}
        )
        return
    same = "the same map" if a == b else "different maps"
    names = f"{o.map_name(first)} and {o.map_name(second)}"
    if found:
        rows = [[one_line(what, 40), _brief(x), _brief(y)] for what, x, y in found[:MOST_ROWS]]
        show_table(f"{names}: {same}", ["", "first", "second"], rows, left=3)
        if len(found) > MOST_ROWS:
            say(f"{len(found) - MOST_ROWS:,} more differences: --json shows all.")
    else:
        say(f"{names}: {same}, with the same metadata.")
    if gap is None:
        say(f"The predictions cannot be compared: {reason}.")
    elif a != b:
        say("\n".join(_in_words(gap)))


def _brief(value: Any) -> str:
    return "–" if value is ABSENT else one_line(in_brief(value), LONGEST)


ABSENT = None
"""Placeholder for a value that only one document has; JSON shows it as null."""


def _differences(a: Any, b: Any, place: str) -> list[tuple[str, Any, Any]]:
    """Yield each difference with its path; lists are compared as a whole."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = [*a, *(key for key in b if key not in a)]
        return [
            row
            for key in keys
            for row in _differences(
                a.get(key, ABSENT), b.get(key, ABSENT), f"{place}.{key}" if place else key
            )
        ]
    are_maps = all(isinstance(v, list) and v and isinstance(v[0], dict) for v in (a, b))
    if are_maps and len(a) == len(b):
        return [
            row
            for k, (x, y) in enumerate(zip(a, b, strict=True))
            for row in _differences(x, y, f"{place}[{k}]")
        ]
    # As text: to Python, true is 1, and so is 1.0.
    return [] if json.dumps(a) == json.dumps(b) else [(place, a, b)]


def _why_not(a: Any, b: Any) -> str:
    """Return the reason why the predictions cannot be compared; empty if they can."""
    from trueodds.cli.draw import score_scale
    from trueodds.maps import GroupMap, TreeMap

    if score_scale([a, b]) is None:
        return f"their scores have different scales, {a.scale} and {b.scale}"
    counts = [m.n_classes for m in (a, b)]
    if None not in counts and counts[0] != counts[1]:
        return f"one has {counts[0]} classes, the other {counts[1]}"
    if any(isinstance(m, GroupMap) for m in (a, b)):
        return "the effects of groups differ by row; compare the output of 'apply'"
    trees = [isinstance(m, TreeMap) for m in (a, b)]
    if any(trees) and not (all(trees) and all(_equal(a, b, name) for name in TREE)):
        return "the trees have different splits"
    return ""


def _equal(a: Any, b: Any, name: str) -> bool:
    x, y = (getattr(tree, name) for tree in (a, b))
    return x.tolist() == y.tolist() if hasattr(x, "tolist") else bool(x == y)


def _gap(a: Any, b: Any) -> Gap:
    from trueodds.cli.draw import curves_of, score_axis, score_scale

    scale = score_scale([a, b]) or ""
    x = score_axis([a, b], scale)
    n_classes = a.n_classes or b.n_classes or 2
    pairs = zip(curves_of(a, x, scale, n_classes), curves_of(b, x, scale, n_classes), strict=True)
    return Gap(x, [(name, y, z) for (name, y), (_, z) in pairs])


def _in_words(gap: Gap) -> list[str]:
    from trueodds.cli.draw import text_plot

    found = gap.to_dict()
    low, high = (f"{end:.4g}" for end in found["score_range"])
    of = f", {one_line(found['of'], 30)}" if found["of"] else ""
    lines = [
        f"For scores from {low} to {high}, the predictions differ by {number(found['mean'])} on "
        f"average and by at most {number(found['largest'])} (score {found['at_score']:.4g}{of}: "
        f"{number(found['first'])} and {number(found['second'])})."
    ]
    name, a, b = max(gap.curves, key=lambda curve: float(abs(curve[2] - curve[1]).max()))
    top = float(abs(b - a).max())
    if top == 0:
        return lines
    title = "second minus first" + (f", {one_line(name, 30)}" if name else "")
    drawn = text_plot(gap.score, [("*", b - a)], low=-top, high=top, behind=0 * a)
    return [*lines, "", title, *drawn, "score"]
