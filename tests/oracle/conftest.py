"""Commands run inside this process, each once; figures are counted and shown at the end."""

import contextlib
import functools
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from oracle.figures import Figures
from trueodds.cli import main

FIGURES = Figures()
AT_LEAST = 90_000  # fewer compared figures mean that a part of the suite no longer compares
OTHER_PROCESSES = []


@pytest.fixture(scope="session")
def figures() -> Figures:
    return FIGURES


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("oracle")


@pytest.fixture(scope="session")
def printed():
    """Run a command; returns what it prints. The same words are run once."""

    @functools.cache
    def text(words: tuple[str, ...]) -> str:
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as leave,
        ):
            main(list(words))
        code = int(leave.value.code or 0)
        assert code == (4 if words[0] == "monitor" and code else 0), err.getvalue()
        return out.getvalue()

    return lambda *words: text(tuple(str(word) for word in words))


@pytest.fixture(scope="session")
def command(printed):
    """Run a command with --json; returns its document."""
    return lambda *words: json.loads(printed(*words, "--json"))


def pytest_sessionfinish(session):
    config = session.config
    if hasattr(config, "workeroutput"):  # one of several processes (pytest-xdist)
        config.workeroutput["figures"] = dict(FIGURES.counts)
        return
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    ran = {item.path.name for item in session.items if item.path.parent == Path(__file__).parent}
    chosen = config.getoption("keyword") or config.getoption("markexpr")
    if here == ran and not chosen and not config.getoption("collectonly"):
        total = FIGURES.counts.total()
        if total < AT_LEAST:
            config.get_terminal_writer().line(f"oracle suite: {total:,} figures, not {AT_LEAST:,}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


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
