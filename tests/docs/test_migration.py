"""The calls on the page about other libraries run.

Those of libraries that are not installed here are run by tools/check_migration.py.
"""

import numpy as np
import pytest
from check_migration import pairs, run

PAIRS = list(pairs())


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.ours)
def test_every_call_of_ours_runs(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(pair.ours, "trueodds")


@pytest.mark.parametrize(
    "pair", [p for p in PAIRS if p.library == "scikit-learn"], ids=lambda pair: pair.theirs
)
def test_scikit_learn_gives_the_same(pair):
    theirs, ours = run(pair.theirs, pair.library), run(pair.ours, "trueodds")
    if "Display" in pair.theirs:  # a picture has no numbers to compare
        assert theirs is ours is None
    else:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_models_with_decision_values_and_probabilities_have_rows_of_their_own(method):
    """They are calibrated on their probabilities here, on their decision values there."""
    call = f'CalibratedClassifierCV(boosted, method="{method}").fit(X, y)'
    assert call in [pair.theirs for pair in PAIRS]


def test_every_library_has_its_table():
    libraries = {"scikit-learn", "betacal", "netcal", "probmetrics", "venn-abers"}
    assert {pair.library for pair in PAIRS} == libraries
    assert len(PAIRS) > 25
