"""Every method has a page, and all pages have the same parts in the same order."""

import re

import pytest
from project_pages import DOCS

import trueodds

PARTS = ("$$", "![", "**Example.**", "```python", "**Use it**", "**When it fails.**", "**Cost.**")
PARTS += ("**Reference.**", "**Deviations.**")
OTHER_NAMES = {"tree": "trees"}
WRAPPERS = {"one_vs_rest"}
"""What applies other methods and is none itself."""

METHODS = sorted(set(trueodds.all_calibrators()) - WRAPPERS)


def page_of(method):
    name = OTHER_NAMES.get(method, method.replace("_", "-"))
    return DOCS / "methods" / f"{name}.md"


@pytest.mark.parametrize("method", METHODS)
def test_the_page_of_a_method_has_all_parts_in_order(method):
    text = page_of(method).read_text(encoding="utf-8")
    places = [text.find(part) for part in PARTS]
    missing = [part for part, place in zip(PARTS, places, strict=True) if place < 0]
    assert not missing
    assert places == sorted(places)


@pytest.mark.parametrize("method", METHODS)
def test_the_index_of_the_methods_links_to_the_page(method):
    index = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    page = page_of(method)
    assert f"]({page.name})" in index
    assert re.search(rf"^{page.stem}$", index, re.MULTILINE)
