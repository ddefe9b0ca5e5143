"""Saved maps, as arguments of commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trueodds.cli.files.find import refuse_idle_pipe
from trueodds.exceptions import MapFormatError

__all__ = ["MapFile", "load_map", "losses_text"]

MapFile = Annotated[
    str, typer.Argument(metavar="MAP.JSON", help="A map that 'trueodds fit' saved.")
]


def load_map(file: str) -> Any:
    """Read a map; what is wrong with it is said with the file's name."""
    import trueodds

    refuse_idle_pipe(file)
    try:
        return trueodds.load(file)
    except MapFormatError as error:
        raise MapFormatError(f"{file} holds no map that can be used: {error}") from None


def losses_text(about: dict[str, Any]) -> str:
    """Losses before and after, and on which rows they were measured; may be empty."""
    losses = about.get("losses", {})
    words = [
        f"{title} {' → '.join(_loss(losses[name][k]) for k in PAIR if k in losses[name])}"
        for name, title in (("log_loss", "log-loss"), ("brier_score", "Brier score"))
        if name in losses
    ]
    if not words:
        return ""
    sizes = []
    if "folds" in losses:
        sizes.append(f"{losses['folds']:,} folds")
    if "rows" in losses:
        whole = round(about.get("total_weight", about.get("rows", 0)))  # a weight of k is k rows
        of_all = f" of {whole:,}" if losses["rows"] < whole else ""
        sizes.append(f"{losses['rows']:,}{of_all} rows")
    measured = f" (after: out of fold, {', '.join(sizes)})" if sizes else ""
    return f"{', '.join(words)}{measured}"


PAIR = ("before", "after")


def _loss(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4f}"
