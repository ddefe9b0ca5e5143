"""Online calibration on streams: losses at several delays, regret and residuals with their bounds.

``TRUEODDS_STREAMS=FOLDER python benchmarks/online/streams.py`` reads each ``NAME.npz`` there: ``s``
(scores in time order), ``y``, and ``n_val`` (rows that are learned and not judged). With a delay of
D, labels come in blocks of D rows. It prints a page; ``--write`` also puts it into
``docs/evidence/online.md`` and draws its picture. ``--ours`` leaves the other methods out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rivals import batch, hedged, newton_steps, refitted, streaming_isotonic, tracked

from trueodds import OnlineCalibrator

TINY = 1e-6
DOCS = Path(__file__).parents[2] / "docs"
DELAYS = (0, 100, 1000)
OURS, SCORES = "OnlineCalibrator", "scores"
STATIONARY = ("bank_iid", "churn_iid", "credit_iid", "syn_calibrated", "syn_stationary")
REFIT = "refit, all rows"
DRAWS = 20


def log_loss(p, y):
    return float(-np.log(np.where(y == 1, p, 1 - p)).mean())


def calibration_error(p, y, bins=15):
    """Expected calibration error with bins of equal mass."""
    order = np.argsort(p, kind="stable")
    parts = np.array_split(order, bins)
    return float(sum(abs((y[part] - p[part]).sum()) for part in parts) / len(p))


def above_noise(p, y):
    """The calibration error minus its mean over labels that are drawn from the forecasts."""
    rng = np.random.default_rng(0)
    drawn = [calibration_error(p, (rng.random(len(p)) < p).astype(int)) for _ in range(DRAWS)]
    return calibration_error(p, y) - float(np.mean(drawn))


def ours(s, y, delay):
    online = OnlineCalibrator(max_pending=max(delay, 1))
    if not delay:
        return online.replay(s, y)[:, 1], online
    p = np.empty(len(s))
    for begin in range(0, len(s), delay):
        rows = range(begin, min(begin + delay, len(s)))
        p[rows.start : rows.stop] = online.ask(s[rows.start : rows.stop], ids=rows)[:, 1]
        online.answer(rows, y[rows.start : rows.stop])
    return p, online


def others(s, y, first, delay, before):
    """Forecasts of the other methods; ``before`` holds those without delay."""
    ops, obs = newton_steps(s, y, delay), newton_steps(s, y, delay, beta=True)
    found = {"OPS": ops, "TOPS": tracked(ops, y, delay), "HOPS": hedged(ops, y, delay)}
    found |= {"OBS": obs, "TOBS": tracked(obs, y, delay)}
    if find_spec("streamcal") is not None:
        found["streamcal"] = streaming_isotonic(s, y, delay)
        found["streamcal, decay 0.9"] = streaming_isotonic(s, y, delay, decay=0.9)
    for name, last in ((REFIT, None), ("refit, last 2,000", 2000)):
        # Labels in blocks of 100 are there when the map is fitted every 500 rows.
        known = before.get(name) if delay == 100 else None
        found[name] = refitted(s, y, delay, last=last) if known is None else known
    found["fit to the first rows"] = before.get("fit to the first rows", batch(s, y, first))
    return found


def run_streams(folder, delays, only_ours):
    """For each stream and delay, the loss of each method, and the guaranteed bound."""
    results = []
    for path in sorted(Path(folder).glob("*.npz")):
        data = np.load(path)
        s, y = np.clip(data["s"].astype(float), TINY, 1 - TINY), data["y"].astype(int)
        first, before = int(data["n_val"]), {}
        for delay in delays:
            if len(s) < 3 * delay:
                continue
            p, online = ours(s, y, delay)
            methods = {SCORES: s, OURS: p}
            if not only_ours:
                before = others(s, y, first, delay, before)
                methods |= before
            loss = {name: log_loss(q[first:], y[first:]) for name, q in methods.items()}
            brier = {name: float(((q - y)[first:] ** 2).mean()) for name, q in methods.items()}
            error = {name: above_noise(q[first:], y[first:]) for name, q in methods.items()}
            places = online.calibration_
            worst = max(places, key=lambda place: abs(place.residual) / place.bound)
            results.append(
                {
                    "stream": path.stem,
                    "delay": delay,
                    "rows": len(s),
                    "loss": loss,
                    "brier": brier,
                    "error": error,
                    "regret": online.regret_,
                    "bound": online.bound_,
                    "residual": abs(worst.residual),
                    "residual_bound": worst.bound,
                    "broken": sum(abs(place.residual) > place.bound for place in places),
                }
            )
            print(path.stem, delay, f"{loss[OURS]:.5f}", flush=True)
    return results


def run_long(rows):
    """Time per row, size of the state and rounding of masses, at several numbers of rows."""
    rng = np.random.default_rng(0)
    online, found = OnlineCalibrator(), []
    for _ in range(10):
        s = rng.random(rows // 10)
        y = (rng.random(len(s)) < s**1.5).astype(int)
        begin = time.process_time()
        online.update(s, y)
        each = (time.process_time() - begin) / len(s)
        a = online._streams[0].arrays
        stakes = online._streams[0].clock("mixture_stake") + a["trackers"].sum() + a["stakes"].sum()
        off = max(abs(stakes - 1), np.abs(a["weights"].sum(axis=1) - 1).max())
        found.append((online.n_rows, 1e6 * each, _size(online), off))
    online.ask(rng.random(1000), ids=range(10**9, 10**9 + 1000))
    online.answer(range(10**9, 10**9 + 400), rng.integers(0, 2, 400))
    online.ask(rng.random(400), ids=range(2 * 10**9, 2 * 10**9 + 400))
    return found, _size(online)


def _size(online):
    return len(json.dumps(online.to_dict(), separators=(",", ":")))


def run_single(calls=20_000):
    """CPU microseconds of a call with one row: predict, update."""
    online, times = OnlineCalibrator().update(0.5, 1), []
    scores = np.random.default_rng(0).random(calls).tolist()
    for call in (online.predict_proba, lambda s: online.update(s, 1)):
        repeats = []
        for _ in range(5):
            begin = time.process_time()
            for s in scores:
                call(s)
            repeats.append((time.process_time() - begin) / calls)
        times.append(1e6 * float(np.median(repeats)))
    return times


# The page -------------------------------------------------------------------------------------


def means(results, delay, what):
    rows = [result[what] for result in results if result["delay"] == delay]
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def page(results, long, single):
    names = list(results[0]["loss"])
    other = [name for name in names if name != OURS]
    now = [result for result in results if result["delay"] == 0]
    parts = [
        "# Online calibration on streams",
        "`TRUEODDS_STREAMS=… python benchmarks/online/streams.py --write` writes this page. The "
        f"{len(now)} streams are tables in changing orders (bank, churn, credit, fetal), "
        "electricity prices, weather, public forecasts of sports, employment, three simulations "
        "of Gupta and Ramdas (2023), and six more. OPS, TOPS, HOPS, OBS and TOBS are theirs, "
        "written from the paper; streamcal is a package. Refits use "
        "[the default](../choosing.md) every 500 rows. All methods forecast a row before they "
        "see its label; the first rows, 1,000 of most streams, are not judged.",
        "![Log-loss of each method above that of OnlineCalibrator](../images/online-streams.png)",
        "## Mean over streams",
        "The calibration error has 15 bins of equal mass. The table shows it minus its mean for "
        "labels "
        "drawn from the forecasts, so that 0 is the noise floor. With a delay, labels come in "
        "blocks; "
        "streams of fewer than three blocks are left out.",
    ]
    columns = [
        (d, w) for d in sorted({r["delay"] for r in results}) for w in ("loss", "brier", "error")
    ]
    words = {"loss": "log-loss", "brier": "Brier", "error": "calibration error"}
    found = {column: means(results, *column) for column in columns}
    header = ["method"] + [f"{words[w]}, delay {d:,}" for d, w in columns]
    digits = {"loss": 5, "brier": 5, "error": 4}
    order = sorted(names, key=lambda name: found[0, "loss"][name])
    parts.append(
        table(header, [[n, *(f"{found[c][n]:.{digits[c[1]]}f}" for c in columns)] for n in order])
    )
    parts += ["## Each stream", "Log-loss with labels at once."]
    parts.append(
        table(
            ["stream", "rows", *names],
            [[r["stream"], f"{r['rows']:,}", *(f"{r['loss'][n]:.4f}" for n in names)] for r in now],
        )
    )
    if len(other) > 1:
        behind = {r["stream"]: r["loss"][OURS] - min(r["loss"][n] for n in other) for r in now}
        worst = max(behind, key=lambda name: behind[name])
        first = sum(value <= 0 for value in behind.values())
        still = {
            r["stream"]: r["loss"][OURS] - r["loss"][REFIT]
            for r in now
            if r["stream"] in STATIONARY
        }
        most = max(still, key=lambda name: still[name])
        parts.append(
            f"OnlineCalibrator has the lowest log-loss on {first} of {len(now)} streams. It is "
            "at most "
            f"{behind[worst]:.5f} behind the best of the others ({worst}). On the {len(still)} "
            "stationary "
            f"streams it is at most {still[most]:.5f} behind refits on all rows ({most})."
        )
    parts += [
        "## Bounds",
        "Regret is against the best expert, in nats; blocks count by their means "
        "([theorems](../online.md#the-guarantees)). The residual is that of the place of the "
        "scale that "
        "is nearest to its bound.",
    ]
    rows = [
        [r["stream"], f"{r['delay']:,}", f"{r['regret']:.2f}", f"{r['bound']:.2f}",
         f"{r['residual']:.1f}", f"{r['residual_bound']:.1f}"]
        for r in results
    ]  # fmt: skip
    parts.append(table(["stream", "delay", "regret", "bound", "residual", "bound"], rows))
    broken = sum(r["broken"] + (r["regret"] > r["bound"]) for r in results)
    parts.append(f"Bounds exceeded: {broken}.")
    parts += [
        "## Cost",
        f"A call with one row takes {single[0]:.1f} µs (`predict_proba`) and {single[1]:.1f} µs "
        "(`update`). In a batch, one stream of simulated rows:",
        table(
            ["rows learned", "CPU µs a row", "bytes of the state", "masses off 1 by at most"],
            [
                [f"{n:,}", f"{each:.2f}", f"{size:,}", f"{off:.0e}"]
                for n, each, size, off in long[0]
            ],
        ),
        f"With 1,000 rows that wait for their labels, the state has {long[1]:,} bytes.",
    ]
    return "\n\n".join(parts) + "\n"


def draw(results, path):
    """How much more each method loses than we do, stream by stream, at each delay."""
    from matplotlib import pyplot as plt

    names = [name for name in results[0]["loss"] if name not in (OURS, SCORES)]
    delays = sorted({result["delay"] for result in results})
    figure, axes = plt.subplots(
        1, len(delays), figsize=(10.5, 3.6), sharey=True, layout="constrained"
    )
    for ax, delay in zip(axes, delays, strict=True):
        own = [result["loss"] for result in results if result["delay"] == delay]
        for k, name in enumerate(names):
            above = np.array([loss[name] - loss[OURS] for loss in own])
            ax.scatter(
                above, np.full(len(above), k), s=14, color="#0072B2", alpha=0.6, linewidths=0
            )
            ax.plot([above.mean()] * 2, [k - 0.3, k + 0.3], color="#D55E00", linewidth=2)
        ax.axvline(0, color="0.4", linewidth=0.8)
        ax.set_xscale("symlog", linthresh=0.001)
        ax.set_xlim(-0.05, 1.0)
        ax.set_xticks([-0.01, -0.001, 0, 0.001, 0.01, 0.1, 1])
        ax.set_xticklabels(["−.01", "−.001", "0", ".001", ".01", ".1", "1"], fontsize=8)
        ax.set_title(
            "labels at once" if not delay else f"labels in blocks of {delay:,} rows", fontsize=10
        )
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    figure.supxlabel(
        "log-loss above that of OnlineCalibrator: streams (dots) and their mean (line)", fontsize=10
    )
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--delays", type=int, nargs="*", default=list(DELAYS))
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    results = run_streams(os.environ["TRUEODDS_STREAMS"], options.delays, options.ours)
    text = page(results, run_long(options.rows), run_single())
    print(text)
    if options.write:
        (DOCS / "evidence" / "online.md").write_text(text, encoding="utf-8")
        draw(results, DOCS / "images" / "online-streams.png")
