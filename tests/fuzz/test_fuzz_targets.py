"""What the fuzzer starts from, and what it has found: both keep their promises now."""

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from run_fuzzers import HERE, TARGETS

FOUND = sorted((HERE / "found").glob("*/*"))


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_fuzzer_starts_from_is_in_order(name):
    target = importlib.import_module(name)
    for seed in target.seeds():
        target.check(seed)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_the_fuzzer_found_once_is_refused_or_works(path):
    importlib.import_module(path.parent.name).check(path.read_bytes())


@pytest.mark.parametrize("name", ["fuzz_maps", "fuzz_states"])
def test_changed_documents_are_refused_or_work(name):
    target = importlib.import_module(name)
    for number, seed in enumerate(target.seeds()):
        target.check(target.change(seed, 4 * number + 1))


def test_a_target_notices_a_broken_promise(monkeypatch):
    import fuzz_maps
    import fuzz_rows
    import fuzz_states

    from trueodds import maps
    from trueodds.cli import _prepare
    from trueodds.monitoring import _document

    monkeypatch.setattr(maps.LogOddsMap, "apply", lambda *_: 1.5)
    monkeypatch.setattr(_document, "_read_history", lambda *_: 1 / 0)
    monkeypatch.setattr(_prepare, "find_classes", lambda *_: 1 / 0)
    for target in (fuzz_maps, fuzz_states, fuzz_rows):
        broken = 0
        for seed in target.seeds():
            try:
                target.check(seed)
            except Exception:
                broken += 1
        assert broken, target.__name__
