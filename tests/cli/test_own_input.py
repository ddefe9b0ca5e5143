"""No command replaces the data or the map that it reads, whatever the output is called."""

import os
from pathlib import Path

import pytest
import typer

from trueodds.cli.app import app
from trueodds.cli.files.own_input import DATA, MAPS, OUTPUTS

WRITERS = {
    "fit": [("data", "-m", "beta")],
    "report": [("data", "-m", "identity", "-m", "beta")],
    "apply": [("map", "data")],
    "update": [("data",)],
    "export": [("map", "--to", kind) for kind in ("sql", "python", "onnx")],
}
CASES = [
    (command, words, own)
    for command, variants in WRITERS.items()
    for words in variants
    for own in words
    if own in ("data", "map")
]


def _same(path, tmp_path):
    return path


def _relative(path, tmp_path):
    (path.parent / "sub").mkdir()
    return Path(os.path.relpath(path.parent)) / "sub" / ".." / path.name


def _symbolic_link(path, tmp_path):
    link = tmp_path / f"symbolic{path.suffix}"
    link.symlink_to(path)
    return link


def _hard_link(path, tmp_path):
    link = tmp_path / f"hard{path.suffix}"
    link.hardlink_to(path)
    return link


def _linked_folder(path, tmp_path):
    (tmp_path / "folder").symlink_to(path.parent)
    return tmp_path / "folder" / path.name


@pytest.fixture
def own_files(data, tmp_path):
    """Copies of data and map that may come to harm."""
    folder = tmp_path / "own"
    folder.mkdir()
    files = {"data": folder / "scores.csv", "map": folder / "map.json"}
    for path in files.values():
        path.write_bytes((data / path.name).read_bytes())
    return files


def _words(command, words, files, output):
    columns = {"apply": ["-s", "p"], "export": []}.get(command, ["-s", "p", "-l", "y"])
    return [command, *(files.get(word, word) for word in words), *columns, "-o", output]


@pytest.mark.parametrize(
    "name", [_same, _relative, _symbolic_link, _hard_link, _linked_folder], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(("command", "words", "own"), CASES)
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_an_output_that_is_an_input_is_refused_under_any_name(
    run, own_files, tmp_path, command, words, own, name, force
):
    path = own_files[own]
    before, output = path.read_bytes(), name(path, tmp_path)
    extra = ["--output-format", "csv"] if command == "apply" else []
    result = run(*_words(command, words, own_files, output), *extra, *force)
    assert result.code == 2
    assert result.out == ""
    kind = "input" if own == "data" else "map"
    assert f"the output {output} and the {kind} {path} are the same file" in result.err
    assert "choose another output with -o" in result.err
    assert result.err.count("\n") == 1
    assert path.read_bytes() == before


def test_an_output_that_a_glob_of_inputs_matches_is_refused(run, data, own_files):
    path = own_files["data"]
    words = ["-s", "p", "-l", "y", "-m", "beta", "-o", path]
    result = run("fit", path.parent / "*.csv", *words)
    assert result.code == 2
    assert f"the input {path} are the same file" in result.err
    assert path.read_bytes() == (data / "scores.csv").read_bytes()


@pytest.mark.slow
def test_an_output_that_comes_in_as_standard_input_is_refused(run_process, data, own_files):
    path = own_files["data"]
    words = ["fit", "-", "--format", "csv", "-s", "p", "-l", "y", "-m", "beta", "-o"]
    with path.open("rb") as stream:
        result = run_process(*words, path, stdin=stream)
    assert result.returncode == 2, result.stderr
    assert b"and standard input are the same file" in result.stderr
    assert path.read_bytes() == (data / "scores.csv").read_bytes()
    with path.open("rb") as stream:
        assert run_process(*words, path.with_name("other.json"), stdin=stream).returncode == 0


@pytest.mark.parametrize(("command", "words", "own"), CASES)
def test_an_older_file_with_the_same_content_may_be_replaced(
    run, own_files, tmp_path, command, words, own
):
    older = tmp_path / f"older{own_files[own].suffix}"
    older.write_bytes(own_files[own].read_bytes())
    extra = ["--output-format", "csv"] if command == "apply" else []
    result = run(*_words(command, words, own_files, older), *extra, "--force")
    assert result.code == 0, result.err
    assert older.read_bytes() != own_files[own].read_bytes()


def test_a_map_does_not_replace_its_parent(run, own_files):
    words = ["fit", own_files["data"], "-s", "p", "-l", "y", "-m", "beta", "--force"]
    before = own_files["map"].read_bytes()
    result = run(*words, "--parent", own_files["map"], "-o", own_files["map"])
    assert result.code == 2
    assert f"and the map {own_files['map']} are the same file" in result.err
    assert own_files["map"].read_bytes() == before


@pytest.mark.parametrize(
    ("command", "outputs"),
    [
        ("monitor", ["--state", "z.json", "--metrics", "z.json"]),
        ("monitor", ["--state", "z.json", "--html", "./z.json"]),
        ("monitor", ["--state", "z.json", "--html", "h", "--metrics", "h"]),
        ("stream", ["--state", "z.csv", "-o", "z.csv"]),
        ("stream", ["--state", "z.json", "--map-out", "link.json"]),
    ],
)
def test_outputs_that_are_one_file_are_refused(
    run, own_files, tmp_path, monkeypatch, command, outputs
):
    monkeypatch.chdir(tmp_path)
    Path("link.json").symlink_to("z.json")
    result = run(command, own_files["map"], own_files["data"], "-s", "p", "-l", "y", *outputs)
    assert (result.code, "are the same file; choose another" in result.err) == (2, True)
    assert not Path("z.json").exists()
    assert not Path("z.csv").exists()


def test_a_device_may_be_input_and_output(run):
    words = ["--format", "csv", "-s", "p", "-l", "y", "-m", "beta", "-o", "/dev/null"]
    result = run("fit", "/dev/null", *words)
    assert "same file" not in result.err


def test_a_file_called_minus_is_not_standard_output(run, own_files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own_files["data"].rename("-")
    result = run("fit", "./-", "--format", "csv", "-s", "p", "-l", "y", "-m", "beta", "-o", "-")
    assert result.code == 0, result.err


def test_every_command_that_reads_and_writes_files_is_checked():
    writers = {}
    program = typer.main.get_command(app)
    context = typer.Context(program)
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        for parameter in command.params:
            if "-o" in parameter.opts:
                writers[name] = parameter.name
                arguments = {p.name for p in command.params if p.param_type_name == "argument"}
                # The check goes by these names; it would not see a file under another.
                assert arguments <= {*DATA, *MAPS}, name
    assert writers == dict.fromkeys([*WRITERS, "stream"], "output")
    assert "output" in OUTPUTS
