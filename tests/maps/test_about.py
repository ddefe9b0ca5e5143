"""Where a map comes from: carried along, never trusted, and no part of what the map does."""

import copy
import json
import math
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueodds
from trueodds import maps
from trueodds.exceptions import InputError, MapFormatError
from trueodds.maps._about import DEEPEST, LARGEST, LONGEST_TEXT

OLD = json.loads((Path(__file__).parent / "version_1_maps.json").read_text(encoding="utf-8"))
PLAIN = maps.LogOddsMap(a=0.5, b=0.5, c=0.1, classes=("no", "yes"))
ABOUT = {"method": "beta", "rows": 10, "notes": {"ticket": [1, None, "é"]}}


@pytest.mark.parametrize("old", OLD, ids=lambda old: old["document"]["family"])
def test_maps_of_version_1_load_and_forecast_as_they_did(old, tmp_path):
    assert old["document"]["version"] == 1
    path = tmp_path / "map.json"
    path.write_text(json.dumps(old["document"]), encoding="utf-8")
    fitted = trueodds.load(path)
    extra = {"features": pd.DataFrame(old["features"])} if "features" in old else {}
    np.testing.assert_allclose(fitted(old["scores"], **extra), old["values"], rtol=1e-12)
    assert fitted.about is None
    assert {**fitted.to_dict(), "version": 1} == _of_version(old["document"], 2, top=1)


def _of_version(document, version, top):
    """A document with another version in the maps inside it."""
    changed = copy.deepcopy(document)
    for inner in changed["parameters"].get("maps", []):
        inner |= _of_version(inner, version, version)
    return {**changed, "version": top}


def test_there_is_a_map_of_version_1_of_every_family():
    assert {old["document"]["family"] for old in OLD} == set(maps.CalibrationMap._families)


def test_version_1_has_no_about():
    document = {**PLAIN.to_dict(), "version": 1, "about": None}
    with pytest.raises(MapFormatError, match=r"unknown \['about'\]"):
        maps.CalibrationMap.from_dict(document)


def test_about_comes_back_from_a_file(tmp_path):
    PLAIN.with_about(ABOUT).save(tmp_path / "map.json")
    again = trueodds.load(tmp_path / "map.json")
    assert again.about == ABOUT
    assert again == PLAIN
    assert list(again.to_dict())[-1] == "about"


def test_about_is_no_part_of_the_function():
    described = PLAIN.with_about(ABOUT)
    assert described == PLAIN
    assert described.fingerprint == PLAIN.fingerprint
    assert described.to_sql("p") == PLAIN.to_sql("p")
    assert described.to_python() == PLAIN.to_python()
    assert repr(described) == repr(PLAIN)
    assert type(described) is type(PLAIN)
    assert "about" not in PLAIN.to_dict()


def test_a_changed_map_does_not_inherit_what_is_no_longer_true():
    assert replace(PLAIN.with_about(ABOUT), c=0.2).about is None


def test_about_survives_copies_and_can_be_taken_away():
    described = PLAIN.with_about(ABOUT)
    for other in (copy.copy(described), copy.deepcopy(described)):
        assert other.about == ABOUT
    assert pickle.loads(pickle.dumps(described)).about == ABOUT  # noqa: S301
    assert described.with_about(None).about is None
    assert described.about == ABOUT


def test_nobody_can_change_a_map_through_its_about():
    given_block = copy.deepcopy(ABOUT)
    described = PLAIN.with_about(given_block)
    given_block["notes"]["ticket"].append("later")
    described.about["notes"]["ticket"].append("later")
    assert described.about == ABOUT


def test_maps_inside_maps_keep_theirs():
    inner = maps.IdentityMap().with_about({"method": "identity"})
    outer = maps.AverageMap(maps=(inner, maps.IdentityMap()), weights=[0.5, 0.5])
    again = maps.CalibrationMap.from_dict(json.loads(json.dumps(outer.to_dict())))
    assert again.maps[0].about == {"method": "identity"}
    bare = maps.AverageMap(maps=(maps.IdentityMap(), maps.IdentityMap()), weights=[0.5, 0.5])
    assert outer == bare
    assert outer.fingerprint == bare.fingerprint


def test_numbers_of_numpy_and_tuples_become_plain():
    about = PLAIN.with_about({"rows": np.int64(3), "score_range": (np.float64(0), 1.0)}).about
    assert json.dumps(about) == '{"rows": 3, "score_range": [0.0, 1.0]}'


def test_a_fingerprint_tells_maps_apart_and_is_the_same_in_every_process():
    others = [
        replace(PLAIN, c=math.nextafter(0.1, 1)),
        replace(PLAIN, classes=("yes", "no")),
        replace(PLAIN, input="logit"),
        maps.IdentityMap(),
    ]
    found = {fitted.fingerprint for fitted in [PLAIN, *others]}
    assert len(found) == 5
    code = "from trueodds.maps import IdentityMap; print(IdentityMap().fingerprint)"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == others[-1].fingerprint


def test_a_fingerprint_can_be_computed_from_the_page():
    import hashlib

    text = (
        '{"classes":["no","yes"],"family":"log_odds","input":"probability","parameters":'
        '{"a":0.5,"axis":"log_odds","b":0.5,"c":0.1,"lower":"-inf","upper":"inf"}}'
    )
    assert PLAIN.fingerprint == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def nested(depth):
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


HOSTILE = [
    ([], "about must be an object; got a list"),
    ("x" * 10**6, "about must be an object; got 'xxx"),
    (3, "about must be an object; got 3"),
    ({"colour": "red"}, "unknown key 'colour'; what is your own may stand under 'notes'"),
    ({"\x1b[2J": 1}, r"unknown key '\\x1b\[2J'"),
    ({"rows": "many"}, "about.rows must be a whole number, not negative; got 'many'"),
    ({"rows": -1}, "about.rows must be a whole number, not negative; got -1"),
    ({"rows": True}, "about.rows must be a whole number"),
    ({"rows": 1.5}, "about.rows must be a whole number"),
    ({"rows": 10**400}, "about.rows holds a number beyond float64"),
    ({"rows": 2**60}, "about.rows must be a whole number"),
    ({"method": ["beta"]}, "about.method must be a text; got a list"),
    ({"method": None}, "about.method must be a text; got None"),
    ({"method": "x" * (LONGEST_TEXT + 1)}, "about.method holds a text of 4,097 characters"),
    ({"notes": "\ud800"}, r"about.notes holds a text that is not Unicode: '\\ud800'"),
    ({"notes": {"\udfff": 1}}, "about.notes holds a text that is not Unicode"),
    ({"notes": math.nan}, "about.notes must hold finite numbers; got nan"),
    ({"notes": [[-math.inf]]}, "about.notes must hold finite numbers; got -inf"),
    ({"notes": nested(DEEPEST)}, "about is nested too deeply: 6 levels are the most"),
    ({"notes": nested(100_000)}, "about is nested too deeply"),
    ({"notes": ["x" * 4000] * 17}, "about is too large: more than 65,536 characters"),
    ({"notes": [0] * 10**7}, "about is too large"),
    ({"notes": dict.fromkeys(map(str, range(20_000)), 1)}, "about is too large"),
    ({"options": "cv=5"}, "about.options must be an object; got 'cv=5'"),
    ({"created": "yesterday"}, "about.created must be a time such as"),
    ({"created": "2026-01-31T12:00:00Z\n"}, "about.created must be a time such as"),
    ({"data": "sha256:123"}, 'about.data must be "sha256:" and 64 hexadecimal digits'),
    ({"parent": "../map.json"}, "about.parent must be"),
    ({"class_rows": [1, -1]}, "about.class_rows must be a list of whole numbers"),
    ({"score_range": [1, 0]}, "about.score_range must be the lowest and the highest score"),
    ({"score_range": ["nan", 0]}, "about.score_range must be the lowest"),
    ({"total_weight": "inf"}, "about.total_weight must be a number, not negative"),
    ({"losses": {"log_loss": 0.3}}, "about.losses must be log_loss and brier_score, each with"),
    ({"losses": {"log_loss": {"before": -1, "after": 0}}}, "about.losses must be"),
    ({"losses": {"accuracy": {"before": 1, "after": 0}}}, "about.losses must be"),
]


@pytest.mark.parametrize(("about", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_about_gets_one_clear_sentence(about, message):
    with pytest.raises(MapFormatError, match=message) as caught:
        maps.CalibrationMap.from_dict({**PLAIN.to_dict(), "about": about})
    sentence = str(caught.value)
    assert sentence.isprintable()
    assert sentence.endswith(".")
    assert len(sentence) < 200
    if about:
        with pytest.raises(InputError, match=message):
            PLAIN.with_about(about)


@pytest.mark.parametrize("what", [object(), {1, 2}, b"bytes", np.zeros(2), lambda: None])
def test_only_json_values_are_taken(what):
    with pytest.raises(InputError, match="must be a JSON value; got"):
        PLAIN.with_about({"notes": what})
    with pytest.raises(InputError, match="has a key that is not a text: 1"):
        PLAIN.with_about({"notes": {1: 2}})


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())  # surrogates and control characters too
    | st.sampled_from(["inf", "-inf", "nan", "2026-01-31T12:00:00Z", "sha256:" + "0" * 64]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from([*maps._about.ABOUT_KEYS, "x", "\n", "__class__"])


@given(st.dictionaries(KEYS, ANYTHING, max_size=5) | ANYTHING)
def test_whatever_stands_there_is_either_kept_exactly_or_refused_in_a_sentence(about):
    fitted, sentence = None, ""
    try:
        fitted = maps.CalibrationMap.from_dict({**PLAIN.to_dict(), "about": about})
    except MapFormatError as refusal:
        sentence = str(refusal)
    if fitted is None:
        assert sentence.endswith(".")
        assert sentence.isprintable()
        assert len(sentence) < 200
    else:
        assert (fitted.about or {}) == (about or {})
        assert len(json.dumps(fitted.about).encode()) <= LARGEST
        json.dumps(fitted.to_dict(), allow_nan=False, ensure_ascii=False).encode("utf-8")
        assert fitted == PLAIN
