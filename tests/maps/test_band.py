"""Maps that carry a band."""

import json

import numpy as np
import pytest

import trueodds
from support.services import library
from trueodds import maps
from trueodds.exceptions import InputError, MapFormatError

SAME = maps.LogOddsMap(a=1.0, b=1.0, c=0.0)
LOW, HIGH = (maps.LogOddsMap(a=1.0, b=1.0, c=c) for c in (-0.5, 0.5))
CLASSES = maps.SoftmaxMap(weights=[1.0, 1.0, 1.0], bias=[0.0, 0.0, 0.0])


def test_the_interval_lies_between_the_curves():
    banded = SAME.with_band(LOW, HIGH, level=0.9)
    scores = np.array([0.0, 0.1, 0.5, 1.0])
    low, high = banded.interval(scores)
    np.testing.assert_array_equal(low, np.minimum(LOW(scores), SAME(scores)))
    np.testing.assert_array_equal(high, np.maximum(HIGH(scores), SAME(scores)))
    np.testing.assert_array_equal(banded(scores), SAME(scores))


def test_a_forecast_is_never_outside():
    banded = SAME.with_band(HIGH, HIGH, level=0.9)
    low, high = banded.interval([0.3])
    assert low[0] == SAME([0.3])[0] < high[0]


def test_several_classes_have_curves_of_their_forecasts():
    banded = CLASSES.with_band([LOW, SAME, LOW], [HIGH, SAME, HIGH], level=0.9)
    p = np.array([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    low, high = banded.interval(p)
    forecast = CLASSES(p)
    np.testing.assert_allclose(low[0], [LOW([0.2])[0], 0.3, LOW([0.5])[0]], atol=1e-9)
    assert ((low <= forecast) & (forecast <= high)).all()


@pytest.mark.parametrize(
    "banded",
    [
        SAME.with_band(LOW, HIGH, level=0.9),
        CLASSES.with_band([LOW] * 3, [HIGH] * 3, level=0.5),
        maps.IdentityMap(classes=("a", "b", "c")).with_band([LOW] * 3, [HIGH] * 3, level=0.5),
    ],
)
def test_a_band_is_saved_and_read_with_the_map(banded, tmp_path):
    banded.save(tmp_path / "map.json")
    read = trueodds.load(tmp_path / "map.json")
    assert read == banded
    assert read.band.level == banded.band.level
    assert "band" not in json.loads(json.dumps(SAME.to_dict()))


@pytest.mark.parametrize("end", ["lower_map", "upper_map"])
def test_either_end_is_exported(end):
    duckdb = library("duckdb")
    drawn = getattr(SAME.with_band(LOW, HIGH, level=0.9), end)()
    scores = [0.0, 0.02, 0.5, 0.97, 1.0]
    expected = drawn(scores)
    namespace = {}
    exec(drawn.to_python(), namespace)  # noqa: S102
    np.testing.assert_allclose([namespace["calibrate"](s) for s in scores], expected, atol=1e-15)
    query = f"SELECT {drawn.to_sql('p')} FROM (SELECT unnest({scores}) AS p)"  # noqa: S608
    rows = duckdb.sql(query).fetchall()
    np.testing.assert_allclose([row[0] for row in rows], expected, atol=1e-15)
    with pytest.raises(InputError, match="save the map that has the band"):
        drawn.save("end.json")
    with pytest.raises(InputError, match="give its score alone"):
        drawn.to_sql(["a", "b"])


def test_a_map_without_a_band_says_how_to_get_one():
    with pytest.raises(InputError, match="to_map"):
        SAME.interval([0.5])


def test_bands_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="lower of the band must be 3 maps"):
        CLASSES.with_band(LOW, HIGH, level=0.9)
    margins = maps.LogOddsMap(a=1.0, b=1.0, c=0.0, scale="raw")
    with pytest.raises(InputError, match="upper of the band must be binary maps with scale"):
        SAME.with_band(LOW, margins, level=0.9)
    with pytest.raises(InputError, match="level must be"):
        SAME.with_band(LOW, HIGH, level=1.0)
    with pytest.raises(InputError, match="lower of the band must be binary"):
        SAME.with_band(SAME.with_band(LOW, HIGH, level=0.5), HIGH, level=0.9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "band must be an object"),
        ({"level": 2.0}, "level"),
        ({"level": "0.9"}, "level"),
        ({"lower": {}}, "list of maps"),
        ({"upper": []}, "upper of the band must be 1 maps"),
        ({"surplus": 1}, "unknown"),
    ],
)
def test_hostile_bands_are_refused(change, message):
    document = SAME.with_band(LOW, HIGH, level=0.9).to_dict()
    document["band"] = None if change is None else document["band"] | change
    with pytest.raises(MapFormatError, match=message):
        maps.CalibrationMap.from_dict(document)


def test_a_band_in_a_band_is_refused():
    document = SAME.with_band(LOW, HIGH, level=0.9).to_dict()
    document["band"]["lower"] = [document | {"band": dict(document["band"])}]
    with pytest.raises(MapFormatError, match="must not have a band"):
        maps.CalibrationMap.from_dict(document)
