"""JSON lines that cannot be read are named by file and line, in the words of the program."""

import json

import pytest

GOOD = b'{"p": 0.1, "y": 1}\n{"p": 0.8, "y": 0}\n'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"p": 0.1, "y":', "is not valid JSON: Expecting value (column 16)."),
        (b"hello", "is not valid JSON: Expecting value (column 1)."),
        (b'{"p": 0.1 "y": 1}', "is not valid JSON: Expecting ',' delimiter (column 11)."),
        (b'{"p": 0.1, "y": 1}}', "is not valid JSON: Extra data (column 19)."),
        (b'{"p": 0.1, "p": 0.2, "y": 1}', 'has the key "p" twice.'),
        (b'{"p": 0.1, "y": "\xff"}', "is not UTF-8 text."),
        (b'{"p": 0.1, "y": "\\ud800"}', "contains half of a surrogate pair."),
        (b'{"p": 0.1, "y": ' + b"[" * 9000 + b"]" * 9000 + b"}", "is nested too deeply."),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("after", [b"", GOOD], ids=["last", "between"])
def test_a_line_that_cannot_be_read_is_named(run, tmp_path, monkeypatch, line, said, after):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(GOOD + line + b"\n" + after)
    result = run("evaluate", "a.jsonl", "-s", "p", "-l", "y")
    assert result.code == 1
    assert f"a.jsonl: line 3 {said} Pass --on-bad-rows skip" in result.err
    assert str(tmp_path) not in result.err


def test_a_line_that_is_too_long_is_named(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long = json.dumps({"p": 0.1, "y": 1, "z": "x" * 17_000_000}).encode() + b"\n"
    (tmp_path / "a.jsonl").write_bytes(GOOD + long * 2)
    result = run("evaluate", "a.jsonl", "-s", "p", "-l", "y")
    assert result.code in (0, 1)
    if result.code:
        assert "a.jsonl: line 3 is longer than 16,777,216 bytes" in result.err
