"""The leaderboard as text, as Markdown and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from contest.leaderboard import (
    HARM,
    LOSSES,
    Standing,
    Table,
    by_size,
    differences,
    standings,
    win_rates,
)
from contest.methods import BASE

TITLES = {"binary": "Two classes", "multiclass": "Several classes"}
OURS = "trueodds/"


def text(table: Table, kind: str, ours: str, incomplete: dict[str, int]) -> str:
    """Everything about one kind of experiments."""
    n_sets = len(set(table.sets))
    lines = [
        f"{TITLES[kind]}: {len(table.experiments)} experiments on {n_sets} sets, "
        f"{len(table.methods)} methods",
        "",
        *_standings_text(table),
    ]
    if kind == "binary":
        lines += ["", *_sizes_text(table)]
    if ours in table.methods:
        for loss in LOSSES:
            lines += ["", *_differences_text(table, ours, loss)]
        if kind == "binary":
            lines += ["", *_closest_text(table, ours)]
    else:
        lines += ["", f"{ours} has not been run on all of them: no paired differences."]
    if incomplete:
        total = len(table.experiments)
        missing = ", ".join(f"{name} ({n} of {total})" for name, n in incomplete.items())
        lines += ["", f"Not on the board, as they have not been run on all of them: {missing}."]
    return "\n".join(lines)


def _standings_text(table: Table) -> list[str]:
    lines = [
        f"{'':32}{'win rate':>16}{'mean gain':>20}{'made worse':>16}{'harm':>8}{'CPU s':>9}"
        f"{'failed':>8}",
        f"{'':32}" + f"{'Brier':>8}{'log':>8}{'Brier':>10}{'log':>10}{'Brier':>8}{'log':>8}"
        f"{f'> {HARM:g}':>8}",
    ]
    lines += [
        f"{line.method:32}{line.win_rate['brier']:8.3f}{line.win_rate['log_loss']:8.3f}"
        f"{line.gain['brier']:10.5f}{line.gain['log_loss']:10.5f}"
        f"{line.worse['brier']:8.1%}{line.worse['log_loss']:8.1%}"
        f"{line.harmed:8.1%}{line.seconds:9.4f}{line.failures:8d}"
        for line in standings(table)
    ]
    return lines


def _sizes_text(table: Table) -> list[str]:
    """Win rates by the number of rows."""
    parts = by_size(table)
    rates = {
        n: {loss: win_rates(part.losses[loss]) for loss in LOSSES} for n, part in parts.items()
    }
    lines = [
        "Win rates (Brier, log-loss) by calibration rows:",
        f"{'':32}" + "".join(f"{n:>14,}" for n in parts),
        f"{'experiments':32}" + "".join(f"{len(part.experiments):>14}" for part in parts.values()),
    ]
    for line in standings(table):
        j = table.methods.index(line.method)
        cells = (f"{r['brier'][j]:8.3f}{r['log_loss'][j]:6.3f}" for r in rates.values())
        lines.append(f"{line.method:32}" + "".join(cells))
    return lines


def _differences_text(table: Table, ours: str, loss: str) -> list[str]:
    lines = [f"{loss} above {ours}, mean over sets ± standard error (sets where we are ahead):"]
    lines += [
        f"  {d.rival:30}{d.mean:+10.5f} ± {d.standard_error:.5f}   {d.sets_ahead} of {d.n_sets}"
        for d in differences(table, ours, loss)
    ]
    return lines


def _closest_text(table: Table, ours: str) -> list[str]:
    """The best rival at each size."""
    lines = [f"The lowest other loss by calibration rows, above {ours}:"]
    for n, part in by_size(table).items():
        cells = []
        for loss in LOSSES:
            d = differences(part, ours, loss)[0]
            cells.append(f"{loss} {d.rival} {d.mean:+.5f} ± {d.standard_error:.5f}")
        lines.append(f"  {n:>7,}  " + "; ".join(cells))
    return lines


def markdown(table: Table, ours: str, most: int) -> list[str]:
    """The table for people: our default, the best others, and the base model."""
    board = standings(table)
    kept = [line for i, line in enumerate(board) if i < most or line.method in (ours, BASE)]
    head = ["method", "win rate, Brier", "log-loss", "mean gain, Brier", "log-loss", "worse"]
    head.append(f"worse by > {HARM:g}")
    apart = None
    if ours in table.methods:
        apart = {d.rival: d for d in differences(table, ours, "log_loss")}
        head.append("log-loss above default")
    head.append("CPU seconds")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for line in kept:
        cells = [
            f"**{label(line.method)}**" if line.method == ours else label(line.method),
            *(f"{line.win_rate[loss]:.3f}" for loss in LOSSES),
            *(f"{line.gain[loss]:.4f}" for loss in LOSSES),
            f"{100 * line.worse['log_loss']:.0f}%",
            f"{100 * line.harmed:.1f}%",
        ]
        if apart is not None:
            d = apart.get(line.method)
            cells.append("–" if d is None else f"{d.mean:+.4f} ± {d.standard_error:.4f}")
        cells.append(f"{line.seconds:.2g}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def label(method: str) -> str:
    """Name of a method on the page."""
    if method == BASE:
        return "base model"
    library, _, name = method.partition("/")
    return f"{name} ({library})"


def draw(tables: dict[str, Table], ours: str, path: Path) -> None:
    """Win rates as bars, one panel for each kind."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(6.2 * len(tables), 8.2), squeeze=False)
    for axis, (kind, table) in zip(axes[0], tables.items(), strict=True):
        board = standings(table)[::-1]
        _bars(axis, board, ours)
        n_sets = len(set(table.sets))
        axis.set_title(f"{TITLES[kind]}\n{len(table.experiments)} experiments on {n_sets} sets")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _bars(axis: Any, board: list[Standing], ours: str) -> None:
    places = np.arange(len(board))
    colors = []
    for line in board:
        is_ours = line.method.startswith(OURS) and line.method != BASE
        colors.append("#c2410c" if line.method == ours else "#f0a67a" if is_ours else "#9aa5b1")
    axis.barh(places, [line.win_rate["brier"] for line in board], color=colors)
    axis.plot(
        [line.win_rate["log_loss"] for line in board], places, "o", color="black", markersize=4
    )
    axis.set_yticks(places, [label(line.method) for line in board])
    axis.set_xlabel("win rate: Brier score (bar), log-loss (dot)")
    axis.set_xlim(0, 1)
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)
