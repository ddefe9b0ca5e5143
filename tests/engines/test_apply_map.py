"""A map gives the same column on every engine, lazily where the frame is lazy."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from trueodds import maps
from trueodds.engines import apply_map
from trueodds.exceptions import InputError

LAZY = {"polars-lazy", "duckdb", "ibis", "dask", "spark"}
BETA = maps.LogOddsMap(a=0.5, b=0.9, c=0.1)
STEPS = maps.StepMap(edges=[0.3, 0.30000000000000004], values=[0.1, 0.2, 0.9])
LINES = maps.PiecewiseLinearMap(x=[0.0, 0.25, 1.0], y=[0.1, 0.2, 0.9])
HOSTILE = "my \"score`'s; --"


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    score = np.concatenate([[0.0, 1.0, 0.3, 0.30000000000000004, 0.25], rng.random(200)])
    return pd.DataFrame({"row": np.arange(len(score)), "score": score})


def test_every_engine_gives_back_the_rows_it_was_given(engine, make_frame, collect):
    given = pd.DataFrame({"row": [0, 1, 2], "score": [0.0, 0.25, 1.0], "text": ["a", "b", "c"]})
    back = collect(make_frame(engine, given)).sort_values("row").reset_index(drop=True)
    assert back["score"].tolist() == [0.0, 0.25, 1.0]
    assert back["text"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("fitted", [BETA, STEPS, LINES], ids=lambda fitted: fitted.family)
def test_every_engine_gives_the_column_of_numpy(fitted, engine, make_frame, collect):
    given = rows()
    frame = make_frame(engine, given)
    result = apply_map(fitted, frame, score="score", output_column="calibrated")
    assert type(result) is type(frame)
    found = collect(result).sort_values("row")
    assert list(found.columns) == ["row", "score", "calibrated"]
    np.testing.assert_array_equal(found["score"], given["score"])
    np.testing.assert_allclose(found["calibrated"], fitted(given["score"]), rtol=0, atol=1e-9)


def test_scores_that_cannot_be_used_give_missing_values(engine, make_frame, collect):
    given = pd.DataFrame({"row": range(5), "score": [0.5, np.nan, 1.2, -0.1, 1.0]})
    found = collect(apply_map(STEPS, make_frame(engine, given), score="score")).sort_values("row")
    assert found["probability"].isna().tolist() == [False, True, True, True, False]
    assert found["probability"].iloc[[0, 4]].tolist() == [0.9, 0.9]


def test_several_classes_give_a_column_each(engine, make_frame, collect):
    p = np.random.default_rng(1).dirichlet([1, 1, 1], 50)
    p[0] = [1, 0, 0]
    given = pd.DataFrame({"row": range(50), "a": p[:, 0], "b": p[:, 1], "c": p[:, 2]})
    binary = (BETA, STEPS, LINES)
    for fitted in (
        maps.SoftmaxMap(weights=[0.5, 1.0, 1.5], bias=[0.1, 0.0, 0.0], classes=("x", "y", "z")),
        maps.OneVsRestMap(maps=binary, classes=("x", "y", "z")),
    ):
        result = apply_map(
            fitted, make_frame(engine, given), score=["a", "b", "c"], output_column="new"
        )
        found = collect(result).sort_values("row")[["new_x", "new_y", "new_z"]]
        np.testing.assert_allclose(found, fitted(p), rtol=0, atol=1e-9)


def tree() -> maps.TreeMap:
    line = [maps.LogOddsMap(a=a, b=a, c=0.0, scale="raw") for a in (1.0, 0.5, 0.4, 2.0, 3.0)]
    return maps.TreeMap(
        maps=line,
        parent=[-1, 0, 0, 2, 2],
        attribute=[0, -1, 1, -1, -1],
        cut=[40.0, 0, 0, 0, 0],
        weight=np.ones(5),
        names=("age", "town"),
        categories=(None, ("Bonn", "Ulm")),
        fill=[50.0, 1.0],
    )


def check_tree(engine, make_frame, collect):
    given = pd.DataFrame(
        {
            "row": range(6),
            "score": [0.1, 0.9, 0.0, 0.4, 0.6, 0.7],
            "age": [30.0, 60.0, 40.0, 41.0, 80.0, 70.0],
            "place": ["Ulm", "Ulm", "Bonn", "Bonn", None, "unseen"],
        }
    )
    names = {"town": "place"}
    result = apply_map(tree(), make_frame(engine, given), score="score", features=names)
    expected = tree()(
        given["score"], features=given[["age", "place"]].rename(columns={"place": "town"})
    )
    found = collect(result).sort_values("row")["probability"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.UnknownCategoriesWarning")
def test_a_tree_takes_its_attributes_from_the_frame(engine, make_frame, collect):
    check_tree(engine, make_frame, collect)


@pytest.fixture(params=["duckdb", "ibis", "spark"])
def sql_engine(request):
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


@pytest.fixture
def nothing_fits_into_sql(monkeypatch):
    monkeypatch.setattr("trueodds.export.sql.render.MOST_NODES", 0)


@pytest.mark.usefixtures("nothing_fits_into_sql")
def test_a_map_too_long_for_sql_is_called_on_batches(sql_engine, make_frame, collect):
    p = np.random.default_rng(1).dirichlet([1, 1, 1], 50)
    given = pd.DataFrame({"row": range(50), "a": p[:, 0], "b": p[:, 1], "c": p[:, 2]})
    given.loc[3, "a"] = np.nan
    fitted = maps.SoftmaxMap(weights=[0.5, 1.0, 1.5], bias=[0.1, 0.0, 0.0])
    frame = make_frame(sql_engine, given)
    result = apply_map(fitted, frame, score=["a", "b", "c"], output_column='n"')
    assert type(result) is type(frame)
    found = collect(result).sort_values("row")
    assert list(found.columns) == ["row", "a", "b", "c", 'n"_0', 'n"_1', 'n"_2']
    expected = fitted(p)
    expected[3] = np.nan
    np.testing.assert_allclose(found.iloc[:, 4:], expected, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("nothing_fits_into_sql")
@pytest.mark.parametrize("sql_engine", ["duckdb", "spark"], indirect=True)
def test_a_tree_too_long_for_sql_is_called_on_batches(sql_engine, make_frame, collect):
    check_tree(sql_engine, make_frame, collect)


@pytest.mark.usefixtures("nothing_fits_into_sql")
def test_a_tree_too_long_for_sql_is_refused_by_ibis(make_frame):
    given = pd.DataFrame({"score": [0.1], "age": [30.0], "town": ["Ulm"]})
    with pytest.raises(InputError, match="more than 0 nodes of SQL"):
        apply_map(tree(), make_frame("ibis", given), score="score")


@pytest.mark.usefixtures("nothing_fits_into_sql")
def test_batches_in_duckdb_change_no_other_column():
    import duckdb

    frame = duckdb.connect().sql(
        "SELECT 0.25 AS score, 9007199254740993 AS big, 1.25::DECIMAL(9, 2) AS money, "
        "[1, NULL] AS list, NULL::INTEGER AS nothing, '' AS empty, 'é\"=' AS text, "
        "TIMESTAMP '2020-01-01 00:00:00.000001' AS moment, 0.1::DOUBLE AS tenth "
    )
    result = apply_map(LINES, frame, score="score", output_column="p")
    assert result.types[:-1] == frame.types
    assert result.fetchall() == [(*frame.fetchall()[0], 0.2)]


def test_hostile_names_of_columns_stay_names(engine, make_frame, collect):
    given = rows().rename(columns={"score": HOSTILE})
    result = apply_map(STEPS, make_frame(engine, given), score=HOSTILE, output_column="p\"`'; DROP")
    found = collect(result).sort_values("row")
    np.testing.assert_array_equal(found["p\"`'; DROP"], STEPS(given[HOSTILE]))


def test_a_missing_column_is_named_with_those_that_are_like_it(engine, make_frame):
    frame = make_frame(engine, rows())
    with pytest.raises(InputError, match=r"no column 'scroe'; did you mean 'score'"):
        apply_map(BETA, frame, score="scroe")


def test_a_column_that_exists_is_not_overwritten(engine, make_frame):
    frame = make_frame(engine, rows())
    with pytest.raises(InputError, match="already has a column 'row'"):
        apply_map(BETA, frame, score="score", output_column="ROW")


def test_spark_runs_no_job_until_the_result_is_asked_for(spark):
    frame = spark.createDataFrame(rows())
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("lazy", "apply_map")
    result = apply_map(BETA, frame, score="score")
    assert list(tracker.getJobIdsForGroup("lazy")) == []
    assert result.count() == len(rows())
    assert list(tracker.getJobIdsForGroup("lazy")) != []


def test_dask_computes_nothing_until_asked(dask_client):
    import dask
    import dask.dataframe as dd

    def refuse(*args, **kwargs):
        raise AssertionError("computed")

    with dask.config.set(scheduler=refuse):
        result = apply_map(BETA, dd.from_pandas(rows(), npartitions=2), score="score")
        with pytest.raises(AssertionError, match="computed"):
            result.compute()


def test_a_pandas_frame_keeps_its_index_and_is_not_changed():
    given = rows().set_index(np.arange(205)[::-1])
    result = apply_map(maps.IdentityMap(), given, score="score")
    assert result.index.equals(given.index)
    assert list(given.columns) == ["row", "score"]
    np.testing.assert_array_equal(result["probability"], given["score"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": ["score", "row"], "output_column": ["a"]}, "2 distinct names"),
        ({"score": "score", "output_column": ""}, "output_column must be a name"),
        ({"score": ["score", "row", "third"]}, "list of 2 columns"),
        ({"score": []}, "column must be a name"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        apply_map(BETA, rows(), **options)


def test_text_scores_are_refused_with_their_column():
    given = pd.DataFrame({"score": ["0.5", "high"]})
    with pytest.raises(InputError, match="'score' must hold numbers"):
        apply_map(BETA, given, score="score")


def test_what_is_not_a_map_is_refused():
    with pytest.raises(InputError, match=r"needs a CalibrationMap.*got dict"):
        apply_map({}, rows(), score="score")


NUMBERS = [0.25, None, 0.3, 1.0, 0.0]


def odd_frames() -> dict:
    """Columns of numbers that NumPy has no type for, with missing values."""
    import dask.dataframe as dd
    import polars as pl
    import pyarrow as pa

    decimals = [None if x is None else Decimal(str(x)) for x in NUMBERS]
    objects = [pd.NA if x is None else x for x in NUMBERS]
    bits = [True, None, False, True, False]
    arrow_decimals = pd.ArrowDtype(pa.decimal128(5, 2))
    series = {
        "decimals": pd.Series(decimals, dtype=object),
        "decimals of Arrow": pd.Series(decimals, dtype=arrow_decimals),
        "NA among objects": pd.Series(np.array(objects, dtype=object)),
        "Decimal NaN": pd.Series(
            [Decimal("NaN") if x is None else x for x in decimals], dtype=object
        ),
        "nullable": pd.Series(pd.array(NUMBERS, dtype="Float64")),
        "booleans": pd.Series(pd.array(bits, dtype="boolean")),
        "boolean objects": pd.Series(bits, dtype=object),
        "booleans of Arrow": pd.Series(bits, dtype=pd.ArrowDtype(pa.bool_())),
    }
    frames = {f"pandas, {name}": pd.DataFrame({"p": column}) for name, column in series.items()}
    for name in ("decimals of Arrow", "nullable", "booleans"):
        frames[f"dask, {name}"] = dd.from_pandas(pd.DataFrame({"p": series[name]}), npartitions=2)
    polars = {
        "decimals": pl.Series(decimals, dtype=pl.Decimal(10, 4)),
        "Int128": pl.Series([1, None, 0, 1, 0], dtype=pl.Int128),
        "booleans": pl.Series(bits),
        "float32": pl.Series(NUMBERS, dtype=pl.Float32),
    }
    for name, column in polars.items():
        frames[f"polars, {name}"] = pl.DataFrame({"p": column})
        frames[f"polars-lazy, {name}"] = pl.LazyFrame({"p": column})
    frames["pyarrow, decimals"] = pa.table({"p": pa.array(decimals, pa.decimal128(5, 2))})
    frames["pyarrow, wide decimals"] = pa.table({"p": pa.array(decimals, pa.decimal256(50, 20))})
    frames["pyarrow, booleans"] = pa.table({"p": pa.array(bits)})
    return frames


@pytest.mark.parametrize("name", sorted(odd_frames()))
def test_decimals_booleans_and_every_kind_of_missing_value_are_read(name, collect):
    frame = odd_frames()[name]
    given = [1.0, None, 0.0, 1.0, 0.0] if "bool" in name or "128" in name else NUMBERS
    if "float32" in name:
        given = [None if x is None else float(np.float32(x)) for x in given]
    scores = np.array([np.nan if x is None else x for x in given])
    expected = np.full(5, np.nan)
    expected[[0, 2, 3, 4]] = BETA(scores[[0, 2, 3, 4]])
    result = apply_map(BETA, frame, score="p", output_column="q")
    found = collect(result.select("q") if "polars" in name else result)["q"]
    np.testing.assert_allclose(found.to_numpy(float), expected, rtol=0, atol=1e-15)


def test_a_column_that_holds_no_numbers_is_refused_with_an_example():
    for values in (["0.3", None], [0.3, "abc"], [0.3, [1]], [1j, 0.3]):
        frame = pd.DataFrame({"p": pd.Series(values, dtype=object)})
        with pytest.raises(InputError, match="the column 'p' must hold numbers; got "):
            apply_map(BETA, frame, score="p")
    huge = pd.DataFrame({"p": pd.Series([10**400, -(10**400), 1], dtype=object)})
    assert apply_map(BETA, huge, score="p")["probability"].isna().tolist() == [True, True, False]


def test_tables_of_ibis_are_calibrated_twice_and_joined():
    import ibis

    connection = ibis.duckdb.connect()
    connection.raw_sql(
        "CREATE TABLE t AS SELECT 1 AS key, 0.3::DOUBLE AS p UNION ALL SELECT 2, 0.6"
    )
    table = connection.table("t")
    twice = apply_map(
        STEPS, apply_map(BETA, table, score="p", output_column="x"), score="p", output_column="y"
    )
    found = twice.to_pandas().sort_values("key")
    np.testing.assert_allclose(found["x"], BETA([0.3, 0.6]), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(found["y"], STEPS([0.3, 0.6]))
    one = apply_map(BETA, table, score="p", output_column="x")
    other = apply_map(STEPS, table, score="p", output_column="y")
    joined = one.join(other.select("key", "y"), "key").to_pandas().sort_values("key")
    np.testing.assert_array_equal(joined[["x", "y"]], found[["x", "y"]])
    union = one.select("x").union(other.select(x="y")).to_pandas()
    assert sorted(union["x"]) == sorted([*found["x"], *found["y"]])


def test_hostile_names_of_classes_are_new_columns_of_their_own(engine, make_frame, collect):
    """The names of new columns are made of the classes."""
    classes = ('a"b', "--; drop table t", "a'`\\b")
    m = maps.SoftmaxMap(weights=[0.5, 1.0, 1.5], bias=[0.1, 0.0, 0.0], classes=classes)
    rows_ = np.random.default_rng(1).dirichlet([1, 1, 1], 5)
    given = pd.DataFrame(rows_, columns=["a", "b", "c"])
    found = collect(
        apply_map(m, make_frame(engine, given), score=["a", "b", "c"], output_column="new")
    )
    assert list(found.columns)[3:] == [f"new_{name}" for name in classes]
    order = found.sort_values("a").iloc[:, 3:]
    np.testing.assert_allclose(order, m(rows_[np.argsort(rows_[:, 0])]), rtol=0, atol=1e-12)
