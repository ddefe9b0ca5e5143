"""The project's pages, cut into what the tests look at: blocks of code, headings, links."""

import doctest
import io
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE_BY_THE_BUILD = ("_build", "gallery", "generated")

FENCE = re.compile(r"^(`{3,}|~{3,})([^\n`]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language (or directive), its text, and where it begins."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """The READMEs and their neighbors, and every page of the docs that a person writes."""
    written = [
        path
        for path in DOCS.rglob("*.md")
        if path.relative_to(DOCS).parts[0] not in MADE_BY_THE_BUILD
    ]
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("studies/*.md"), *written])


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks_of(text: str, page: str = "page") -> list[Block]:
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[2].strip(), found[3])
        for found in FENCE.finditer(text)
    ]


def all_blocks() -> list[Block]:
    return [
        block
        for path in pages()
        for block in blocks_of(path.read_text(encoding="utf-8"), name_of(path))
    ]


def prose_of(text: str) -> str:
    """The text without its fenced blocks."""
    return FENCE.sub("", text)


def inline_code_of(text: str) -> list[str]:
    return [" ".join(found[2].split()) for found in INLINE_CODE.finditer(prose_of(text))]


def anchors_of(text: str, *, deepest: int = 6) -> set[str]:
    """What a #fragment may name: headings as GitHub and MyST spell them, and ids in HTML."""
    anchors: set[str] = set(re.findall(r"""\bid=["']([^"']+)["']""", text))
    for marks, heading in HEADING.findall(prose_of(text)):
        if len(marks) > deepest:
            continue
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        again = 0
        while (found := f"{slug}-{again}" if again else slug) in anchors:
            again += 1
        anchors.add(found)
    return anchors


def run_doctests(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the examples on a page that pytest does not collect."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(page.read_text("utf-8"), {}, page.name, page.name, 0)
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where pickle looks for its classes
    test.globs = vars(module)
    said = io.StringIO()
    failures, tried = doctest.DocTestRunner(optionflags=flags).run(test, out=said.write)
    assert tried > 0
    assert failures == 0, said.getvalue()
