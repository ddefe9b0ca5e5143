"""Every command of the pages on the command line and on groups prints what the page says."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE, GROUPS = DOCS / "command-line.md", DOCS / "groups.md"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def documented(page: Path = PAGE) -> list[tuple[str, str]]:
    """Command lines and the output that is shown below each."""
    found: list[tuple[str, str]] = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def agree(expected: str, printed: str) -> bool:
    """Whether words agree; three dots stand for anything, and white space is free."""
    first, *parts = "".join(expected.split()).split("...")
    rest = "".join(printed.split())
    if not rest.startswith(first):
        return False
    rest = rest.removeprefix(first)
    if not parts:
        return not rest
    *inner, last = parts
    for part in inner:
        _, found, rest = rest.partition(part) if part else ("", "", rest)
        if found != part:
            return False
    return rest.endswith(last)


def test_pages_and_output_are_really_compared():
    assert agree("a ... c\n", "a b\n  c\n")
    assert not agree("a ... c\n", "a b\n")
    assert not agree("a 0.12\n", "a 0.13\n")


def folder_of(page: Path, where: Path) -> Path:
    """The page's example files, and a program called trueodds."""
    program = where / "bin" / "trueodds"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trueodds "$@"\n')
    program.chmod(0o755)
    examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    before = Path.cwd()
    os.chdir(where)
    try:
        exec("".join(example.source for example in examples), {})  # noqa: S102
    finally:
        os.chdir(before)
    return where


@pytest.mark.slow
@pytest.mark.parametrize(("page", "least"), [(PAGE, 15), (GROUPS, 4)], ids=lambda p: str(p)[-12:])
def test_every_command_prints_what_the_page_says(page, least, tmp_path):
    folder = folder_of(page, tmp_path)
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    assert len(documented(page)) > least
    for command, expected in documented(page):
        result = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        assert agree(expected, result.stdout), (
            f"{command}\nprinted\n{result.stdout}\ninstead of\n{expected}"
        )


def test_every_command_is_on_the_page():
    from trueodds.cli.app import COMMANDS

    shown = "\n".join(command for command, _ in documented())
    assert [name for name in COMMANDS if f"trueodds {name}" not in shown] == ["demo"]
