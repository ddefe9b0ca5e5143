"""A new method is one file and one line, another package's one entry point; both are found."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trueodds
from trueodds import AutoCalibrator, ScoreTable, all_calibrators, compare_calibrators
from trueodds.calibrators import METHODS, find_calibrator, method_name
from trueodds.calibrators._shared import registry
from trueodds.exceptions import PluginError
from trueodds.testing import check_calibrator

ROOT = Path(__file__).parents[2]


def recipe():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = text[text.index("## Add a calibrator: one file and one line") :]
    return re.search(r"```python\n(.*?)```", part, re.DOTALL).group(1)


def parametric_recipe():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = text[text.index("### A parametric curve") :]
    return re.search(r"```python\n(.*?)```", part, re.DOTALL).group(1)


def line():
    """The line of the table that CONTRIBUTING asks for."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.search(r'`("gamma": "_gamma:GammaCalibrator",)`', text).group(1)


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    lines = [f"{a},{int(b)}" for a, b in zip(p, rng.random(300) < p, strict=True)]
    file = tmp_path_factory.mktemp("data") / "scores.csv"
    file.write_text("p,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def with_the_recipe_as_a_file(tmp_path_factory):
    """A copy of the package with one more file and one more line in it."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(trueodds.__file__).parent, folder / "trueodds", ignore=ignored)
    file = folder / "trueodds" / "calibrators" / "_gamma.py"
    file.write_text(recipe(), encoding="utf-8")
    registry = folder / "trueodds" / "calibrators" / "_shared" / "registry.py"
    text = registry.read_text(encoding="utf-8")
    tier = '    "for comparison": {\n'
    assert text.count(tier) == 1
    registry.write_text(text.replace(tier, f"{tier}        {line()}\n"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def with_a_third_party(tmp_path_factory):
    """A package that is installed beside the library and has an entry point."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "gamma_package.py").write_text(recipe(), encoding="utf-8")
    info = folder / "gamma_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gamma-package\nVersion: 1.0\n")
    points = "[trueodds.calibrators]\ngamma = gamma_package:GammaCalibrator\n"
    (info / "entry_points.txt").write_text(points)
    return folder


@pytest.fixture(params=["with_the_recipe_as_a_file", "with_a_third_party"])
def run(request):
    folder = request.getfixturevalue(request.param)
    inherited = os.environ.get("PYTHONPATH", "")
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{inherited}"}

    def python(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    return python


@pytest.mark.slow
def test_the_command_line_lists_it_and_fits_it(run, scores, tmp_path):
    methods = json.loads(run("-m", "trueodds", "methods", "--json"))["methods"]
    gamma = next(entry for entry in methods if entry["method"] == "gamma")
    assert gamma["description"].startswith("One line on what it does")
    output = tmp_path / "map.json"
    columns = ("--score", "p", "--label", "y")
    run("-m", "trueodds", "fit", str(scores), *columns, "--method", "gamma", "-o", str(output))
    assert json.loads(output.read_text(encoding="utf-8"))["family"] == "step"


@pytest.mark.slow
@pytest.mark.parametrize("run", ["with_a_third_party"], indirect=True)  # nothing to compile there
def test_comparisons_and_reports_see_it(run):
    code = """
        import numpy as np
        from trueodds import AutoCalibrator, compare_calibrators
        from trueodds.report import build_report
        rng = np.random.default_rng(0)
        p = rng.random(300)
        y = rng.random(300) < p
        found = compare_calibrators(p, y)
        assert "gamma" in found.methods, found.methods
        assert found.methods.index("gamma") == 2, found.methods  # by its complexity
        assert "gamma" in set(AutoCalibrator(select="one_se").fit(p, y).results_["method"])
        page = build_report(p, y, calibrators=["gamma"]).to_json()
        assert page["labels"]["gamma"] == "gamma"
    """
    run("-W", "ignore", "-c", "\n".join(line.strip() for line in code.splitlines()))


@pytest.mark.slow
def test_the_contract_suite_sees_it_and_it_passes(run):
    run(
        "-c",
        "from trueodds.calibrators import all_calibrators\n"
        "from trueodds.testing import check_calibrator\n"
        "check_calibrator(all_calibrators()['gamma']())",
    )


@pytest.fixture
def broken_packages(tmp_path, monkeypatch):
    """Two packages whose entry points cannot be used."""
    info = tmp_path / "evil_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil-package\nVersion: 1.0\n")
    points = "[trueodds.calibrators]\nevil = evil_package:Evil\nempty = json:dumps\n"
    (info / "entry_points.txt").write_text(points)
    (tmp_path / "evil_package.py").write_text("raise RuntimeError('it needs a graphics card')")
    monkeypatch.syspath_prepend(tmp_path)
    for cached in (registry._foreign, registry._warn_once):
        cached.cache_clear()
        monkeypatch.setattr(registry, cached.__name__, cache(cached.__wrapped__))
    return tmp_path


def test_a_broken_method_of_another_package_is_named_once_and_left_out(broken_packages):
    p, y = np.linspace(0.01, 0.99, 60), np.arange(60) % 2
    with warnings.catch_warnings(record=True, action="always") as said:
        found = all_calibrators()
        assert all_calibrators() == found
        assert "evil" not in compare_calibrators(p, y, cv=2, n_jobs=1).methods
        AutoCalibrator(["beta", "isotonic"], cv=2).fit(p, y)
    named = [str(one.message) for one in said if "evil-package" in str(one.message)]
    assert len(named) == 1
    assert "it needs a graphics card" in named[0]
    assert "dumps" in named[0], "what is no calibrator is left out, too"
    assert found.keys() == METHODS.keys()
    with pytest.raises(PluginError, match=r"'evil' of evil-package .*RuntimeError: it needs a"):
        find_calibrator("evil")
    with pytest.raises(PluginError, match="not a subclass of Calibrator"):
        compare_calibrators(p, y, calibrators=["empty"])


def test_the_command_line_lists_methods_beside_a_broken_one(broken_packages, scores):
    inherited = os.environ.get("PYTHONPATH", "")
    environment = os.environ | {"PYTHONPATH": f"{broken_packages}{os.pathsep}{inherited}"}

    def trueodds(*arguments):
        command = [sys.executable, "-m", "trueodds", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    done = trueodds("methods", "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["methods"]) == len(METHODS) + 1
    assert "evil-package" in done.stderr
    done = trueodds("fit", str(scores), "--score", "p", "--label", "y", "--method", "evil")
    assert done.returncode == 3
    assert "evil-package" in done.stderr


@pytest.fixture
def probit(tmp_path, monkeypatch):
    """The calibrator of the second recipe, in a module of another package."""
    (tmp_path / "probit_package.py").write_text(parametric_recipe(), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("probit_package").ProbitCalibrator


def test_a_parametric_curve_takes_45_lines_and_passes_the_contract(probit):
    assert len([line for line in parametric_recipe().splitlines() if line]) <= 45
    check_calibrator(probit())


def test_a_parametric_curve_learns_from_counts_what_it_learns_from_rows(probit):
    rng = np.random.default_rng(0)
    p = rng.integers(1, 100, 1500) / 100
    y = rng.random(1500) < p**1.5
    from_counts = probit().fit_table(ScoreTable.from_arrays(p, y)).predict_proba(p)
    np.testing.assert_allclose(from_counts, probit().fit(p, y).predict_proba(p), rtol=0, atol=1e-9)


@pytest.mark.parametrize("text", [recipe, parametric_recipe], ids=["gamma", "probit"])
def test_recipes_import_public_names_only(text):
    for module, names in re.findall(r"^from (trueodds[\w.]*) import (.*)$", text(), re.MULTILINE):
        assert "._" not in module
        for name in names.split(", "):
            assert hasattr(importlib.import_module(module), name)


@pytest.mark.slow
def test_recipes_pass_strict_types(tmp_path):
    for name, text in (("gamma", recipe()), ("probit", parametric_recipe())):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    words = ["mypy", "--strict", "--ignore-missing-imports", "."]
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_a_file_of_the_library_is_among_its_names(with_the_recipe_as_a_file):
    code = "import trueodds; assert 'GammaCalibrator' in dir(trueodds); trueodds.GammaCalibrator()"
    environment = os.environ | {"PYTHONPATH": str(with_the_recipe_as_a_file)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_every_file_of_a_method_is_in_the_table_under_its_own_name():
    folder = Path(trueodds.__file__).parent / "calibrators"
    files = {f.stem.removeprefix("_") for f in folder.glob("_[a-z]*")} - {"shared"}
    assert files == set(METHODS)
    for name, place in METHODS.items():
        module, kind = place.split(":")
        assert (module, method_name(kind)) == (f"_{name}", name)
        assert find_calibrator(name).__name__ == kind


def test_methods_are_found_in_a_zip(tmp_path):
    source = Path(trueodds.__file__).parent
    with zipfile.ZipFile(tmp_path / "library.zip", "w") as archive:
        for file in source.rglob("*.py"):
            archive.write(file, Path("trueodds") / file.relative_to(source))
    code = (
        "import trueodds\n"
        "assert 'library.zip' in trueodds.__file__\n"
        "assert 'beta' in trueodds.calibrators.calibrator_names()\n"
        "fitted = trueodds.IsotonicCalibrator().fit([0.1, 0.4, 0.3, 0.8], [0, 1, 0, 1])\n"
        "assert fitted.predict_proba([0.9])[0, 1] == 1\n"
        "assert 'BetaCalibrator' in dir(trueodds)"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "library.zip")}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_a_method_is_looked_up_without_importing_the_others():
    code = (
        "import sys\n"
        "from trueodds.calibrators import calibrator_names, find_calibrator\n"
        "assert 'enir' in calibrator_names()\n"
        "assert find_calibrator('beta').__name__ == 'BetaCalibrator'\n"
        "loaded = [name for name in sys.modules if name.startswith('trueodds.calibrators._')]\n"
        "others = [name for name in loaded if '_shared' not in name and '_beta' not in name]\n"
        "assert not others, others\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("Sigmoid", "did you mean 'logistic'"),
        ("betta", "did you mean 'beta'"),
        ("zzz", "there are 'abb', .*'venn_abers'"),
    ],
)
def test_an_unknown_method_is_answered_with_the_known_ones(name, answer):
    with pytest.raises(trueodds.exceptions.InputError, match=f"unknown method '{name}'; {answer}"):
        trueodds.calibrators.find_calibrator(name)
