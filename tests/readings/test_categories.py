"""A category is itself: whatever the type, format, engine or size of the batch it comes in."""

import ast
import datetime as dt
import json
import re
import shutil
import subprocess
import warnings
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.special import expit, logit

import trueodds
from trueodds.cli import main
from trueodds.engines import apply_map
from trueodds.exceptions import InputError, UnknownCategoriesWarning
from trueodds.inputs import category_text
from trueodds.maps import GroupMap, GroupTerm, IdentityMap, TreeMap

PAGE = Path(__file__).parents[2] / "docs" / "map-format.md"
BIG = 2**53 + 1

# Values, and the categories that they are. The fourth occurs in no list of known categories.
COLUMNS = {
    "int": (pd.Series([1, 2, 10, 7]), ["1", "2", "10", "7"]),
    "float": (pd.Series([1.5, 2.0, 0.1, -7.0]), ["1.5", "2", "0.1", "-7"]),
    "float_missing": (pd.Series([1.0, np.nan, 2.5, 7.0]), ["1", None, "2.5", "7"]),
    "text": (pd.Series(["A", "01", "1", None], dtype=object), ["A", "01", "1", None]),
    "numeric_text": (pd.Series(["1.0", "2", "3.50", "x"], dtype=object), ["1", "2", "3.5", "x"]),
    "category": (pd.Series(["a", None, "b", "c"], dtype="category"), ["a", None, "b", "c"]),
    "int_category": (pd.Series([3, 1, 2, 9], dtype="category"), ["3", "1", "2", "9"]),
    "bool": (pd.Series([True, False, True, False]), ["1", "0", "1", "0"]),
    "date": (
        pd.Series([date(2026, 3, 1), None, date(2026, 3, 2), date(2026, 3, 9)]),
        ["2026-03-01", None, "2026-03-02", "2026-03-09"],
    ),
    "time": (
        pd.to_datetime(
            pd.Series(["2026-03-01", None, "2026-03-02 12:30:00.5", "2026-03-09"]), format="ISO8601"
        ),
        ["2026-03-01", None, "2026-03-02 12:30:00.5", "2026-03-09"],
    ),
    "mixed": (pd.Series([1, "1", "A", 2.0], dtype=object), ["1", "1", "A", "2"]),
    "nullable": (pd.Series([1, None, BIG, 7], dtype="Int64"), ["1", None, str(BIG), "7"]),
    "decimal": (
        pd.Series([Decimal("1.00"), Decimal("2.50"), None, Decimal("7.25")]),
        ["1", "2.5", None, "7.25"],
    ),
}
N = 4
SCORE = 0.3


def map_of(categories):
    """Effects of features that are large powers of two, so that every mistake shows."""
    terms = []
    for k, known in enumerate(categories):
        shift = 0.37 * np.arange(1, len(known) + 3) / (k + 1)
        terms.append(GroupTerm(0, (k,), (None,), shift, [], np.zeros((1, len(shift)))))
    return GroupMap(
        base=IdentityMap(), center=[0.0], unit=[1.0], names=tuple(COLUMNS)[: len(categories)],
        categories=tuple(categories), terms=tuple(terms),
    )  # fmt: skip


KNOWN = [tuple(dict.fromkeys(t for t in texts[:3] if t)) for _, texts in COLUMNS.values()]
ALL = map_of(KNOWN)
FRAME = pd.DataFrame({"p": [SCORE] * N} | {name: column for name, (column, _) in COLUMNS.items()})


def expected_of(names=tuple(COLUMNS)):
    """By hand: the log-odds of the score, plus the shift of each known, missing or new text."""
    total = np.full(N, logit(SCORE))
    for k, (name, (_, texts)) in enumerate(COLUMNS.items()):
        if name in names:
            places = {text: j for j, text in enumerate(KNOWN[k])} | {None: len(KNOWN[k])}
            level = [places.get(text, len(KNOWN[k]) + 1) for text in texts]
            total += 0.37 * (np.array(level) + 1) / (k + 1)
    return expit(total)


BATCHES = [slice(0, N), slice(0, 2), slice(2, 4), *(slice(k, k + 1) for k in range(N))]


def as_texts(frame):
    """Mixed objects as the texts that libraries of typed columns take for them."""
    return frame.assign(mixed=frame["mixed"].map(str))


def as_arrow(frame):
    return pa.Table.from_pandas(as_texts(frame), preserve_index=False)


def polars_of(frame):
    return pl.from_arrow(as_arrow(frame))


def dask_of(frame):
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=1)


READINGS = {
    "pandas": lambda frame: frame,
    "pyarrow_backed": lambda frame: as_texts(frame).convert_dtypes(dtype_backend="pyarrow"),
    "polars": polars_of,
    "polars_lazy": lambda frame: polars_of(frame).lazy(),
    "arrow": as_arrow,
    "duckdb": lambda frame: duckdb.connect().from_arrow(as_arrow(frame)),
    "dask": dask_of,
}


def column_of(frame, name="probability"):
    if hasattr(frame, "compute"):
        frame = frame.compute()
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if hasattr(frame, "df"):
        frame = frame.df()
    return np.asarray(frame[name].to_numpy(), dtype=float)


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.UnknownCategoriesWarning")
@pytest.mark.parametrize("reading", READINGS)
def test_every_library_and_batch_reads_the_same_categories(reading):
    for batch in BATCHES:
        frame = READINGS[reading](FRAME.iloc[batch].reset_index(drop=True))
        found = column_of(apply_map(ALL, frame, score="p"))
        np.testing.assert_allclose(found, expected_of()[batch], rtol=0, atol=1e-12)
        if reading in ("pandas", "polars", "arrow"):
            scores = np.full(len(found), SCORE)
            np.testing.assert_allclose(ALL(scores, frame), expected_of()[batch], atol=1e-12)


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.UnknownCategoriesWarning")
@pytest.mark.parametrize("name", COLUMNS)
def test_a_list_of_one_row_has_the_category_that_it_has_in_a_column(name):
    k = list(COLUMNS).index(name)
    fitted = map_of([KNOWN[k]] * (k + 1))
    fitted = GroupMap(
        base=IdentityMap(), center=[0.0], unit=[1.0], names=None, categories=(KNOWN[k],),
        terms=(GroupTerm(0, (0,), (None,), fitted.terms[k].shift, [], fitted.terms[k].spread),),
    )  # fmt: skip
    for row, value in enumerate(COLUMNS[name][0].tolist()):
        for given in ([[value]], np.array([[value]], dtype=object)):
            (found,) = fitted([SCORE], features=given)
            np.testing.assert_allclose(found, expected_of((name,))[row], atol=1e-12)


def write_csv(frame, path):
    as_texts(frame).to_csv(path, index=False)


def write_duckdb_csv(frame, path):
    duckdb.connect().from_arrow(as_arrow(frame)).write_csv(str(path))


def write_arrow_csv(frame, path):
    table = as_arrow(frame)
    plain = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    pa.csv.write_csv(pa.table(plain, names=table.column_names), path)


def write_parquet(frame, path):
    pa.parquet.write_table(as_arrow(frame), path)


def write_arrow_file(frame, path):
    table = as_arrow(frame)
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table)


def write_workbook(frame, path):
    """A workbook has no integers beyond float64, and no other texts of numbers than it is given."""
    as_texts(frame).astype({"nullable": str}).replace({"nullable": {"<NA>": None}}).to_excel(
        path, index=False
    )


def write_json_lines(frame, path):
    """Dates as texts; everything else, mixed columns too, as the type that JSON has for it."""

    def plain(value):
        if value is None or value is pd.NaT or value is pd.NA or value != value:
            return None
        if isinstance(value, Decimal):
            return float(value)
        return str(value) if isinstance(value, date) else value

    columns = {name: frame[name].astype(object).tolist() for name in frame}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    lines = [json.dumps({k: plain(v) for k, v in row.items()}) for row in rows]
    path.write_text("\n".join(lines) + "\n")


WRITERS = {
    "csv": write_csv,
    "duckdb.csv": write_duckdb_csv,
    "arrow.csv": write_arrow_csv,
    "parquet": write_parquet,
    "arrow": write_arrow_file,
    "xlsx": write_workbook,
    "jsonl": write_json_lines,
}


@pytest.fixture
def run(capsys):
    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as leave:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        assert not leave.value.code, captured.err
        return captured

    return call


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_and_batch_reads_the_same_categories(kind, run, tmp_path):
    ALL.save(tmp_path / "map.json")
    for number, batch in enumerate(BATCHES):
        path = tmp_path / f"rows{number}.{kind}"
        WRITERS[kind](FRAME.iloc[batch].reset_index(drop=True), path)
        out = tmp_path / f"out{number}.jsonl"
        run("apply", tmp_path / "map.json", path, "-s", "p", "-o", out)
        found = [json.loads(line)["probability"] for line in out.read_text().splitlines()]
        np.testing.assert_allclose(found, expected_of()[batch], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_a_map_too_long_for_sql_reads_the_same_categories_in_batches():
    known = (*map(str, range(70_000)), str(BIG), "0.1", "A")
    shift = np.linspace(-3, 3, len(known) + 2)
    long = GroupMap(
        base=IdentityMap(), center=[0.0], unit=[1.0], names=("code",), categories=(known,),
        terms=(GroupTerm(0, (0,), (None,), shift, [], np.zeros((1, len(shift)))),),
    )  # fmt: skip
    for kind, given in {
        "BIGINT": [7, None, BIG],
        "DOUBLE": [7.0, 0.1, None],
        "VARCHAR": ["7", "7.0", "A", "", None],
        "DECIMAL(4, 2)": [Decimal("7.00"), Decimal("0.10"), None],
    }.items():
        rows = [(0.5, value) for value in given]
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE rows (p DOUBLE, code {kind})")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", rows)
        found = apply_map(long, connection.table("rows"), score="p").fetchall()
        places = {text: k for k, text in enumerate((*known, None))}
        levels = [places.get(category_text(value), len(known) + 1) for value in given]
        np.testing.assert_allclose([row[-1] for row in found], expit(shift[levels]), atol=1e-12)


@pytest.mark.slow
def test_spark_reads_the_same_categories(spark):
    frame = as_texts(FRAME).astype({"category": object, "int_category": int})
    rows = polars_of(frame).to_dicts()
    types = {"int": "long", "float": "double", "bool": "boolean", "date": "date"}
    types |= {"float_missing": "double", "time": "timestamp_ntz", "nullable": "long"}
    types |= {"decimal": "decimal(10,2)", "int_category": "long", "p": "double"}
    schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in rows[0])
    rows = [{k: None if v != v else v for k, v in row.items()} for row in rows]
    for batch in BATCHES[:4]:
        given = spark.createDataFrame([tuple(row.values()) for row in rows[batch]], schema)
        found = apply_map(ALL, given, score="p").toPandas()["probability"]
        np.testing.assert_allclose(found, expected_of()[batch], rtol=0, atol=1e-12)


def learn(n=1500):
    """Rows whose odds depend on a code of which some values look like numbers."""
    rng = np.random.default_rng(0)
    code = rng.choice(["1", "2", "A"], n, p=[0.45, 0.45, 0.1])
    z = rng.normal(size=n)
    effect = np.select([code == "1", code == "2"], [2.0, -2.0], 0.0)
    y = (rng.random(n) < expit(z + effect)).astype(int)
    return pd.DataFrame({"p": expit(z), "y": y, "code": code})


@pytest.mark.parametrize("kind", [trueodds.GroupCalibrator, trueodds.TreeCalibrator])
def test_a_letter_in_another_row_changes_no_forecast(kind):
    rows = learn()
    fitted = kind().fit(rows["p"], rows["y"], features=rows[["code"]])
    texts, numbers = (
        fitted.predict_proba([0.5, 0.5], features=pd.DataFrame({"code": code}))[:, 1]
        for code in (["1", "2"], [1, 2])
    )
    mixed = fitted.predict_proba(
        [0.5] * 3, features=pd.DataFrame({"code": pd.Series([1, 2, "A"], dtype=object)})
    )[:2, 1]
    assert texts[0] > 0.8
    assert texts[1] < 0.2
    np.testing.assert_array_equal(texts, numbers)
    np.testing.assert_array_equal(texts, mixed)


def test_a_model_in_a_service_gives_a_row_alone_what_it_gives_in_a_batch():
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rows = learn(600)
    X = pd.DataFrame({"z": logit(rows["p"]), "c": rows["code"].astype(object)})
    X["c"] = [c if c == "A" else int(c) for c in X["c"]]
    pick = make_column_transformer(("passthrough", ["z"]))
    model = make_pipeline(pick, LogisticRegression())
    fitted = trueodds.CalibratedClassifier(model, trueodds.GroupCalibrator()).fit(X, rows["y"])
    together = fitted.predict_proba(X[:30])
    alone = np.concatenate([fitted.predict_proba(X[k : k + 1]) for k in range(30)])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("column", ["text", "bool", "date", "mixed"])
def test_a_fit_has_the_same_categories_from_every_format(suffix, column, run, tmp_path):
    rows, place = learn(600), np.arange(600) % 3
    values = COLUMNS[column][0].tolist()[:3]
    rows["f"] = pd.Series([values[k] for k in place], dtype=object)
    path = tmp_path / f"rows.{suffix}"
    if suffix == "jsonl":
        write_json_lines(rows[["p", "y", "f"]], path)
    else:
        plain = rows if column != "mixed" else rows.assign(f=rows["f"].map(str))
        table = pa.Table.from_pandas(plain[["p", "y", "f"]], preserve_index=False)
        write = pa.csv.write_csv if suffix == "csv" else pa.parquet.write_table
        write(table, path)
    words = ("-s", "p", "-l", "y", "--feature", "f", "-o", tmp_path / "map.json")
    run("fit", path, *words)
    direct = trueodds.GroupCalibrator().fit(rows["p"], rows["y"], features=rows[["f"]])
    saved = trueodds.load(tmp_path / "map.json")
    assert saved.categories == direct.map_.categories
    assert set(saved.categories[0]) == {t for t in COLUMNS[column][1][:3] if t}
    np.testing.assert_allclose(
        saved(rows["p"], rows[["f"]]), direct.map_(rows["p"], rows[["f"]]), atol=1e-9
    )


def test_decimal_commas_are_numbers_in_every_batch(run, tmp_path):
    fitted = GroupMap(
        base=IdentityMap(), center=[0.0], unit=[1.0], names=("f",), categories=(("1.5", "2", "x"),),
        terms=(GroupTerm(0, (0,), (None,), [1.0, 2, 3, 4, 5], [], np.zeros((1, 5))),),
    )  # fmt: skip
    fitted.save(tmp_path / "map.json")
    shift = {"1,5": 1.0, "2": 2.0, "2,0": 2.0, "x": 3.0, "": 4.0, "01": 5.0}
    for cells in (["1,5", "2"], ["1,5", "x", "2,0", "", "01"], ["01", "2"]):
        path, out = tmp_path / "rows.csv", tmp_path / "out.jsonl"
        path.write_text("p;f\n" + "".join(f"0,5;{cell}\n" for cell in cells))
        run("apply", tmp_path / "map.json", path, "-s", "p", "--decimal", ",", "-o", out, "--force")
        found = [json.loads(line)["probability"] for line in out.read_text().splitlines()]
        np.testing.assert_allclose(found, expit([shift[cell] for cell in cells]), atol=1e-12)


def test_json_lines_keep_every_character_of_the_input(run, tmp_path):
    lines = [
        '{"p": 0.5, "code": 1, "n": {"b": [1, 1.0,  1e0], "a": null}, "when": "2026-03-01"}',
        '{"when": "2026-03-01T00:00:00Z","p":0.6 , "code": "1"}',
        '{"p": 0.7, "code": "A\\u00e9\\"", "big": 123456789012345678901234567890, "brace": "}"}',
    ]
    learned = learn(300)
    fitted = trueodds.GroupCalibrator().fit(learned["p"], learned["y"], features=learned[["code"]])
    fitted.map_.save(tmp_path / "map.json")
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text("\n".join(lines) + "\n")
    run("apply", tmp_path / "map.json", path, "-s", "p", "-o", out)
    written = out.read_text().splitlines()
    for before, after in zip(lines, written, strict=True):
        assert after.startswith(before.removesuffix("}"))
        added = {key: value for key, value in json.loads(after).items() if key == "probability"}
        assert json.loads(after) == json.loads(before) | added
    answers = [json.loads(line)["probability"] for line in written]
    codes = pd.DataFrame({"code": ["1", "1", 'Aé"']})
    np.testing.assert_allclose(answers, fitted.map_([0.5, 0.6, 0.7], codes), atol=1e-12)
    run("apply", tmp_path / "map.json", path, "-s", "p", "-o", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv", dtype=str)["code"].tolist() == ["1", "1", 'Aé"']


def test_a_batch_without_a_known_category_warns_once_with_both_sides():
    rows = learn(600)
    fitted = trueodds.GroupCalibrator().fit(rows["p"], rows["y"], features=rows[["code"]]).map_
    with pytest.warns(UnknownCategoriesWarning, match="'code'.*'7', '8'.*'1', '2', 'A'") as caught:
        fitted([0.5, 0.5, 0.5], pd.DataFrame({"code": [7, 8, 7]}))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted([0.5, 0.5], pd.DataFrame({"code": [7, 1]}))
        fitted([0.5], pd.DataFrame({"code": [None]}))


def test_the_map_and_not_the_batch_decides_what_a_number_is():
    rows = learn(600).assign(age=np.arange(600.0))
    fitted = trueodds.GroupCalibrator().fit(rows["p"], rows["y"], features=rows[["age"]]).map_
    assert fitted.to_dict()["parameters"]["categories"] == [None]
    numbers = fitted([0.5, 0.5], [[30], [40.5]])
    np.testing.assert_array_equal(fitted([0.5, 0.5], [["30"], ["40.5"]]), numbers)
    with pytest.raises(InputError, match="must hold numbers; got 'forty'"):
        fitted([0.5], [["forty"]])


@pytest.mark.parametrize(
    "value",
    [dt.datetime(2026, 3, 1, tzinfo=dt.UTC), dt.time(1), [1], 1j, object()],
)
def test_what_is_no_category_is_refused(value):
    given = np.empty((1, 1), dtype=object)
    given[0, 0] = value
    fitted = map_of([("a",)])
    with pytest.raises(InputError, match="texts, booleans, dates or times without a zone"):
        fitted([0.5], given)


def test_maps_that_were_saved_with_numbers_as_categories_are_read():
    document = map_of([("1", "2.5", "10")]).to_dict()
    assert document["parameters"]["categories"] == [["1", "2.5", "10"]]
    document["parameters"]["categories"] = [[1, 2.5, 10.0]]
    fitted = trueodds.CalibrationMap.from_dict(document)
    assert fitted.categories == (("1", "2.5", "10"),)
    np.testing.assert_array_equal(
        fitted([0.5] * 3, [[1], ["2.50"], [10.0]]),
        map_of([("1", "2.5", "10")])([0.5] * 3, [["1"], ["2.5"], ["10"]]),
    )


def test_numbers_are_sorted_by_size_and_texts_after_them():
    features = np.array([["10"], ["2"], ["b"], ["01"], ["2.5"]] * 40, dtype=object)
    fitted = trueodds.GroupCalibrator().fit([0.4] * 200, [0, 1] * 100, features=features)
    assert fitted.map_.categories == (("2", "2.5", "10", "01", "b"),)


# The table of the documentation -------------------------------------------------------------

NAMES = {"Decimal": Decimal, "date": date, "datetime": dt.datetime, "np": np}
NAMES |= {"nan": float("nan")}


def documented():
    section = PAGE.read_text(encoding="utf-8").partition("## Categories")[2].partition("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            values, meaning = re.split(r" \| ", line.strip("| "))
            for source in re.findall("`(.+?)`", values):
                yield source, meaning


@pytest.mark.parametrize(("source", "meaning"), list(documented()))
def test_the_documented_table_is_what_categories_are(source, meaning):
    value = eval(source, NAMES)  # noqa: S307  # our own page
    expected = {"themselves": value, "missing": None}.get(meaning)
    if meaning not in ("themselves", "missing"):
        expected = ast.literal_eval(meaning.strip("`"))
    assert category_text(value) == expected


def test_the_table_has_all_kinds_of_values():
    assert len(list(documented())) > 40


# Exports ------------------------------------------------------------------------------------

EXPORTED = (
    "0",
    "1",
    "2",
    "2.5",
    "1e-05",
    "A",
    "01",
    "2026-03-01",
    "2026-03-02 12:30:00.5",
    "true?",
)
GIVEN = [
    *(0, 1, True, False, 1.0, 2, 2.5, 1e-5, 7, 1e300, None, "A", "a", "1", "1.0", "1e0", "true"),
    *("TRUE", "false", "01", "+1", "-0", "NaN", "nan", "", "zzz", "0.00001", "2.50", "true?"),
    *("2026-03-01", "2026-03-01T00:00:00.000", "2026-03-01 00:00:00", "2026-03-02 12:30:00.500"),
    *("2026-03-01 00:00:01", "o'neil", "2026-03-01 00:00"),
]
TERM = GroupTerm(
    0, (0,), (None,), np.linspace(-2, 2, len(EXPORTED) + 2), [], np.zeros((1, len(EXPORTED) + 2))
)
EXPORT = GroupMap(
    base=IdentityMap(), center=[0.0], unit=[1.0], names=("code",), categories=(EXPORTED,),
    terms=(TERM,),
)  # fmt: skip


def wanted(values=GIVEN):
    """By hand, from the documented text of each value."""
    places = {text: k for k, text in enumerate(EXPORTED)} | {None: len(EXPORTED)}
    levels = [places.get(category_text(value), len(EXPORTED) + 1) for value in values]
    return expit(logit(SCORE) + TERM.shift[levels])


def exported_tree():
    """The first two categories, and the node itself for any other."""
    leaves = tuple(trueodds.maps.LogOddsMap(a=a, b=a, c=0.1) for a in (1.0, 0.5, 0.25))
    return TreeMap(
        maps=leaves, parent=[-1, 0, 0], attribute=[0, -1, -1], cut=[0, 0, 0], weight=[2, 1, 1],
        names=("code",), categories=(("1", "A"),), fill=[1.0],
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.UnknownCategoriesWarning")
def test_python_source_reads_the_same_categories():
    for fitted in (EXPORT, exported_tree()):
        namespace = {}
        exec(fitted.to_python(), namespace)  # noqa: S102
        found = [namespace["calibrate"](SCORE, {"code": value}) for value in GIVEN]
        given = np.array([[value] for value in GIVEN], dtype=object)
        np.testing.assert_allclose(found, fitted([SCORE] * len(GIVEN), given), rtol=0, atol=1e-12)
    np.testing.assert_allclose(EXPORT([SCORE] * len(GIVEN), given), wanted(), rtol=0, atol=1e-12)


def test_javascript_reads_the_same_categories(tmp_path):
    from support.services import lacking

    node = shutil.which("node")
    if node is None:
        lacking("node is not installed")
    (tmp_path / "map.mjs").write_text(EXPORT.to_javascript(), encoding="ascii")
    (tmp_path / "run.mjs").write_text(
        'import { calibrate } from "./map.mjs";\n'
        f"const given = {json.dumps(GIVEN)};\n"
        f"const more = [2n, undefined, NaN, new Date('2026-03-01')];\n"
        f"const p = (code) => calibrate({SCORE}, {{ code }});\n"
        "console.log(JSON.stringify([...given, ...more].map(p)));\n"
    )
    answer = subprocess.run(
        [node, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    values = [*GIVEN, 2, None, None, date(2026, 3, 1)]
    np.testing.assert_allclose(json.loads(answer.stdout), wanted(values), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_sql_reads_the_same_categories_from_every_type(dialect, request):
    tree = exported_tree()
    for fitted in (EXPORT, tree):
        given = [v for v in GIVEN if dialect != "postgres" or not isinstance(v, bool)]
        rows = np.array([[value] for value in given], dtype=object)
        expected = fitted([SCORE] * len(given), rows)
        sql = fitted.to_sql("p", dialect=dialect)
        query = f"SELECT {sql} FROM (SELECT {SCORE} AS p, [GIVEN] AS code) AS row"  # noqa: S608
        np.testing.assert_allclose(ask(dialect, query, given, request), expected, atol=1e-12)


def ask(dialect, query, given, request):
    """The answers of an engine for values as literals or parameters of their own types."""
    if dialect == "duckdb":
        connection = duckdb.connect()
        typed = query.replace("[GIVEN]", "?")
        return [connection.execute(typed, [value]).fetchall()[0][0] for value in given]
    if dialect == "sqlite":
        import sqlite3

        connection = sqlite3.connect(":memory:")
        typed = query.replace("[GIVEN]", "?")
        found = [connection.execute(typed, [value]).fetchall()[0][0] for value in given]
        connection.close()
        return found
    server = request.getfixturevalue("postgres")
    literals = []
    for value in given:
        if value is None:
            literals.append("NULL::text")
        elif isinstance(value, str):
            literals.append("'" + value.replace("'", "''") + "'::text")
        else:
            literals.append(f"'{value!r}'::" + ("bigint" if isinstance(value, int) else "float8"))
    statement = ";\n".join(query.replace("[GIVEN]", text) for text in literals)
    answer = subprocess.run(
        ["psql", server, "-XAtq", "-v", "ON_ERROR_STOP=1"],  # noqa: S607
        input=statement + ";", capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [float(line) for line in answer.stdout.splitlines()]


def test_a_graph_reads_the_usual_spellings_of_texts_and_numbers_of_codes():
    import onnxruntime

    def answers(fitted, values):
        graph = onnxruntime.InferenceSession(fitted.to_onnx().SerializeToString())
        scores = np.full(len(values), SCORE)
        return graph.run(None, {"scores": scores, "feature_code": values})[0]

    texts = [v for v in GIVEN if isinstance(v, str)]
    spelled = [t for t in texts if t not in ("1e0", "0.00001", "2.50", "", "-0")]
    spelled = [t for t in spelled if not t.endswith(("500", ".000"))]
    found = answers(EXPORT, np.array(spelled, dtype=object))
    np.testing.assert_allclose(found, wanted(spelled), rtol=0, atol=1e-12)
    codes = map_of([("1", "2", "10")])
    codes = GroupMap(
        base=IdentityMap(), center=[0.0], unit=[1.0], names=("code",), categories=(("1", "2"),),
        terms=(GroupTerm(0, (0,), (None,), [1.0, 2, 3, 4], [], np.zeros((1, 4))),),
    )  # fmt: skip
    found = answers(codes, np.array([1.0, 2.0, np.nan, 3.0]))
    expected = expit(logit(SCORE) + np.array([1.0, 2, 3, 4]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
