"""Commands that other distributions bring: found, listed, and loaded when they are called."""

import sys
from importlib.metadata import EntryPoint

import pytest

GREET = '''
import typer

def greet(name: str = "you") -> None:
    """Greet somebody.

    Examples
    --------
    trueodds greet
    """
    typer.echo(f"hello {name}")
'''


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Let commands be those of modules in a folder: name → (module, its text)."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(**commands):
        points = {}
        for name, (module, text) in commands.items():
            (tmp_path / f"{module}.py").write_text(text)
            monkeypatch.delitem(sys.modules, module, raising=False)
            points[name] = EntryPoint(name, f"{module}:{name}", "trueodds.commands")
        monkeypatch.setattr("trueodds.cli.loader._installed", lambda: points)

    return install


def test_a_command_of_another_package_runs_and_is_listed(run, installed):
    installed(greet=("greeting_of_a_guest", GREET))
    assert run("greet", "--name", "Ann").out == "hello Ann\n"
    page = run("greet", "-h").out
    assert "Examples:" in page
    assert "--name" in page
    assert "Greet somebody." in run("--help").out
    assert "Did you mean 'greet'" in run("gret").err


def test_it_is_imported_only_when_it_is_called_or_listed(run, installed):
    broken = "raise RuntimeError('must not be run')"
    installed(greet=("greeting_of_a_guest", GREET), shout=("shouting_of_a_guest", broken))
    assert run("evaluate", "--help").code == 0
    assert "greeting_of_a_guest" not in sys.modules
    assert run("greet").out == "hello you\n"


def test_no_command_of_ours_can_be_replaced(run, installed):
    installed(fit=("fitting_of_a_guest", GREET.replace("greet", "fit")))
    assert "--method" in run("fit", "--help").out
    assert "Greet" not in run("--help").out


def test_a_command_that_cannot_be_imported_says_why_and_spoils_no_other(run, installed):
    installed(greet=("greeting_of_a_guest", "import a_library_that_is_missing"))
    assert "evaluate" in run("--help").out
    result = run("greet", "--name", "Ann")
    assert result.code == 3
    assert "greet is a command of greeting_of_a_guest" in result.err
    assert "a_library_that_is_missing" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("words", [["study"], ["study", "beta", "-o", "x"], ["study", "--help"]])
def test_without_the_studies_the_command_that_installs_them_is_named(run, installed, words):
    installed()
    result = run(*words)
    assert result.code == 3
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert result.err.endswith("run: pip install trueodds-studies\n")
    assert "study" not in run("--help").out
