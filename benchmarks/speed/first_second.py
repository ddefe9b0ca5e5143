"""What the first second costs: CPU seconds of new processes, with limits and a peer.

Of the command line, and of importing a method and fitting it to 1,000 rows.

Usage: python benchmarks/speed/first_second.py [repeats]

CPU time (user and system) of the process and its threads, the median of all repeats. The limits
are those of an idle machine; the program leaves with 1 if one is passed.
"""

import os
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
    "IsotonicCalibrator": 0.6,
    "ENIRCalibrator": 0.6,
    "ABBCalibrator": 0.6,
    "BBQCalibrator": 0.6,
    "BayesianIsotonicCalibrator": 1.0,
    "TreeCalibrator": 1.0,
}
# Installed packages have their modules compiled to bytecode, so an editable one must keep its own.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
SAMPLE = """
import numpy as np
rng = np.random.default_rng(0)
z = rng.normal(0, 1.5, 1000)
y = (rng.random(1000) < 1 / (1 + np.exp(-z))).astype(int)
p = 1 / (1 + np.exp(-2 * z))
"""
PEERS = {
    "NumPy alone": "",
    "scikit-learn's isotonic": "from sklearn.isotonic import IsotonicRegression as Isotonic\n"
    "Isotonic().fit(p, y)",
    "scikit-learn's calibration": "import sklearn.calibration",
}


def write_scores(path: Path) -> None:
    """Scores that are overconfident by a factor of two."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, ROWS)
    y = rng.random(ROWS) < 1 / (1 + np.exp(-z))
    lines = [f"{p!r},{int(k)}" for p, k in zip((1 / (1 + np.exp(-2 * z))).tolist(), y, strict=True)]
    path.write_text("\n".join(["p,y", *lines, ""]))


def first_fit(name: str) -> list[str]:
    """Importing and fitting one of our methods."""
    features = ", features=rng.normal(size=(1000, 5))" if name == "TreeCalibrator" else ""
    return ["-c", f"{SAMPLE}\nfrom trueodds import {name}\n{name}().fit(p, y{features})"]


def cpu_seconds(words: list[str]) -> float:
    """User and system time of one new process of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], capture_output=True, check=True, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores.csv"
        write_scores(scores)
        fit = [
            str(scores),
            "--score",
            "p",
            "--label",
            "y",
            "--output",
            f"{folder}/map.json",
            "--force",
        ]
        program = ["-m", "trueodds"]
        commands = {
            "trueodds --help": [*program, "--help"],
            "trueodds methods": [*program, "methods"],
            "trueodds fit --method beta": [*program, "fit", "--method", "beta", *fit],
        }
        commands |= {name: first_fit(name) for name in LIMITS if name not in commands}
        commands |= {name: ["-c", f"{SAMPLE}\n{code}"] for name, code in PEERS.items()}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(repeats + 1):  # taking turns; the first round fills the caches
            for name, words in commands.items():
                times[name].append(cpu_seconds(words))
    print(f"CPU seconds, median of {repeats} new processes, {ROWS:,} rows")
    passed = False
    for name, values in times.items():
        seconds, limit = float(np.median(values[1:])), LIMITS.get(name)
        line = f"{name:<30}{seconds:>6.2f}"
        if limit is not None:
            passed |= seconds > limit
            line += f"   limit {limit:.1f}" + ("  too slow" if seconds > limit else "")
        print(line)
    return int(passed)


if __name__ == "__main__":
    sys.exit(main())
