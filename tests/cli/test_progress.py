"""Progress on a terminal: seen while something is done, gone afterwards, and nowhere else."""

import os
import re
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty", reason="pseudo-terminals are a matter of Unix")

PROGRAM = [sys.executable, "-m", "trueodds"]


def on_a_terminal(words, **options):
    """Run a command whose standard error is a terminal; returns its code and what it showed."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        **options,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            block = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not block:
            break
        shown += block
    os.close(ours)
    printed = process.stdout.read()
    process.stdout.close()
    return process.wait(), printed.decode(), shown.decode()


def visible(shown):
    """What stays on a terminal of so many lines: control sequences carried out, colors dropped."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?]?[\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", shown):
        if part == "\r":
            column = 0
        elif part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part.startswith("\x1b["):
            if part.endswith("A"):
                row = max(0, row - int(part[2:-1] or 1))
            elif part.endswith("K"):
                lines[row] = "" if part[2:-1] == "2" else lines[row][:column]
        else:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + part + line[column + len(part) :]
            column += len(part)
    return [line.rstrip() for line in lines if line.strip()]


def test_a_terminal_sees_what_is_done_and_keeps_only_the_message(data, tmp_path):
    code, printed, shown = on_a_terminal(
        ["fit", data / "scores.csv", "-s", "p", "-l", "y", "-m", "beta", "-o", tmp_path / "m.json"]
    )
    assert code == 0
    assert printed == ""
    assert "checking rows" in shown
    assert "fitting beta" in shown
    kept = " ".join(visible(shown))
    assert "checking rows" not in kept
    assert "fitting beta" not in kept
    assert "beta map fitted to" in kept


def test_a_terminal_that_sees_an_error_keeps_one_sentence(data):
    code, printed, shown = on_a_terminal(
        ["evaluate", data / "scores.csv", "-s", "y", "-l", "p", "--scale", "logit"]
    )
    assert code in (1, 2)
    assert printed == ""
    kept = " ".join(visible(shown))
    assert kept.startswith("trueodds: ")
    assert "checking rows" not in kept


def test_the_engine_is_asked_how_far_it_is():
    """The bar shows the percentage where there is one, and moves where there is none."""
    from trueodds.basics.progress import Progress

    answers = iter([-1.0, 25.0, 75.0])
    with Progress(None, "reading", True, lambda: next(answers, 75.0)) as progress:
        progress._draw()
        for _ in range(3):
            list(progress._bar.get_renderables())
        (task,) = progress._bar.tasks
    assert (task.total, task.completed) == (100, 75.0)


def test_nothing_is_shown_where_nobody_watches(run, data):
    assert run("evaluate", data / "scores.csv", "-s", "p", "-l", "y").err == ""
