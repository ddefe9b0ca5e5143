"""Importing is light, layers hold, and what is public is reachable."""

import subprocess
import sys
from pathlib import Path

import pytest

import trueodds

HEAVY = ("numba", "matplotlib", "pandas", "polars", "pyarrow", "torch", "duckdb")


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_importing_the_package_loads_nothing():
    loaded = modules_after("import trueodds")
    assert not {"numpy", "scipy", "sklearn", *HEAVY} & loaded


@pytest.mark.parametrize(
    "name", ["BetaCalibrator", "IsotonicCalibrator", "MatrixCalibrator", "ScoreTable", "load"]
)
def test_parametric_methods_load_nothing_heavy(name):
    loaded = modules_after(f"from trueodds import {name}")
    assert not {"sklearn", *HEAVY} & loaded


def test_fitting_a_parametric_method_loads_nothing_heavy():
    loaded = modules_after(
        "from trueodds import BetaCalibrator\n"
        "BetaCalibrator().fit([0.1, 0.4, 0.3, 0.8], [0, 1, 0, 1]).predict_proba([0.2])"
    )
    assert not {"sklearn", *HEAVY} & loaded


def test_layers_are_kept():
    result = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_public_names_are_listed_and_reachable():
    names = dir(trueodds)
    for name in ("BetaCalibrator", "CalibratedClassifier", "ScoreTable", "load", "maps", "testing"):
        assert name in names
        assert getattr(trueodds, name) is not None


def test_type_stubs_name_every_calibrator():
    script = Path(__file__).parents[1] / "tools" / "write_stubs.py"
    result = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_unknown_names_are_attribute_errors():
    for name in ("Nonsense", "GammaCalibrator"):
        with pytest.raises(AttributeError, match=name):
            getattr(trueodds, name)


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert version("trueodds") == trueodds.__version__
