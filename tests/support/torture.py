"""Fit every method on every case of ``torture_cases.py``, and write the results as a page.

``python -m support.torture`` writes docs/torture.md in five minutes of CPU time. With ``--long`` it
writes docs/torture-large.md: many rows, many classes. With ``--only enir`` it prints one method.
With ``--store FILE`` it keeps results there, and resumes an interrupted run.

Every fit runs in a separate process, so that output to standard error is seen, a fit that hangs is
ended, and memory is measured.
"""

# ruff: noqa: E501, T201
from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from support.torture_cases import BINARY, CLASSES, EVERYWHERE, LEFT_OUT, LONG, Case, Sample
from trueodds import AutoCalibrator
from trueodds.calibrators import calibrator_names, find_calibrator
from trueodds.exceptions import InputError, TrueoddsWarning

DOCS = Path(__file__).resolve().parents[2] / "docs"
SECONDS = 120
"""CPU time of a fit, after which it is ended."""
GIGABYTES = 6
"""Memory that a fit may use."""
Outcome = dict[str, Any]


def methods() -> dict[str, Any]:
    """Every method by its name, and the default."""
    return {"auto": AutoCalibrator} | {name: find_calibrator(name) for name in calibrator_names()}


def query(sample: Sample) -> Any:
    """Scores at all ends of the scale, and those of the sample."""
    places = EVERYWHERE[sample.scale]
    if sample.scores.ndim == 1:
        return np.concatenate([sample.scores[:1_000], places])
    k = sample.scores.shape[1]
    if sample.scale == "probability":
        rows = np.concatenate([np.eye(k)[:10], np.full((1, k), 1 / k)])
    else:
        finite = places[np.isfinite(places)]
        rows = np.zeros((2 * len(finite), k))
        rows[: len(finite), 0] = finite
        rows[len(finite) :] = finite[:, None]
        rows[len(finite) :, -1] = -finite
    return np.concatenate([sample.scores[:1_000], rows])


def fit_and_ask(name: str, sample: Sample) -> Any:
    """Probabilities after a fit, at the sample's scores and at all ends of the scale."""
    calibrator = methods()[name](scale=sample.scale)
    if "random_state" in calibrator.get_params():
        calibrator.set_params(random_state=0)
    asked = query(sample)
    extra, also = {}, {}
    if calibrator.needs_features:
        column = np.random.default_rng(0).normal(size=max(len(sample.y), len(asked)))
        extra = {"features": column[: len(sample.y), None]}
        also = {"features": column[: len(asked), None]}
    calibrator.fit(sample.scores, sample.y, sample_weight=sample.weight, **extra)
    return calibrator.predict_proba(asked, **also)


def outcome(name: str, case: Case) -> Outcome:
    """Return what happens: ``finite``, ``refused`` with the error, or a failure."""
    sample = case.sample()
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            p = fit_and_ask(name, sample)
        except InputError as error:
            kind, words = "refused", str(error)
        except MemoryError:
            kind, words = "needed too much memory", f"more than {GIGABYTES} GB"
        except Exception as error:
            kind, words = "raised", f"{type(error).__name__}: {error}"
        else:
            right = bool(((p >= 0) & (p <= 1)).all() and np.abs(p.sum(axis=1) - 1).max() < 1e-9)
            kind, words = ("finite", "") if right else ("outside", "")
    foreign = {
        f"{type(w.message).__name__}: {w.message}"
        for w in caught
        if not issubclass(w.category, TrueoddsWarning)
    }
    if foreign:
        kind, words = f"{kind} with a foreign warning", "; ".join(sorted(foreign))
    ours = sorted({w.category.__name__ for w in caught if issubclass(w.category, TrueoddsWarning)})
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"kind": kind, "words": words, "ours": ours, "seconds": seconds, "megabytes": memory}


def alone(name: str, case: Case) -> Outcome:
    """The same in a separate process."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryFile() as errors:

        def work() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
            os.dup2(errors.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            sender.send(outcome(name, case))

        process = context.Process(target=work)
        process.start()
        sender.close()
        found: Outcome = {"kind": "died", "words": "", "ours": [], "seconds": 0.0}
        with contextlib.suppress(EOFError):  # it was ended
            found = receiver.recv()
        process.join()
        if process.exitcode == -signal.SIGXCPU or process.exitcode == -signal.SIGKILL:
            found |= {"kind": "took too long", "seconds": SECONDS}
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    if said:
        found |= {"kind": f"{found['kind']} with lines on standard error", "words": said[-300:]}
    return found


def short(found: Outcome) -> str:
    """One cell of the table."""
    mark = {"finite": "✓", "refused": "✗"}.get(found["kind"], f"**{found['kind']}**")
    return f"{mark} {found['seconds']:.1f}" if found["seconds"] >= 1 else mark


TEXT = """# Robustness: extreme and degenerate inputs
Every method was fitted on every sample below. Then it predicted the scores of the sample and scores at all ends of the scale:
0, 5·10⁻³²⁴, neighboring floats, ±1.7·10³⁰⁸, infinite log-odds. `python -m support.torture`, run in `tests/`, writes this page
in {minutes:.0f} minutes of CPU time; `tests/calibrators/test_torture.py` runs a part of it.

Of {cells:,} fits, {finite:,} returned a map with finite parameters and probabilities in [0, 1] that sum to 1, and {refused:,}
raised an `InputError`. {raw} ended in an error of another library, {foreign} caused a warning of another library or output to
standard output or error, and {outside} returned a number outside [0, 1].

- **Scores.** In a fit, log-odds and decision values beyond ±2¹⁰²⁰ count as ±2¹⁰²⁰, and those closer to 0 than 2⁻¹⁰²⁰ as 0.
  Methods that need squares scale them by a power of two.
- **Weights.** Importances of any size are divided by a power of two near the largest; each then counts at least 2⁻⁴⁰⁰. Counts
  above 10¹⁵ raise an error.
- **Overflow.** NumPy's warnings during a fit or a prediction are not shown: overflow gives infinity, and no map accepts NaN.
  Any remaining problem raises an error with the range of the scores and weights.
"""


LARGE = """# Robustness: many rows, many classes
Every method was fitted on a million rows with one positive, on 1,000 classes (5,000 rows) and on ten million rows, as described
in [extreme inputs](torture.md). `python -m support.torture --long`, run in `tests/`, writes this page in {minutes:.0f} minutes
of CPU time. A fit may take {limit} CPU seconds and {gigabytes} GB.

Of {cells:,} fits, {finite:,} returned probabilities and {refused:,} raised an `InputError`. {raw} ended in an error of another
library, died, or exceeded the limits. {foreign} caused a warning of another library or output to standard output or error,
and {outside} returned a number outside [0, 1].

The table shows CPU seconds; ✓ is less than one second. A dash is a fit that is known to exceed the limits.
"""
SLOW = 2.0
"""CPU seconds of a fit from which the page lists it."""


def large_table(results: dict[str, dict[tuple[str, str], Outcome]], cases: list[str]) -> list[str]:
    """One row for each method, one column for each sample."""
    lines = [f"## Results\n| method | {' | '.join(cases)} |\n|---|{'---|' * len(cases)}"]
    for name, row in results.items():
        cells = [
            short(row["n", case]).removeprefix("✓ ")
            if ("n", case) in row
            else ("–" if (name, case) in LEFT_OUT else "")
            for case in cases
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append("\n## Fits that exceed the limits\n| method | sample | reason |\n|---|---|---|")
    lines += [f"| {name} | {case} | {why} |" for (name, case), why in LEFT_OUT.items()]
    return [*lines, ""]


def slow_fits(results: dict[str, dict[tuple[str, str], Outcome]]) -> list[str]:
    """The fits that took longest, by method and sample."""
    found = [
        (outcome["seconds"], name, case, "two classes" if group == "2" else "several classes")
        for name, row in results.items()
        for (group, case), outcome in row.items()
        if outcome["seconds"] >= SLOW
    ]
    if not found:
        return []
    lines = [
        f"## Slow fits\nAll other fits took less than {SLOW:.0f} CPU seconds.\n",
        "| method | sample | classes | CPU seconds |\n|---|---|---|---|",
    ]
    ordered = sorted(found, reverse=True)
    lines += [
        f"| {name} | {case} | {kind} | {seconds:.1f} |" for seconds, name, case, kind in ordered
    ]
    return [*lines, ""]


def page(results: dict[str, dict[tuple[str, str], Outcome]], minutes: float, text: str) -> str:
    """The whole page."""
    every = [found for row in results.values() for found in row.values()]
    kinds = [found["kind"] for found in every]
    parts = [
        text.format(
            minutes=minutes,
            limit=SECONDS,
            gigabytes=GIGABYTES,
            cells=len(every),
            finite=kinds.count("finite"),
            refused=kinds.count("refused"),
            raw=sum(kind.startswith(("raised", "died", "took", "needed")) for kind in kinds),
            foreign=sum("foreign" in kind or "lines on" in kind for kind in kinds),
            outside=sum("outside" in kind for kind in kinds),
        )
    ]
    names = list(results)
    cases = {
        group: list(
            dict.fromkeys(key[1] for row in results.values() for key in row if key[0] == group)
        )
        for group in ("2", "k", "n")
    }
    if not cases["n"]:
        parts.append("## Samples\n| classes | samples |\n|---|---|")
        parts += [
            f"| {title} | {'; '.join(cases[group])} |"
            for title, group in (("two", "2"), ("several", "k"))
            if cases[group]
        ]
        parts.append("")
    if cases["n"]:
        parts += large_table(results, cases["n"])
    else:
        parts += slow_fits(results)
    parts.append("## Errors\n| method | sample | error |\n|---|---|---|")
    said: dict[str, list[tuple[str, str]]] = {}
    for name, row in results.items():
        for (_, case), found in row.items():
            if found["kind"] != "finite":
                said.setdefault(found["words"].split("; got")[0], []).append((name, case))
    if not said:
        parts.pop()  # no heading without errors
    for words, places in said.items():
        methods_of = sorted({name for name, _ in places})
        cases_of = list(dict.fromkeys(case for _, case in places))
        whose = "all" if len(methods_of) == len(names) else ", ".join(methods_of)
        parts.append(f"| {whose} | {', '.join(cases_of)} | {words.replace('|', '/')} |")
    return "\n".join(parts) + "\n"


def stored(path: Path | None) -> dict[tuple[str, str, str], Outcome]:
    """Results of earlier runs, by method, group and sample."""
    if path is None or not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {tuple(key): found for key, found in map(json.loads, lines)}


def run_all(
    names: list[str], groups: dict[str, list[Case]], store: Path | None, *, single: bool
) -> dict[str, dict[tuple[str, str], Outcome]]:
    """Every method on every sample that is not in the store yet.

    Fits that are left out for their time run if their sample is named (``single``).
    """
    known = stored(store)
    methods()  # imported here, not again in every process
    results: dict[str, dict[tuple[str, str], Outcome]] = {}
    for name in names:
        results[name] = {}
        for group, cases in groups.items():
            for case in cases:
                key = (name, group, case.name)
                if (name, case.name) in LEFT_OUT and not single:
                    continue
                if key not in known:
                    known[key] = alone(name, case)
                    if store is not None:
                        with store.open("a", encoding="utf-8") as file:
                            print(json.dumps([key, known[key]], ensure_ascii=False), file=file)
                found = results[name][group, case.name] = known[key]
                if found["kind"] not in ("finite", "refused"):
                    print(name, case.name, found, flush=True)
        print(
            name, f"{sum(found['seconds'] for found in results[name].values()):.0f} s", flush=True
        )
    return results


def main() -> int:
    """Run all and write the page; 1 after a failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="methods; results are printed instead of written")
    parser.add_argument("--case", nargs="*", help="samples; with --only")
    parser.add_argument("--store", type=Path, help="a file that keeps results")
    parser.add_argument(
        "--long", action="store_true", help="a million rows, 1,000 classes, 10⁷ rows"
    )
    arguments = parser.parse_args()
    groups = {"n": LONG} if arguments.long else {"2": BINARY, "k": CLASSES}
    if arguments.case:
        groups = {
            group: [case for case in cases if case.name in arguments.case]
            for group, cases in groups.items()
        }
    single = bool(arguments.case)
    results = run_all(arguments.only or list(methods()), groups, arguments.store, single=single)
    every = [found for row in results.values() for found in row.values()]
    minutes = sum(found["seconds"] for found in every) / 60
    written = page(results, minutes, LARGE if arguments.long else TEXT)
    if arguments.only or arguments.case:
        print(written)
    else:
        name = "torture-large.md" if arguments.long else "torture.md"
        (DOCS / name).write_text(written, encoding="utf-8")
    return 1 if any(found["kind"] not in ("finite", "refused") for found in every) else 0


if __name__ == "__main__":
    sys.exit(main())
