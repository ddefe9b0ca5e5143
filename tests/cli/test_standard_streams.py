"""Standard streams in other encodings, closed ones, and full ones."""

import json
import os
import subprocess
import sys

import pytest

SCORES = ["-s", "p", "-l", "y"]
COMMANDS = {
    "methods": ["methods"],
    "compare": ["compare", "né→Ω.csv", *SCORES, "-m", "beta", "-m", "logistic"],
    "evaluate": ["evaluate", "né→Ω.csv", *SCORES, "-g", "group"],
    "show": ["show", "map.json"],
    "threshold": ["threshold", "né→Ω.csv", *SCORES, "--at-most", "0.4", "--risk", "errors"],
    "monitor": ["monitor", "map.json", "né→Ω.csv", *SCORES, "--state", "state.json"],
    "help": ["fit", "--help"],
}


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    place = tmp_path_factory.mktemp("streams")
    lines = (data / "scores.csv").read_text().splitlines()
    groups = ["group", *("né→Ω😀" if number % 2 else "b" for number in range(len(lines) - 1))]
    rows = [f"{line},{group}" for line, group in zip(lines, groups, strict=True)]
    (place / "né→Ω.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (place / "map.json").write_bytes((data / "map.json").read_bytes())
    return place


def _shell(folder, words, redirection="", **environment):
    """Run the program in a shell, which redirects or closes its streams."""
    command = [sys.executable, "-m", "trueodds", *words]
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirection}', "sh", *command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "encoding"),
    [*((command, "cp1252") for command in COMMANDS), ("evaluate", "ascii"), ("help", "latin-1")],
)
def test_output_in_an_encoding_without_our_characters_is_readable(folder, command, encoding):
    result = _shell(folder, COMMANDS[command], PYTHONIOENCODING=encoding)
    assert result.returncode in (0, 4), result.stderr
    text = result.stdout.decode(encoding)
    assert text.strip()
    assert "?" not in text.replace("?\n", "")  # nothing is lost
    if command == "evaluate":
        assert "n\\xe9->\\u03a9\\U0001f600" in text.replace("é", "\\xe9")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_json_is_the_same_in_every_encoding(folder, encoding):
    words = [*COMMANDS["evaluate"], "--json"]
    result = _shell(folder, words, PYTHONIOENCODING=encoding)
    found = json.loads(result.stdout.decode("utf-8"))
    assert found["file"] == "né→Ω.csv"
    assert "né→Ω😀" in str(found["groups"])


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_named(folder, unbuffered):
    for words in (COMMANDS["methods"], ["fit", "né→Ω.csv", *SCORES], COMMANDS["help"]):
        result = _shell(folder, words, ">/dev/full", PYTHONUNBUFFERED=unbuffered)
        assert result.returncode == 1
        assert result.stderr.endswith(b"trueodds: standard output: no space left on device.\n")


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams_and_full_standard_error_stop_nothing(folder, redirection, tmp_path):
    if redirection == "2>/dev/full" and not os.path.exists("/dev/full"):  # noqa: PTH110 - macOS
        pytest.skip("this system has no /dev/full")
    target = tmp_path / "map.json"
    words = ["fit", "né→Ω.csv", *SCORES, "-m", "beta", "-o", str(target)]
    result = _shell(folder, words, redirection)
    assert result.returncode == 0, result.stderr
    assert b"Traceback" not in result.stderr
    assert json.loads(target.read_text())["family"] == "log_odds"  # and nothing printed into it
    result = _shell(folder, COMMANDS["evaluate"], redirection)
    assert result.returncode == 0, result.stderr


def test_a_closed_standard_input_is_empty(folder):
    result = _shell(folder, ["evaluate", "-", "--format", "csv", *SCORES], "<&-")
    assert result.returncode == 1
    assert result.stderr == b"trueodds: standard input is empty (0 bytes).\n"
