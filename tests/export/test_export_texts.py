"""What the exports look like, what they refuse, and what cannot get into them."""

import ast
import dataclasses
import sqlite3
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sql_lexer import tokens

from support.map_examples import examples, tree_of
from trueodds.exceptions import InputError
from trueodds.export import expressions as e
from trueodds.export.sql import render as _sql
from trueodds.export.sql.named_parts import least_nodes, shared_layers
from trueodds.maps import (
    CharcoalSoftmaxMap,
    IdentityMap,
    LogOddsMap,
    PiecewiseLinearMap,
    SoftmaxMap,
    StepMap,
    TreeMap,
)

BETA = LogOddsMap(a=0.5, b=0.9, c=0.1)
STEPS = StepMap(edges=[0.5], values=[0.2, 0.7])
DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite")
HOSTILE = [
    'a"b',
    "a`b",
    "a'b",
    "a\\",
    "a\\`; DROP TABLE t; --",
    'a"); DROP TABLE t; --',
    "é ∞",
    "--",
    "$$x$$ // # /*",
    "'''",
    "a\nb\r\tc\x0b",
    "a\\n\\x41\\'",
]


def in_duckdb(fitted, values, column="score"):
    table = pa.table({column: pa.array(values, pa.float64())})
    rows = duckdb.connect().from_arrow(table).select(f"{fitted.to_sql(column)} AS p")
    return [row[0] for row in rows.fetchall()]


def function_of(fitted, name="calibrate"):
    namespace: dict = {}
    exec(compile(fitted.to_python(name), "exported", "exec"), namespace)  # noqa: S102
    return namespace[name]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_a_formula_gives_what_the_map_gives_on_special_scores(example):
    """In Python and on few rows: the same on engines and on many rows takes minutes."""
    if example.n_scores > 1 and example.map.takes_one_score:
        pytest.skip("the function of a binary map takes one score")
    rows = np.append(np.arange(65), 331 * np.arange(3, 200))[: len(example.scores)]
    rows = rows[rows < len(example.scores)]
    function, scores = function_of(example.map), example.scores[rows]
    if example.features is None:
        found = [function(score) for score in scores.tolist()]
        expected = example.map(scores)
    else:
        features = example.features.iloc[rows]
        records = features.astype(object).where(features.notna(), None).to_dict("records")
        found = [function(s, row) for s, row in zip(scores.tolist(), records, strict=True)]
        expected = example.map(scores, features=features)
    np.testing.assert_allclose(np.array(found), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", ["probability", "logit", "raw"])
def test_missing_and_impossible_scores_give_null(scale):
    values = [None, float("nan"), 0.5]
    values += [1.2, -0.1] if scale == "probability" else []
    values += [float("inf"), -float("inf")] if scale == "raw" else []
    for fitted in (
        LogOddsMap(a=0.5, b=0.9, c=0.1, scale=scale),
        StepMap(edges=[0.4], values=[0.2, 0.7], scale=scale),
    ):
        found = in_duckdb(fitted, values)
        assert [p is None for p in found] == [True, True, False, *[True] * (len(values) - 3)]
        calibrate = function_of(fitted)
        assert [np.isnan(calibrate(v)) for v in values] == [p is None for p in found]
        session = onnxruntime.InferenceSession(fitted.to_onnx().SerializeToString())
        numbers = np.array([np.nan if v is None else v for v in values])
        graph = session.run(None, {"scores": numbers})[0]
        assert np.isnan(graph).tolist() == [p is None for p in found]


def test_what_is_no_number_gives_nan_in_python():
    calibrate = function_of(LogOddsMap(a=0.5, b=0.9, c=0.1))
    wrong = [
        "",
        " ",
        "abc",
        "0x1",
        None,
        pd.NA,
        pd.NaT,
        [],
        [0.3],
        {},
        b"0.3",
        1j,
        object(),
        10**400,
    ]
    assert all(np.isnan(calibrate(value)) for value in wrong)
    for value in (0.3, "0.3", " 0.3\n", Decimal("0.3"), np.float64(0.3), Fraction(3, 10)):
        assert calibrate(value) == calibrate(0.3)
    assert calibrate(True) == calibrate(1)
    several = function_of(SoftmaxMap(weights=[1.0, 1.0], bias=[0.0, 0.5]))
    assert np.isnan(several([0.5, ""])).all()


def test_rows_that_are_not_probabilities_give_null_for_every_class():
    fitted = SoftmaxMap(weights=[1.0, 1.0], bias=[0.0, 0.5])
    rows = pa.table({"a": [0.5, 0.0, 0.9, None], "b": [0.5, 0.0, 0.9, 1.0]})
    parts = [f"{sql} AS p{k}" for k, sql in enumerate(fitted.to_sql(["a", "b"]))]
    found = duckdb.connect().from_arrow(rows).select(", ".join(parts)).fetchall()
    assert [p is None for row in found for p in row] == [False] * 2 + [True] * 6
    calibrate = function_of(fitted)
    assert np.isnan(calibrate([0.9, 0.9])).all()
    assert calibrate([0.5, 0.5])[1] == pytest.approx(found[0][1], abs=1e-12)


def tree_of_texts(feature, category, other) -> TreeMap:
    """A tree that splits on one feature with two categories; its classes are hostile, too."""
    return TreeMap(
        maps=tuple(LogOddsMap(a=a, b=a, c=0.0, scale="raw") for a in (1.0, 0.5, 2.0)),
        parent=[-1, 0, 0],
        attribute=[0, -1, -1],
        cut=np.zeros(3),
        weight=np.ones(3),
        names=(feature,),
        categories=(tuple(sorted([category, other])),),
        fill=[0.0],
        classes=(category, feature),
    )


def renamed(found, names):
    return [(kind, names.get(value, value) if kind != "piece" else value) for kind, value in found]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_and_categories_are_single_tokens_of_every_dialect(hostile, dialect):
    """Read by each dialect's own rules, hostile texts differ from plain ones in nothing else."""
    category, other = hostile, f"{hostile} AS FLOAT64) > 0 THEN (SELECT SESSION_USER()) END -- "
    plain = tree_of_texts("feature", "category_a", "category_b")
    expected = tokens(plain.to_sql("score", dialect=dialect), dialect)
    # The order of categories is that of their texts.
    first, second = sorted([category, other])
    names = {hostile + "!": "feature", hostile + "?": "score"}
    names |= {first: "category_a", second: "category_b"}
    fitted = tree_of_texts(hostile + "!", category, other)
    if dialect == "bigquery" and (set("\\`") & set(hostile) or not hostile.isprintable()):
        with pytest.raises(InputError, match="BigQuery has no columns with a backslash"):
            fitted.to_sql("score", dialect=dialect)
        with pytest.raises(InputError, match="BigQuery has no columns with a backslash"):
            fitted.to_sql(hostile, dialect=dialect, features=["feature"])
        sql = fitted.to_sql(dialect=dialect, features=["feature"])
    else:
        sql = fitted.to_sql(hostile + "?", dialect=dialect)
    assert renamed(tokens(sql, dialect), names) == expected


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_of_classes_are_single_names_of_new_columns(hostile, dialect):
    if dialect == "bigquery" and (set("\\`") & set(hostile) or not hostile.isprintable()):
        with pytest.raises(InputError, match="BigQuery has no columns with a backslash"):
            _sql.quoted(hostile, dialect)
        return
    written = _sql.quoted(hostile, dialect)
    assert tokens(f"1 AS {written}", dialect)[-1] == ("name", hostile)


def test_the_lexer_sees_what_a_name_breaks_out_of():
    """The control: text as it was once written for BigQuery is more than a name."""
    broken = "CAST(`a\\` AS FLOAT64) <= 0.0 THEN CAST(` AS FLOAT64) > 0 THEN 1 END -- ` AS FLOAT64)"
    with pytest.raises(ValueError, match="a comment"):
        tokens(broken, "bigquery")
    assert tokens("'a''b' \"c\"\"d\"", "duckdb") == [("text", "a'b"), ("name", 'c"d')]
    assert tokens("'a\\'b'", "spark") == [("text", "a'b")]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_columns_run_in_duckdb_and_sqlite(name):
    assert in_duckdb(STEPS, [0.1, 0.5], name) == [0.2, 0.7]
    connection = sqlite3.connect(":memory:")
    quoted = '"' + name.replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE t ({quoted} REAL)")
    connection.execute("INSERT INTO t VALUES (0.5)")
    sql = STEPS.to_sql(name, dialect="sqlite")
    assert connection.execute(f"SELECT {sql} FROM t").fetchall() == [(0.7,)]  # noqa: S608


def tree_of_numbers(*names) -> TreeMap:
    """A tree that splits on the first feature, and above its cut on the second."""
    return TreeMap(
        maps=tuple(StepMap(edges=[0.5], values=[v, v + 0.05]) for v in (0.0, 0.1, 0.2, 0.3, 0.4)),
        parent=[-1, 0, 0, 2, 2],
        attribute=[0, -1, 1, -1, -1],
        cut=[10.0, 0, 10.0, 0, 0],
        weight=np.ones(5),
        names=names,
        categories=(None, None),
        fill=[0.0, 0.0],
    )


IGNORES_CASE = {
    "duckdb": True,
    "postgres": False,
    "spark": True,
    "bigquery": True,
    "snowflake": False,
    "sqlite": True,
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_that_differ_in_case_are_refused_where_they_would_be_one_column(dialect):
    tree, plain = tree_of_numbers("age", "Age"), tree_of_numbers("age", "town")
    softmax = SoftmaxMap(weights=[1.0, 1.0], bias=[0.0, 0.5])
    calls = [
        lambda: tree.to_sql("score", dialect=dialect),
        lambda: tree.to_dbt(dialect=dialect),
        lambda: plain.to_sql("AGE", dialect=dialect),
        lambda: plain.to_sql("score", dialect=dialect, features=["x", "X"]),
        lambda: softmax.to_sql(["p", "P"], dialect=dialect),
    ]
    for call in calls:
        if IGNORES_CASE[dialect]:
            with pytest.raises(InputError, match="differ in case alone"):
                call()
        else:
            call()
    # With other columns the map is exported, and a feature may be the score itself.
    assert "town" in tree.to_sql("score", dialect=dialect, features={"Age": "town"})
    assert plain.to_sql("age", dialect=dialect)


def test_quoted_names_in_another_case_are_one_column_of_duckdb_and_sqlite():
    """The control: the engines refuse such a table, and read one column by either name."""
    for connection in (duckdb.connect(), sqlite3.connect(":memory:")):
        connection.execute('CREATE TABLE t ("age" REAL)')
        connection.execute("INSERT INTO t VALUES (3)")
        assert connection.execute('SELECT "AGE", "age" FROM t').fetchall() == [(3.0, 3.0)]
        with pytest.raises((duckdb.Error, sqlite3.Error), match="age"):
            connection.execute('CREATE TABLE u ("Age" REAL, "age" REAL)')


def test_letters_beyond_ascii_keep_their_case_in_duckdb_and_sqlite():
    tree = tree_of_numbers("É", "é")
    rows = [(0.9, 5.0, 20.0), (0.9, 20.0, 5.0), (0.1, 20.0, 20.0)]
    frame = pd.DataFrame([row[1:] for row in rows], columns=["É", "é"])
    expected = tree([row[0] for row in rows], features=frame)
    assert len(set(expected)) == 3
    for dialect, connection in (
        ("duckdb", duckdb.connect()),
        ("sqlite", sqlite3.connect(":memory:")),
    ):
        connection.execute('CREATE TABLE t (score DOUBLE, "É" DOUBLE, "é" DOUBLE)')
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        sql = tree.to_sql("score", dialect=dialect)
        found = connection.execute(f"SELECT {sql} FROM t").fetchall()  # noqa: S608
        np.testing.assert_allclose([p for (p,) in found], expected, atol=1e-12)
    for dialect in ("spark", "bigquery"):
        with pytest.raises(InputError, match="'É' and 'é' differ in case alone"):
            tree.to_sql("score", dialect=dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_number_survives_in_all_its_digits(dialect):
    edges = np.unique(np.random.default_rng(0).random(50))
    values = np.sort(np.random.default_rng(1).random(51))
    sql = StepMap(edges=edges, values=values).to_sql(dialect=dialect)
    parsed = sqlglot.parse_one(f"SELECT {sql}", read=dialect)
    literals = parsed.find_all(sqlglot.exp.Literal)
    texts = [literal.this for literal in literals if not literal.is_string]
    assert all("e" in text for text in texts)  # without an exponent it would be a decimal
    assert {float(text) for text in texts} == {0.0, 1.0, *edges.tolist(), *values.tolist()}


def large(family, n_knots=10_001):
    x = np.linspace(0, 1, n_knots)
    if family == "step":
        return StepMap(edges=x[1:-1], values=x[:-1] ** 2)
    return PiecewiseLinearMap(x=x, y=x**2)


def around(knots):
    """Knots, their neighbors among the float64s, and numbers between."""
    near = [np.nextafter(knots, side) for side in (0.0, 1.0)]
    return np.concatenate([knots, *near, np.random.default_rng(0).random(1000)])


families = pytest.mark.parametrize("family", ["step", "piecewise_linear"])


@families
def test_ten_thousand_knots_give_exactly_what_numpy_gives(family):
    scores = around(np.linspace(0, 1, 10_001))
    np.testing.assert_array_equal(in_duckdb(large(family), scores), large(family)(scores))
    assert in_duckdb(large(family), [None, float("nan"), 1.1, -0.1]) == [None] * 4


@families
@pytest.mark.parametrize("n_knots", [63, 64, 65, 66, 127, 128, 129])
def test_no_knot_is_lost_where_small_tables_become_large_ones(family, n_knots):
    x = np.linspace(0.1, 0.9, n_knots)
    fitted = (
        StepMap(edges=x, values=np.linspace(0, 1, n_knots + 1))
        if family == "step"
        else PiecewiseLinearMap(x=x, y=x**2)
    )
    scores = np.concatenate([[0.0, 1.0], around(x)])
    np.testing.assert_array_equal(in_duckdb(fitted, scores), fitted(scores))


@families
def test_without_arrays_knots_nest_as_deep_as_their_logarithm(family):
    sql = large(family, 1001).to_sql(dialect="snowflake")
    depth = deepest = 0
    for word in sql.replace("(", " ").replace(")", " ").split():
        depth += (word == "CASE") - (word == "END")
        deepest = max(deepest, depth)
    assert 10 <= deepest <= 12


@families
def test_ten_thousand_knots_run_in_spark(family, spark, tmp_path):
    scores = around(np.linspace(0, 1, 1001))
    pq.write_table(pa.table({"score": scores}), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    sql = large(family).to_sql(dialect="spark")
    found = frame.selectExpr("score", f"{sql} AS p").toPandas()
    np.testing.assert_array_equal(found["p"], large(family)(found["score"].to_numpy()))


def grill(n_coals):
    rng = np.random.default_rng(0)
    return CharcoalSoftmaxMap(
        means=-rng.exponential(size=(n_coals, 3)),
        temperatures=rng.uniform(0.5, 2, n_coals),
        widths=rng.uniform(0.5, 2, n_coals),
        bias=np.zeros(3),
    )


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "bigquery", "sqlite"])
def test_parts_that_occur_often_are_written_once(dialect):
    lengths = [len(grill(n).to_sql(["a", "b", "c"], dialect=dialect)[0]) for n in (4, 8)]
    # Shares of n coals need n² differences, and nothing else may grow faster than n.
    assert lengths[1] < 4 * lengths[0]
    assert lengths[1] < 15_000


def test_what_only_branches_compute_has_no_name_outside_them():
    score = e.Score(0)
    often = e.total([e.log(score * k) for k in range(2, 40)])
    twice = often * often
    assert shared_layers(twice, {}) == [[often]]
    # At 0 the logarithm would be an error.
    assert shared_layers(e.Choose(((score > 0.5, often), (score > 0, twice)), score), {}) == []
    # A condition is computed in any case.
    assert shared_layers(e.Choose(((often > 0, twice),), score), {}) == [[often]]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "postgres", "sqlite"])
def test_names_and_arrays_are_one_expression_of_the_dialect(dialect):
    texts = grill(2).to_sql(["a", "b", "c"], dialect=dialect)[:1]
    texts += [large(family, 200).to_sql("a", dialect=dialect) for family in ("step", "linear")]
    for text in texts:
        query = f"SELECT {text} AS p FROM t"  # noqa: S608
        (statement,) = sqlglot.parse(query, read=dialect)
        assert [column.alias for column in statement.expressions] == ["p"]


def test_columns_called_as_our_own_names_are_not_mistaken():
    names = ["trueodds_1", "trueodds_1_0", "TRUEODDS_2_0"]
    rows = np.random.default_rng(0).dirichlet([1, 1, 1], 100)
    parts = [f"{sql} AS p{k}" for k, sql in enumerate(grill(3).to_sql(names))]
    table = pa.table(dict(zip(names, rows.T, strict=True)))
    found = np.array(duckdb.connect().from_arrow(table).select(", ".join(parts)).fetchall())
    np.testing.assert_allclose(found, grill(3)(rows), rtol=0, atol=1e-12)


def test_a_formula_that_would_be_too_long_is_refused_with_the_other_ways():
    k = 40
    wide = SoftmaxMap(weights=np.eye(k) + 0.1, bias=np.zeros(k), floor=-30.0)
    with pytest.raises(InputError, match=r"nodes of SQL.*to_onnx\(\)"):
        wide.to_sql([f"s{i}" for i in range(k)])
    assert wide.to_onnx().graph.output[0].name == "probabilities"


def test_the_size_is_foretold_within_a_factor_of_two():
    from trueodds.maps._formulas import formula_of

    k = 12
    names = [f"s{i}" for i in range(k)]
    formula = formula_of(SoftmaxMap(weights=np.eye(k) + 0.1, bias=np.zeros(k)), k)
    writer = _sql._SqlWriter(names, {}, "duckdb", formula.scale)
    writer.scope(formula.outputs[0])
    assert 0.5 < least_nodes(formula.outputs[0]) / writer.written < 2


def test_what_is_written_is_counted_where_parts_have_no_names(monkeypatch):
    monkeypatch.setattr(_sql, "MOST_NODES", 5000)
    assert len(grill(6).to_sql(["a", "b", "c"], dialect="duckdb")) == 3
    with pytest.raises(InputError, match="more than 5,000 nodes"):
        grill(6).to_sql(["a", "b", "c"], dialect="snowflake")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dialect": "oracle"}, "dialect must be one of"),
        ({"column": ""}, "name must be a text"),
        ({"column": "a\0b"}, "name must be a text"),
        ({"column": ["a", "b", "c"]}, "needs a list of 2 columns"),
        ({"column": ["a", "a"]}, "must be distinct"),
        ({"column": 3}, "column must be a name"),
    ],
)
def test_what_cannot_be_written_as_sql_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        BETA.to_sql(**arguments)


def test_a_map_of_columns_is_not_written_for_one():
    with pytest.raises(InputError, match="needs a list of 2 columns of scores; got 1"):
        SoftmaxMap(weights=[1.0, 1.0], bias=[0.0, 0.0]).to_sql("p")


@pytest.mark.parametrize("name", ["1x", "class", "f(); import os", "a b", "math", "é", "", 3])
def test_a_function_has_a_plain_name(name):
    with pytest.raises(InputError, match="name must be"):
        BETA.to_python(name)


def hostile_tree() -> TreeMap:
    line = tuple(LogOddsMap(a=a, b=a, c=0.0, scale="raw") for a in (1.0, 0.5, 2.0))
    text = "'''\"\"\"); __import__('os').abort() #\n\\"
    return TreeMap(
        maps=line,
        parent=[-1, 0, 0],
        attribute=[0, -1, -1],
        cut=np.zeros(3),
        weight=np.ones(3),
        names=(text,),
        categories=(tuple(sorted([text, "\u2028\x00"])),),
        fill=[0.0],
        classes=(text, "'''"),
    )


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.UnknownCategoriesWarning")
def test_hostile_labels_names_and_categories_stay_texts_in_python():
    fitted = hostile_tree()
    source = fitted.to_python()
    assert source.isascii()
    module = ast.parse(source)
    module.body = [node for node in module.body if "_category(value)" not in ast.unparse(node)]
    calls = {ast.unparse(node.func) for node in ast.walk(module) if isinstance(node, ast.Call)}
    known = ("float", "isinstance", "max", "min", "math.exp", "math.log")
    assert all(call in known or call.startswith("_calibrate") for call in calls)
    (name,) = fitted.names
    for category in (*fitted.categories[0], "other", None):
        found = function_of(fitted)(0.8, {name: category})
        attributes = np.array([[category]], dtype=object)
        assert found == pytest.approx(float(fitted([0.8], features=attributes)[0]), abs=1e-12)


def test_hostile_categories_stay_texts_in_sql():
    fitted = hostile_tree()
    category = fitted.categories[0][-1]
    rows = pa.table({"score": [0.8, 0.8], "f": [category, "other"]})
    sql = fitted.to_sql(features=["f"])
    found = duckdb.connect().from_arrow(rows).select(f"{sql} AS p").fetchall()
    attributes = np.array([[category], ["other"]], dtype=object)
    np.testing.assert_allclose(np.ravel(found), fitted([0.8, 0.8], features=attributes), atol=1e-12)


def test_a_python_export_needs_the_standard_library_only():
    source = CharcoalSoftmaxMap(
        means=[[0, -3], [-1, -1]], temperatures=[2, 1], widths=[1, 1], bias=[0, 0]
    ).to_python()
    imported = [n.names[0].name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import)]
    assert sorted(imported) == ["bisect", "math"]
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{source}\nprint(calibrate([0.25, 0.75]))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sum(ast.literal_eval(ran.stdout)) == pytest.approx(1)


def test_two_python_exports_live_in_one_file():
    other = StepMap(edges=[0.5], values=[0.1, 0.9])
    namespace: dict = {}
    exec(STEPS.to_python("first") + other.to_python("second"), namespace)  # noqa: S102
    assert (namespace["first"](0.5), namespace["second"](0.5)) == (0.7, 0.9)


def test_a_graph_says_what_it_is():
    model = LogOddsMap(a=1.0, b=1.0, c=0.0, classes=("no", "yes")).to_onnx()
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 17), ("ai.onnx.ml", 3)]
    properties = {p.key: p.value for p in model.metadata_props}
    assert properties["trueodds.classes"] == '["no", "yes"]'
    (given,) = model.graph.input
    assert given.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE


def test_a_missing_text_is_not_taken_for_the_category_of_the_empty_text():
    """ONNX has no missing texts: "" stands for one, unless "" is a category that goes elsewhere."""
    towns = ("", "Bonn", "Ulm")
    tree = TreeMap(
        maps=tuple(LogOddsMap(a=a, b=a, c=0.0, scale="raw") for a in (1.0, 0.5, 2.0, 3.0)),
        parent=[-1, 0, 0, 0], attribute=[0, -1, -1, -1], cut=np.zeros(4), weight=np.ones(4),
        names=("town",), categories=(towns,), fill=[0.0],
    )  # fmt: skip
    session = onnxruntime.InferenceSession(tree.to_onnx().SerializeToString())
    given = np.array(["", "Bonn", "Ulm", "unseen"], dtype=object)
    inputs = {"scores": np.full(4, 0.8), "feature_town": given}
    expected = tree(np.full(4, 0.8), features=given[:, None])
    np.testing.assert_allclose(session.run(None, inputs)[0], expected, rtol=0, atol=1e-15)
    missing = tree([0.8], features=np.array([[None]], dtype=object))
    assert missing == expected[0]
    elsewhere = dataclasses.replace(tree, fill=[2.0])
    with pytest.raises(InputError, match=r"no missing texts.*'town' has the category ''"):
        elsewhere.to_onnx()


def test_lookups_in_onnx_grow_with_the_logarithm_of_the_table():
    x = np.linspace(0, 1, 10_001)
    model = StepMap(edges=x[1:-1], values=x[:-1]).to_onnx()
    assert len(model.graph.node) < 100


def test_a_tree_of_an_array_needs_names_for_its_columns():
    line = tuple(LogOddsMap(a=a, b=a, c=0.0, scale="raw") for a in np.linspace(0.5, 1, 9))
    named = tree_of(line, "probability")
    with pytest.raises(InputError, match=r"no feature 'agee'.*'age'"):
        named.to_sql(features={"agee": "x"})
    with pytest.raises(InputError, match="features must name 3 columns"):
        named.to_sql(features=["x"])
    nameless = TreeMap(
        maps=line[:3], parent=[-1, 0, 0], attribute=[0, -1, -1], cut=[1.0, 0, 0],
        weight=np.ones(3), names=None, categories=(None,), fill=[0.0],
    )  # fmt: skip
    with pytest.raises(InputError, match="its features have no names"):
        nameless.to_sql()
    assert '"age"' in nameless.to_sql(features=["age"])
    assert function_of(nameless)(0.5, [2.0]) == 0.5


def test_loading_the_library_loads_no_library_of_the_exports():
    names = ("sqlglot", "onnx", "duckdb")
    code = f"import sys, trueodds.maps; print([m for m in {names} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("library", "export", "extra"),
    [("sqlglot", "to_sql", "engines"), ("onnx", "to_onnx", "onnx")],
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    library, export, extra, monkeypatch
):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf'pip install "trueodds\[{extra}\]"'):
        getattr(IdentityMap(), export)()
