"""The verdict of the report: the finding and the recommendation."""

from __future__ import annotations

from typing import Any

from trueodds.basics.shown import shortened
from trueodds.basics.wording import interval_percent_text, share_percent_text
from trueodds.metrics import ClassEvaluation, Evaluation
from trueodds.metrics._exact_test import miscalibrated_regions
from trueodds.metrics._finding import ALPHA
from trueodds.metrics._sample import event_of
from trueodds.report._plain import number, phrase_method
from trueodds.report._rows import ReportRows

__all__ = ["diagnose", "verdict"]

WORTH_A_WORD = 0.0005
"""Smaller gains round to 0.0% on the page."""


def diagnose(
    rows: ReportRows, groups: dict[str, Any], found: Evaluation | ClassEvaluation
) -> dict[str, Any]:
    """Test whether the probabilities are miscalibrated, by how much, and where.

    Tests and sentences are those of ``trueodds evaluate``; Holm's method over bins finds the
    regions.
    """
    event = event_of(rows.prob, rows.codes, rows.weight)
    is_off = found.p_value < ALPHA
    regions = miscalibrated_regions(event.table, alpha=ALPHA) if is_off else []
    flagged = groups["significant_before"]
    worst = groups["worst"][0] if flagged else None
    return {
        "p_value": number(found.p_value),
        "miscalibrated": bool(is_off),
        "worst_group": None if worst is None else f"{worst['column']} = {worst['value']}",
        "test": "exact tests of mean, slope and bins (Bonferroni)"
        if rows.binary
        else "Spiegelhalter's test of all classes",
        "mean_predicted": number(event.mean(event.prob)),
        "observed": number(event.mean(event.hit)),
        "regions": [
            {
                "direction": "too high" if region.too_high else "too low",
                "from": number(region.low),
                "to": number(region.high),
                **{k: number(getattr(region, k)) for k in ("share", "predicted", "observed")},
            }
            for region in regions
        ],
        "finding": found.finding(groups=_sides(groups)),
    }


def _sides(groups: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the groups for the finding: worst first, as many as were tested."""
    listed = [{"column": g["column"], "value": g["value"], **g["before"]} for g in groups["worst"]]
    hidden = groups["tested"] - len(listed)
    flagged = groups["significant_before"] - sum(side["flagged"] for side in listed)
    return listed + [{"flagged": i < flagged} for i in range(hidden)]


def verdict(
    diagnosis: dict[str, Any],
    rows: list[dict[str, Any]],
    recommended: str,
    *,
    level: float,
    default: bool = False,
    formula: str | None = None,
    formula_verdict: str | None = "does as well here",
    groups: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the finding and the recommendation as sentences.

    Without a finding, the recommendation is to leave the scores unchanged.

    Parameters
    ----------
    diagnosis : dict
    rows : list of dict
        The methods; the first is the baseline, which leaves the scores unchanged.
    recommended : str
        The method to recommend.
    level : float
    default : bool, default=False
        Whether ``recommended`` is the default calibrator.
    formula : str, default=None
        A parametric method that does as well or better.
    formula_verdict : str
        Which of the two, in words.
    groups : dict, default=None
        The table of groups, with what pooled effects of the groups gain.
    """
    finding = diagnosis["finding"]
    chosen = next(row for row in rows if row["method"] == recommended)
    name = "the default" if default else phrase_method(recommended)
    status, words = _recommend(diagnosis, chosen, name, level, alone=chosen is rows[0])
    method = recommended if status == "calibrate" else rows[0]["method"]
    pooled = _pooled(groups, level)
    if groups is not None and pooled is not None:
        gained = groups["pooled_gain"]
        if status != "calibrate":
            status, words = "groups", f"calibrate; {pooled}, which one map for all rows cannot do"
            method, formula = "group", None
        elif gained["gain_of"] == chosen["gain_of"] and gained["gain"] > chosen["gain"]:
            words = f"calibrate; {pooled}; without groups, {words.removeprefix('calibrate; ')}"
            method, formula, chosen = "group", None, gained
        else:
            words += f"; {pooled}"
    if status == "calibrate" and formula is not None:
        words += f"; {phrase_method(formula)} is a formula that {formula_verdict}"
    return {
        "sentence": f"{finding} Recommendation: {words}.",
        "finding": finding,
        "recommendation": words,
        "status": status,
        "method": method,
        "pooled": pooled,
        "formula": formula if status == "calibrate" else None,
        "gain": chosen["gain"],
        "gain_low": chosen["gain_low"],
        "gain_high": chosen["gain_high"],
        "level": level,
    }


def _recommend(
    diagnosis: dict[str, Any], chosen: dict[str, Any], name: str, level: float, *, alone: bool
) -> tuple[str, str]:
    if not diagnosis["miscalibrated"]:
        if diagnosis["worst_group"] is None:
            return "fine", "leave the scores unchanged"
        return (
            "groups",
            "calibrate with the groups as features (method group); one map for all rows cannot "
            f"correct {diagnosis['worst_group']}",
        )
    if alone or chosen["gain"] is None:
        return "unclear", "leave the scores unchanged; no method could be compared"
    loss = _loss(chosen)
    if chosen["gain"] < WORTH_A_WORD:
        return "unclear", f"leave the scores unchanged; {name} does not reduce {loss}"
    gain = f"{name} reduces {loss} by {_gain(chosen, level)}"
    if chosen["gain_low"] is not None and chosen["gain_low"] <= 0:
        return "unclear", f"leave the scores unchanged; {gain}, which may be chance"
    if chosen["gain_of"] == "brier_score":
        gain += "; log-loss is infinite because an event with predicted probability 0 occurred"
    return "calibrate", f"calibrate; {gain}"


def _pooled(groups: dict[str, Any] | None, level: float) -> str | None:
    """What pooled effects of the groups gain, if they correct groups that one map leaves off."""
    gain = None if groups is None else groups["pooled_gain"]
    if groups is None or gain is None or gain["gain"] is None or gain["gain"] < WORTH_A_WORD:
        return None
    is_chance = gain["gain_low"] is None or gain["gain_low"] <= 0
    if is_chance or groups["significant_pooled"] >= groups["significant_after"]:
        return None
    columns = shortened(groups["columns"], " and ")
    return (
        f"pooled effects of {columns} (method group) reduce {_loss(gain)} by {_gain(gain, level)}"
    )


def _loss(row: dict[str, Any]) -> str:
    return {"log_loss": "log-loss", "brier_score": "the Brier score"}[row["gain_of"]]


def _gain(row: dict[str, Any], level: float) -> str:
    size = share_percent_text(row["gain"])
    if row["gain_low"] is None or row["gain_high"] is None:
        return size
    ends = interval_percent_text(row["gain_low"], row["gain_high"])
    return f"{size} ({100 * level:g}% CI {ends})"
