"""The figures as Markdown tables and as a picture."""

from __future__ import annotations

from pathlib import Path

OURS = "trueodds"
DEFAULT = "fit:auto"
"""What every rival's best method is compared with; no rival has it."""
SPACE = "\u00a0"  # which does not break
BEHIND, CHANCE = 1.05, 1.2
"""Ratios up to the first are a draw; up to the second they are on either side of 1 between runs."""
SORTED_FROM = 100_000  # rows from which the sort of the scores is a limit, and not the calls

# Why a rival may be faster, by the beginning of a task and the most rows that this explains.
REASONS = {
    "predict logistic": (
        10**9,
        "theirs is fitted to raw probabilities and takes no logarithm, at the price of its error",
    ),
    "metric": (1000, "checks of labels and probabilities that theirs leaves out"),
    "fit equal": (1000, "checks of scores and labels; theirs reads them unchecked"),
}


def ranked(rows: list[dict]) -> list[dict]:
    """One line for each task and size: ours, the fastest rival, and the others."""
    lines = []
    for task, size in sorted({(r["task"], r["rows"]) for r in rows if r["task"] != DEFAULT}):
        here = [row for row in rows if (row["task"], row["rows"]) == (task, size)]
        timed = [row for row in here if row["seconds"] is not None]
        ours = next((row for row in timed if row["library"] == OURS), None)
        rivals = sorted((r for r in timed if r["library"] != OURS), key=lambda r: r["seconds"])
        failed = [row for row in here if row["seconds"] is None]
        lines.append({"task": task, "rows": size, "ours": ours, "rivals": rivals, "failed": failed})
    return lines


def number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def duration(seconds: float) -> str:
    return f"{1000 * seconds:.3g}{SPACE}ms" if seconds < 1 else f"{seconds:.3g}{SPACE}s"


def pair(ours: str, theirs: str) -> str:
    return f"{ours}{SPACE}/{SPACE}{theirs}"


def megabytes(row: dict) -> str:
    return "–" if row["megabytes"] is None else f"{max(row['megabytes'], 0):.0f}"


def verdict(task: str, rows: int, ratio: float) -> str:
    """Ratio of times, and why it is above 1 if it is."""
    if ratio <= BEHIND:
        return f"{ratio:.2g}"
    reasons = [
        reason
        for start, (most, reason) in REASONS.items()
        if task.startswith(start) and rows <= most
    ]
    unknown = "may be chance" if ratio <= CHANCE else "not explained yet"
    return f"**{ratio:.2g}**: {reasons[0] if reasons else unknown}"


def markdown(result: dict) -> str:
    """All tables."""
    return "\n".join(
        [
            *speed_table(result["timings"], result["sort_seconds"]),
            "",
            "The default, and the most accurate method of every other library:",
            "",
            *default_table(result["timings"], result["held_out"]),
            "",
            "Held-out losses, mean over real data sets (log-loss clipped at 1e-6):",
            "",
            *held_out_table(result["held_out"]),
            "",
            "Importing, and a first fit of 1000 rows; disk space with everything required:",
            "",
            *cold_table(result["cold"]),
            "",
            first_fits(result["first_fits"]),
            *(["", f"Not installed: {', '.join(result['missing'])}."] if result["missing"] else []),
            "",
        ]
    )


def speed_table(timings: list[dict], sort_seconds: dict) -> list[str]:
    lines = [
        "| task | rows | trueodds | fastest rival | ours/theirs | ours/`np.sort` "
        "| MB, ours / theirs | error or value, ours / theirs | others |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    limits = {int(rows): seconds for rows, seconds in sort_seconds.items()}
    for line in ranked(timings):
        ours, rivals = line["ours"], line["rivals"]
        others = [f"{r['library']} {duration(r['seconds'])}" for r in rivals[1:]]
        others += [f"{r['library']}: {r['error'].split(':')[0]}" for r in line["failed"]]
        task = line["task"].replace(":", " ")
        if ours is None:
            cells = ["failed", "", "", "", "", ""]
        else:
            sorting = limits[line["rows"]]
            limit = f"{ours['seconds'] / sorting:.2g}" if line["rows"] >= SORTED_FROM else "–"
            if rivals:
                best = rivals[0]
                cells = [
                    duration(ours["seconds"]),
                    f"{best['library']} {duration(best['seconds'])}",
                    verdict(task, line["rows"], ours["seconds"] / best["seconds"]),
                    limit,
                    pair(megabytes(ours), megabytes(best)),
                    pair(number(ours["value"]), number(best["value"])),
                ]
            else:
                value = number(ours["value"])
                cells = [duration(ours["seconds"]), "none finished", "–", limit]
                cells += [megabytes(ours), value]
        row = [task, f"{line['rows']:,}", *cells, ", ".join(others)]
        lines.append(f"| {' | '.join(row)} |")
    return lines


def default_table(timings: list[dict], held_out: list[dict]) -> list[str]:
    """The default's losses and times, and those of each rival's method with the lowest log-loss."""
    seconds = {(row["task"], row["library"], row["rows"]): row["seconds"] for row in timings}
    sizes = sorted({row["rows"] for row in timings if row["task"] == DEFAULT})
    best: dict[str, dict] = {}
    for row in sorted(held_out, key=lambda row: row.get("log_loss") or float("inf")):
        if row["library"] != OURS or f"fit:{row['method']}" == DEFAULT:
            best.setdefault(row["library"], row)
    lines = [
        "| library, method | log-loss | Brier | "
        + " | ".join(f"fit, {rows:,} rows" for rows in sizes)
        + " |",
        "|---|---|---|" + "---|" * len(sizes),
    ]
    for library, row in best.items():
        times = [seconds.get((f"fit:{row['method']}", library, rows)) for rows in sizes]
        cells = [f"{library}, {row['method']}", number(row.get("log_loss"))]
        cells += [number(row.get("brier")), *("–" if t is None else duration(t) for t in times)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def held_out_table(held_out: list[dict]) -> list[str]:
    lines = ["| method | library | sets | log-loss | Brier |", "|---|---|---|---|---|"]
    return lines + [
        f"| {row['method']} | {row['library']} | {row['sets']} | "
        f"{number(row.get('log_loss'))} | {row.get('error') or number(row['brier'])} |"
        for row in sorted(held_out, key=lambda r: (r["method"], r["library"] != OURS))
    ]


def first_fits(seconds: dict[str, float | None]) -> str:
    figures = [f"{method} {number(value, 2)}" for method, value in seconds.items()]
    return f"First fits of our other methods: {', '.join(figures)}."


def cold_table(cold: list[dict]) -> list[str]:
    lines = [
        "| seconds in a new process | import | fit beta | isotonic | ENIR | MB on disk |",
        "|---|---|---|---|---|---|",
    ]
    for row in cold:
        figures = [number(row[k], 2) for k in ("import_seconds", "beta", "isotonic", "enir")]
        name = f"{row['library']} {row['version']}"
        lines.append(f"| {name} | {' | '.join(figures)} | {row['megabytes']:.0f} |")
    return lines


def draw(rows: list[dict], path: Path) -> None:
    """Times faster than each rival, on a logarithmic axis."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    lines = [line for line in ranked(rows) if line["ours"] and line["rivals"]][::-1]
    if not lines:
        return
    figure, ax = plt.subplots(figsize=(5.4, 0.22 * len(lines) + 1.4), layout="constrained")
    for height, line in enumerate(lines):
        times = [rival["seconds"] / line["ours"]["seconds"] for rival in line["rivals"]]
        ax.plot(times[1:], [height] * (len(times) - 1), "o", color="#9db7cc", markersize=4)
        ax.plot(times[0], height, "o", color="#0b5c94" if times[0] * BEHIND >= 1 else "#c8500a")
    labels = [f"{line['task'].replace(':', ' ')}, {line['rows']:,}" for line in lines]
    ax.set_yticks(range(len(lines)), labels, fontsize=8)
    ax.axvline(1, color="#444", linewidth=0.8)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(-0.7, len(lines) - 0.3)
    colors = "(dark: the fastest of them;\norange: faster than trueodds)"
    ax.set_xlabel(f"times faster than a rival\n{colors}")
    ax.grid(axis="x", color="#ddd", linewidth=0.6)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    figure.savefig(path, dpi=150)
    plt.close(figure)
