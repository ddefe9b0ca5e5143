"""The figures as a Markdown table and as a picture."""

from __future__ import annotations

from pathlib import Path

OURS = "trueodds"


def ranked(rows: list[dict]) -> list[dict]:
    """One line for each task and size: ours, the fastest rival, and the others."""
    lines = []
    for task, size in sorted({(row["task"], row["rows"]) for row in rows}):
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
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def markdown(result: dict) -> str:
    """All tables."""
    lines = [
        "| task | rows | trueodds | fastest rival | ratio | peak memory, ours / theirs "
        "| error or value, ours / theirs | others |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in ranked(result["timings"]):
        ours, rivals = line["ours"], line["rivals"]
        others = [f"{r['library']} {duration(r['seconds'])}" for r in rivals[1:]]
        others += [f"{r['library']}: {r['error'].split(':')[0]}" for r in line["failed"]]
        if ours is None:
            cells = ["failed", "", "", "", ""]
        elif not rivals:
            cells = [duration(ours["seconds"]), "none finished", "–", "", number(ours["value"])]
        else:
            best = rivals[0]
            cells = [
                duration(ours["seconds"]),
                f"{best['library']} {duration(best['seconds'])}",
                f"{ours['seconds'] / best['seconds']:.3g}",
                f"{ours['megabytes']:.0f} / {best['megabytes']:.0f} MB",
                f"{number(ours['value'])} / {number(best['value'])}",
            ]
        task = line["task"].replace(":", " ")
        row = [task, f"{line['rows']:,}", *cells, ", ".join(others)]
        lines.append(f"| {' | '.join(row)} |")
    lines += ["", "Held-out losses, mean over real data sets (log-loss clipped at 1e-6):", ""]
    lines += ["| method | library | sets | log-loss | Brier |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['method']} | {row['library']} | {row['sets']} | "
        f"{number(row.get('log_loss'))} | {number(row.get('brier'))} |"
        for row in sorted(result["held_out"], key=lambda r: (r["method"], r["library"] != OURS))
    ]
    lines += ["", "In a new process: import, and first fit of 1000 rows, seconds; disk space:", ""]
    lines += ["| library | import | beta | isotonic | ENIR | MB |", "|---|---|---|---|---|---|"]
    for row in result["cold"]:
        figures = [number(row[k], 2) for k in ("import_seconds", "beta", "isotonic", "enir")]
        lines.append(f"| {row['library']} | {' | '.join(figures)} | {row['megabytes']:.0f} |")
    if result["missing"]:
        lines += ["", f"Not installed: {', '.join(sorted(result['missing']))}."]
    return "\n".join(lines) + "\n"


def draw(rows: list[dict], path: Path) -> None:
    """Times faster than each rival, on a logarithmic axis."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    lines = [line for line in ranked(rows) if line["ours"] and line["rivals"]][::-1]
    if not lines:
        return
    figure, ax = plt.subplots(figsize=(8, 0.24 * len(lines) + 1.4), layout="constrained")
    for height, line in enumerate(lines):
        times = [rival["seconds"] / line["ours"]["seconds"] for rival in line["rivals"]]
        ax.plot(times[1:], [height] * (len(times) - 1), "o", color="#9db7cc", markersize=4)
        ax.plot(times[0], height, "o", color="#0b5c94" if times[0] >= 1 else "#c8500a")
    labels = [f"{line['task'].replace(':', ' ')}, {line['rows']:,}" for line in lines]
    ax.set_yticks(range(len(lines)), labels, fontsize=8)
    ax.axvline(1, color="#444", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_ylim(-0.7, len(lines) - 0.3)
    ax.set_xlabel("times faster than a rival (dark: the fastest one; orange: it is faster than us)")
    ax.grid(axis="x", color="#ddd", linewidth=0.6)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    figure.savefig(path, dpi=150)
    plt.close(figure)
