"""A group is its value or its band, in whatever type, library, file or command it is read."""

import datetime as dt
import decimal
import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trueodds import CalibrationMonitor, GroupCalibrator, IdentityCalibrator, ScoreTable
from trueodds.cli import main
from trueodds.decisions import guaranteed_thresholds
from trueodds.exceptions import InputError, StateFormatError
from trueodds.metrics import (
    Band,
    GroupCounts,
    evaluate_groups,
    group_test,
    multicalibration_error,
    worst_group_error,
)
from trueodds.report import build_report
from trueodds.watch import Watch

FORMATS = ("csv", "parquet", "arrow", "jsonl", "xlsx")


@pytest.fixture
def run(capsys):
    """Run a command and return its JSON."""

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as leave:
            main([*map(str, words), "--json"])
        captured = capsys.readouterr()
        assert leave.value.code in (0, None, 4), captured.err
        return json.loads(captured.out)

    return call


def write(frame, path):
    """Write a frame of pandas in the format of the path's name."""
    suffix = path.suffix
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    elif suffix == ".arrow":
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.ipc.new_file(path, table.schema) as sink:
            sink.write_table(table)
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


def drawn(rng, p):
    return (rng.random(len(p)) < p).astype(int)


def bands_of(values, n_bands=5):
    """The band of each number, by NumPy: from one cut up to the next."""
    cuts = np.unique([np.quantile(values, k / n_bands, method="higher") for k in range(1, n_bands)])
    return np.searchsorted(cuts, values, side="right"), cuts


def rates(y, code):
    """Rows and frequency of each group, by pandas."""
    found = pd.DataFrame({"y": y, "code": code}).groupby("code").y.agg(["size", "mean"])
    return [(rows, round(mean, 9)) for rows, mean in found.itertuples(index=False)]


def ordered(groups):
    """Rows and frequency of bands in the order of their edges; from objects or from JSON."""
    plain = [group if isinstance(group, dict) else group.to_dict() for group in groups]
    plain.sort(key=lambda group: -np.inf if group["band"][0] is None else group["band"][0])
    return [(group["rows"], round(group["observed"], 9)) for group in plain]


# ----- long ids ------------------------------------------------------------------------------


def ids(rng, first, n=1500):
    """Two ids; the model predicts 50%, and 62% and 38% happen."""
    own = rng.choice([first, first + 1], n)
    return drawn(rng, np.where(own == first, 0.62, 0.38)), np.full(n, 0.5), own


READINGS = {
    "int": lambda v: v,
    "float": lambda v: v.astype(float),
    "list of int": lambda v: v.tolist(),
    "list with float and int": lambda v: [float(v[0]), *v[1:].tolist()],
    "decimal": lambda v: [decimal.Decimal(x) for x in v.tolist()],
    "text": lambda v: v.astype(str),
    "text of float": lambda v: v.astype(float).astype(str),
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas category": lambda v: pd.Series(v).astype("category"),
    "polars": lambda v: pl.Series(v),
    "polars text": lambda v: pl.Series(v.astype(str)),
    "polars category": lambda v: pl.Series(v.astype(str), dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
}


@pytest.mark.parametrize("reading", READINGS)
def test_two_ids_that_agree_in_six_digits_are_two_groups(reading):
    y, p, own = ids(np.random.default_rng(0), 1_000_001)
    groups = READINGS[reading](own)
    found = group_test(y, p, {"id": groups})
    expected = {str(v): (n, m) for v, (n, m) in zip((1000001, 1000002), rates(y, own), strict=True)}
    assert {g.value: (g.rows, round(g.observed, 9)) for g in found} == expected
    assert all(g.flagged and g.p_adjusted < 1e-4 for g in found)
    error = max(abs(0.5 - rate) for _, rate in expected.values())
    assert worst_group_error(y, p, {"id": groups}).error == pytest.approx(error)
    segments = multicalibration_error(y, p, {"id": groups}, n_resamples=19)
    assert (segments.n_segments, segments.p_value) == (3, 0.05)
    assert segments.worst.values["id"] in expected
    monitor = CalibrationMonitor().update(p, y, group=groups)
    assert monitor.alarm
    assert {region.name for region in monitor.regions if region.kind == "group"} == set(expected)
    thresholds = guaranteed_thresholds(y, p, groups=groups, at_most=0.45)
    reached = [one.is_reachable for one in thresholds.values()]
    assert reached == [True, False]


@pytest.mark.parametrize("kind", ["int", "float", "float with missing"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_two_ids_in_a_file_are_two_groups(run, tmp_path, suffix, kind):
    y, p, own = ids(np.random.default_rng(1), 20240101)
    own = own if kind == "int" else own.astype(float)
    if kind == "float with missing":
        own[:15] = np.nan
    path = write(pd.DataFrame({"p": p, "y": y, "day": own}), tmp_path / f"ids.{suffix}")
    found = run("evaluate", path, "-s", "p", "-l", "y", "-g", "day")["groups"]
    groups = {g["value"]: g for g in found["groups"]}
    for day in (20240101, 20240102):
        assert groups[str(day)]["observed"] == pytest.approx(y[own == day].mean())
        assert groups[str(day)]["flagged"]
        assert groups[str(day)]["p_adjusted"] < 1e-4
    assert set(groups) == {"20240101", "20240102"} | ({"(missing)"} & set(groups))
    assert ("(missing)" in groups) == (kind == "float with missing")
    assert found["worst_group"]["worst"]["value"] in groups
    assert found["multicalibration"]["p_value"] < 0.01


def test_integers_beyond_float64_are_groups_of_their_own(run, tmp_path):
    y, p, own = ids(np.random.default_rng(2), 2**60)
    some = np.arange(len(y)) < 5
    frame = pd.DataFrame({"p": p, "y": y, "id": pd.Series(own, dtype="Int64").mask(some)})
    path = write(frame, tmp_path / "long.parquet")
    by_command = run("evaluate", path, "-s", "p", "-l", "y", "-g", "id")["groups"]
    by_report = run("report", path, "-s", "p", "-l", "y", "-g", "id", "-m", "identity")
    expected = {str(2**60), str(2**60 + 1), "(missing)"}
    assert {g["value"] for g in by_command["groups"]} == expected
    assert by_command["worst_group"]["left_out"] == 1
    assert {g["value"] for g in by_report["report"]["groups"]["worst"]} == expected
    assert {g.value for g in group_test(y, p, frame.id)} == expected


# ----- bands ---------------------------------------------------------------------------------


def ages(seed=3, n=3000):
    """The model is wrong for the old and the young."""
    rng = np.random.default_rng(seed)
    age, p = rng.integers(18, 95, n), rng.uniform(0.3, 0.7, n).round(4)
    y = drawn(rng, p + np.where(age > 79, 0.25, np.where(age < 31, -0.2, 0.0)))
    return pd.DataFrame({"p": p, "y": y, "age": age})


def test_numbers_of_many_values_are_five_bands_that_name_their_edges():
    frame = ages()
    code, cuts = bands_of(frame.age)
    found = group_test(frame.y, frame.p, {"age": frame.age})
    assert ordered(found) == rates(frame.y, code)
    edges = [None, *cuts.tolist(), None]
    assert {g.band for g in found} == {Band(*ends) for ends in itertools.pairwise(edges)}
    for group in found:
        low, high = (end if end is not None else 0 for end in group.band)
        own = (frame.age >= low) & (frame.age < (high or 200))
        assert (group.rows, group.observed) == (own.sum(), pytest.approx(frame.y[own].mean()))
        assert str(low or "below") in group.value
    gaps = worst_group_error(frame.y, frame.p, {"age": frame.age}).groups
    assert ordered(gaps) == ordered(found)
    assert {group.value for group in gaps} == {group.value for group in found}


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_command_gives_the_same_bands_and_verdicts_from_every_format(run, tmp_path, suffix):
    frame = ages()
    path = write(frame, tmp_path / f"ages.{suffix}")
    words = [path, "-s", "p", "-l", "y", "--group", "age"]
    in_python = group_test(frame.y, frame.p, {"age": frame.age})
    flagged = {g.value: g.flagged for g in in_python}
    assert (len(flagged), sum(flagged.values())) == (5, 2)
    evaluated = run("evaluate", *words)["groups"]
    assert {g["value"]: g["flagged"] for g in evaluated["groups"]} == flagged
    assert ordered(evaluated["groups"]) == ordered(in_python)
    if suffix in ("csv", "parquet"):
        reported = run("report", *words, "-m", "identity")["report"]["groups"]["worst"]
        assert {g["value"]: g["before"]["flagged"] for g in reported} == flagged
    thresholds = run("threshold", *words, "--at-most", "0.45")["groups"]
    assert {g["value"]: g["n_rows"] for g in thresholds} == {g.value: g.rows for g in in_python}
    IdentityCalibrator().fit(frame.p, frame.y).map_.save(tmp_path / "map.json")
    state = tmp_path / "watch.json"
    watched = run("monitor", tmp_path / "map.json", *words, "--state", state)
    named = {region["name"] for region in watched["regions"] if region["kind"] == "group"}
    assert named == {name for name, is_off in flagged.items() if is_off}
    assert Watch.load(state).monitor.group_cuts == tuple(bands_of(frame.age)[1])


def test_the_worst_group_is_one_of_the_table_though_rows_are_sampled(run, tmp_path):
    frame = ages()
    path = write(frame, tmp_path / "ages.csv")
    found = run("evaluate", path, "-s", "p", "-l", "y", "-g", "age", "--max-rows", "300")["groups"]
    whole = worst_group_error(frame.y, frame.p, {"age": frame.age})
    assert ordered(found["groups"]) == ordered(whole.groups)
    assert found["worst_group"]["finding"] == str(whole)


def test_the_bands_of_a_monitor_are_those_of_its_first_rows(run, tmp_path):
    frame = ages(n=1000)
    IdentityCalibrator().fit(frame.p, frame.y).map_.save(tmp_path / "map.json")
    state = tmp_path / "watch.json"
    words = ["-s", "p", "-l", "y", "-g", "age", "--state", state]
    for shift in (0, 40):  # later rows have other ages
        path = write(frame.assign(age=frame.age + shift), tmp_path / f"plus-{shift}.csv")
        run("monitor", tmp_path / "map.json", path, *words)
    monitor = Watch.load(state).monitor
    assert (monitor.n_rows, monitor.group_cuts) == (2000, tuple(bands_of(frame.age)[1]))
    assert f"{monitor.group_cuts[-1]} and above" in {region.name for region in monitor.regions}


def days(n=3000):
    """Days as YYYYMMDD; two fifths of the year are wrong in opposite directions."""
    rng = np.random.default_rng(8)
    dates = pd.date_range("2024-01-01", "2024-12-30").strftime("%Y%m%d").astype(int).to_numpy()
    day, p = np.sort(rng.choice(dates, n)), rng.uniform(0.3, 0.7, n).round(4)
    code = bands_of(day)[0]
    y = drawn(rng, p + np.array([0.0, 0.0, 0.2, -0.2, 0.0])[code])
    return pd.DataFrame({"p": p, "y": y, "date": day}), code


@pytest.mark.parametrize("kind", [int, float])
def test_bands_of_dates_and_long_ids_are_measured_one_by_one(run, tmp_path, kind):
    frame, code = days()
    frame["date"] = frame.date.astype(kind)
    path = write(frame, tmp_path / "days.parquet")
    found = run("evaluate", path, "-s", "p", "-l", "y", "-g", "date")["groups"]["groups"]
    assert ordered(found) == rates(frame.y, code)
    assert len({g["value"] for g in found}) == 5
    assert [g["flagged"] for g in found] == [True, True, False, False, False]
    for group in found:
        low, high = (end if end is not None else k * 1e9 for k, end in enumerate(group["band"]))
        own = frame[(frame.date >= low) & (frame.date < high)]
        loss = -np.log(np.where(own.y == 1, own.p, 1 - own.p)).mean()
        assert group["log_loss"] == pytest.approx(loss)
        bins = own.groupby(np.minimum((own.p * 10).astype(int), 9))
        gaps = (bins.y.sum() - bins.p.sum()).abs().sum() / len(own)
        assert group["expected_calibration_error"] == pytest.approx(gaps, abs=2e-3)
        assert all(part.isdecimal() for part in group["value"].split() if part[0].isdigit())


def test_after_calibration_a_group_is_compared_with_itself():
    frame, code = days()
    report = build_report(
        frame.p, frame.y, groups={"date": frame.date}, calibrators=["identity", "logistic"]
    )
    worst = report.to_json()["groups"]["worst"]
    before = [{"band": entry["band"], **entry["before"]} for entry in worst]
    for side in ("after", "pooled"):
        then = [{"band": entry["band"], **entry[side]} for entry in worst]
        assert ordered(then) == ordered(before)
        assert [rows for rows, _ in ordered(then)] == [rows for rows, _ in rates(frame.y, code)]


def test_groups_of_equal_names_keep_their_own_measures():
    fair = ScoreTable.from_arrays([0.5] * 40, [0, 1] * 20)
    off = ScoreTable.from_arrays([0.9] * 40, [0, 1] * 20)
    pair = [GroupCounts("g", "a", 40, fair), GroupCounts("g", "a", 40, off)]
    found = evaluate_groups(pair)["groups"]
    assert [(g["flagged"], round(g["log_loss"], 3)) for g in found] == [
        (True, 1.204),
        (False, 0.693),
    ]


def test_edges_have_as_many_digits_as_they_need_to_differ():
    x = 0.3 + np.repeat(np.arange(20), 50) * 1e-9
    y, p = np.arange(1000) % 2, np.full(1000, 0.5)
    names = [group.value for group in group_test(y, p, {"x": x})]
    assert len(set(names)) == 5
    # With few digits they are enough.
    x = np.repeat(np.arange(20), 50) / 3 + 1e-9
    names = {group.value for group in group_test(y, p, {"x": x})}
    assert names == {"below 1.333", "1.333 to 2.667", "2.667 to 4", "4 to 5.333", "5.333 and above"}


def test_a_text_column_is_not_cut():
    frame = ages(n=1000)
    for column in (frame.age.astype(str), frame.age.astype("category"), frame.age.astype(object)):
        n_groups = len(group_test(frame.y, frame.p, {"age": column}))
        assert n_groups == (5 if column.dtype == object and column[0] == frame.age[0] else 77)


def test_counts_are_rows_and_rows_of_no_weight_are_absent(run, tmp_path):
    frame, rng = ages(n=600), np.random.default_rng(4)
    frame["n"] = rng.integers(0, 6, len(frame)) * np.where(frame.age > 70, 5, 1)
    long = frame.loc[frame.index.repeat(frame.n)]
    expected = ordered(group_test(long.y, long.p, {"age": long.age}))
    assert expected == rates(long.y, bands_of(long.age)[0])
    columns = {"groups": {"age": frame.age}, "counts": frame.n}
    assert ordered(group_test(frame.y, frame.p, **columns)) == expected
    assert ordered(worst_group_error(frame.y, frame.p, **columns).groups) == expected
    kept = (frame.n > 0).astype(float)
    weighted = group_test(frame.y, frame.p, {"age": frame.age}, sample_weight=kept)
    some = frame[frame.n > 0]
    assert ordered(weighted) == ordered(group_test(some.y, some.p, {"age": some.age}))
    path = write(frame, tmp_path / "counted.csv")
    words = [path, "-s", "p", "-l", "y", "-g", "age"]
    found = run("evaluate", *words, "--counts", "n")["groups"]
    assert ordered(found["groups"]) == expected
    reported = run("report", *words, "--counts", "n", "-m", "identity")["report"]["groups"]["worst"]
    sides = [{"band": entry["band"], **entry["before"]} for entry in reported]
    assert [rows for rows, _ in ordered(sides)] == [rows for rows, _ in expected]
    thresholds = guaranteed_thresholds(
        frame.y, frame.p, at_most=0.4, groups=frame.age, counts=frame.n
    )
    assert [one.n_rows for one in thresholds.values()] == [rows for rows, _ in expected]


# ----- the same column in every type and file ------------------------------------------------


def mixed_columns(n=600):
    """Columns of a few values, with missing ones, as pandas has them."""
    rng = np.random.default_rng(5)
    code = rng.integers(0, 3, n)
    gone = rng.random(n) < 0.1

    def column(values, dtype):
        return pd.Series([values[k] for k in code], dtype=dtype).mask(gone)

    day = [dt.date(2024, 1, 31), dt.date(2024, 2, 1), dt.date(1999, 12, 31)]
    at = [dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 2), dt.datetime.min]
    at[2] = dt.datetime(2024, 1, 3, 0, 0, 1)
    return (
        code,
        gone,
        {
            "whole": column([7, 1000001, -3], "Int64"),
            "real": column([0.1, 2.5, 1e-7], "float64"),
            "text": column(["it's", 'é, "x"', "B"], object),
            "category": column(["x", "y", "z"], "category"),
            "truth": column([True, False, True], "boolean"),
            "day": column(day, object),
            "time": column(at, "datetime64[us]"),
        },
    )


NAMES = {
    "whole": ["7", "1000001", "-3"],
    "real": ["0.1", "2.5", "1e-07"],
    "text": ["it's", 'é, "x"', "B"],
    "category": ["x", "y", "z"],
    "truth": ["true", "false", "true"],
    "day": ["2024-01-31", "2024-02-01", "1999-12-31"],
    "time": ["2024-01-01 12:00:00", "2024-01-02", "2024-01-03 00:00:01"],
}


def tables(y, p, code, gone):
    """Column → name → rows and frequency."""
    found = {}
    for column, names in NAMES.items():
        named = np.where(gone, "(missing)", np.array(names)[code])
        found[column] = {v: ((named == v).sum(), y[named == v].mean()) for v in set(named)}
    return found


def as_tables(groups):
    plain = [group if isinstance(group, dict) else group.to_dict() for group in groups]
    found = {column: {} for column in NAMES}
    for group in plain:
        found[group["column"]][group["value"]] = (group["rows"], pytest.approx(group["observed"]))
    return found


def test_pandas_polars_arrow_and_lists_give_the_same_groups():
    code, gone, columns = mixed_columns()
    rng = np.random.default_rng(6)
    p = rng.uniform(0.2, 0.8, len(code))
    y = drawn(rng, p)
    table = pa.Table.from_pandas(pd.DataFrame(columns), preserve_index=False)
    frame = pl.from_arrow(table)
    given = [
        columns,
        pd.DataFrame(columns),
        frame,
        {name: frame[name] for name in frame.columns},
        {name: table[name] for name in table.column_names},
        {name: table[name].to_pylist() for name in table.column_names},
        {name: np.array(table[name].to_pylist(), dtype=object) for name in table.column_names},
    ]
    first = group_test(y, p, columns)
    assert tables(y, p, code, gone) == as_tables(first)
    for groups in given[1:]:
        assert [g.to_dict() for g in group_test(y, p, groups)] == [g.to_dict() for g in first]
    measured = [multicalibration_error(y, p, groups, n_resamples=5) for groups in given]
    assert all(one == measured[0] for one in measured)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_groups_of_python(run, tmp_path, suffix):
    code, gone, columns = mixed_columns()
    rng = np.random.default_rng(6)
    p = rng.uniform(0.2, 0.8, len(code)).round(6)
    y = drawn(rng, p)
    frame = pd.DataFrame({"p": p, "y": y, **columns})
    if suffix == "jsonl":
        frame["day"] = frame.day.map(lambda v: v.isoformat(), na_action="ignore")
    path = write(frame, tmp_path / f"types.{suffix}")
    words = [path, "-s", "p", "-l", "y"]
    for name in NAMES:
        words += ["--group", name]
    evaluated = run("evaluate", *words)["groups"]
    expected = tables(y, p, code, gone)
    assert as_tables(evaluated["groups"]) == expected
    flagged = {(g.column, g.value): g.flagged for g in group_test(y, p, columns)}
    assert {(g["column"], g["value"]): g["flagged"] for g in evaluated["groups"]} == flagged
    if suffix == "csv":
        reported = run("report", *words, "-m", "identity")["report"]["groups"]["worst"]
        sides = {(g["column"], g["value"]): g["before"]["flagged"] for g in reported}
        assert sides.items() <= flagged.items()


def test_numbers_and_texts_in_one_column_of_json_are_one_category(run, tmp_path):
    rows = [{"p": 0.5, "y": k % 2, "g": [1, "1", "A", "1.0", None][k % 5]} for k in range(100)]
    path = tmp_path / "mixed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = run("evaluate", path, "-s", "p", "-l", "y", "-g", "g")["groups"]
    expected = {"1": 60, "A": 20, "(missing)": 20}
    assert {g["value"]: g["rows"] for g in found["groups"]} == expected
    y, groups = [row["y"] for row in rows], [row["g"] for row in rows]
    assert {g.value: g.rows for g in group_test(y, [0.5] * 100, groups)} == expected
    assert found["left_out"] == 0


def test_a_text_that_reads_missing_is_not_a_missing_value(run, tmp_path):
    groups = np.array(["(missing)", None, "(other)", "a"] * 30, dtype=object)
    y, p = np.arange(120) % 2, np.full(120, 0.5)
    names = {"'(missing)'", "(missing)", "'(other)'", "a"}
    assert {g.value for g in group_test(y, p, groups)} == names
    path = write(pd.DataFrame({"p": p, "y": y, "g": groups}), tmp_path / "names.parquet")
    found = run("evaluate", path, "-s", "p", "-l", "y", "-g", "g")["groups"]["groups"]
    assert {g["value"] for g in found} == names
    assert {g["rows"] for g in found} == {30}


def test_the_order_of_rows_changes_nothing():
    frame, order = ages(), np.random.default_rng(7).permutation(3000)
    frame["site"] = np.where(frame.index % 3 == 0, "b", "a")
    columns = ["age", "site"]
    one = group_test(frame.y, frame.p, frame[columns])
    mixed = frame.iloc[order]
    other = group_test(mixed.y, mixed.p, mixed[columns])
    assert [(g.value, g.band, g.rows, g.flagged) for g in one] == [
        (g.value, g.band, g.rows, g.flagged) for g in other
    ]


# ----- monitors, thresholds, effects ---------------------------------------------------------


def test_a_monitor_of_bands_is_the_same_in_one_batch_and_row_by_row(tmp_path):
    frame = ages(n=400)
    cuts = bands_of(frame.age)[1].tolist()
    whole = CalibrationMonitor(group_cuts=cuts).update(frame.p, frame.y, group=frame.age)
    rows = CalibrationMonitor(group_cuts=cuts)
    for k, (p, y, age) in enumerate(frame.itertuples(index=False)):
        rows.update(p, y, group=[age, float(age), str(age)][k % 3])
        if k == 200:
            rows.save(tmp_path / "state.json")
            rows = CalibrationMonitor.load(tmp_path / "state.json")
    assert rows.to_dict() == whole.to_dict()
    with pytest.raises(InputError, match="group must hold numbers, which group_cuts cut; got 'x'"):
        rows.update(0.5, 1, group="x")
    for wrong in ([2, 1], [1, 1], ["a"], [float("nan")], [True]):
        with pytest.raises(InputError, match="group_cuts must be increasing finite numbers"):
            CalibrationMonitor(group_cuts=wrong)
    state = {**whole.to_dict(), "group_cuts": [3, 1]}
    with pytest.raises(StateFormatError, match="group_cuts must be increasing"):
        CalibrationMonitor.from_dict(state)


def test_thresholds_know_groups_by_value_and_bands_by_their_edges():
    frame = ages()
    found = guaranteed_thresholds(frame.y, frame.p, groups=frame.age, at_most=0.5)
    code, cuts = bands_of(frame.age)
    assert [*found] == [Band(a, b) for a, b in zip([None, *cuts], [*cuts, None], strict=True)]
    assert [one.n_rows for one in found.values()] == np.bincount(code).tolist()
    site = np.where(frame.index % 2, 1.0, np.nan)
    found = guaranteed_thresholds(frame.y, frame.p, groups=site, at_most=0.5)
    assert {key: one.n_rows for key, one in found.items()} == {1.0: 1500, None: 1500}
    with pytest.raises(InputError, match="with anytime, groups must not change as rows arrive"):
        guaranteed_thresholds(frame.y, frame.p, groups=frame.age, at_most=0.5, anytime=True)


def test_effects_of_groups_print_dates_in_full():
    frame, _ = days(1500)
    two = np.where(frame.date > 20240630, 20240702, 20240701)
    for features, categorical in ((two, [0]), (frame.date.to_numpy(), None)):
        calibrator = GroupCalibrator(categorical=categorical)
        calibrator.fit(frame.p.to_numpy(), frame.y.to_numpy(), features=features[:, None])
        levels = [effect.level for effect in calibrator.effects_.of("x0")]
        assert len(set(levels)) == len(levels) > 1
        assert not any("e+" in level for level in levels)
