"""``trueodds show``: print a saved map's family, metadata and curve."""

from __future__ import annotations

from typing import Any

from trueodds.basics.shown import one_line
from trueodds.cli import options as o
from trueodds.cli.output import (
    emit_json,
    formula_text,
    in_brief,
    losses_text,
    ratio_text,
    say,
)

__all__ = ["show"]

SHOWN_POINTS = 51
MARKS = "*abcdef"
MOST_EFFECTS = 12


def show(map_file: o.MapFile, as_json: o.Json = False) -> None:
    """Show a saved map: its family, metadata and curve.

    The metadata is shown as stored; nothing verifies it.

    Examples
    --------
    trueodds show map.json
    trueodds show map.json --json
    """
    from trueodds.cli.draw import curves_of, score_axis
    from trueodds.maps import GroupMap

    fitted = o.load_map(map_file)
    x = score_axis([fitted], fitted.scale)
    curves = curves_of(fitted, x, fitted.scale)
    if as_json:
        emit_json("show", _document(map_file, fitted, x, curves))
        return
    lines = [f"{o.map_name(map_file)}: {_headline(fitted)}", f"fingerprint  {fitted.fingerprint}"]
    parameters = fitted.to_dict()["parameters"]
    lines += _aligned({name: in_brief(value) for name, value in parameters.items()}, "parameters")
    if isinstance(fitted, GroupMap):
        lines += _effects(fitted)
    metadata = fitted.metadata
    if metadata:
        lines += _aligned(
            {k: in_brief(v) for k, v in _readable(metadata).items()},
            "metadata (as stored in the file)",
        )
    say("\n".join([*lines, "", *_drawing(fitted, x, curves)]))


def _effects(fitted: Any) -> list[str]:
    """Return the largest shifts of single features, with 90% intervals."""
    import numpy as np

    from trueodds.calibrators import effects_of

    labels = [None] if fitted.n_classes == 2 else fitted.classes or range(fitted.n_classes)
    weights = [np.ones(term.n_levels) for term in fitted.terms]
    effects = sorted(effects_of(fitted, weights, labels), key=lambda effect: -abs(effect.shift))
    rows = {
        f"{one_line(e.feature, 30)} = {one_line(e.level, 30)}"
        + (f" ({one_line(str(e.label), 20)})" if e.label is not None else ""): (
            f"{e.shift:+.3f}  [{e.low:+.3f}, {e.high:+.3f}]"
        )
        for e in [e for e in effects if e.feature != "score"][:MOST_EFFECTS]
    }
    lines = _aligned(rows, "largest shifts of the log-odds, with 90% intervals") if rows else []
    used = fitted.used_features
    unused = [fitted.space.name(k) for k, f in enumerate(fitted.features) if f not in used]
    if unused:
        why = "constant in fit, or the same groups as another feature"
        lines += ["", f"without effects ({why})"]
        lines += [f"  {one_line(name, 30)}" for name in unused]
    return lines


def _headline(fitted: Any) -> str:
    classes = fitted.classes
    count = fitted.n_classes or (2 if classes is None else len(classes))
    named = "" if classes is None else ": " + ", ".join(one_line(repr(c), 30) for c in classes[:10])
    more = ", …" if classes is not None and len(classes) > 10 else ""
    scale = {"probability": "probabilities", "logit": "log-odds", "raw": "raw scores"}[fitted.scale]
    return f"a {fitted.family} map of {scale}, {count} classes{named}{more}"


def _aligned(rows: dict[str, str], title: str) -> list[str]:
    width = max((len(name) for name in rows), default=0)
    return ["", title, *(f"  {name:<{width}}  {text}" for name, text in rows.items())]


def _readable(metadata: dict[str, Any]) -> dict[str, Any]:
    """Format losses and observed/expected; return everything else unchanged."""
    words = {
        "losses": losses_text(metadata),
        "formula": formula_text(metadata),
        "observed_expected": ratio_text(metadata),
    }
    return metadata | {name: text for name, text in words.items() if text}


def _drawing(fitted: Any, x: Any, curves: list[tuple[str, Any]]) -> list[str]:
    from trueodds.cli.draw import limits, text_plot, unchanged

    behind = unchanged(x, fitted.scale)
    marks = MARKS[:1] if len(curves) == 1 else MARKS[1:]
    pairs = [(mark, y) for mark, (_, y) in zip(marks, curves, strict=False)]
    low, high = limits([y for _, y in pairs] + [y for y in (behind,) if y is not None])
    lines = ["calibrated probability", *text_plot(x, pairs, low=low, high=high, behind=behind)]
    several = (fitted.n_classes or 2) > 2
    lines.append("score" + (" of a class; the others share the rest equally" if several else ""))
    legend = [
        f"{mark} {one_line(name, 30)}"
        for mark, (name, _) in zip(marks, curves, strict=False)
        if name
    ]
    if behind is not None:
        legend.append("· no change")
    total = fitted.n_classes if several else 0
    left_out = f" (the first {len(curves)} of {total} classes)" if total > len(curves) else ""
    return [*lines, ", ".join(legend) + left_out]


def _document(file: str, fitted: Any, x: Any, curves: list[tuple[str, Any]]) -> dict[str, Any]:
    step = (len(x) - 1) // (SHOWN_POINTS - 1)
    document = fitted.to_dict()
    return {
        "map": file,
        "fingerprint": fitted.fingerprint,
        **{name: document[name] for name in ("family", "scale", "classes", "parameters")},
        "metadata": fitted.metadata,
        "curves": [
            {"name": name or None, "score": x[::step], "probability": y[::step]}
            for name, y in curves
        ],
    }
