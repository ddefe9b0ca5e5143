"""Every link on every page leads somewhere, and every page can be reached."""

import re
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from project_pages import (
    DOCS,
    INLINE_CODE,
    ROOT,
    anchors_of,
    blocks_of,
    inline_code_of,
    name_of,
    pages,
    prose_of,
)

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\s*\)")
DEFINITION = re.compile(r"^\[[^\]^]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
IN_HTML = re.compile(r"""\b(?:href|src|srcset)=["']([^"']+)["']""")
AUTOMATIC = re.compile(r"<(\w+:[^>\s]+)>")
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:home|root|tmp|work|mnt|Users|private)/|\b[A-Z]:\\")
FILE_IN_TEXT = re.compile(
    r"(?:studies/)?(?:benchmarks|docs|examples|src|tests|tools)/[\w./-]+\.\w+"
)
OURS = re.compile(
    r"https://(?:github\.com/trueodds/trueodds/(?:blob|tree)|raw\.githubusercontent\.com/trueodds/trueodds)/main/"
)
SHOWN_ELSEWHERE = {ROOT / "README.md", ROOT / "studies" / "README.md"}
"""Pages that the package index shows, where a relative link leads nowhere."""
TO_BE_WRITTEN = {"src/trueodds/calibrators/_gamma.py"}  # by a contributor
MYST_DEEPEST = 3  # myst_heading_anchors in docs/conf.py


def targets_of(text: str) -> list[str]:
    prose = INLINE_CODE.sub("code", prose_of(text))
    return [t for pattern in (LINK, DEFINITION, IN_HTML, AUTOMATIC) for t in pattern.findall(prose)]


def source_of(path: Path) -> Path:
    """What a file that the build makes is made from; other files are their own source."""
    if not path.is_relative_to(DOCS):
        return path
    folder, _, name = path.relative_to(DOCS).as_posix().partition("/")
    if folder == "gallery":
        source = "README.txt" if name == "index.rst" else Path(name).with_suffix(".py").name
        return ROOT / "examples" / source
    return path


def fault_of(page: Path, target: str) -> str | None:
    """What is wrong with a link on a page; None if nothing."""
    if ours := OURS.match(target):
        page, target = ROOT / "a page at the root", target[ours.end() :]
    elif page in SHOWN_ELSEWHERE and not target.startswith("#") and not urlsplit(target).scheme:
        return "must be absolute"
    parts = urlsplit(target)
    if parts.scheme in ("http", "https"):
        well_formed = parts.scheme == "https" and "." in (parts.hostname or "")
        return None if well_formed else "must be https with a host"
    if parts.scheme == "mailto":
        return None
    if parts.scheme or target.startswith("/"):
        return "must be relative"
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not path.is_relative_to(ROOT):
        return "leads out of the project"
    if path.parent == DOCS / "generated":
        listed = path.stem.removeprefix("trueodds.") in (DOCS / "api.md").read_text().split()
        return None if listed else "is not listed in docs/api.md"
    if not source_of(path).exists():
        return "does not exist"
    if parts.fragment and path.suffix == ".md":
        deepest = MYST_DEEPEST if page.is_relative_to(DOCS) else 6
        if unquote(parts.fragment) not in anchors_of(path.read_text(), deepest=deepest):
            return "has no such heading"
    return None


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_link_leads_somewhere(page):
    targets = targets_of(page.read_text(encoding="utf-8"))
    assert [(t, fault) for t in targets if (fault := fault_of(page, t))] == []


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("docs/quickstart.md", "must be absolute"),
        ("https://github.com/trueodds/trueodds/blob/main/docs/absent.md", "does not exist"),
        ("https://raw.githubusercontent.com/trueodds/trueodds/main/absent.png", "does not exist"),
        (
            "https://github.com/trueodds/trueodds/blob/main/docs/quickstart.md#nowhere",
            "no such heading",
        ),
        ("#nowhere", "no such heading"),
        ("file:///etc/passwd", "must be relative"),
        ("http://example.org", "must be https"),
        ("https://nowhere", "with a host"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(target, fault):
    assert fault in (fault_of(ROOT / "README.md", target) or "")


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("docs/absent.md", "does not exist"),
        ("docs/quickstart.md#nowhere", "no such heading"),
        ("docs/gallery/plot_absent.rst", "does not exist"),
        ("docs/generated/trueodds.AbsentCalibrator.rst", "not listed"),
        ("../elsewhere.md", "leads out"),
        ("/docs/quickstart.md", "must be relative"),
    ],
)
def test_a_relative_link_that_leads_nowhere_is_found(target, fault):
    assert fault in (fault_of(ROOT / "CONTRIBUTING.md", target) or "")


def test_links_of_every_kind_are_seen():
    text = (
        '[a](one.md) ![b](two.png "title") [c][d] <https://e.org> `[no](code.md)`\n\n'
        "[d]: three.md\n<img src='four.png'>\n```\n[no](block.md)\n```\n"
    )
    found = ["one.md", "two.png", "three.md", "four.png", "https://e.org"]
    assert targets_of(text) == found
    assert fault_of(ROOT / "CONTRIBUTING.md", "docs/quickstart.md#you-have-a-model") is None


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_file_that_a_page_names_exists(page):
    code = " ".join(inline_code_of(page.read_text(encoding="utf-8")))
    named = set(FILE_IN_TEXT.findall(code)) - TO_BE_WRITTEN
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_page_names_a_folder_of_a_machine(page):
    assert MACHINE_PATH.findall(page.read_text(encoding="utf-8")) == []


def test_folders_of_machines_are_seen():
    assert MACHINE_PATH.search("see /home/ann/x")
    assert MACHINE_PATH.search(r"C:\x")
    assert not MACHINE_PATH.search("https://example.org/home/page")


def entries_of(page: Path) -> list[str]:
    """What the tables of contents on a page list, relative to docs/, without suffix."""
    found = []
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.language.startswith("{toctree}"):
            for line in block.text.splitlines():
                words = line.strip()
                if words and not words.startswith(":"):
                    entry = words.split("<")[-1].rstrip(">").removesuffix(".md")
                    found.append((page.parent / entry).relative_to(DOCS).as_posix())
    return found


def test_every_page_is_in_a_table_of_contents():
    written = {
        page.relative_to(DOCS).with_suffix("").as_posix()
        for page in pages()
        if page.is_relative_to(DOCS)
    }
    reached, ahead = set(), ["index"]
    while ahead:
        page = ahead.pop()
        if page in reached:
            continue
        reached.add(page)
        entries = entries_of(DOCS / f"{page}.md")
        ahead += [name for name in written for entry in entries if fnmatch(name, entry)]
    assert sorted(written - reached) == []
