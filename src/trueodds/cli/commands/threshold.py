"""``trueodds threshold``: find a decision threshold with a guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from trueodds.basics.wording import percent_text
from trueodds.cli import options as o
from trueodds.cli.errors import UsageError
from trueodds.cli.output import emit_json, number, say, show_table
from trueodds.cli.rows.options import LabeledRowOptions

if TYPE_CHECKING:
    from trueodds.decisions import ThresholdGuarantee

__all__ = ["threshold"]

AtMost = Annotated[
    float,
    o.limit_option(help="Limit of the risk: a rate such as 0.05, or a mean cost per row."),
]
CostFp = Annotated[float, o.result_option("--cost-fp", help="Cost of acting on a negative.")]
CostFn = Annotated[float, o.result_option("--cost-fn", help="Cost of not acting on a positive.")]
Anytime = Annotated[
    bool,
    o.result_option(
        "--anytime",
        help="Make the guarantee hold for all results together, if the file grows and the command "
        "is repeated.",
    ),
]


def threshold(
    data: LabeledRowOptions,
    at_most: AtMost,
    risk: o.OfRisk = "errors",
    confidence: o.Confidence = 0.9,
    cost_fp: CostFp = 1.0,
    cost_fn: CostFn = 1.0,
    anytime: Anytime = False,
    group: o.Group = None,
    as_json: o.Json = False,
) -> None:
    """Find the threshold that acts on the most rows, with a guarantee.

    The guarantee is, for example, that at most 5% of the future rows acted on are wrong. It holds
    for any number of rows, if future rows are drawn like these. Use rows that neither the model
    nor the calibrator was trained on.

    Examples
    --------
    trueodds threshold scores.csv --score p --label y --at-most 0.2
    trueodds threshold scores.csv --score p --label y --at-most 0.1 --risk misses --json
    trueodds threshold scores.csv --score p --label y --at-most 0.3 --group region
    trueodds threshold scores.csv --score p --label y --at-most 0.3 --anytime
    """
    from trueodds.decisions import guaranteed_threshold, guaranteed_thresholds

    o.check_limit(at_most, risk)
    if data.input_scale != "probability":
        raise UsageError(
            "a threshold needs probabilities; calibrate the scores first (trueodds fit, apply)."
        )
    if data.weight is not None:
        raise UsageError(
            "--weight allows no exact guarantee; if the weights are numbers of rows, pass --counts."
        )
    if group and len(group) > 1:
        raise UsageError("pass --group only once; each row must belong to one group.")
    prepared, rows = data.read(groups=tuple(group or ()))
    if anytime and rows.is_sample:
        raise UsageError("--anytime needs all rows: pass a greater --max-rows or --memory.")
    options: dict[str, Any] = {
        "at_most": at_most,
        "risk": risk,
        "confidence": confidence,
        "cost_fp": cost_fp,
        "cost_fn": cost_fn,
        "anytime": anytime,
        "counts": None if rows.weight is None else rows.weight.row_counts,
        "classes": range(rows.n_classes),
    }
    content = {"file": data.file, **prepared.describe(), "rows_used": len(rows)}
    if group:
        from trueodds.inputs import band_ends, group_names

        found = guaranteed_thresholds(
            rows.codes, rows.scores, groups=rows.groups[group[0]], **options
        )
        if as_json:
            content["column"] = group[0]
            content["groups"] = [
                {"value": name, "band": band_ends(key), **one.to_dict()}
                for (key, one), name in zip(found.items(), group_names([*found]), strict=True)
            ]
            emit_json("thresholds", content)
            return
        _show_groups(group[0], found, confidence)
        return
    one = guaranteed_threshold(rows.codes, rows.scores, **options)
    if as_json:
        emit_json("threshold", {**content, "guarantee": one.to_dict(), "finding": str(one)})
        return
    say(prepared.classes_line())
    say(str(one))
    for line in rows.notes(prepared.classes):
        say(line)


def _show_groups(column: str, found: dict[Any, ThresholdGuarantee], confidence: float) -> None:
    from trueodds.inputs import group_names

    table = [
        [
            f"{column} = {name}",
            f"{one.n_rows:,}",
            f"{one.threshold:g}" if one.is_reachable else "not reachable",
            percent_text(one.share_acted),
            "–" if one.share_wrong is None else percent_text(one.share_wrong),
            number(one.estimate),
            "" if one.rows_needed is None else f"{one.rows_needed:,}",
            _lowest(one),
        ]
        for name, one in zip(group_names([*found]), found.values(), strict=True)
    ]
    header = ["group", "rows", "threshold", "acted on", "of these wrong", "risk here"]
    header += ["rows needed", "lowest limit"]
    title = f"{len(found)} groups; all guarantees hold together with {percent_text(confidence)}"
    show_table(f"{title} confidence", header, table)
    missed = [one for one in found.values() if not one.is_reachable]
    if any(one.lowest_limit is not None for one in missed):
        say("A limit that is chosen now has no guarantee on these rows; confirm it on others.")
    if missed and missed[0].pooled_threshold is not None:
        say(
            "All groups together support the limit: act on a probability of at least "
            f"{missed[0].pooled_threshold:g}. That guarantee is for the mixture of groups, not "
            "for each."
        )


def _lowest(one: ThresholdGuarantee) -> str:
    """Format the lowest limit, its threshold and the share of the rows that reach it."""
    if one.lowest_limit is None or one.lowest_threshold is None:
        return ""
    share = percent_text(one.lowest_acted / one.n_rows)
    return f"{number(one.lowest_limit)} (from {one.lowest_threshold:g}: {share})"
