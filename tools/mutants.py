"""Change the code a little, and see whether a test notices.

    make mutants                                   # a sample of all, as in docs/mutants.md
    python tools/mutants.py --only decisions --sample 1000 --seed 3

Mutants are Cosmic Ray's. Each is tried in a process of its own, by the tests of its group
(``COMPARED``) that run the changed line; one that no test notices survives and is listed.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutant_positions import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "trueodds"
WORK = ROOT / "build" / "mutants"
LOG = WORK / "last-run.log"
COMPARED = {
    "maps": (
        ["maps/*.py"],
        ["tests/maps", "tests/export/test_export_texts.py", "src/trueodds/maps"],
    ),
    "inputs": (
        ["inputs/*.py"],
        ["tests/test_inputs.py", "tests/test_input_limits.py", "tests/test_table.py"],
    ),
    "comparison": (
        ["model_selection/_comparison.py", "model_selection/_folds.py"],
        [
            "tests/model_selection/test_comparison_parts.py",
            "tests/model_selection/test_comparison.py",
        ],
    ),
    "decisions": (
        ["decisions/*.py"],
        ["tests/test_decisions.py", "tests/test_net_benefit.py", "src/trueodds/decisions"],
    ),
    "verdict": (
        ["report/_verdict.py", "metrics/_finding.py"],
        ["tests/report/test_verdict.py", "tests/metrics/test_finding.py"],
    ),
}
"""What is changed, and the tests that should notice."""
KILLED, SURVIVED, UNREACHED = "killed", "survived", "not reached"
SLOWEST = 120
"""Seconds; a mutant that takes longer is noticed by everyone."""
MOST_MEMORY = 6 * 2**30


@dataclass
class Selection:
    """Tests of one group: their durations, and which of them run each line."""

    paths: list[str]
    seconds: dict[str, float]
    tests_of: dict[str, dict[int, list[str]]]

    def noticing(self, mutant: Mutant) -> set[str]:
        """Tests that run the changed line; all of them, if importing the module runs it."""
        found = self.tests_of.get(str(mutant.path), {}).get(mutant.line, [])
        return set(self.seconds) if "" in found else set(found)


class Recorder:
    """A plugin of pytest that notes which test runs which line, and how long it takes."""

    def __init__(self, coverage: Any) -> None:
        self.coverage, self.seconds = coverage, Counter[str]()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Lines belong to this test from here on."""
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Set-up, call and end of a test."""
        self.seconds[report.nodeid] += report.duration


class Chooser:
    """A plugin of pytest that runs some tests only, the fastest first."""

    def __init__(self, wanted: set[str], seconds: dict[str, float]) -> None:
        self.wanted, self.seconds = wanted, seconds

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the tests that are wanted."""
        items[:] = [item for item in items if item.nodeid in self.wanted]
        items.sort(key=lambda item: self.seconds[item.nodeid])


def in_child(work: Callable[[], int], seconds: float) -> int:
    """Do something in a process of its own; returns its code, negative if a signal ended it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        signal.alarm(int(seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        with LOG.open("wb") as log:
            for number in (1, 2):
                os.dup2(log.fileno(), number)
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
    raise AssertionError


def run_pytest(paths: list[str], plugin: Any, *extra: str) -> int:
    """Run tests in this process."""
    import pytest

    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return int(pytest.main([*options, *extra, *paths], plugins=[plugin]))


def selection(name: str) -> Selection:
    """Run the tests of a group once as they are."""
    patterns, paths = COMPARED[name]
    data, times = WORK / f"{name}.coverage", WORK / f"{name}.json"
    data.unlink(missing_ok=True)

    def work() -> int:
        import coverage

        include = [str(SOURCE / pattern) for pattern in patterns]
        measured = coverage.Coverage(data_file=str(data), include=include, config_file=False)
        recorder = Recorder(measured)
        measured.start()
        code = run_pytest(paths, recorder)
        measured.stop()
        measured.save()
        times.write_text(json.dumps(recorder.seconds))
        return code

    code = in_child(work, 1_200)
    if code:
        raise RuntimeError(f"the tests of {name} fail as they are (code {code})")
    import coverage

    found = coverage.CoverageData(str(data))
    found.read()
    lines = {path: found.contexts_by_lineno(path) for path in found.measured_files()}
    return Selection(paths, json.loads(times.read_text()), lines)


def outcome(mutant: Mutant, tests: Selection) -> str:
    """Whether a test notices."""
    wanted = tests.noticing(mutant)
    if not wanted:
        return UNREACHED
    expected = sum(tests.seconds[test] for test in wanted)

    def work() -> int:
        mutant.install()
        return run_pytest(tests.paths, Chooser(wanted, tests.seconds), "-x")

    return KILLED if in_child(work, SLOWEST + 4 * expected) else SURVIVED


def preload() -> None:
    """Import what tests need and mutants do not change, once for all."""
    import pandas as pd
    import pytest
    import scipy.optimize
    import scipy.stats
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.model_selection

    _ = pd, pytest, scipy, sklearn


def main() -> int:
    """Try a sample of mutants; the exit code is 1 if fewer are killed than are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=COMPARED, default=list(COMPARED))
    parser.add_argument("--sample", type=int, default=60, help="mutants of each group")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.85, help="share that must be killed")
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    os.chdir(ROOT)
    preload()
    total: Counter[str] = Counter()
    for name in arguments.only:
        start = time.perf_counter()
        paths = [path for pattern in COMPARED[name][0] for path in sorted(SOURCE.glob(pattern))]
        every = [mutant for path in paths for mutant in mutants_of(path)]
        tests = selection(name)
        rng = random.Random(arguments.seed)  # noqa: S311
        tried = rng.sample(every, min(arguments.sample, len(every)))
        found: Counter[str] = Counter()
        for mutant in tried:
            how = outcome(mutant, tests)
            found[how] += 1
            if how != KILLED:
                place = f"{how}: {mutant.path.relative_to(SOURCE)}:{mutant.line}"
                print(place, *_change(mutant), sep="\n    ", flush=True)
        total += found
        print(
            f"{name}: {found[KILLED]} of {len(tried)} killed ({found[KILLED] / len(tried):.0%}), "
            f"drawn from {len(every)}, in {time.perf_counter() - start:.0f} s",
            flush=True,
        )
    share = total[KILLED] / total.total()
    print(f"all: {total[KILLED]} of {total.total()} killed ({share:.1%})")
    return 0 if share >= arguments.least else 1


def _change(mutant: Mutant) -> list[str]:
    lines = difflib.unified_diff(
        mutant.path.read_text("utf-8").splitlines(), mutant.code.splitlines(), n=0, lineterm=""
    )
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


if __name__ == "__main__":
    sys.exit(main())
