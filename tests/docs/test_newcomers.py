"""What newcomers look for is at most two clicks away; every warning is explained."""

import inspect
import re
from pathlib import Path

import pytest
from project_pages import DOCS, HEADING, ROOT
from test_links import OURS, targets_of

from trueodds import exceptions


def linked_pages(page: Path) -> set[Path]:
    """The pages of the project that a page links to."""
    found = set()
    for target in targets_of(page.read_text(encoding="utf-8")):
        ours = OURS.match(target)
        base, rest = (ROOT, target[ours.end() :]) if ours else (page.parent, target)
        path = (base / rest.partition("#")[0]).resolve()
        if path.suffix == ".md" and path.exists():
            found.add(path)
    return found


@pytest.mark.parametrize("start", [ROOT / "README.md", DOCS / "index.md"], ids=lambda p: p.name)
@pytest.mark.parametrize("word", ["metrics", "random forest", "multiclass", "Spark", "threshold"])
def test_what_people_look_for_is_two_clicks_away(start, word):
    first = linked_pages(start)
    reached = first.union(*map(linked_pages, first))
    titles = {path: HEADING.search(path.read_text(encoding="utf-8")) for path in reached}
    assert [path for path, title in titles.items() if title and word.lower() in title[2].lower()]


def test_ece_has_a_heading_two_clicks_away():
    text = (DOCS / "measuring.md").read_text(encoding="utf-8")
    assert "## ECE" in text
    for start in (ROOT / "README.md", DOCS / "index.md"):
        assert DOCS / "measuring.md" in linked_pages(start)


def test_every_warning_and_error_is_explained():
    public = {
        name
        for name in exceptions.__all__
        if inspect.isclass(kind := getattr(exceptions, name)) and issubclass(kind, Exception)
    }
    text = (DOCS / "warnings.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^### (\w+)$", text, re.MULTILINE))
    assert explained == public
