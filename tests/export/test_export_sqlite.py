"""What SQLite does otherwise than other engines: types, decimals, and a small parser."""

import sqlite3
import warnings

import numpy as np
import pytest

from support.map_examples import examples, tree_of
from trueodds.calibrators import all_calibrators
from trueodds.export.sql import dialect_limits
from trueodds.maps import LogOddsCurveMap, LogOddsMap, OneVsRestMap, StepMap, TreeMap
from trueodds.testing._sample import binary_sample, fit, multiclass_sample

MISREAD = [0.543231709479364, 0.685821436639866, 17.89306799174439, 3.077821971474828e-06]
"""Of these SQLite 3.40 makes another float64 if they are written with as few digits."""
NO_NUMBERS = ["", " ", "N/A", "NaN", "0.3", "0.3x", "inf", b"\x01", b"0.3", None]


def in_sqlite(sql, rows, names):
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({', '.join(names)})")
    marks = ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)  # noqa: S608
    return [row[0] for row in connection.execute(f"SELECT {sql} FROM t ORDER BY rowid")]  # noqa: S608


@pytest.mark.parametrize("scale", ["probability", "logit", "raw"])
def test_texts_and_blobs_are_missing_and_no_zeros(scale):
    m = LogOddsMap(a=0.7, b=1.3, c=0.2, scale=scale)
    rows = [(value,) for value in [0.3, 1, *NO_NUMBERS]]
    found = in_sqlite(m.to_sql("p", dialect="sqlite"), rows, ["p"])
    np.testing.assert_allclose(found[:2], m([0.3, 1.0]), rtol=0, atol=1e-15)
    assert found[2:] == [None] * len(NO_NUMBERS)


@pytest.mark.parametrize("fill", [20.0, 60.0])
def test_a_text_in_a_numeric_feature_is_missing(fill):
    tree = TreeMap(
        maps=tuple(LogOddsMap(a=a, b=a, c=0.0, scale="raw") for a in (1.0, 0.5, 2.0)),
        parent=[-1, 0, 0], attribute=[0, -1, -1], cut=[40.0, 0, 0], weight=np.ones(3),
        names=("age",), categories=(None,), fill=[fill],
    )  # fmt: skip
    values = [30.0, 50, *NO_NUMBERS]
    sql = tree.to_sql("p", dialect="sqlite")
    found = in_sqlite(sql, [(0.3, value) for value in values], ["p", "age"])
    ages = np.array([30.0, 50.0, *[np.nan] * len(NO_NUMBERS)])[:, None]
    expected = tree(np.full(len(values), 0.3), features=ages)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


def test_numbers_are_read_as_the_same_float64():
    """Also those whose shortest text lies next to the middle of two float64s."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=3000) * 10.0 ** rng.integers(-290, 300, 3000)
    ends = [5e-324, 2.5e-323, 2.2250738585072014e-308, 1.1e-300, 1e-280, 1.7976931348623157e308]
    numbers = [
        *rng.random(3000).tolist(),
        *np.abs(wide).tolist(),
        *MISREAD,
        *ends,
        1e22,
        1e23,
        0.0,
        1.0,
        2.0**-1022,
        2.0**-400,
        2.0**60,
    ]
    connection = sqlite3.connect(":memory:")
    writer = sqlite_writer()
    for begin in range(0, len(numbers), 500):
        some = numbers[begin : begin + 500]
        texts = ", ".join(writer._sql(writer._literal(number)) for number in some)
        assert list(connection.execute(f"SELECT {texts}").fetchone()) == some


def sqlite_writer():
    from trueodds.export.sql.render import _SqlWriter

    return _SqlWriter(["p"], {}, "sqlite", "probability")


def test_no_text_lies_next_to_the_middle_of_two_numbers():
    from fractions import Fraction

    rng = np.random.default_rng(1)
    lengthened = 0
    for number in rng.random(5000).tolist():
        text = dialect_limits.sqlite_digits(number)
        gap = Fraction(number) - Fraction(float(np.nextafter(number, 0)))
        assert abs(Fraction(text) - Fraction(number)) <= gap * 3 / 8
        lengthened += text != repr(number)
    assert 0 < lengthened < 2500


def leaves_room(sql: str, names: list[str], room: int = 12) -> bool:
    """Whether SQLite's parser takes an expression that a query encloses in parentheses.

    Before version 3.46 its stack has 100 entries; a parenthesis takes one.
    """
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({', '.join(chr(34) + name + chr(34) for name in names)})")
    try:
        connection.execute(f"EXPLAIN SELECT {'(' * room}{sql}{')' * room} FROM t")  # noqa: S608
    except sqlite3.OperationalError as error:
        if "parser stack overflow" in str(error):
            return False
        raise
    return True


@pytest.mark.slow
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_every_family_leaves_room_in_the_parser_for_the_query_around_it(example):
    names = example.columns + ([] if example.features is None else list(example.features.columns))
    # Several classes of a group map: the documentation of exports names the limit.
    room = 2 if example.map.family == "group" and example.n_scores == 3 else 12
    assert all(leaves_room(sql, names, room) for sql in example.sql("sqlite"))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bayesian_structured", "charcoal_grill", "quadratic", "spline"])
def test_deep_fitted_maps_leave_room_in_the_parser(method):
    for sample in (binary_sample(), multiclass_sample()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m = fit(all_calibrators()[method](), sample).map_
        names = [f"s{k}" for k in range(m._n_scores)]
        sql = m.to_sql(names[0] if len(names) == 1 else names, dialect="sqlite")
        assert leaves_room(sql if isinstance(sql, str) else sql[0], names)


@pytest.mark.slow
def test_curves_of_several_classes_leave_room_in_the_parser():
    x = np.linspace(-30, 30, 200)
    curves = tuple(LogOddsCurveMap(x=x, y=np.sinh(x / 10) + k / 10) for k in range(3))
    names = ["a", "b", "c"]
    assert leaves_room(OneVsRestMap(maps=curves).to_sql(names, dialect="sqlite")[0], names)


@pytest.mark.slow
def test_large_tables_and_deep_trees_leave_room_in_the_parser():
    x = np.linspace(0, 1, 2001)
    steps = StepMap(edges=x[1:-1], values=x[:-1] ** 2)
    assert leaves_room(steps.to_sql("p", dialect="sqlite"), ["p"])
    n = 40  # each level a leaf, and all others below
    deep = TreeMap(
        maps=tuple(LogOddsMap(a=a, b=a, c=0.0) for a in np.linspace(0.2, 2, 2 * n + 1)),
        parent=[-1, *np.repeat(np.arange(0, 2 * n, 2), 2).tolist()],
        attribute=[0 if k % 2 == 0 and k < 2 * n else -1 for k in range(2 * n + 1)],
        cut=[float(k) for k in range(2 * n + 1)], weight=np.ones(2 * n + 1), names=("age",),
        categories=(None,), fill=[n / 2],
    )  # fmt: skip
    sql = deep.to_sql("p", dialect="sqlite")
    assert leaves_room(sql, ["p", "age"])
    ages = np.array([np.nan, *np.arange(-1.0, 2 * n + 2, 0.5)])
    rows = [(0.3, None if age != age else age) for age in ages.tolist()]
    found = in_sqlite(sql, rows, ["p", "age"])
    expected = deep(np.full(len(ages), 0.3), features=ages[:, None])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


def test_a_tree_of_texts_and_numbers_gives_what_numpy_gives():
    lines = tuple(LogOddsMap(a=a, b=a, c=0.3, scale="raw") for a in np.linspace(0.2, 1.5, 9))
    tree = tree_of(lines, "probability")
    towns, ages, codes = (
        ["Ulm", "O'Fallon", "unseen", None],
        [None, 30.0, 50.0],
        [1.0, 3.0, 9.0, None],
    )
    rows = [(0.4, a, t, c) for a in ages for t in towns for c in codes]
    sql = tree.to_sql("p", dialect="sqlite", features=["age", "town", "code"])
    found = in_sqlite(sql, rows, ["p", "age", "town", "code"])
    features = np.array([row[1:] for row in rows], dtype=object)
    expected = tree(np.full(len(rows), 0.4), features=features)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
