"""Commands run inside this process, each once; figures are counted and shown at the end."""

import contextlib
import functools
import io
import json
from collections import Counter

import pytest
from oracle.figures import Figures

from trueodds.cli import main

FIGURES = Figures()
OTHER_PROCESSES = []


@pytest.fixture(scope="session")
def figures() -> Figures:
    return FIGURES


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("oracle")


@pytest.fixture(scope="session")
def command():
    """Run a command with --json; returns its document. The same words are run once."""

    @functools.cache
    def text(words: tuple[str, ...]) -> str:
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as leave,
        ):
            main([*words, "--json"])
        code = int(leave.value.code or 0)
        assert code == (4 if words[0] == "monitor" and code else 0), err.getvalue()
        return out.getvalue()

    return lambda *words: json.loads(text(tuple(str(word) for word in words)))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):  # one of several processes (pytest-xdist)
        session.config.workeroutput["figures"] = dict(FIGURES.counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    OTHER_PROCESSES.append(getattr(node, "workeroutput", {}).get("figures", {}))


def pytest_terminal_summary(terminalreporter):
    total = sum(map(Counter, OTHER_PROCESSES), FIGURES.counts.copy())
    if total:
        terminalreporter.section("oracle suite: figures compared with an independent computation")
        for source in sorted(total):
            terminalreporter.write_line(f"{total[source]:7,}  {source}")
        terminalreporter.write_line(f"{total.total():7,}  in all")
