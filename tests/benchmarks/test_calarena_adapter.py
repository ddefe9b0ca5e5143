"""Our methods answer as CalArena's runner asks them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from calarena_adapter import CUSTOM_CALIBRATORS

from trueodds import BetaCalibrator

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "arena" / "calarena_adapter.py"

# What CalArena's runner does with a calibrator, on a made-up experiment.
RUNNER = """
import sys
import numpy as np
from custom_calibrators import CUSTOM_CALIBRATORS
cal = CUSTOM_CALIBRATORS[sys.argv[sys.argv.index("--calibrator") + 1]]()
p = np.linspace(0.01, 0.99, 200, dtype=np.float32)
cal.fit(p, (np.arange(200) % 10 < 10 * p).astype(np.int32))
print(cal.predict_proba(p).shape, open("here").read())
"""


@pytest.fixture
def binary():
    rng = np.random.default_rng(1)
    p = rng.random(300).astype(np.float32)
    return p, (rng.random(300) < p**2).astype(np.int32)


def test_two_classes_come_as_one_column_or_as_two(binary):
    p, y = binary
    flat = CUSTOM_CALIBRATORS["trueodds-beta"]().fit(p, y).predict_proba(p)
    both = np.stack([1 - p, p], axis=1)
    pair = CUSTOM_CALIBRATORS["trueodds-beta"]().fit(both, y).predict_proba(both)
    assert flat.shape == (300, 2)
    assert np.allclose(flat, BetaCalibrator().fit(p, y).predict_proba(p))
    assert np.allclose(flat, pair)


def test_a_class_may_be_missing_from_the_calibration_set():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), size=200).astype(np.float32)
    y = rng.integers(0, 3, size=200).astype(np.int32)
    calibrated = CUSTOM_CALIBRATORS["trueodds-temperature"]().fit(p, y).predict_proba(p)
    assert calibrated.shape == (200, 4)
    assert np.allclose(calibrated.sum(axis=1), 1)


def test_all_methods_of_scores_are_registered_and_the_default_first():
    names = list(CUSTOM_CALIBRATORS)
    assert names[0] == "trueodds-auto"
    assert {"trueodds-beta", "trueodds-charcoal_grill", "trueodds-vector"} < set(names)
    assert "trueodds-tree" not in names


def test_the_runner_of_a_clone_finds_them_without_a_change_to_it(tmp_path):
    (tmp_path / "run_benchmark.py").write_text(RUNNER)
    (tmp_path / "here").write_text("in the clone")
    command = [sys.executable, str(PROGRAM), str(tmp_path), "--calibrator", "trueodds-isotonic"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "(200, 2) in the clone\n", done.stderr


def test_a_folder_that_is_no_clone_is_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "There is no run_benchmark.py in" in done.stderr
