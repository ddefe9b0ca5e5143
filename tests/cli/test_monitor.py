"""``trueodds monitor``: night after night."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from support.naive_monitor import stream
from trueodds import GroupCalibrator
from trueodds.maps import CalibrationMap, IdentityMap, LogOddsMap

COLUMNS = ("--score", "p", "--label", "y")
BY_DAY = ("monitor", "map.json", "a.parquet", *COLUMNS, "-t", "day", "--state", "s.json", "--json")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    IdentityMap().save("map.json")
    return tmp_path


def write(name, p, y, day, **more):
    table = pa.table({"p": p, "y": pa.array(list(y)), "day": day, **more})
    if name.endswith(".csv"):
        pyarrow.csv.write_csv(table, name)
    else:
        pyarrow.parquet.write_table(table, name)


def days(first, n, per=500, seed=0, **change):
    p, y = stream(n * per, seed, **change)
    day = [f"2026-01-{first + k // per:02d}" for k in range(n * per)]
    return p, y.tolist(), day


def test_a_quiet_week_then_an_alarm(folder, run):
    write("a.parquet", *days(1, 5))
    words = ("monitor", "map.json", "*.parquet", *COLUMNS, "--time", "day", "--state", "watch.json")
    first = run(*words)
    assert first.code == 0
    assert [line.split()[0] for line in first.out.splitlines()[:5]] == [
        f"2026-01-0{k}" for k in range(1, 6)
    ]
    assert "No alarm after 2,500 rows" in first.out
    write("b.parquet", *days(6, 6, seed=1, shift=1.0))
    second = run(*words)
    assert second.code == 4
    assert "ALARM" in second.out
    assert "too low" in second.out
    assert "recommendation: Shift the log-odds by +1" in second.out.replace("+0.9", "+1")
    assert "2026-01-01" not in second.out.splitlines()[0]


def test_nothing_is_counted_twice(folder, run):
    write("a.parquet", *days(1, 3))
    words = ("monitor", "map.json", "a.parquet", *COLUMNS, "--time", "day", "--state", "watch.json")
    run(*words)
    before = (folder / "watch.json").read_bytes()
    again = run(*words)
    assert "no new rows (1 file already read)" in again.err
    assert (folder / "watch.json").read_bytes() == before
    grown = [
        a + b for a, b in zip(days(1, 3), days(4, 1, seed=3), strict=True) if isinstance(a, list)
    ]
    p = np.r_[days(1, 3)[0], days(4, 1, seed=3)[0]]
    write("a.parquet", p, *grown)
    third = run(*words, "--json")
    assert "500 rows counted from 1 new or changed file" in third.err
    assert third.json["rows"] == 2000


def test_titles_above_the_header_are_named_and_left_out(folder, run):
    rows = zip(*days(1, 2), strict=True)
    lines = ["Deliveries of January", "p,y,day", *(f"{p},{y},{day}" for p, y, day in rows)]
    (folder / "a.csv").write_text("\n".join([*lines, "Total,,"]) + "\n")
    words = ("monitor", "map.json", "a.csv", *COLUMNS, "-t", "day", "--state", "s.json", "--json")
    refused = run(*words)
    assert refused.code == 1
    assert "--header-row 2" in refused.err
    read = run(*words, "--header-row", "2", "--footer-rows", "1")
    assert read.code == 0, read.err
    assert read.json["rows"] == 1000


@pytest.mark.parametrize("text", [("true", "false"), ("1.0", "0.0"), ("1", "0")])
def test_labels_are_those_of_the_map_however_a_file_writes_them(folder, run, text):
    p, y, day = days(1, 2)
    write("a.parquet", p, y, day)
    write("b.csv", p, [text[0] if one else text[1] for one in y], day)
    first = run(*BY_DAY).json
    words = ["b.csv" if word == "a.parquet" else word for word in BY_DAY]
    again = run(*("t.json" if word == "s.json" else word for word in words)).json
    assert again["periods"] == first["periods"]


def test_a_month_in_several_runs_is_one_period(folder, run):
    words = ("--time", "day", "--period", "month", "--state", "s.json", "--json")
    for first in (1, 3):
        write(f"{first}.parquet", *days(first, 2))
        result = run("monitor", "map.json", f"{first}.parquet", *COLUMNS, *words)
    assert [line["rows"] for line in result.json["periods"]] == [2000]
    assert len(json.loads((folder / "s.json").read_text())["periods"]) == 1


def test_csv_and_parquet_in_one_run_or_two_give_the_same_evidence(folder, run):
    p, y, day = days(1, 4, shift=0.3)
    write("a.csv", p, y, day)
    write("b.parquet", p, y, day)
    found = [
        run("monitor", "map.json", name, *COLUMNS, "-t", "day", "--state", f"{name}.json", "--json")
        for name in ("a.csv", "b.parquet")
    ]
    assert found[0].json["e_value"] == found[1].json["e_value"]


def test_a_file_sorted_by_its_labels_raises_no_alarm(folder, run):
    p, y, day = days(1, 1, per=4000)
    order = np.argsort(y, kind="stable")
    write("a.parquet", p[order], np.array(y)[order], day)
    assert (
        run("monitor", "map.json", "a.parquet", *COLUMNS, "-t", "day", "--state", "s.json").code
        == 0
    )


def test_days_without_labels_or_positives_are_no_error(folder, run):
    write("a.parquet", [0.2] * 5, [0, 0, 0, None, None], ["2026-01-01"] * 5)
    result = run(
        "monitor", "map.json", "a.parquet", *COLUMNS, "-t", "day", "--state", "s.json", "--json"
    )
    assert result.code == 0
    assert (result.json["rows"], result.json["rows_unlabeled"]) == (3, 2)


def test_page_and_metrics_are_written(folder, run):
    shift = LogOddsMap(a=1.0, b=1.0, c=0.5, scale="probability", classes=("no", "yes"))
    shift.save("map.json")
    p, y, day = days(1, 8, shift=0.5, slope=0.6)
    write("a.parquet", p, ["yes" if v else "no" for v in y], day, g=["<b>", "c"] * (len(p) // 2))
    result = run(
        "monitor", "map.json", "a.parquet", *COLUMNS, "-t", "day", "-g", "g", "--state", "s.json",
        "--html", "page.html", "--metrics", "m.prom", "--json",
    )  # fmt: skip
    assert result.code == 4
    page = (folder / "page.html").read_text()
    assert "<svg" in page
    assert "<script" not in page
    assert "<b>" not in page
    assert 'trueodds_monitor_alarm{state="s.json"} 1.0' in (folder / "m.prom").read_text()
    assert (folder / "s.json").stat().st_size < 100_000


def in_regions(first, n, seed, gap):
    """Days whose scores are too low in one region and too high in another after a change."""
    p, _, day = days(first, n, seed=seed)
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "O'Hara", "west", None], len(p))
    shift = np.select([region == "north", region == "O'Hara"], [gap, -gap], 0.0)
    y = rng.random(len(p)) < 1 / (1 + (1 - p) / p * np.exp(-shift))
    return p, y.astype(int), day, region


def test_a_map_with_features_is_monitored_with_or_without_its_groups(folder, run):
    """The map that the guides recommend: fitted to groups, monitored next to the scores."""
    p, y, day, region = in_regions(1, 8, 0, 1.2)
    write("a.parquet", p, y, day, region=region)
    assert run(*BY_DAY, "-g", "region").code == 4
    assert run("fit", "a.parquet", *COLUMNS, "--feature", "region", "-o", "new.json").code == 0
    new = CalibrationMap.load(folder / "new.json")
    p, y, day, region = in_regions(10, 8, 1, 1.2)
    forecasts = new(p, pd.DataFrame({"region": region}))
    for name in ("b.parquet", "b.csv"):
        write(name, p, y, day, region=region)
        for more in ((), ("-g", "region"), ("-g", "day")):
            words = ("monitor", "new.json", name, *COLUMNS, "-t", "day", *more, "--json")
            quiet = run(*words, "--state", f"{name}-{len(more)}-{more[-1:]}.json")
            assert quiet.code == 0, quiet.err
            assert quiet.json["rows"] == len(p)
            expected = sum(line["expected"] for line in quiet.json["periods"])
            assert expected == pytest.approx(forecasts.sum())
    write("c.parquet", p, y, day)
    refused = run("monitor", "new.json", "c.parquet", *COLUMNS, "--state", "v.json")
    assert (refused.code, "has no column 'region'" in refused.err) == (1, True)


def test_features_that_are_numbers_and_categories_are_read_from_text_files(folder, run):
    """Several features, one of numbers; against the map in Python."""
    rng = np.random.default_rng(0)
    p, _, day = days(1, 4)
    subject, stated = rng.choice(["law", "math"], len(p)), rng.integers(50, 100, len(p)) / 100
    y = (rng.random(len(p)) < np.where(subject == "law", p, 0.5 * p)).astype(int)
    features = pd.DataFrame({"subject": subject, "stated": stated})
    learned = GroupCalibrator().fit(p, y, features=features).map_
    learned.save("new.json")
    expected = learned(p, features).sum()
    write("a.csv", p, y, day, subject=subject, stated=stated)
    words = ("monitor", "new.json", "a.csv", *COLUMNS, "-t", "day", "--json", "--state")
    found = run(*words, "s.json")
    assert sum(line["expected"] for line in found.json["periods"]) == pytest.approx(expected)
    text = (folder / "a.csv").read_text().replace(f"{stated[0]}", "much", 1)
    (folder / "a.csv").write_text(text)
    refused = run(*words, "t.json")
    assert "feature 'stated' is not a number in 1 rows" in refused.err


def test_until_leaves_rows_for_later(folder, run):
    write("a.parquet", *days(1, 4))
    assert run(*BY_DAY, "--until", "2026-01-02").json["rows"] == 1000
    assert run(*BY_DAY).json["rows"] == 2000


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--until", "7"), 2, "need --time"),
        (("-t", "dya"), 1, "has no column 'dya'; did you mean 'day'"),
        (("-t", "day", "--alpha", "7"), 1, "alpha must be a number strictly between 0 and 1"),
        (("-t", "day", "--html", "a.parquet"), 2, "are the same file"),
        (("-t", "p", "--period", "day"), 2, "--period needs dates"),
    ],
)
def test_wrong_options_get_one_sentence(folder, run, words, code, message):
    write("a.parquet", *days(1, 1))
    result = run("monitor", "map.json", "a.parquet", *COLUMNS, "--state", "s.json", *words)
    assert result.code == code
    assert message in result.err
    assert not (folder / "s.json").exists()


def test_a_state_keeps_its_map_and_its_level(folder, run):
    write("a.parquet", *days(1, 1))
    words = ("a.parquet", *COLUMNS, "-t", "day", "--state", "s.json")
    run("monitor", "map.json", *words)
    assert "was begun with --alpha 0.05" in run("monitor", "map.json", *words, "--alpha", "0.1").err
    LogOddsMap(a=2.0, b=2.0, c=0.0, scale="probability").save("other.json")
    assert "was begun with another map" in run("monitor", "other.json", *words).err


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"format": "trueodds-monitor", "version": 1}', "\x00"]
)
def test_a_hostile_state_file_gets_one_sentence(folder, run, content):
    write("a.parquet", *days(1, 1))
    (folder / "s.json").write_text(content)
    result = run("monitor", "map.json", "a.parquet", *COLUMNS, "-t", "day", "--state", "s.json")
    assert result.code == 1
    assert result.err.startswith("trueodds: s.json is not a valid state:")
    assert result.err.count("\n") == 1
    assert (folder / "s.json").read_text() == content


def test_labels_that_are_none_of_the_classes_are_refused_or_left_out(folder, run):
    write("a.parquet", [0.2, 0.4, 0.6], [0, 1, 7], ["2026-01-01"] * 3)
    assert "1 labels are not among the map's classes (0, 1)" in run(*BY_DAY).err
    assert run(*BY_DAY, "--on-bad-rows", "skip").json["rows"] == 2


@pytest.mark.parametrize("decimals", [1, 6])
def test_the_evidence_does_not_depend_on_files_runs_or_their_order(folder, run, decimals):
    p, y, day = days(1, 4, per=300, shift=0.3)
    rows = list(zip(p.round(decimals).tolist(), y, day, strict=True))

    def evidence(state, runs):
        for k, own in enumerate(runs):
            name = f"{state}-{k}.csv"
            lines = [f"{score},{label},{at}\n" for score, label, at in own]
            (folder / name).write_text("p,y,day\n" + "".join(lines))
            words = ("-t", "day", "--state", f"{state}.json", "--json")
            result = run("monitor", "map.json", name, *COLUMNS, *words)
        return [result.json[key] for key in ("rows", "e_value", "peak_e_value")]

    shuffled = [rows[i] for i in np.random.default_rng(7).permutation(len(rows))]
    by_label = sorted(rows, key=lambda row: row[1])
    together = evidence("together", [rows])
    assert together[0] == 1200
    assert evidence("by-day", [rows[k : k + 300] for k in range(0, 1200, 300)]) == together
    assert evidence("shuffled", [shuffled]) == together
    assert evidence("by-label", [by_label]) == together


def test_a_run_prints_its_last_ten_periods_and_counts_the_others(folder, run):
    write("a.parquet", *days(1, 31, per=40, shift=0.6))
    result = run(*BY_DAY[:-1])
    first, *lines = result.out.splitlines()
    assert [line.split()[0] for line in lines[:10]] == [f"2026-01-{k}" for k in range(22, 32)]
    (folder / "s.json").unlink()
    earlier = run(*BY_DAY).json["periods"][:-10]
    assert len(earlier) == 21
    alarms = sum(line["alarm"] for line in earlier)
    assert 0 < alarms < 21
    assert first == f"21 earlier periods: 840 rows, {alarms} with ALARM (all: --json)."


@pytest.mark.parametrize(("form", "unit"), [("unix", 1), ("unix-ms", 10**3), ("unix-ns", 10**9)])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_numbers_since_1970_are_times_on_request(folder, run, form, unit, suffix):
    p, y, day = days(1, 3, per=200, shift=0.5)
    start = 1_767_225_600  # 2026-01-01 in UTC
    seconds = [start + (k // 200) * 86_400 + (k % 200) * 300 for k in range(600)]
    stamps = pd.to_datetime(seconds, unit="s").strftime("%Y-%m-%d %H:%M:%S")
    write("dates.csv", p, y, list(stamps))
    write(f"numbers.{suffix}", p, y, [moment * unit for moment in seconds])
    words = (*COLUMNS, "-t", "day", "--json", "--state")
    wanted = run("monitor", "map.json", "dates.csv", *words, "d.json")
    found = run("monitor", "map.json", f"numbers.{suffix}", "--time-format", form, *words, "n.json")
    assert [line["period"] for line in found.json["periods"]] == sorted(set(day))
    for key in ("rows", "e_value", "periods", "alarm_time"):
        assert found.json[key] == wanted.json[key]
    for end in ("2026-01-02", str((start + 86_400) * unit)):
        words = (*COLUMNS, "-t", "day", "--json", "--until", end, "--state", f"{end}.json")
        part = run("monitor", "map.json", f"numbers.{suffix}", "--time-format", form, *words)
        assert part.json["rows"] == 201
    words = (*COLUMNS, "-t", "day", "--until", "soon", "--state", "u.json")
    refused = run("monitor", "map.json", f"numbers.{suffix}", "--time-format", form, *words)
    assert refused.code == 2
    assert f"--until must be of the form {form}; got 'soon'" in refused.err


def test_too_many_numbers_are_one_period_and_named(folder, run):
    p, y = stream(3000, 0)
    write("a.csv", p, y.tolist(), [1_760_000_000 + 60 * k for k in range(3000)])
    result = run("monitor", "map.json", "a.csv", *COLUMNS, "-t", "day", "--state", "s.json")
    assert result.code == 0
    assert result.out.splitlines()[0].startswith("1760000000 … 1760179940      3,000 rows")
    assert "pass --time-format unix." in result.out
    write("b.csv", p[:50], y[:50].tolist(), [1_770_000_000 + k // 10 for k in range(50)])
    words = ("-t", "day", "--state", "s.json", "--json")
    later = run("monitor", "map.json", "b.csv", *COLUMNS, *words)
    assert [line["period"] for line in later.json["periods"]] == [f"177000000{k}" for k in range(5)]
    write("c.csv", p, y.tolist(), [1_780_000_000] * 3000)
    refused = run("monitor", "map.json", "c.csv", *COLUMNS, *words, "--period", "day")
    assert refused.code == 2
    assert "pass --time-format unix" in refused.err


@pytest.mark.parametrize("clock", ["24:00:00", "23:59:60", "23:60:00", "25:00"])
def test_a_24th_hour_and_a_60th_second_are_refused_alike(folder, run, clock):
    write("a.csv", [0.1, 0.2], [0, 1], ["2026-01-01 12:00", f"2026-01-01 {clock}"])
    result = run("monitor", "map.json", "a.csv", *COLUMNS, "-t", "day", "--state", "s.json")
    assert result.code == 1
    assert f"contains times such as '2026-01-01 {clock}', which are not in ISO format" in result.err


def test_rows_are_counted_once_by_their_ids(folder, run):
    p, y, day = days(1, 2, per=100)
    ids = [f"n{k}" for k in range(200)]
    words = ("--time", "day", "--id", "order", "--state", "s.json", "--json")
    write("a.csv", p[:150], y[:150], day[:150], order=ids[:150])
    assert run("monitor", "map.json", "a.csv", *COLUMNS, *words).json["rows"] == 150
    write("b.csv", p[50:], y[50:], day[50:], order=ids[50:])  # a hundred rows come again
    second = run("monitor", "map.json", "*.csv", *COLUMNS, *words)
    assert (second.json["rows"], second.json["rows_known"]) == (200, 100)
    assert "100 rows not counted again: their ids (--id) were counted before." in second.err
    assert [line["rows"] for line in second.json["periods"]] == [100]  # of the day, so far
    write("c.csv", p, y, day, order=ids)
    write("c2.csv", p, y, day, order=ids)
    whole = ("--state", "whole.json", "--json", "--time", "day", "--id", "order")
    once = run("monitor", "map.json", "c.csv", *COLUMNS, *whole)
    assert once.json["rows"] == 200
    twice = run("monitor", "map.json", "c*.csv", *COLUMNS, *whole)
    assert twice.json["e_value"] == once.json["e_value"]
    write("d.csv", p[:2], y[:2], day[:2], order=["", "n1"])
    assert "(--id) is empty" in run("monitor", "map.json", "d.csv", *COLUMNS, *words).err


def test_late_rows_are_counted_to_the_row(folder, run):
    write("a.csv", *days(2, 2, per=50))
    assert run("monitor", "map.json", "a.csv", *COLUMNS, *BY_DAY[7:]).json["events"] == []
    write("b.csv", *days(1, 1, per=30))
    late = run("monitor", "map.json", "b.csv", *COLUMNS, *BY_DAY[7:]).json
    assert [(one["kind"], one["period"], one["rows"]) for one in late["events"]] == [
        ("late", "2026-01-01", 30)
    ]
    assert late["deliveries"]["late"] == 30
