"""Every example on every page runs: Python, command lines and SQL.

Doctests of README.md and docs/ are collected by pytest itself (``--doctest-glob``); here is the
page that it does not collect, and the blocks that are no doctests. There are no exceptions.
"""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from project_pages import (
    ROOT,
    Block,
    all_blocks,
    blocks_of,
    inline_code_of,
    name_of,
    pages,
    run_doctests,
)
from typer import Context
from typer.main import get_command

import trueodds
from trueodds.cli import main
from trueodds.cli.app import app

PAGES = {name_of(path): path.read_text(encoding="utf-8") for path in pages()}
LANGUAGES = {"", "console", "json", "python", "sh", "sql", "text", "toml"}
"""What a block may be. Python has one name, so that no example can hide behind another."""

RUN_HERE = {"docs/howto/spark.md": "needs a Spark session: test_spark_page.py"}
SAVED_AS_A_FILE = {"CONTRIBUTING.md"}
"""Its Python is a whole module, which tests/calibrators/test_new_method.py saves and uses."""
PARSED_ONLY = {"demo"}  # it takes a minute or more; its own test runs it
SHELL = re.compile(r"[|<>;&]+")


def python_faults(block: Block) -> list[str]:
    """Why a block of Python would not be run, or not be compared."""
    if block.language != "python" or block.page in SAVED_AS_A_FILE:
        return []
    lines = [line for line in block.text.splitlines() if line.strip()]
    if not lines or not lines[0].startswith(">>> "):
        return [f"{block.place}: a block of Python must be a doctest (>>> ...)"]
    if "+SKIP" in block.text:
        return [f"{block.place}: an example must not be skipped"]
    return []


def test_every_block_of_python_is_a_doctest():
    assert [fault for block in all_blocks() for fault in python_faults(block)] == []


def test_every_block_has_a_language_that_is_checked():
    strange = [
        f"{block.place}: {block.language}"
        for block in all_blocks()
        if block.language not in LANGUAGES and not block.language.startswith("{")
    ]
    assert strange == []


def test_blocks_of_console_stand_where_they_are_run():
    pages_with = {block.page for block in all_blocks() if block.language == "console"}
    # They are run by tests/cli/test_documentation.py.
    assert pages_with == {"docs/command-line.md", "docs/groups.md"}


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```\n",
        "```python\n>>> x = 1  # doctest: +SKIP\n\n```\n",
        "````python\nimport this\n\n>>> x = 1\n\n````\n",
    ],
)
def test_a_block_that_does_not_run_is_found(text):
    assert [len(python_faults(block)) for block in blocks_of(text)] == [1]


def test_every_page_is_collected_or_run_here():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    collected = settings["tool"]["pytest"]["ini_options"]["testpaths"]
    lost = [
        page
        for page, text in PAGES.items()
        if ">>> " in text
        and page not in RUN_HERE
        and not any(page == path or page.startswith(f"{path}/") for path in collected)
    ]
    assert lost == []


def test_an_example_that_fails_is_found(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        run_doctests(tmp_path / "page.md", monkeypatch)


def sample(n: int) -> pd.DataFrame:
    """Scores that are too sure, with the columns that the pages speak of."""
    rng = np.random.default_rng(n)
    z = rng.normal(-1, 1.5, n)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "p": 1 / (1 + np.exp(-2 * z)),
            "y": (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int),
            "margin": z,
            "weight": rng.integers(1, 3, n),
            "country": rng.choice(["CZ", "PT"], n),
        }
    )


@pytest.fixture
def sample_files(tmp_path, monkeypatch) -> Path:
    """A folder with the files that the pages speak of; examples run in it."""
    for name in ("scores", "predictions"):
        sample(300).to_csv(tmp_path / f"{name}.csv", index=False)
        sample(300).to_parquet(tmp_path / f"{name}.parquet")
    for name in ("new", "today"):
        sample(100).drop(columns="y").to_csv(tmp_path / f"{name}.csv", index=False)
        sample(100).drop(columns="y").to_parquet(tmp_path / f"{name}.parquet")
    sample(100).to_csv(tmp_path / "later.csv", index=False)
    (tmp_path / "new").mkdir()
    sample(100).assign(day="2026-01-01").to_parquet(tmp_path / "new" / "first.parquet")
    day = tmp_path / "lake" / "day=2026-01-01"
    day.mkdir(parents=True)
    sample(100).to_parquet(day / "part-0.parquet")
    rows = sample(300)
    trueodds.BetaCalibrator().fit(rows["p"], rows["y"]).map_.save(tmp_path / "map.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command_lines(blocks: list[Block]) -> list[tuple[str, str]]:
    """The lines of shell blocks that call trueodds, with their places; others are left alone."""
    found = []
    for block in blocks:
        if block.language in ("", "sh"):
            lines = block.text.replace("\\\n", " ").splitlines()
            found += [(block.place, line) for line in lines if line.startswith("trueodds ")]
    return found


def command_of(word: str) -> Any:
    """The command of a name; None if there is none."""
    program = get_command(app)
    return program.get_command(Context(program), word)


def run_command(line: str) -> None:
    """Run a command line in this process; one that takes long is only parsed."""
    words = shlex.split(line, comments=True)[1:]
    if any(SHELL.fullmatch(word) for word in words):
        pytest.fail(f"write it as a block of console, which a shell runs: {line}")
    if words[0] in PARSED_ONLY:
        command_of(words[0]).make_context(words[0], words[1:]).close()
        return
    with pytest.raises(SystemExit) as leave:
        main(words)
    assert not leave.value.code, f"{line}\nleft with code {leave.value.code}"


@pytest.mark.parametrize(
    "page",
    [page for page, text in PAGES.items() if command_lines(blocks_of(text))],
)
def test_every_command_line_runs(page, sample_files):
    lines = command_lines(blocks_of(PAGES[page], page))
    if any(line.split()[1] == "fit" for _, line in lines):
        (sample_files / "map.json").unlink()  # the page makes its own, which replaces none
    for place, line in lines:
        try:
            run_command(line)
        except Exception as error:
            raise AssertionError(f"{place}: {line}") from error


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("trueodds evaluate absent.csv", "left with code 1"),
        ("trueodds fit scores.csv --score p --label y --color red", "left with code 2"),
        ("trueodds demo --color red", "No such option"),
        ("trueodds apply map.json new.csv --score p -o - | head", "block of console"),
    ],
)
def test_a_command_line_that_does_not_work_is_found(line, message, sample_files):
    with pytest.raises(BaseException, match=message):  # click's and pytest's
        run_command(line)


def unknown_words(code: str) -> list[str]:
    """Commands and options in a piece of inline code, such as ``trueodds fit --method beta``."""
    words = code.split()
    if words[0] != "trueodds" or len(words) == 1 or not words[1].isalpha() or words[1].isupper():
        return []
    command = command_of(words[1])
    if command is None:
        return [words[1]]
    known = {name for option in command.params for name in option.opts}
    known |= {"--help", "--debug", "--verbose"}
    return [
        word for word in words[2:] if word.startswith("-") and len(word) > 1 and word not in known
    ]


def test_every_command_in_the_text_exists():
    wrong = [
        f"{page}: `{code}` has {unknown}"
        for page, text in PAGES.items()
        for code in inline_code_of(text)
        if code.startswith("trueodds ") and (unknown := unknown_words(code))
    ]
    assert wrong == []
    assert unknown_words("trueodds fit --methd beta") == ["--methd"]
    assert unknown_words("trueodds fti") == ["fti"]


def run_query(block: Block) -> None:
    import duckdb

    with duckdb.connect() as connection:
        for query in connection.extract_statements(block.text):
            connection.execute(query).fetchall()


def test_every_query_runs_in_duckdb(sample_files):
    queries = [block for block in all_blocks() if block.language == "sql"]
    assert queries
    for block in queries:
        try:
            run_query(block)
        except Exception as error:
            raise AssertionError(f"{block.place}\n{block.text}") from error


def test_a_query_that_does_not_run_is_found(sample_files):
    (block,) = blocks_of("```sql\nselect q from 'predictions.parquet'\n```\n")
    with pytest.raises(Exception, match="q"):  # DuckDB's own
        run_query(block)
