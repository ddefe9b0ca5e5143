"""Rules of the project: lowest versions, one version, a module of tests for each that computes."""

import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import trueodds

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from lowest_versions import lowest_versions  # noqa: E402


def project(folder="."):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"]


def test_every_dependency_declares_its_lowest_version():
    declared = project()
    extras = [name for name in declared["optional-dependencies"] if name != "all"]
    found = lowest_versions(declared, extras)
    assert f"numpy=={min_of(declared['dependencies'], 'numpy')}" in found
    names = [line.partition("==")[0] for line in found]
    assert len(names) == len(set(names)), "two lowest versions of one library"


def test_the_studies_ask_for_the_same_lowest_versions_as_the_library():
    ours = project()
    extras = [name for name in ours["optional-dependencies"] if name != "all"]
    lowest = dict(line.split("==") for line in lowest_versions(ours, extras))
    studies = [line for line in project("studies")["dependencies"] if "trueodds" not in line]
    for line in lowest_versions({"dependencies": studies}, []):
        name, number = line.split("==")
        assert lowest.get(name, number) == number, name


def test_a_dependency_without_a_lowest_version_is_refused():
    with pytest.raises(ValueError, match="'numpy<3' declares no lowest version"):
        lowest_versions({"dependencies": ["numpy<3"]}, [])


def test_both_distributions_have_the_version_of_the_package():
    assert version("trueodds") == version("trueodds-studies") == trueodds.__version__
    assert "version" in project()["dynamic"]
    assert "version" in project("studies")["dynamic"]


@pytest.mark.parametrize("package", ["kernels", "numerics"])
def test_every_module_that_computes_has_its_module_of_tests(package):
    source, tests = ROOT / "src/trueodds" / package, ROOT / "tests" / package
    modules = [path for path in source.rglob("*.py") if path.name != "__init__.py"]
    assert modules
    expected = {
        path.relative_to(source).with_name(f"test_{path.name}").as_posix() for path in modules
    }
    found = {path.relative_to(tests).as_posix() for path in tests.rglob("test_*.py")}
    assert sorted(expected - found) == []
    # Modules of tests in different folders may have one name only if the folders are packages.
    assert all((path.parent / "__init__.py").exists() for path in tests.rglob("test_*.py"))


def min_of(lines, name):
    return next(line.partition(">=")[2] for line in lines if line.startswith(f"{name}>="))
