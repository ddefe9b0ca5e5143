"""Draw the e-value of CalibrationMonitor on three real streams of forecasts.

Usage: python docs/pictures/monitor.py FOLDER

FOLDER holds pred-employment-ma.parquet (from the package nannyml; columns year, score, y),
pred-538-nba.parquet and pred-538-mlb.parquet (FiveThirtyEight's forecasts of games, from its
repository checking-our-work-data; columns date, score, y). Draws docs/images/monitor.png and prints
the results of the monitor.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow.parquet as pq

mpl.use("Agg")
import matplotlib.pyplot as plt

from trueodds import CalibrationMonitor

PICTURE = Path(__file__).parents[1] / "images" / "monitor.png"
STREAMS = [
    ("pred-employment-ma", "year", 0.0, "Employed or not, Massachusetts"),
    ("pred-employment-ma", "year", 0.005, "The same, tolerance 0.005"),
    ("pred-538-nba", "date", 0.0, "Basketball games (NBA)"),
    ("pred-538-mlb", "date", 0.0, "Baseball games (MLB)"),
]
LOOKS = 300


def main() -> None:
    folder = Path(sys.argv[1])
    figure, axes = plt.subplots(2, 2, figsize=(8, 5), layout="constrained")
    for ax, (name, column, tolerance, title) in zip(axes.flat, STREAMS, strict=True):
        table = pq.read_table(folder / f"{name}.parquet")
        p = table["score"].to_numpy().astype(float)
        y, times = table["y"].to_numpy(), np.array(table[column].to_pylist())
        monitor = CalibrationMonitor(tolerance=tolerance)
        rows, evidence = [0], [1.0]
        for part in np.array_split(np.arange(len(p)), LOOKS):
            monitor.update(p[part], y[part], time=times[part])
            rows.append(monitor.n_rows)
            evidence.append(monitor.e_value)
        ax.semilogy(rows, evidence, color="#0072B2")
        ax.axhline(1 / monitor.alpha, color="#D55E00", linestyle="--", linewidth=1)
        ax.text(0, 1 / monitor.alpha, " alarm", va="bottom", color="#D55E00", fontsize=8)
        if monitor.alarm:
            ax.axvline(monitor.alarm_row, color="#D55E00", linewidth=1)
            year = str(monitor.alarm_time)[:7]
            ax.text(
                monitor.alarm_row,
                ax.get_ylim()[1],
                f" {year} ",
                va="top",
                fontsize=9,
                linespacing=1.6,
            )
        else:
            ax.set_ylim(0.05, 100)
        years = np.array([str(moment)[:4] for moment in times])
        ends = np.flatnonzero(np.r_[True, years[1:] != years[:-1]])
        far = np.diff(ends, append=10 * len(p)) > 0.085 * len(p)  # names of short years overlap
        ends = ends[far]
        ax.set_xticks(ends, [str(times[row])[:4] for row in ends], fontsize=8)
        ax.set_title(title, fontsize=10)
        ax.grid(color="0.92")
        found = ", ".join(str(place) for place in monitor.regions[:3]) or "nothing"
        print(f"{title}: {monitor}; alarm {monitor.alarm_time}; {found}")
        print(f"  {monitor.recommendation()}")
    figure.supylabel("e-value (evidence of miscalibration)", fontsize=10)
    figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    main()
