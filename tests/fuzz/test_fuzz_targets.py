"""What the fuzzer starts from, and what it has found: both keep their promises now."""

import functools
import importlib

import numpy as np
import pytest

from fuzz.run_fuzzers import HERE, TARGETS
from trueodds import metrics
from trueodds.calibrators import all_calibrators

RESULTS = {"CalibrationRefinement", "CorpDecomposition", "TailCalibration", "MetricComparison"}
RESULTS |= {"Band", "BinTests", "CurveErrors", "GroupCounts"}
"""Classes without methods, which functions return."""
WRONG_TAILS = metrics.tail_calibration([0, 1], [0.2, 0.8], fraction=0.5)
FOUND = sorted((HERE / "found").glob("*/*"))


@pytest.mark.parametrize("name", [*TARGETS, "fuzz_api"])
def test_what_the_fuzzer_starts_from_is_in_order(name):
    target = importlib.import_module(f"fuzz.{name}")
    for seed in target.seeds():
        target.check(seed)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_the_fuzzer_found_once_is_refused_or_works(path):
    importlib.import_module(f"fuzz.{path.parent.name}").check(path.read_bytes())


@pytest.mark.parametrize("name", ["fuzz_maps", "fuzz_states", "fuzz_online"])
def test_changed_documents_are_refused_or_work(name):
    target = importlib.import_module(f"fuzz.{name}")
    for number, seed in enumerate(target.seeds()):
        target.check(target.change(seed, 4 * number + 1))


@pytest.mark.slow
def test_random_calls_of_the_public_api_answer_or_raise_an_error_of_ours(tmp_path, monkeypatch):
    from fuzz import fuzz_api

    monkeypatch.chdir(tmp_path)
    tally = fuzz_api.random_calls(250, seed=2)
    assert not list(tmp_path.iterdir()), "files were left in the current folder"
    assert not tally.faults, "".join(map(tally.told, tally.faults))
    assert tally.outcomes["answer"] > 50
    assert tally.outcomes["our error"] > 50


def test_every_public_function_and_class_is_called_by_the_fuzzer():
    from fuzz import fuzz_api

    names = {target.name.split(".")[0] for own in fuzz_api.targets().values() for target in own}
    for expected in ("log_loss", "ENIRCalibrator", "TreeCalibrator", "CharcoalGrillCalibrator"):
        assert expected in names
    assert {kind.__name__ for kind in all_calibrators().values()} <= names
    assert set(metrics.__all__) - names <= RESULTS


@pytest.mark.parametrize(
    ("place", "planted", "word"),
    [
        ("brier_score", lambda *_, **__: 0.123, "but NumPy finds"),
        ("c_statistic", lambda *_, **__: 0.123, "but NumPy finds"),
        ("maximum_calibration_error", lambda *_, **__: 0.123, "but NumPy finds"),
        ("tail_calibration", lambda *_, **__: WRONG_TAILS, "low_prob 0.2, but NumPy finds"),
        ("log_loss", lambda *_, **__: 1 / 0, "ZeroDivisionError"),
        ("expected_calibration_error", lambda *_, **__: float("nan"), "returned nan"),
        ("accuracy", lambda *_, **__: np.log(np.zeros(1)).sum(), "RuntimeWarning"),
    ],
)
def test_the_fuzzer_of_calls_notices_what_is_planted(monkeypatch, place, planted, word):
    from fuzz import fuzz_api

    target = next(t for own in fuzz_api.targets().values() for t in own if t.name == place)
    monkeypatch.setattr(target, "function", functools.wraps(target.function)(planted))
    tally = fuzz_api.random_calls(60, seed=0, only=place)
    assert word in "".join(map(tally.told, tally.faults))


def test_a_target_notices_a_broken_promise(monkeypatch):
    from fuzz import fuzz_maps, fuzz_rows, fuzz_states
    from trueodds import maps
    from trueodds.cli.rows import prepare
    from trueodds.monitoring import _bets

    monkeypatch.setattr(maps.LogOddsMap, "_apply_valid", lambda *_: 1.5)
    monkeypatch.setattr(_bets.History, "from_dict", lambda *_: 1 / 0)
    monkeypatch.setattr(prepare, "find_classes", lambda *_: 1 / 0)
    for target in (fuzz_maps, fuzz_states, fuzz_rows):
        broken = 0
        for seed in target.seeds():
            try:
                target.check(seed)
            except Exception:
                broken += 1
        assert broken, target.__name__
