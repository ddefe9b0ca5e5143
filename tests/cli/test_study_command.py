"""``trueodds study``: a command of another distribution, which need not be installed."""

import importlib
import sys

import pytest

from trueodds.cli import app


@pytest.fixture
def without_studies(monkeypatch):
    """Let the studies not be installed."""
    for name in [name for name in sys.modules if name.split(".")[0] == app.STUDIES]:
        monkeypatch.delitem(sys.modules, name)
    find = importlib.import_module

    def missing(name):
        if name.split(".")[0] == app.STUDIES:
            raise ModuleNotFoundError(f"No module named {app.STUDIES!r}", name=app.STUDIES)
        return find(name)

    monkeypatch.setattr(app, "import_module", missing)


@pytest.mark.parametrize("words", [["study"], ["study", "beta", "-o", "x"], ["study", "--help"]])
def test_without_the_studies_the_command_that_installs_them_is_named(run, without_studies, words):
    result = run(*words)
    assert result.code == 3
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert result.err.endswith("install it with: pip install trueodds-studies\n")
    page = run("--help").out
    assert "study" not in page
    assert "evaluate" in page


def test_a_library_that_the_studies_need_is_named(run, monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr(app, "import_module", broken)
    result = run("study")
    assert result.code == 3
    assert "No module named 'scipy'" in result.err


def test_a_misspelled_command_is_answered_with_the_nearest_of_all(run):
    assert "Did you mean 'study'" in run("studdy").err
    assert "Did you mean 'evaluate'" in run("evaluat").err
