"""The calls on the page about other libraries run.

Those of libraries that are not installed here are run by tools/check_migration.py.
"""

import importlib.util

import numpy as np
import pytest
from project_pages import ROOT

SPEC = importlib.util.spec_from_file_location("check_migration", ROOT / "tools/check_migration.py")
check_migration = importlib.util.module_from_spec(SPEC)
PAIRS = []


def load():
    import sys

    sys.modules[SPEC.name] = check_migration  # dataclasses look there
    SPEC.loader.exec_module(check_migration)
    PAIRS.extend(check_migration.pairs())


load()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.ours)
def test_every_call_of_ours_runs(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_migration.run(pair.ours, "trueodds")


@pytest.mark.parametrize(
    "pair", [p for p in PAIRS if p.library == "scikit-learn"], ids=lambda pair: pair.theirs
)
def test_scikit_learn_gives_nearly_the_same(pair):
    theirs = check_migration.run(pair.theirs, pair.library)
    if theirs is not None:
        ours = check_migration.run(pair.ours, "trueodds")
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_every_library_has_its_table():
    assert {pair.library for pair in PAIRS} == {"scikit-learn", "betacal", "netcal"}
    assert len(PAIRS) > 20
