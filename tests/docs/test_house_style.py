"""Every picture is shown on a page, and every admonition is the one shared text."""

import re

import pytest
from project_pages import DOCS, name_of, pages

ADMONITION = re.compile(r"^> \[!(\w+)\]\n((?:>.*\n)+)", re.MULTILINE)
HELD_OUT = (
    "Use scores of rows that the model was not trained on: a held-out set, or `cross_val_predict`. "
    "A map learned from training rows makes new predictions worse (why)."
)


def admonitions():
    for path in pages():
        for kind, body in ADMONITION.findall(path.read_text(encoding="utf-8")):
            text = " ".join(line.removeprefix("> ") for line in body.splitlines())
            yield name_of(path), kind, re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)


@pytest.mark.parametrize("folder", ["images", "studies"])
def test_every_picture_is_shown_on_a_page(folder):
    text = "".join(path.read_text(encoding="utf-8") for path in pages())
    pictures = {path.name for path in (DOCS / folder).iterdir() if path.suffix in (".png", ".pdf")}
    assert pictures
    assert {name for name in pictures if not re.search(rf"[/(]{re.escape(name)}", text)} == set()


def test_every_admonition_is_the_shared_one():
    found = list(admonitions())
    assert len(found) >= 5
    assert {entry for entry in found if entry[1:] != ("IMPORTANT", HELD_OUT)} == set()
