"""Speed and memory of ENIR and BBQ, as ratios measured in the same run.

    python benchmarks/speed/enir_speed.py [--quick]

Compares with np.argsort of the same scores, with np.searchsorted, and, where it is installed, with
netcal. Every time is the median of several repeats. ``--quick`` leaves out N = 10⁶ and netcal.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import time
import tracemalloc
import warnings

import numpy as np

from trueodds import BBQCalibrator, ENIRCalibrator

SIZES = (10**3, 10**4, 10**5, 10**6)
LIMITS = {
    "exponent": 1.15,
    "argsort": 20.0,
    "memory": 60.0,
    "searchsorted": 3.0,
    "netcal ENIR": 100.0,
    "netcal BBQ": 10.0,
}


def median_time(function, *, seconds=2.0, least=5):
    """Return the median of at least this many calls, in about this time, without the first."""
    function()
    times = []
    begin = time.perf_counter()
    while len(times) < least or (time.perf_counter() - begin < seconds and len(times) < 200):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def sample(n, *, ties, truth="monotone"):
    rng = np.random.default_rng(0)
    scores = rng.random(n)
    p = scores if truth == "monotone" else 0.5 + 0.4 * np.sin(20 * scores)
    y = (rng.random(n) < p).astype(int)
    if ties:
        scores = np.round(scores * n / 3) / (n // 3 + 1)  # about three instances to a score
    return scores, y


def say(what, value, limit=None, *, at_least=False):
    verdict = ""
    if limit is not None:
        holds = value >= limit if at_least else value <= limit
        sign = ">=" if at_least else "<="
        verdict = f"   (wanted {sign} {limit:g}: {'holds' if holds else 'DOES NOT HOLD'})"
    print(f"  {what:<58} {value:10.4g}{verdict}")


def growth(sizes):
    for truth in ("monotone", "wavy"):
        for ties in (False, True):
            print(f"ENIR fit, {truth} curve, {'ties' if ties else 'no ties'}")
            times, sorts = [], []
            for n in sizes:
                scores, y = sample(n, ties=ties, truth=truth)
                fit = median_time(lambda s=scores, y=y: ENIRCalibrator().fit(s, y))
                sort = median_time(lambda s=scores: np.argsort(s))
                times.append(fit)
                sorts.append(sort)
                limit = LIMITS["argsort"] if n == 10**6 else None
                say(f"N = {n:>7}: {fit:9.5f} s, in units of np.argsort", fit / sort, limit)
            slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
            say("exponent of N, all sizes", slope, LIMITS["exponent"])
            for what, series in (("ENIR", times), ("np.argsort", sorts)):
                last = np.log(series[-1] / series[-2]) / np.log(sizes[-1] / sizes[-2])
                say(f"exponent of N, from {sizes[-2]} to {sizes[-1]}: {what}", last)


def memory(n):
    print(f"ENIR fit, peak memory at N = {n}")
    for ties in (False, True):
        scores, y = sample(n, ties=ties)
        distinct = len(np.unique(scores))
        tracemalloc.start()
        ENIRCalibrator().fit(scores, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        what = f"8-byte numbers per distinct score ({distinct} of them)"
        say(what, peak / 8 / distinct, LIMITS["memory"])


def prediction(n):
    print(f"ENIR predict_proba of {n} scores")
    scores, y = sample(n, ties=False)
    fitted = ENIRCalibrator().fit(scores, y)
    knots = fitted.map_.x
    predict = median_time(lambda: fitted.predict_proba(scores))
    applied = median_time(lambda: fitted.map_(scores))
    search = median_time(lambda: np.searchsorted(knots, scores))
    limit = LIMITS["searchsorted"]
    print(f"  {predict:.4f} s; {len(knots)} knots")
    say("predict_proba in units of np.searchsorted in its knots", predict / search, limit)
    say("the map alone in units of np.searchsorted in its knots", applied / search)
    rows = np.sort(scores)
    search_rows = median_time(lambda: np.searchsorted(rows, scores))
    say("predict_proba in units of np.searchsorted in the scores", predict / search_rows)


def rivals(n):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from netcal.binning import BBQ, ENIR
    except ImportError:
        print("netcal is not installed: no comparison with it")
        return
    print(f"against netcal, N = {n}")
    scores, y = sample(n, ties=False)
    for name, theirs, ours in (
        ("netcal ENIR", ENIR, ENIRCalibrator),
        ("netcal BBQ", BBQ, BBQCalibrator),
    ):
        silence = io.StringIO()  # it prints while fitting
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(silence),
            contextlib.redirect_stderr(silence),
        ):
            warnings.simplefilter("ignore")
            their_time = median_time(
                lambda rival=theirs: rival().fit(scores, y), seconds=1, least=3
            )
        our_time = median_time(lambda method=ours: method().fit(scores, y))
        say(
            f"{name}: {their_time:.3f} s, ours {our_time:.5f} s, times faster",
            their_time / our_time,
            LIMITS[name],
            at_least=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, no netcal")
    quick = parser.parse_args().quick
    sizes = SIZES[:-1] if quick else SIZES
    growth(sizes)
    memory(sizes[-1])
    prediction(sizes[-1])
    if not quick:
        rivals(5000)


if __name__ == "__main__":
    main()
