"""Which method to take, and a sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping
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


def choose(tables: Mapping[str, LossTable], scoring: str, rule: str) -> Choice:
    """Apply the rule to methods in order of simplicity.

    Methods with an infinite loss are out. If all are infinite, the Brier score decides.
    """
    table = tables[scoring]
    means = {name: table.mean(name) for name in table.losses}
    if not np.isfinite(list(means.values())).any():
        second = choose(tables, "brier_score", rule)
        return Choice(
            second.method,
            "every method gave probability 0 to something that happened, so the Brier score "
            f"decides: {second.explanation}",
        )
    lowest = min(means, key=means.__getitem__)
    chosen = lowest
    if rule == "one_standard_error":
        for name in means:
            gap, error = table.difference(name, lowest)
            if np.isfinite(means[name]) and gap <= error:
                chosen = name
                break
    return Choice(chosen, _explain(table, WORDS[scoring], chosen, lowest))


def _explain(table: LossTable, word: str, chosen: str, lowest: str) -> str:
    base = next(iter(table.losses))
    count = len(table.losses)
    start = f"{chosen} has an out-of-fold {word} of {table.mean(chosen):.5f}"
    if chosen == lowest:
        middle = f", the lowest of {count} methods"
    else:
        gap, error = table.difference(chosen, lowest)
        middle = (
            f" and is the simplest of {count} methods within one standard error of the lowest "
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
