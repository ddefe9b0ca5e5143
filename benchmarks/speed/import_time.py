"""How long imports take in a new process: ours against scikit-learn's, taking turns.

Usage: python benchmarks/speed/import_time.py [repeats]
"""

import subprocess
import sys

import numpy as np

STATEMENTS = {
    "import trueodds": "import trueodds",
    "from trueodds import BetaCalibrator": "from trueodds import BetaCalibrator",
    "from trueodds import CalibratedClassifier": "from trueodds import CalibratedClassifier",
    "import sklearn.calibration": "import sklearn.calibration",
}
PROGRAM = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(repeats + 1):
        for name, statement in STATEMENTS.items():
            program = [sys.executable, "-c", PROGRAM.format(statement)]
            result = subprocess.run(program, capture_output=True, text=True, check=True)
            times[name].append(float(result.stdout))
    seconds = {name: float(np.median(values[1:])) for name, values in times.items()}
    peer = seconds["import sklearn.calibration"]
    print(f"median of {repeats}, each in a new process")
    for name, value in seconds.items():
        print(f"{name:<44}{1e3 * value:>7.0f} ms   {value / peer:>5.2f} × sklearn.calibration")


if __name__ == "__main__":
    main()
