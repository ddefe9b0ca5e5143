"""JSON lines that cannot be read are named by file and line, in the words of the program."""

import json

import pytest

GOOD = b'{"p": 0.1, "y": 1}\n{"p": 0.8, "y": 0}\n'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"p": 0.1, "y":', "is not JSON: Expecting value"),
        (b"hello", "is not JSON: Expecting value"),
        (b'{"p": 0.1 "y": 1}', "is not JSON: Expecting ',' delimiter"),
        (b'{"p": 0.1, "y": 1}}', "is not JSON: Extra data"),
        (b'{"p": 0.1, "p": 0.2, "y": 1}', "is not JSON: the key 'p' occurs twice"),
        (b'{"p": 0.1, "y": "\xff"}', "is not UTF-8 text"),
        (b'{"p": 0.1, "y": "\\ud800"}', "is not JSON: half of a surrogate pair"),
    ],
    ids=range(7),
)
@pytest.mark.parametrize("after", [b"", GOOD], ids=["last", "between"])
def test_a_line_that_cannot_be_read_is_named(run, tmp_path, monkeypatch, line, said, after):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(GOOD + line + b"\n" + after)
    result = run("evaluate", "a.jsonl", "-s", "p", "-l", "y")
    assert result.code == 1
    assert f"a.jsonl: line 3 {said}. To leave such lines out, pass --on-bad" in result.err
    assert str(tmp_path) not in result.err


def test_a_line_that_is_too_long_is_named(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long = json.dumps({"p": 0.1, "y": 1, "z": "x" * 17_000_000}).encode() + b"\n"
    (tmp_path / "a.jsonl").write_bytes(GOOD + long)
    result = run("evaluate", "a.jsonl", "-s", "p", "-l", "y")
    # Some versions of the engine read more than they promise.
    assert result.code == 0 or "line 3 is longer than 16,777,216 bytes" in result.err


def test_a_line_that_is_nested_too_deeply_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    deep = b'{"p": 0.1, "y": ' + b"[" * 9000 + b"]" * 9000 + b"}\n"
    (tmp_path / "a.jsonl").write_bytes(GOOD + deep)
    result = run("evaluate", "a.jsonl", "-s", "p", "-l", "y")
    assert result.code == 1
    # Some versions of the engine read it; then it is a label of 18,000 characters.
    refusals = ("a line of JSON is nested too deeply", "'y' is longer than 1,000 characters")
    assert any(words in result.err for words in refusals)
