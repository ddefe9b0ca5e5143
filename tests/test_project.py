"""Rules of the project: lowest versions, one version, whole messages, no compiler at run time."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from lowest_versions import lowest_versions, requirements

import trueodds

ROOT = Path(__file__).parents[1]


def settings(folder="."):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))


def project(folder="."):
    return settings(folder)["project"]


def all_requirements():
    """Of the library, its extras and its dependency groups."""
    sections = [*project()["optional-dependencies"], *settings()["dependency-groups"]]
    return requirements(settings(), *(name for name in sections if name != "all"))


def test_every_dependency_declares_its_lowest_version():
    found = lowest_versions(all_requirements())
    assert f"numpy=={min_of(project()['dependencies'], 'numpy')}" in found
    assert any(line.startswith("sphinx==") for line in found), "no group was read"
    names = [line.partition("==")[0] for line in found]
    assert len(names) == len(set(names)), "two lowest versions of one library"


def test_the_studies_ask_for_the_same_lowest_versions_as_the_library():
    lowest = dict(line.split("==") for line in lowest_versions(all_requirements()))
    studies = [line for line in project("studies")["dependencies"] if "trueodds" not in line]
    asked = dict(line.split("==") for line in lowest_versions(studies))
    both = asked.keys() & lowest.keys()
    assert {"numpy", "pandas", "scikit-learn"} <= both
    assert {name: asked[name] for name in both} == {name: lowest[name] for name in both}


def test_a_dependency_without_a_lowest_version_is_refused():
    with pytest.raises(ValueError, match="'numpy<3' declares no lowest version"):
        lowest_versions(["numpy<3"])


def test_both_distributions_have_the_version_of_the_package():
    assert version("trueodds") == version("trueodds-studies") == trueodds.__version__
    assert "version" in project()["dynamic"]
    assert "version" in project("studies")["dynamic"]


def min_of(lines, name):
    return next(line.partition(">=")[2] for line in lines if line.startswith(f"{name}>="))


PLACEHOLDER = re.compile(r"\{[A-Za-z_][\w.\[\]]*(![rsa])?(:[^{}]*)?\}")
MESSAGES = {"warn_user", "log", "say", "warn", "info", "echo"}


def unfilled(source):
    """Placeholders in the texts of errors, warnings and lines of output."""
    for node in ast.walk(ast.parse(source)):
        named = getattr(node, "func", None)
        called = getattr(named, "id", getattr(named, "attr", ""))
        if isinstance(node, ast.Raise) or called in MESSAGES or called.endswith("Error"):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and PLACEHOLDER.search(str(part.value)):
                    yield part.lineno, part.value


def test_no_message_has_a_placeholder_that_nothing_fills():
    planted = 'raise InputError("got {n:g} " f"of {count}")'
    assert set(unfilled(planted)) == {(1, "got {n:g} of ")}
    sources = [*ROOT.glob("src/**/*.py"), *ROOT.glob("studies/src/**/*.py")]
    found = {str(p): set(unfilled(p.read_text("utf-8"))) for p in sources}
    assert len(found) > 300
    assert {path: places for path, places in found.items() if places} == {}


def test_nothing_waits_for_a_compiler_at_run_time():
    assert not [line for line in project()["dependencies"] if line.startswith("numba")]
    for folder in ("src", "studies/src", "benchmarks"):
        sources = {path: path.read_text("utf-8") for path in (ROOT / folder).rglob("*.py")}
        assert len(sources) > 10
        for path, text in sources.items():
            assert not re.search(r"^\s*(import|from) numba", text, re.MULTILINE), path


@pytest.mark.slow
def test_kernels_are_compiled_and_run_uncompiled_with_the_same_results(tmp_path):
    """Where no compiled module lies beside a source file, the source itself runs."""
    package = tmp_path / "trueodds"
    shutil.copytree(
        ROOT / "src/trueodds",
        package,
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
    )
    said = {}
    for folder in (tmp_path, Path(trueodds.__file__).parents[1]):
        done = subprocess.run(
            [sys.executable, "-c", USE_KERNELS],
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        is_compiled, _, said[folder] = done.stdout.partition("\n")
        assert is_compiled == str(folder != tmp_path)
    uncompiled, compiled = said.values()
    assert uncompiled == compiled
    assert compiled.count("\n") == 12


USE_KERNELS = """
import numpy as np, trueodds as t
from trueodds.kernels import bayesian_isotonic
from trueodds.metrics import brier_score, expected_calibration_error, log_loss
print(not bayesian_isotonic.__file__.endswith(".py"))
rng = np.random.default_rng(0)
p = rng.random(40)
y = (rng.random(40) < p).astype(int)
for kind in (t.IsotonicCalibrator, t.ENIRCalibrator, t.ABBCalibrator, t.BetaCalibrator,
             t.HistogramCalibrator, t.CharcoalGrillCalibrator):
    # Exponentials and logarithms are Python's own without a compiler: the last digit may differ.
    print(kind.__name__, kind().fit(p, y).predict_proba([0.1, 0.5])[:, 1].round(14).tolist())
features = rng.normal(size=(40, 2))
tree = t.TreeCalibrator().fit(p, y, features=features)
print(tree.predict_proba(p[:5], features=features[:5])[:, 1].round(12).tolist())
n_neg, n_pos = np.array([3.0, 1, 0]), np.array([0.0, 1, 2])
bounds = np.linspace(0, 0.3, 3), np.linspace(0.5, 1, 3)
print(bayesian_isotonic.Chain(n_neg, n_pos, seed=1, index=0).run(3).tolist())
print(bayesian_isotonic.Chain(n_neg, n_pos, seed=1, index=0, bounds=bounds).run(3).tolist())
bayes = t.BayesianIsotonicCalibrator(sampler="importance", n_samples=50)
print(bayes.fit(p[:9], y[:9]).map_([0.5]))
classes = rng.dirichlet([1, 1, 1], 40)
print(t.VectorCalibrator().fit(classes, rng.integers(0, 3, 40)).predict_proba(classes[:1]).tolist())
print(log_loss(y, p), brier_score(y, p), expected_calibration_error(y, p))
"""


def test_actions_of_workflows_are_pinned_by_hash():
    texts = [path.read_text() for path in sorted((ROOT / ".github/workflows").glob("*.yml"))]
    used = [name for text in texts for name in re.findall(r"uses:\s*(\S+)", text)]
    assert len(used) > 5
    assert [name for name in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name)] == []


ON_WINDOWS = """
import os, sys
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None  # Windows has none of them
sys.path.insert(0, "tests/cli")
import pytest
ignored = [f"--ignore=tests/cli/{name}" for name in sys.argv[1].split()]
sys.exit(pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *ignored, *sys.argv[2:]]))
"""


@pytest.mark.slow
def test_what_the_windows_job_collects_imports_nothing_that_only_unix_has():
    job = (ROOT / ".github/workflows/ci.yml").read_text("utf-8").partition("  elsewhere:")[2]
    command = re.search(r"pytest -q -m \"not slow\" ((?:tests/\w+\s+)+)", job)
    folders = command.group(1).split()
    assert "tests/cli" in folders
    settings_of_cli = ast.parse((ROOT / "tests/cli/conftest.py").read_text("utf-8"))
    ignored = next(
        ast.literal_eval(node.value)
        for node in ast.walk(settings_of_cli)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "collect_ignore"
    )
    done = subprocess.run(
        [sys.executable, "-c", ON_WINDOWS, " ".join(ignored), *folders],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
