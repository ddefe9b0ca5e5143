"""Maps changed at random: refused, or answers in [0, 1]; the program runs a million of them."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

import trueodds
from support.mutate_maps import EXPORTED, check_map, examples, map_mutator, try_text
from trueodds import maps
from trueodds.exceptions import InputError, MapFormatError
from trueodds.maps import _json

MAPS = [m for m in examples() if not m.features]
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308, 1.7976931348623157e308, 1.0, np.nextafter(1, 2)]
)


@pytest.mark.slow
def test_two_thousand_mutations_are_refused_or_answer_with_probabilities():
    mutator = map_mutator(seed=1)
    outcomes = {
        try_text(mutator.text(), exported=number % EXPORTED == 0) for number in range(2_000)
    }
    assert outcomes == {"refused", "answered"}


def test_maps_that_no_one_changed_answer():
    for example in examples():
        check_map(example, exported=True)


@given(st.lists(FLOATS, min_size=3, max_size=3))
def test_every_map_gives_probabilities_for_every_finite_score(row):
    for fitted in MAPS:
        scores = np.array([row])
        if fitted.scale == "probability":
            scores = np.abs(scores) / 1.7976931348623157e308
            if not fitted.takes_one_score:
                scores[0, 0] = 1 - scores[0, 1:].clip(0, 0.5).sum()
                scores[0, 1:] = scores[0, 1:].clip(0, 0.5)
        columns = 3 if fitted.n_classes in (3, None) else 2
        asked = scores[0] if fitted.takes_one_score else scores[:, :columns]
        p = fitted(asked)
        assert ((p >= 0) & (p <= 1)).all(), fitted


def document(**parameters):
    found = maps.LogOddsMap(a=1.0, b=1.0, c=0.0).to_dict()
    found["parameters"].update(parameters)
    return found


def nested(depth):
    """Averages and one-vs-rest maps in turn, none of which holds its own kind directly."""
    inner = maps.IdentityMap().to_dict()
    for level in range(depth):
        family = ("one_vs_rest", "average")[level % 2]
        parameters = {"maps": [inner, inner]}
        if family == "average":
            parameters["weights"] = [0.5, 0.5]
        inner = {**maps.IdentityMap().to_dict(), "family": family, "parameters": parameters}
    return inner


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (document(lower=float("-inf")), "lower must be finite"),
        (document(c=float("nan")), "c must be finite"),
        ({**document(), "classes": []}, "2 distinct labels"),
        ({**maps.IdentityMap().to_dict(), "classes": []}, "2 distinct labels"),
        ({**maps.IdentityMap().to_dict(), "classes": ["a"]}, "2 distinct labels"),
        ({**document(), "classes": ["a", "\ud800"]}, "half a surrogate pair"),
        ({**document(), "classes": [1.0, float("inf")]}, "beyond float64"),
    ],
)
def test_what_json_leaves_open_is_refused(changed, message):
    with pytest.raises(MapFormatError, match=message):
        maps.CalibrationMap.from_dict(changed)


def test_1e999_is_no_number_wherever_it_stands(tmp_path):
    text = json.dumps(maps.StepMap(edges=[0.5], values=[0.1, 0.2]).to_dict())
    path = tmp_path / "map.json"
    path.write_text(text.replace("0.5", "1e999"))
    with pytest.raises(MapFormatError, match="edges must be finite"):
        trueodds.load(path)


@pytest.mark.slow
def test_deep_nesting_ends_in_an_error_of_ours():
    with pytest.raises(MapFormatError):
        maps.CalibrationMap.from_dict(nested(9))
    deep = inner = {}
    for _ in range(50_000):
        inner["maps"] = inner = {}
    for changed in (document(a=deep), {**document(), "metadata": {"notes": deep}}):
        with pytest.raises(MapFormatError):
            maps.CalibrationMap.from_dict(changed)


def test_a_map_that_is_too_large_is_refused_and_not_written(tmp_path, monkeypatch):
    large = maps.StepMap(edges=np.arange(1, 100) / 100, values=np.linspace(0, 1, 100))
    path = tmp_path / "map.json"
    large.save(path)
    monkeypatch.setattr(_json, "MOST_VALUES", 150)
    with pytest.raises(MapFormatError, match="at most"):
        trueodds.load(path)
    with pytest.raises(InputError, match="cannot be saved"):
        large.save(tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()
    monkeypatch.setattr(_json, "LARGEST_FILE", 100)
    with pytest.raises(MapFormatError, match="bytes; a map has at most 100"):
        trueodds.load(path)


@pytest.mark.parametrize("fitted", MAPS, ids=lambda m: f"{m.family}-{m.scale}")
def test_the_python_source_of_a_map_answers_as_the_map_does(fitted):
    columns = 1 if fitted.takes_one_score else fitted.n_classes or 3
    rng = np.random.default_rng(0)
    if fitted.scale == "probability":
        scores = rng.dirichlet(np.ones(max(columns, 2)), 20)
        scores = scores[:, 0] if columns == 1 else scores
        ends = np.eye(columns)[:2] if columns > 1 else np.array([0.0, 1.0, 1e-300, 1 - 2**-53])
    else:
        scores = rng.normal(0, 20, (20, columns) if columns > 1 else 20)
        ends = np.zeros((1, columns)) if columns > 1 else np.array([0.0, -700.0, 700.0, 1e300])
    scores = np.concatenate([scores, ends])
    names = {}
    exec(fitted.to_python(), names)  # noqa: S102
    found = np.array([names["calibrate"](row) for row in scores.tolist()])
    np.testing.assert_allclose(found, fitted(scores), rtol=1e-9, atol=1e-12)


def test_thirty_two_levels_are_read_and_no_more():
    deep = 1.0
    for _ in range(32):
        deep = [deep]
    _json.check_document(deep)
    with pytest.raises(MapFormatError, match="at most 32 levels deep"):
        _json.check_document([deep])
