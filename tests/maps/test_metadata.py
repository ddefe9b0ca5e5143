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
from hypothesis import given, strategies as st

import trueodds
from trueodds import maps
from trueodds.exceptions import InputError, MapFormatError
from trueodds.maps._metadata import DEEPEST, LONGEST_BLOCK, LONGEST_TEXT

OLD = json.loads((Path(__file__).parent / "version_1_maps.json").read_text(encoding="utf-8"))
PLAIN = maps.LogOddsMap(a=0.5, b=0.5, c=0.1, classes=("no", "yes"))
METADATA = {"method": "beta", "rows": 10, "notes": {"ticket": [1, None, "é"]}}


@pytest.mark.parametrize("old", OLD, ids=lambda old: old["document"]["family"])
def test_maps_of_version_1_load_and_forecast_as_they_did(old, tmp_path):
    assert old["document"]["version"] == 1
    path = tmp_path / "map.json"
    path.write_text(json.dumps(old["document"]), encoding="utf-8")
    fitted = trueodds.load(path)
    extra = {"features": pd.DataFrame(old["features"])} if "features" in old else {}
    np.testing.assert_allclose(fitted(old["scores"], **extra), old["values"], rtol=1e-12)
    assert fitted.metadata is None
    assert {**fitted.to_dict(), "version": 1} == _of_version(old["document"], 2, top=1)


def _of_version(document, version, top):
    """A document with another version in the maps inside it."""
    changed = copy.deepcopy(document)
    for inner in changed["parameters"].get("maps", []):
        inner |= _of_version(inner, version, version)
    return {**changed, "version": top}


def test_there_is_a_map_of_version_1_of_every_family():
    later = {"group"}  # families that came with version 2
    families = set(maps.CalibrationMap._families) - later
    assert {old["document"]["family"] for old in OLD} == families


def test_version_1_has_no_metadata():
    document = {**PLAIN.to_dict(), "version": 1, "metadata": None}
    with pytest.raises(MapFormatError, match=r"unknown \['metadata'\]"):
        maps.CalibrationMap.from_dict(document)


def test_metadata_comes_back_from_a_file(tmp_path):
    PLAIN.with_metadata(METADATA).save(tmp_path / "map.json")
    again = trueodds.load(tmp_path / "map.json")
    assert again.metadata == METADATA
    assert again == PLAIN
    assert list(again.to_dict())[-1] == "metadata"


def test_metadata_is_no_part_of_the_function():
    described = PLAIN.with_metadata(METADATA)
    assert described == PLAIN
    assert described.fingerprint == PLAIN.fingerprint
    assert described.to_sql("p") == PLAIN.to_sql("p")
    assert described.to_python() == PLAIN.to_python()
    assert repr(described) == repr(PLAIN)
    assert type(described) is type(PLAIN)
    assert "metadata" not in PLAIN.to_dict()


def test_a_changed_map_does_not_inherit_what_is_no_longer_true():
    assert replace(PLAIN.with_metadata(METADATA), c=0.2).metadata is None


def test_metadata_survives_copies_and_can_be_taken_away():
    described = PLAIN.with_metadata(METADATA)
    for other in (copy.copy(described), copy.deepcopy(described)):
        assert other.metadata == METADATA
    assert pickle.loads(pickle.dumps(described)).metadata == METADATA  # noqa: S301
    assert described.with_metadata(None).metadata is None
    assert described.metadata == METADATA


def test_nobody_can_change_a_map_through_its_metadata():
    given_block = copy.deepcopy(METADATA)
    described = PLAIN.with_metadata(given_block)
    given_block["notes"]["ticket"].append("later")
    described.metadata["notes"]["ticket"].append("later")
    assert described.metadata == METADATA


def test_maps_inside_maps_keep_theirs():
    inner = maps.IdentityMap().with_metadata({"method": "identity"})
    outer = maps.AverageMap(maps=(inner, maps.IdentityMap()), weights=[0.5, 0.5])
    again = maps.CalibrationMap.from_dict(json.loads(json.dumps(outer.to_dict())))
    assert again.maps[0].metadata == {"method": "identity"}
    bare = maps.AverageMap(maps=(maps.IdentityMap(), maps.IdentityMap()), weights=[0.5, 0.5])
    assert outer == bare
    assert outer.fingerprint == bare.fingerprint


def test_numbers_of_numpy_and_tuples_become_plain():
    metadata = PLAIN.with_metadata(
        {"rows": np.int64(3), "score_range": (np.float64(0), 1.0)}
    ).metadata
    assert json.dumps(metadata) == '{"rows": 3, "score_range": [0.0, 1.0]}'


def test_a_fingerprint_tells_maps_apart_and_is_the_same_in_every_process():
    others = [
        replace(PLAIN, c=math.nextafter(0.1, 1)),
        replace(PLAIN, classes=("yes", "no")),
        replace(PLAIN, scale="logit"),
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
        '{"classes":["no","yes"],"family":"log_odds","parameters":'
        '{"a":0.5,"axis":"log_odds","b":0.5,"c":0.1,"lower":"-inf","upper":"inf"},'
        '"scale":"probability"}'
    )
    assert PLAIN.fingerprint == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def nested(depth):
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


HOSTILE = [
    ([], "metadata must be an object; got a list"),
    ("x" * 10**6, "metadata must be an object; got 'xxx"),
    (3, "metadata must be an object; got 3"),
    ({"color": "red"}, "unknown key 'color'; put your own entries under 'notes'"),
    ({"\x1b[2J": 1}, r"unknown key '\\x1b\[2J'"),
    ({"rows": "many"}, "metadata.rows must be a whole number, not negative; got 'many'"),
    ({"rows": -1}, "metadata.rows must be a whole number, not negative; got -1"),
    ({"rows": True}, "metadata.rows must be a whole number"),
    ({"rows": 1.5}, "metadata.rows must be a whole number"),
    ({"rows": 10**400}, "metadata.rows holds a number beyond float64"),
    ({"rows": 2**60}, "metadata.rows must be a whole number"),
    ({"method": ["beta"]}, "metadata.method must be a text; got a list"),
    ({"method": None}, "metadata.method must be a text; got None"),
    ({"method": "x" * (LONGEST_TEXT + 1)}, "metadata.method holds a text of 4,097 characters"),
    ({"notes": "\ud800"}, r"metadata.notes holds a text that is not Unicode: '\\ud800'"),
    ({"notes": {"\udfff": 1}}, "metadata.notes holds a text that is not Unicode"),
    ({"notes": math.nan}, "metadata.notes must hold finite numbers; got nan"),
    ({"notes": [[-math.inf]]}, "metadata.notes must hold finite numbers; got -inf"),
    ({"notes": nested(DEEPEST)}, "metadata is nested too deeply: 6 levels are the most"),
    ({"notes": nested(100_000)}, "metadata is nested too deeply"),
    ({"notes": ["x" * 4000] * 17}, "metadata is too large: more than 65,536 characters"),
    ({"notes": [0] * 10**7}, "metadata is too large"),
    ({"notes": dict.fromkeys(map(str, range(20_000)), 1)}, "metadata is too large"),
    ({"options": "cv=5"}, "metadata.options must be an object; got 'cv=5'"),
    ({"created": "yesterday"}, "metadata.created must be a time such as"),
    ({"created": "2026-01-31T12:00:00Z\n"}, "metadata.created must be a time such as"),
    ({"data": "sha256:123"}, 'metadata.data must be "sha256:" and 64 hexadecimal digits'),
    ({"parent": "../map.json"}, "metadata.parent must be"),
    ({"class_rows": [1, -1]}, "metadata.class_rows must be a list of whole numbers"),
    ({"score_range": [1, 0]}, "metadata.score_range must be the lowest and the highest score"),
    ({"score_range": ["nan", 0]}, "metadata.score_range must be the lowest"),
    ({"effective_rows": "inf"}, "metadata.effective_rows must be a number, not negative"),
    ({"losses": {"log_loss": 0.3}}, "metadata.losses must be log_loss and brier_score, each with"),
    ({"losses": {"log_loss": {"before": -1, "after": 0}}}, "metadata.losses must be"),
    ({"losses": {"accuracy": {"before": 1, "after": 0}}}, "metadata.losses must be"),
]


@pytest.mark.parametrize(("metadata", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_metadata_gets_one_clear_sentence(metadata, message):
    with pytest.raises(MapFormatError, match=message) as caught:
        maps.CalibrationMap.from_dict({**PLAIN.to_dict(), "metadata": metadata})
    sentence = str(caught.value)
    assert sentence.isprintable()
    assert sentence.endswith(".")
    assert len(sentence) < 200
    if metadata:
        with pytest.raises(InputError, match=message):
            PLAIN.with_metadata(metadata)


@pytest.mark.parametrize("what", [object(), {1, 2}, b"bytes", np.zeros(2), lambda: None])
def test_only_json_values_are_taken(what):
    with pytest.raises(InputError, match="must be a JSON value; got"):
        PLAIN.with_metadata({"notes": what})
    with pytest.raises(InputError, match="has a key that is not a text: 1"):
        PLAIN.with_metadata({"notes": {1: 2}})


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
KEYS = st.sampled_from([*maps._metadata.METADATA_KEYS, "x", "\n", "__class__"])


@given(st.dictionaries(KEYS, ANYTHING, max_size=5) | ANYTHING)
def test_whatever_stands_there_is_either_kept_exactly_or_refused_in_a_sentence(metadata):
    fitted, sentence = None, ""
    try:
        fitted = maps.CalibrationMap.from_dict({**PLAIN.to_dict(), "metadata": metadata})
    except MapFormatError as refusal:
        sentence = str(refusal)
    if fitted is None:
        assert sentence.endswith(".")
        assert sentence.isprintable()
        assert len(sentence) < 200
    else:
        assert (fitted.metadata or {}) == (metadata or {})
        assert len(json.dumps(fitted.metadata).encode()) <= LONGEST_BLOCK
        json.dumps(fitted.to_dict(), allow_nan=False, ensure_ascii=False).encode("utf-8")
        assert fitted == PLAIN
