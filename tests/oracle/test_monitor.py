"""``trueodds monitor``: sums and ratios by hand, evidence by the slow twin of the bets."""

import csv
import functools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from oracle import oracles, samples
from oracle.figures import Maybe, Near, Such, is_figure, leaves
from support import naive_monitor
from trueodds import CalibrationMonitor
from trueodds.monitoring import ForecastComparison

SOURCE = "monitor"
LISTED = {
    "recommendation.gain": "what estimating costs has no documented formula",
    "recommendation.refit_gain": "the same",
    "recommendation.rows_needed": "the same",
}


DELIVERIES = ("late", "missing", "changed", "withdrawn", "duplicate", "unmatched", "expired")


def stream(n, shift, seed=0):
    """Rows in order, each at a time of its own; half-way all log-odds are too low."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 1.2, n)
    truth = samples.sigmoid(z + shift * (np.arange(n) >= n // 2))
    return np.round(samples.sigmoid(z), 4), samples.drawn(rng, truth)


def write(path, p, y, names=("no", "yes"), **more):
    columns = {
        "p": p.tolist(),
        "y": [names[int(v)] for v in y],
        "t": list(range(1, len(p) + 1)),
        **more,
    }
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.table(columns), path)
    else:
        with path.open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(columns)
            lines.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture
def identity(command, folder):
    """A map that leaves scores alone."""

    def fit(path, *words):
        output = folder / f"{path.stem}-{path.suffix[1:]}-identity.json"
        command(
            "fit", path, "-s", "p", "-l", "y", "-m", "identity", "-o", output, "--force", *words
        )
        return output

    return fit


def watch(command, identity, path, *words, positive=None):
    told = ["--positive", positive] if positive else []
    state = path.with_suffix(path.suffix + ".state")
    return command(
        "monitor", identity(path, *told), path, "-s", "p", "-l", "y", "--state", state, *words
    )


def confidence(value, width):
    """Ends of a confidence sequence: around the estimate, wider than an interval of one look."""
    return {
        "low": Such(lambda end: end <= value - width, f"at most {value - width:.4f}"),
        "high": Such(lambda end: end >= value + width, f"at least {value + width:.4f}"),
    }


@functools.cache
def quiet_evidence():
    p, y = stream(40, 0.0)
    return [naive_monitor.evidence(p[: n + 1], y[: n + 1].astype(int)) for n in range(40)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_row_of_a_quiet_stream(kind, figures, command, identity, folder):
    """Each row is a period of its own, so evidence is compared after each of 40 rows."""
    p, y = stream(40, 0.0)
    path = write(folder / f"quiet.{kind}", p, y)
    found = watch(command, identity, path, "--time", "t")
    evidence = quiet_evidence()
    peak = np.maximum(np.maximum.accumulate(evidence), 1.0)
    periods = [
        {
            "period": Such(lambda v, n=n: str(v) == str(n + 1), "the time"),
            "rows": 1,
            "expected": p[n],
            "observed": y[n],
            "e_value": evidence[n],
            "peak_e_value": peak[n],
            "ratio_low": Such(lambda v: 0 <= v <= 1.2, "a lower end"),
            "ratio_high": Such(lambda v: v is None or v >= 0.8, "an upper end"),
            "alarm": False,
            "late": Maybe(False),
        }
        for n in range(40)
    ]
    figures.document(
        SOURCE, found, summary(p, y, found, evidence[-1], peak[-1], periods), LISTED, rel=1e-6
    )


def summary(p, y, found, evidence, peak, periods):
    """All but the periods, of a stream without weights or groups."""
    since = found["miscalibration"]["first_row"]
    tail_p, tail_y, w = p[since - 1 :], y[since - 1 :], np.ones(len(p) - since + 1)
    intercept, slope = oracles.intercept(tail_y, tail_p, w), oracles.slope(tail_y, tail_p, w)
    ratio = tail_y.sum() / tail_p.sum()
    spread = np.sqrt(np.sum(tail_p * (1 - tail_p))) / tail_p.sum()
    much = {
        "first_row": since,
        "rows": len(tail_p),
        "weight": len(tail_p),
        "expected": tail_p.sum(),
        "observed": tail_y.sum(),
        "ratio": ratio,
        "intercept": Near(intercept[0], 0.02 + 0.05 * intercept[1]),
        "slope": Near(slope[0], 0.03 + 0.75 * slope[1]),  # from counts in parts of the scale
    }
    wide = {"ratio": (ratio, 1.645 * spread), "intercept": intercept, "slope": slope}
    for name, (value, error) in wide.items():
        ends = confidence(value, error)
        if name == "ratio":  # counts end at 0
            top = max(value - error, 0)
            ends["low"] = Such(lambda end, top=top: end <= top, "a lower end")
        much |= {f"{name}_{end}": rule for end, rule in ends.items()}
    return {
        "version": 1,
        "files_new": 1,
        "periods": periods,
        "rows": len(p),
        "rows_total": Maybe(len(p)),
        "rows_unlabeled": 0,
        "rows_known": 0,
        "deliveries": dict.fromkeys(DELIVERIES, Maybe(0)),
        "alpha": 0.05,
        "tolerance": 0.0,
        "alarm": peak >= 20,
        "e_value": evidence,
        "peak_e_value": peak,
        "miscalibration": much,
        "recommendation": {"shift": Near(0, 1e9), "rows": len(tail_p)},
    }


def test_an_alarm_and_what_follows_from_it(figures, command, identity, folder):
    p, y = stream(400, 1.3, seed=3)
    path = write(folder / "alarm.csv", p, y, names=("nein", "ja"))
    prom = folder / "alarm.prom"
    found = watch(command, identity, path, "--time", "t", "--metrics", prom, positive="ja")
    row, whole = found["alarm_row"], y.astype(int)
    evidence = {n: naive_monitor.evidence(p[:n], whole[:n]) for n in (row - 1, row, 400)}
    assert evidence[row - 1] < 20 <= evidence[row]
    peak = max(one["peak_e_value"] for one in found["periods"])
    expected = summary(p, y, found, evidence[400], peak, [])
    expected["periods"] = [
        {
            "period": Such(lambda v, n=n: str(v) == str(n + 1), "the time"),
            "rows": 1,
            "expected": p[n],
            "observed": y[n],
            "e_value": evidence[400] if n == 399 else Such(lambda v: v > 0, "positive"),
            "peak_e_value": Such(
                lambda v, e=found["periods"][n]["e_value"]: v >= e, "the greatest yet"
            ),
            "ratio_low": Such(lambda v: 0 <= v <= 1.5, "a lower end"),
            "ratio_high": Such(lambda v: v is None or v >= 0.8, "an upper end"),
            "alarm": n + 1 >= row,
            "late": Maybe(False),
        }
        for n in range(400)
    ]
    since = found["change_point"]
    expected |= {
        "alarm_row": Such(lambda v: 200 < v <= 400, "after the change"),
        "alarm_time": Such(lambda v: str(v) == str(row), "the time of that row"),
        "change_point": {
            "row": Such(lambda v: since["low"] <= v <= row, "not after the alarm"),
            "low": Such(lambda v: 1 <= v <= 201, "the change is not before it"),
            "high": Such(lambda v: 201 <= v <= 400, "the change is not after it"),
            "from_start": False,
        },
        "regions": [
            {
                "row": Such(lambda v: row <= v <= 400, "not before the alarm"),
                "e_value": Such(lambda v: v > 1, "e_value"),
            }
            for _ in found["regions"]
        ],
    }
    listed = LISTED | {
        "regions.*.expected": "compared below",
        "regions.*.observed": "compared below",
        "change_point.time*": "times of rows, compared below",
    }
    figures.document(SOURCE, found, expected, listed, rel=1e-6)
    much = found["miscalibration"]
    for place in found["regions"]:
        if place["kind"] == "overall":
            figures.compare(
                SOURCE,
                [place["expected"], place["observed"]],
                [much["expected"], much["observed"]],
            )
    times = [since["time"], since["time_low"], since["time_high"]]
    figures.compare(SOURCE, [int(t) for t in times], [since["row"], since["low"], since["high"]])
    if found["recommendation"]["action"] == "shift":
        figures.compare(SOURCE, found["recommendation"]["shift"], much["intercept"])
    lines = [line.split() for line in prom.read_text().splitlines() if line[0] != "#"]
    gauges = {
        line[0].split("{")[0].removeprefix("trueodds_monitor_"): float(line[1]) for line in lines
    }
    wanted = {
        "last_run_timestamp_seconds": Such(lambda v: v > 1e9, "a time"),
        "alarm": 1,
        "e_value": found["e_value"],
        "peak_e_value": found["peak_e_value"],
        "e_value_threshold": 20,
        "rows": 400,
        "rows_unlabeled": 0,
        "observed_expected_ratio": much["ratio"],
        "observed_expected_ratio_low": much["ratio_low"],
        "observed_expected_ratio_high": much["ratio_high"],
        "alarms_acknowledged": Maybe(0),
        "rows_late": Maybe(0),
        "rows_changed": Maybe(0),
        "rows_withdrawn": Maybe(0),
        "rows_not_compared": Maybe(0),
        "periods_missing": Maybe(0),
        "files_duplicate": Maybe(0),
    }
    figures.document("monitor --metrics", gauges, wanted)


@pytest.mark.parametrize(("negative", "positive"), samples.SPELLINGS)
def test_labels_in_words(negative, positive, figures, command, identity, folder):
    p, y = stream(300, 0.0, seed=5)
    names = (negative, positive)
    path = write(folder / f"watch-{negative}-{positive}.csv".replace(" ", "_"), p, y, names=names)
    told = None if names == ("0", "1") else positive
    found = watch(command, identity, path, positive=told)
    figures.compare(
        f"{SOURCE}: labels",
        [[one["expected"], one["observed"], one["rows"]] for one in found["periods"]],
        [[p.sum(), y.sum(), 300]],
    )


def test_the_command_and_python_agree(figures, command, identity, folder):
    p, y = stream(400, 1.3, seed=3)
    path = write(folder / "alarm-again.csv", p, y)
    found = watch(command, identity, path, "--time", "t")
    monitor = CalibrationMonitor(classes=["no", "yes"])
    monitor.update(p, np.where(y == 1, "yes", "no"), time=np.arange(1, 401))
    same = json.loads(json.dumps(monitor.summary()))
    keys = (
        "e_value",
        "peak_e_value",
        "alarm_row",
        "miscalibration",
        "recommendation",
        "regions",
        "rows",
    )
    shown = {k: v for k, v in leaves({key: found[key] for key in keys}) if is_figure(v)}
    wanted = {k: v for k, v in leaves({key: same[key] for key in keys}) if is_figure(v)}
    figures.compare(f"{SOURCE} = Python", shown, wanted, rel=1e-12)


def test_weights_stand_for_rows(figures, command, identity, folder):
    p, y = stream(300, 0.0, seed=6)
    w = np.random.default_rng(0).integers(1, 4, 300)
    path = write(folder / "weighted-watch.csv", p, y, w=w.tolist())
    found = watch(command, identity, path, "--time", "t", "--counts", "w")
    figures.compare(
        SOURCE,
        [[one["expected"], one["observed"]] for one in found["periods"]]
        + [[found["miscalibration"]["weight"], found["miscalibration"]["ratio"]]],
        [[a * k, b * k] for a, b, k in zip(p, y, w, strict=True)]
        + [[w.sum(), np.sum(w * y) / np.sum(w * p)]],
    )


@pytest.mark.parametrize("seed", [25, 40, 80])
def test_a_change_is_not_later_than_its_alarm(seed, figures):
    """Forecasts drift slowly from the middle of 20,000 rows on."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.6, 20_000)
    drift = np.maximum(0, np.arange(20_000) / 10_000 - 1) * 0.2
    y = rng.random(20_000) < p + drift
    monitor = CalibrationMonitor().update(p, y)
    since = monitor.change_point
    rules = [
        Such(lambda row: row <= monitor.alarm_row, f"at most {monitor.alarm_row}"),
        Such(lambda low: low <= since.row, "not above the row"),
        Such(lambda high: high >= since.row, "not below the row"),
    ]
    figures.compare(SOURCE, [since.row, since.low, since.high], rules)


def test_two_forecasts_of_the_same_rows(figures):
    p, y = stream(1000, 0.0)
    other = np.clip(p + 0.1, 0, 1)
    found = ForecastComparison().update(other, p, y)
    gain = (other - y) ** 2 - (p - y) ** 2
    figures.compare(SOURCE, [found.mean_difference, found.n_rows], [gain.mean(), 1000])


def test_a_lake_loses_no_row_and_counts_none_twice(figures, command, identity, folder):
    """Ten days: the fourth comes last, the second once more with 30 other labels."""
    lake = folder / "lake"
    lake.mkdir()
    p, y = stream(1000, 0.0, seed=9)
    names = [f"2026-03-{day:02d}" for day in range(1, 11)]

    def deliver(k, labels):
        rows = slice(100 * k, 100 * (k + 1))
        part = range(100 * k + 1, 100 * (k + 1) + 1)
        write(lake / f"{names[k]}.csv", p[rows], labels[rows], day=[names[k]] * 100, id=list(part))

    words = ["-s", "p", "-l", "y", "--time", "day", "--state", folder / "lake.state"]
    for k in (0, 1, 2, 4, 5, 6):
        deliver(k, y)
    chart = identity(lake / f"{names[0]}.csv")
    first = command("monitor", chart, lake / "*.csv", *words, "--period", "day")
    changed = y.copy()
    changed[100:130] = 1 - changed[100:130]
    deliver(3, y)
    deliver(1, changed)
    for k in (7, 8, 9):
        deliver(k, y)
    second = command("monitor", chart, lake / "*.csv", *words)
    figures.compare(
        "monitor: deliveries",
        [
            [first["rows_total"], first["deliveries"]["missing"], first["deliveries"]["late"]],
            [second["rows_total"], second["deliveries"]["late"], second["deliveries"]["changed"]],
            sum(one["rows"] for one in first["periods"] + second["periods"]),
        ],
        [[600, 1, 0], [1000, 100, 30], 1000],
    )


def test_dates_of_two_months_are_all_counted_or_refused(figures, command, identity, folder):
    """Dates of the form 31.01.2026 have an order of their own, which is not that of text."""
    p, y = stream(620, 0.0, seed=8)
    day = [
        f"{1 + i % 31:02d}.{1 + i // 310:02d}.2026"
        for i in sorted(range(620), key=lambda i: i // 310)
    ]
    months = []
    for month, part in enumerate((slice(0, 310), slice(310, 620))):
        path = folder / f"month{month}.csv"
        months.append(write(path, p[part], y[part], day=day[part]))
    chart = identity(months[0])
    words = ["-s", "p", "-l", "y", "--time", "day", "--state", folder / "months.state"]
    try:
        command("monitor", chart, months[0], *words)
        found = command("monitor", chart, months[1], *words)
    except AssertionError as refused:
        if "'day'" in str(refused):  # the command names the column that it cannot order
            return
        raise
    figures.compare(SOURCE, found["rows"], 620)
