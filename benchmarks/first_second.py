"""What the first second of the command line costs: CPU seconds of new processes, beside limits.

Usage: python benchmarks/first_second.py [repeats]

CPU time (user and system) of the process and its threads, the median of all repeats. The limits
are those of an idle machine; the program leaves with 1 if one is passed.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROWS = 1000
LIMITS = {
    "trueodds --help": 0.6,
    "trueodds methods": 0.8,
    "trueodds fit --method beta": 1.2,
}


def write_scores(path: Path) -> None:
    """Scores that are twice too sure."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, ROWS)
    y = rng.random(ROWS) < 1 / (1 + np.exp(-z))
    lines = [f"{p!r},{int(k)}" for p, k in zip((1 / (1 + np.exp(-2 * z))).tolist(), y, strict=True)]
    path.write_text("\n".join(["p,y", *lines, ""]))


def cpu_seconds(words: list[str]) -> float:
    """User and system time of one new process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "trueodds", *words], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores.csv"
        write_scores(scores)
        fit = [str(scores), "--score", "p", "--label", "y", "--output", f"{folder}/map.json"]
        commands = {
            "trueodds --help": ["--help"],
            "trueodds methods": ["methods"],
            "trueodds fit --method beta": ["fit", "--method", "beta", *fit],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(repeats + 1):  # taking turns; the first round fills the caches
            for name, words in commands.items():
                times[name].append(cpu_seconds(words))
    print(f"CPU seconds, median of {repeats} new processes, {ROWS:,} rows")
    passed = False
    for name, values in times.items():
        seconds = float(np.median(values[1:]))
        passed |= seconds > LIMITS[name]
        mark = "  too slow" if seconds > LIMITS[name] else ""
        print(f"{name:<30}{seconds:>6.2f}   limit {LIMITS[name]:.1f}{mark}")
    return int(passed)


if __name__ == "__main__":
    sys.exit(main())
