"""Everything public is in the reference."""

import importlib

import pytest
from project_pages import DOCS

import trueodds
from support.services import library

LISTED = set((DOCS / "api.md").read_text(encoding="utf-8").split())
MODULES = (
    "trueodds.calibrators",
    "trueodds.stats",
    "trueodds.decisions",
    "trueodds.engines",
    "trueodds.exceptions",
    "trueodds.maps",
    "trueodds.metrics",
    "trueodds.mlflow",
    "trueodds.model_selection",
    "trueodds.plots",
    "trueodds.report",
    "trueodds.river",
    "trueodds.spark",
    "trueodds.testing",
    "trueodds_studies.datasets",
)
LEFT_OUT = {
    "warn_user": "for the library itself",
}


def is_error(value):
    """Whether it is an error or a warning, which one line describes."""
    return isinstance(value, type) and issubclass(value, Exception)


def module_of(path):
    """A public module; the libraries of some may be missing."""
    if path == "trueodds.river":
        library("river")
    return importlib.import_module(path)


@pytest.mark.parametrize("path", MODULES)
def test_every_public_name_is_in_the_reference(path):
    package = path.partition(".")[2]
    missing = [
        name
        for name in module_of(path).__all__
        if name not in LEFT_OUT and not {name, f"{package}.{name}"} & LISTED
    ]
    assert missing == []


@pytest.mark.parametrize("path", MODULES)
def test_every_public_name_shows_an_example(path):
    module = module_of(path)
    without = [
        name
        for name in module.__all__
        if name not in LEFT_OUT
        and callable(getattr(module, name))
        and not is_error(getattr(module, name))
        and ">>> " not in (getattr(module, name).__doc__ or "")
    ]
    assert without == []


def test_every_name_of_the_package_is_in_the_reference():
    assert {n for n, home in trueodds._HOMES.items() if home != "."} - LISTED - {
        "CalibrationMap"
    } == set()
