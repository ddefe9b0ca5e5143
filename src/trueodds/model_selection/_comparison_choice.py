"""Which method to take, and a sentence that says why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from trueodds.model_selection._comparison_losses import LossTable

__all__ = ["Choice", "choose"]

WORDS = {"log_loss": "log-loss", "brier_score": "Brier score"}


@dataclass(frozen=True)
class Choice:
    """A method and the reason for it."""

    method: str
    explanation: str


def choose(
    tables: Mapping[str, LossTable], scoring: str, rule: str, certain: Collection[str] = ()
) -> Choice:
    """Apply the rule to methods in order of simplicity.

    Parameters
    ----------
    tables : dict of str to LossTable
        By metric; methods in order of simplicity.
    scoring, rule : str
    certain : collection of str
        Methods with forecasts of exactly 0 or 1. With log-loss they are out, even if every such
        forecast was right so far: the next one may cost infinitely much. If no other method is
        left, those with a finite loss are in again; if there is none, the Brier score decides.
    """
    table = tables[scoring]
    finite = [name for name in table.losses if np.isfinite(table.mean(name))]
    if not finite:
        second = choose(tables, "brier_score", rule)
        return Choice(
            second.method,
            "every method gave probability 0 to something that happened, so the Brier score "
            f"decides: {second.explanation}",
        )
    safe = [name for name in finite if name not in certain or scoring != "log_loss"] or finite
    lowest = min(safe, key=table.mean)
    chosen = lowest
    if rule == "one_standard_error":
        chosen = next(name for name in safe if _is_close(table, name, lowest))
    return Choice(chosen, _explain(table, WORDS[scoring], chosen, lowest, len(safe)))


def _is_close(table: LossTable, name: str, lowest: str) -> bool:
    gap, error = table.difference(name, lowest)
    return gap <= error


def _explain(table: LossTable, word: str, chosen: str, lowest: str, count: int) -> str:
    base = next(iter(table.losses))
    start = f"{chosen} has an out-of-fold {word} of {table.mean(chosen):.5f}"
    out = len(table.losses) - count
    among = f"{count} methods" + (f" (not counting {out} with forecasts of 0 or 1)" if out else "")
    if chosen == lowest:
        middle = f", the lowest of {among}"
    else:
        gap, error = table.difference(chosen, lowest)
        middle = (
            f" and is the simplest of {among} within one standard error of the lowest "
            f"({lowest}, {table.mean(lowest):.5f}; difference {gap:.5f} ± {error:.5f})"
        )
    if chosen == base:
        return f"{start}{middle}: the scores are best left as they are."
    gap, error = table.difference(base, chosen)
    if not np.isfinite(gap):
        return f"{start}{middle}; uncalibrated it is infinite."
    return (
        f"{start}{middle}; uncalibrated it is {table.mean(base):.5f} "
        f"(difference {gap:.5f} ± {error:.5f})."
    )
