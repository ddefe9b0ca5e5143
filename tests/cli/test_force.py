"""No command replaces a file that is there, unless it is told to."""

import pytest
import typer
from test_own_input import WRITERS, _words

from trueodds.cli.app import app

CASES = [(command, words) for command, variants in WRITERS.items() for words in variants]


@pytest.fixture
def files(data):
    return {"data": data / "scores.csv", "map": data / "map.json"}


@pytest.mark.parametrize(("command", "words"), CASES)
def test_an_output_that_exists_is_refused_before_any_work(run, files, tmp_path, command, words):
    older = tmp_path / "older.csv"
    older.write_text("precious\n")
    result = run(*_words(command, words, files, older))
    assert result.code == 2
    assert result.err.startswith(f"trueodds: {older} exists; pass --force to replace it.")
    assert result.err.count("\n") == 1
    assert older.read_text() == "precious\n"


def test_a_link_to_a_file_counts_as_the_file(run, files, tmp_path):
    older, link = tmp_path / "older.json", tmp_path / "link.json"
    older.write_text("precious\n")
    link.symlink_to(older)
    assert run(*_words("fit", ("data", "-m", "beta"), files, link)).code == 2
    assert run(*_words("fit", ("data", "-m", "beta"), files, link), "--force").code == 0
    assert older.read_text().startswith("{")


def test_a_device_is_not_replaced_and_so_never_refused(run, files):
    assert run(*_words("export", ("map", "--to", "sql"), files, "/dev/null")).code == 0


def test_a_report_that_is_only_printed_minds_no_file(run, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("precious\n")
    words = ["report", files["data"], "-s", "p", "-l", "y", "-m", "identity", "-m", "beta"]
    assert run(*words, "--json").code == 0
    assert run(*words).code == 2
    assert (tmp_path / "report.html").read_text() == "precious\n"


def test_every_command_that_writes_has_force():
    program = typer.main.get_command(app)
    context = typer.Context(program)
    for name in [*WRITERS, "demo"]:
        options = [o for p in program.get_command(context, name).params for o in p.opts]
        assert "--force" in options, name
