"""Check that several threads get from a shared object what one thread gets.

``python -m support.threads_under_load --seconds 10`` starts eight threads on an object of each
public class that keeps something, for ten seconds each. All classes are tried with readers only,
and those that learn also with one writer and seven readers, and with eight writers. All answers are
compared with those of one thread, bit for bit. Writers learn the same rows again and again, so that
the result does not depend on which of them is first.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import pickle
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import trueodds
from trueodds import (
    AutoCalibrator,
    CalibratedClassifier,
    CalibrationMonitor,
    OnlineCalibrator,
    ScoreTable,
    all_calibrators,
)
from trueodds.monitoring import ForecastComparison

N_THREADS = 8
STEPS = 40
"""Batches that writers learn before an object is replaced by a new one."""

Call = Callable[[Any], Any]
Answers = dict[str, list[Any]]
"""What each call may return: after no step, after one, and so on."""


@dataclass(frozen=True)
class Shared:
    """An object, and what threads do with it.

    Parameters
    ----------
    name : str
    make : callable
        Returns the object; every time the same one.
    reads : dict of str to callable
        Calls that change nothing.
    learn : callable, default=None
        One more batch, every time the same one.
    """

    name: str
    make: Callable[[], Any]
    reads: dict[str, Call]
    learn: Call | None = None


@dataclass
class Outcome:
    """Answers that were compared, and those that one thread does not get."""

    calls: int = 0
    wrong: list[str] = field(default_factory=list)

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.calls + other.calls, self.wrong + other.wrong)


def plain(value: Any) -> Any:
    """Return a value that is equal only to the same one, bit for bit."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value if isinstance(value, (int, float, str, bool)) else repr(value)


def answer(call: Call, item: Any) -> Any:
    """Return what a call returns, in a form that can be compared; an error is a wrong answer."""
    try:
        return plain(call(item))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def objects(names: set[str] | None = None) -> Iterator[Shared]:
    """Return an object of each public class that keeps something."""
    rng = np.random.default_rng(0)
    p = rng.random(240)
    y = (rng.random(240) < p**1.5).astype(int)
    features = np.column_stack([rng.integers(0, 3, 240), rng.normal(size=240)])
    for shared in itertools.chain(_fitted(p, y, features), _learning(p, y)):
        if names is None or shared.name in names:
            yield shared


def _fitted(p: Any, y: Any, features: Any) -> Iterator[Shared]:
    scores = {"one": p[:1], "some": p[:100], "many": np.tile(p, 5)}
    kinds: dict[str, Any] = all_calibrators() | {"auto": AutoCalibrator}
    for kind in kinds.values():
        needs = kind().needs_features

        def make(kind: Any = kind, needs: bool = needs) -> Any:
            return kind().fit(p, y, features=features) if needs else kind().fit(p, y)

        def predict(c: Any, scores: Any, needs: bool = needs) -> Any:
            options = {"features": np.resize(features, (len(scores), 2))} if needs else {}
            return c.predict_proba(scores, **options)

        reads: dict[str, Call] = {
            f"predict_proba, {key}": partial(predict, scores=s) for key, s in scores.items()
        }
        if not needs:
            reads |= {
                "predict_interval": lambda c: c.predict_interval(p[:20]),
                "map": lambda c: c.map_(p[:100]),
            }
        reads |= {
            "map as JSON": lambda c: c.map_.to_dict(),
            "map as a pickle": lambda c: pickle.loads(pickle.dumps(c.map_)).fingerprint,  # noqa: S301
        }
        yield Shared(kind.__name__, make, reads)
    yield Shared(
        "CalibratedClassifier",
        lambda: CalibratedClassifier(_base()).fit(features, y),
        {"predict_proba": lambda m: m.predict_proba(features[:50])},
    )
    yield Shared(
        "ScoreTable",
        lambda: ScoreTable.from_arrays(p, y),
        {
            "fit": lambda t: trueodds.BetaCalibrator().fit_table(t).map_.to_dict(),
            "add": lambda t: (t + t).total,
        },
    )


def _base() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _learning(p: Any, y: Any) -> Iterator[Shared]:
    copies: dict[str, Call] = {
        "state": lambda o: o.to_dict(),
        "copy": lambda o: copy.copy(o).to_dict(),
        "deep copy": lambda o: copy.deepcopy(o).to_dict(),
        "pickle": lambda o: pickle.loads(pickle.dumps(o)).to_dict(),  # noqa: S301
    }
    online: dict[str, Call] = {
        "one number": lambda o: o.predict_proba(0.3),
        "small scores": lambda o: o.predict_proba(np.tile(0.2 * p, 5)),
        "large scores": lambda o: o.predict_proba(np.tile(1 - 0.2 * p, 5)),
        "map": lambda o: o.map_(p[:10]),
        "rows": lambda o: o.n_rows,
        "regret": lambda o: o.regret_,
        "experts": lambda o: o.experts_,
        "calibration": lambda o: o.calibration_,
    }
    yield Shared("OnlineCalibrator", OnlineCalibrator, online | copies, lambda o: o.replay(p, y))
    several = np.random.default_rng(1).dirichlet([1, 1, 1], 40)
    labels = np.arange(40) % 3
    yield Shared(
        "OnlineCalibrator of three classes",
        lambda: OnlineCalibrator(classes=[0, 1, 2]),
        {"some rows": lambda o: o.predict_proba(several), "regret": lambda o: o.regret_} | copies,
        lambda o: o.replay(several, labels),
    )
    yield Shared(
        "OnlineCalibrator, row by row",
        OnlineCalibrator,
        online | {"state": copies["state"]},
        lambda o: o.update(0.3, 1).n_rows * 0,  # what other threads learned meanwhile is in n_rows
    )
    group = np.where(p > 0.4, "a", "b")
    yield Shared(
        "CalibrationMonitor",
        CalibrationMonitor,
        {
            "summary": lambda m: m.summary(),
            "e-value": lambda m: m.e_value,
            "regions": lambda m: m.regions,
            "change": lambda m: m.change_point,
        }
        | copies,
        lambda m: m.update(p, y, group=group).alpha,
    )
    yield Shared(
        "ForecastComparison",
        ForecastComparison,
        {"e-value": lambda d: d.e_value_new, "difference": lambda d: d.mean_difference}
        | {"state": copies["state"], "pickle": lambda d: pickle.loads(pickle.dumps(d)).to_dict()},  # noqa: S301
        lambda d: d.update(0.5 * p, p, y).alpha,
    )
    try:
        from trueodds.river import OnlineCalibratedClassifier
    except ImportError:
        return

    from river.naive_bayes import GaussianNB

    row = {"a": 1.0, "b": 2.0}

    yield Shared(
        "OnlineCalibratedClassifier",
        lambda: OnlineCalibratedClassifier(GaussianNB()),
        {
            "forecast": lambda m: m.predict_proba_one(row),
            "copy": lambda m: copy.deepcopy(m).predict_proba_one(row),
            "pickle": lambda m: pickle.loads(pickle.dumps(m)).predict_proba_one(row),  # noqa: S301
        },
        lambda m: m.learn_one(row, True),
    )


@contextmanager
def switching(seconds: float = 1e-5) -> Iterator[None]:
    """Change threads more often than Python does by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(works: list[Callable[[], None]]) -> None:
    """Run each in a thread of its own; all begin at once. An error of any of them is raised."""
    start, errors = threading.Barrier(len(works)), []

    def run(work: Callable[[], None]) -> None:
        start.wait()
        try:
            work()
        except BaseException as error:  # raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    with switching():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def serial_answers(shared: Shared, steps: int) -> tuple[Answers, Counter[Any]]:
    """Return what one thread may read after any number of steps, and what it learns."""
    item = shared.make()
    answers = {name: [plain(read(item))] for name, read in shared.reads.items()}
    learned: Counter[Any] = Counter()
    for _ in range(steps if shared.learn else 0):
        assert shared.learn is not None
        learned[plain(shared.learn(item))] += 1
        for name, read in shared.reads.items():
            answers[name].append(plain(read(item)))
    return answers, learned


def read_together(shared: Shared, *, seconds: float = 60, calls: int = 10**9) -> Outcome:
    """Return what eight readers found of an object that nobody changes.

    Each reader ends after ``seconds``, or after ``calls`` calls if that is sooner.
    """
    item = shared.make()
    if shared.learn is not None:
        shared.learn(item)
    answers = {name: [plain(read(item))] for name, read in shared.reads.items()}
    fresh = copy.deepcopy(item)  # nothing was computed and kept by the calls above
    outcomes = [Outcome() for _ in range(N_THREADS)]
    end = time.monotonic() + seconds

    def go_on(turn: int) -> bool:
        return turn < calls and time.monotonic() < end

    def reader(k: int) -> Callable[[], None]:
        return lambda: _read(shared, fresh, answers, outcomes[k], go_on, first=k)

    in_threads([reader(k) for k in range(N_THREADS)])
    return sum(outcomes, Outcome())


def _read(
    shared: Shared,
    item: Any,
    answers: Answers,
    outcome: Outcome,
    go_on: Callable[[int], bool],
    first: int = 0,
) -> None:
    names = list(shared.reads)
    turn = first
    while go_on(turn - first):
        name = names[turn % len(names)]
        found = answer(shared.reads[name], item)
        if found not in answers[name]:
            error = found if isinstance(found, str) and "Error:" in found else ""
            outcome.wrong.append(f"{name} {error}"[:150])
        outcome.calls += 1
        turn += 1


def learn_together(
    shared: Shared, n_writers: int, serial: tuple[Answers, Counter[Any]], steps: int = STEPS
) -> Outcome:
    """Return what threads found of an object that ``n_writers`` of them change."""
    assert shared.learn is not None
    learn, (answers, learned) = shared.learn, serial
    item, turns = shared.make(), iter(range(steps))
    got: list[list[Any]] = [[] for _ in range(n_writers)]
    outcomes = [Outcome() for _ in range(N_THREADS - n_writers)]
    writing = [True] * n_writers

    def writer(k: int) -> Callable[[], None]:
        def write() -> None:
            try:
                for _ in turns:
                    got[k].append(answer(learn, item))
            finally:
                writing[k] = False

        return write

    def reader(k: int) -> Callable[[], None]:
        return lambda: _read(shared, item, answers, outcomes[k], lambda _: any(writing), first=k)

    in_threads([writer(k) for k in range(n_writers)] + [reader(k) for k in range(len(outcomes))])
    total = sum(outcomes, Outcome(steps + len(shared.reads)))
    found = Counter(itertools.chain.from_iterable(got))
    total.wrong += ["learn"] * (learned - found).total()
    total.wrong += [
        f"{name}, at the end"
        for name, read in shared.reads.items()
        if answer(read, item) != answers[name][-1]
    ]
    return total


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="for each class and kind of use"
    )
    parser.add_argument("--only", nargs="*", help="names of classes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    total = Outcome()
    for shared in objects(set(options.only) if options.only else None):
        found = {"readers": read_together(shared, seconds=options.seconds)}
        if shared.learn is not None:
            serial = serial_answers(shared, STEPS)
            for title, n_writers in (("1 writer", 1), (f"{N_THREADS} writers", N_THREADS)):
                found[title], end = Outcome(), time.monotonic() + options.seconds
                while time.monotonic() < end:
                    found[title] += learn_together(shared, n_writers, serial)
        for title, outcome in found.items():
            result = f"{outcome.calls:,} answers, {len(outcome.wrong):,} wrong"
            print(f"{shared.name}, {title}: {result}")  # noqa: T201
            for text, count in Counter(outcome.wrong).most_common(5):
                print(f"  {text}: {count}")  # noqa: T201
            total += outcome
    print(f"all: {total.calls:,} answers, {len(total.wrong):,} wrong")  # noqa: T201
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
