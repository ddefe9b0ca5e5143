"""Every method has a page, and all pages have the same parts in the same order."""

import inspect
import re
from pathlib import Path

import pytest
from project_pages import DOCS

import trueodds

PARTS = ("$$", "](../images/method-", "**Use it**", "**Do not use it**", "**Example.**")
PARTS += ("GaussianNB(", "**Reference.**", "**Deviations.**")
MOST_WORDS = 400
OTHER_NAMES = {"tree": "trees"}
WRAPPERS = {"one_vs_rest"}
"""What applies other methods and is none itself."""

METHODS = sorted(set(trueodds.all_calibrators()) - WRAPPERS)


def page_of(method):
    name = OTHER_NAMES.get(method, method.replace("_", "-"))
    return DOCS / "methods" / f"{name}.md"


def test_every_method_has_all_that_a_contribution_needs():
    """One message for all that is missing, so that nobody finds out piece by piece."""
    index = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    reference = (DOCS / "api.md").read_text(encoding="utf-8").split()
    stubs = (Path(trueodds.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
    missing = []
    for method, kind in trueodds.all_calibrators().items():
        page, name = page_of(method), kind.__name__
        needs = {
            f"types in the signature of {name}": inspect.signature(kind)
            .parameters["scale"]
            .annotation
            is not inspect.Parameter.empty,
            f"{name} in docs/api.md": name in reference,
            f"{name} in the type stubs (make stubs)": name in stubs,
        }
        if method not in WRAPPERS:
            needs |= {
                f"a page docs/methods/{page.name} with {', '.join(PARTS)}": page.exists(),
                f"[...]({page.name}) in the table of docs/methods/index.md": (
                    f"]({page.name})" in index
                ),
                f"{page.stem} in the contents of docs/methods/index.md": bool(
                    re.search(rf"^{page.stem}$", index, re.MULTILINE)
                ),
            }
        missing += [f"{method}: {need}" for need, is_there in needs.items() if not is_there]
    assert not missing, "\n".join(["still missing:", *missing])


@pytest.mark.parametrize("method", [method for method in METHODS if page_of(method).exists()])
def test_the_page_of_a_method_has_all_parts_in_order(method):
    text = page_of(method).read_text(encoding="utf-8")
    places = [text.find(part) for part in PARTS]
    missing = [part for part, place in zip(PARTS, places, strict=True) if place < 0]
    assert not missing
    assert places == sorted(places)


@pytest.mark.parametrize("method", METHODS)
def test_the_page_of_a_method_is_short(method):
    assert len(page_of(method).read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_the_table_has_the_losses_of_the_examples():
    """The doctest of a page prints the log-loss before and after; the overview has the latter."""
    index = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    printed = re.compile(r"^\[[\d.]+, ([\d.]+|inf)\]$", re.MULTILINE)
    for method in METHODS:
        page = page_of(method)
        (loss,) = printed.findall(page.read_text(encoding="utf-8"))
        row = next(line for line in index.splitlines() if f"]({page.name})" in line and "|" in line)
        assert row.split("|")[-2].strip() == loss.replace("inf", "infinite"), page.name
