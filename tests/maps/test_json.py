"""Saved maps come back exactly; anything else is refused, and nothing is executed."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import trueodds
from trueodds import maps
from trueodds.exceptions import MapFormatError

MAPS = [
    maps.IdentityMap(),
    maps.IdentityMap(scale="raw", classes=("no", "yes")),
    maps.LogOddsMap(a=0.1, b=1 / 3, c=-1e-17, lower=-np.inf, upper=36.04),
    maps.LogOddsMap(a=0.1, b=0.1, c=1.0, axis="raw"),
    maps.StepMap(edges=[-1.0, 2.5], values=[0.0, 0.5, 1.0], scale="raw", classes=(0, 1)),
    maps.StepMap(edges=[], values=[0.5]),
    maps.LogOddsCurveMap(x=[-2.0, 0.1, 3.0], y=[-1.0, 0.2, 9.0]),
    maps.PiecewiseLinearMap(x=[-np.inf, 0.0, np.inf], y=[0.0, 0.5, 1.0], scale="logit"),
    maps.SoftmaxMap(weights=[1.0, 2.0, 0.3], bias=[0.0, 0.1, -1.0], floor=-3.5),
    maps.SoftmaxMap(weights=np.eye(3), bias=np.zeros(3), classes=("a", "b", "c")),
    maps.OneVsRestMap(maps=(maps.LogOddsMap(a=1.0, b=1.0, c=0.0), maps.IdentityMap())),
    maps.AverageMap(
        maps=(maps.LogOddsMap(a=1.0, b=1.0, c=0.0), maps.IdentityMap()), weights=[0.3, 0.7]
    ),
]


@pytest.mark.parametrize("fitted", MAPS, ids=lambda m: m.family)
def test_a_saved_map_comes_back_equal(fitted, tmp_path):
    path = tmp_path / "map.json"
    fitted.save(path)
    again = trueodds.load(path)
    assert again == fitted
    assert type(again) is type(fitted)
    assert again.to_dict() == fitted.to_dict()
    assert [file.name for file in tmp_path.iterdir()] == ["map.json"]


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e300, 1e300))
def test_every_digit_survives(a, c):
    fitted = maps.LogOddsMap(a=a, b=1.0, c=c)
    text = json.dumps(fitted.to_dict(), allow_nan=False)
    assert maps.CalibrationMap.from_dict(json.loads(text)) == fitted


def valid() -> dict:
    return maps.LogOddsMap(a=1.0, b=1.0, c=0.0).to_dict()


def changed(**changes):
    document = valid()
    document.update(changes)
    return document


def with_parameters(**changes):
    document = valid()
    document["parameters"].update(changes)
    return document


def step(**parameters):
    document = maps.StepMap(edges=[0.5], values=[0.1, 0.2]).to_dict()
    document["parameters"].update(parameters)
    return document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "not a saved map"),
        ([], "not a saved map"),
        ({}, "not a saved map"),
        (changed(format="pickle"), "not a saved map"),
        (changed(version=3), "format version 3; this trueodds reads up to 2"),
        (changed(version="1"), "positive integer"),
        (changed(version=True), "positive integer"),
        (changed(version=0), "positive integer"),
        (changed(family="os.system"), "unknown family 'os.system'"),
        (changed(family=["log_odds"]), "must be a text"),
        (changed(scale="odds"), '"scale" must be one of'),
        (changed(scale=["logit"]), '"scale" must be one of'),
        (changed(classes="ab"), "list of labels"),
        (changed(classes=[["a"], "b"]), "list of labels"),
        (changed(classes=["a"]), "distinct labels"),
        (changed(extra=1), r"unknown \['extra'\]"),
        (changed(parameters=[]), "must be an object"),
        (with_parameters(z=1), r"unknown \['z'\]"),
        (with_parameters(a="__import__('os')"), "a must be a number"),
        (with_parameters(a="inf"), "a must be finite"),
        (with_parameters(a=None), "a must be a number"),
        (with_parameters(a=True), "a must be a number"),
        (with_parameters(a=[1.0]), "a must be a number"),
        (with_parameters(a={"$ref": 1}), "a must be a number"),
        (with_parameters(a=10**400), "beyond float64"),
        (step(edges=[0.5, 0.4]), "one longer"),
        (step(edges=["x"]), "list of numbers"),
        (step(edges=[[0.5]]), "one longer"),
        (step(edges=[True]), "list of numbers"),
        (step(edges=0.5), "one longer"),
        (step(values=[0.1, 1.5]), r"\[0, 1\]"),
        (step(values=[0.1, [0.2]]), "list of numbers"),
    ],
)
def test_a_malformed_document_is_refused(document, message):
    with pytest.raises(MapFormatError, match=message):
        maps.CalibrationMap.from_dict(document)


def test_missing_keys_are_named():
    document = valid()
    del document["parameters"]["b"]
    with pytest.raises(MapFormatError, match=r"missing \['b'\]"):
        maps.CalibrationMap.from_dict(document)
    del document["scale"]
    with pytest.raises(MapFormatError, match=r"missing \['scale'\]"):
        maps.CalibrationMap.from_dict(document)


def test_maps_inside_maps_are_checked_too():
    inner = valid()
    outer = maps.OneVsRestMap(maps=(maps.IdentityMap(), maps.IdentityMap())).to_dict()
    outer["parameters"]["maps"] = [inner, outer]
    with pytest.raises(MapFormatError, match="cannot hold another"):
        maps.CalibrationMap.from_dict(outer)
    outer["parameters"]["maps"] = 3
    with pytest.raises(MapFormatError, match="list of maps"):
        maps.CalibrationMap.from_dict(outer)
    outer["parameters"]["maps"] = [inner, {"family": "step"}]
    with pytest.raises(MapFormatError, match="not a saved map"):
        maps.CalibrationMap.from_dict(outer)


def test_a_map_of_another_family_than_asked_for_is_refused():
    with pytest.raises(MapFormatError, match="expected a StepMap; the document holds a LogOddsMap"):
        maps.StepMap.from_dict(valid())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"\x80\x04\x95", "UTF-8"),
        (b'{"format": "trueodds-map", "version": 1', "not valid JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (json.dumps(changed(version=1)).replace("1.0", "NaN").encode(), "NaN is not valid JSON"),
        (b'{"format": "trueodds-map", "format": "trueodds-map"}', "duplicate key 'format'"),
        (b'{"format": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (json.dumps(valid()).replace('"a": 1.0', '"a": 1e999').encode(), "a must be finite"),
    ],
)
def test_a_hostile_file_is_refused(content, message, tmp_path):
    path = tmp_path / "map.json"
    path.write_bytes(content)
    with pytest.raises(MapFormatError, match=message):
        trueodds.load(path)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.json"):
        trueodds.load(tmp_path / "absent.json")


def test_a_failed_save_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "map.json"
    MAPS[2].save(path)
    before = path.read_bytes()

    def full_disk(self, target):
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        MAPS[3].save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["map.json"]


def test_a_saved_file_has_ordinary_permissions(tmp_path):
    path = tmp_path / "map.json"
    MAPS[0].save(path)
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("exists", [True, False])
def test_saving_through_a_link_changes_what_it_stands_for(tmp_path, exists):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    if exists:
        target.write_text("older")
    MAPS[0].save(link)
    assert link.is_symlink()
    assert trueodds.load(target) == MAPS[0]


@pytest.mark.parametrize("letter", ["x", "é", "€", "😀"])
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path, letter):
    path = tmp_path / (letter * (255 // len(letter.encode())))
    MAPS[0].save(path)
    assert trueodds.load(path) == MAPS[0]
    assert list(tmp_path.iterdir()) == [path]


def test_labels_that_json_does_not_know_become_text():
    fitted = maps.IdentityMap(classes=(np.int64(3), np.datetime64("2020-01-01")))
    assert fitted.classes == (3, "2020-01-01")
    assert not math.isnan(fitted.classes[0])
