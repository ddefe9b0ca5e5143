"""A tree of maps: where rows go, and what a damaged or hostile file cannot do."""

import json

import numpy as np
import pandas as pd
import pytest

import trueodds
from support.map_examples import small_tree
from trueodds import IsotonicCalibrator, TreeCalibrator
from trueodds.exceptions import InputError, MapFormatError
from trueodds.maps import (
    CalibrationMap,
    IdentityMap,
    LogOddsMap,
    OneVsRestMap,
    SoftmaxMap,
    StepMap,
    TreeMap,
)


def line(slope, intercept=0.0, **options):
    return LogOddsMap(a=slope, b=slope, c=intercept, **options)


ROWS = pd.DataFrame(
    {
        "age": [40.0, 41.0, 41.0, np.nan, 50.0, 50.0],
        "color": ["red", "blue", "red", "blue", None, "green"],
    }
)
NODES = [1, 3, 4, 1, 4, 2]


def test_rows_go_where_their_attributes_say():
    tree = small_tree()
    np.testing.assert_array_equal(tree.nodes_of(ROWS), NODES)
    p = tree(np.full(6, 0.7), features=ROWS)
    expected = [tree.maps[node]([0.7])[0] for node in NODES]
    np.testing.assert_allclose(p, expected, rtol=1e-14)


def test_two_columns_of_scores_give_two_columns_of_probabilities():
    tree = small_tree()
    p = tree(np.tile([0.3, 0.7], (6, 1)), features=ROWS)
    np.testing.assert_allclose(p[:, 1], tree(np.full(6, 0.7), features=ROWS), rtol=1e-14)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)


def test_maps_of_any_family_can_be_nodes():
    step = StepMap(edges=[0.5], values=[0.2, 0.9])
    tree = small_tree(maps=(line(1.0), step, IdentityMap(), step, line(0.5)))
    p = tree(np.full(6, 0.6), features=ROWS)
    np.testing.assert_allclose(p, [0.9, 0.9, line(0.5)([0.6])[0], 0.9, line(0.5)([0.6])[0], 0.6])


def test_maps_of_margins_in_a_tree_of_probabilities_take_log_odds():
    tree = small_tree(maps=tuple(line(a, 0.1, scale="raw") for a in (1.0, 0.5, 2.0, 3.0, 4.0)))
    p = tree([0.0, 1.0, 0.7, 0.7, 0.7, 0.7], features=ROWS)
    z = np.log([1e-5 / (1 - 1e-5), 0.99999 / (1 - 0.99999), *[0.7 / 0.3] * 4])
    slopes = np.array([1.0, 0.5, 2.0, 3.0, 4.0])[NODES]
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-slopes * z - 0.1)), rtol=1e-10)


def test_the_fast_path_of_linear_maps_equals_the_maps_themselves():
    rng = np.random.default_rng(0)
    maps = tuple(
        SoftmaxMap(weights=rng.normal(size=(3, 3)), bias=rng.normal(size=3), scale="raw")
        for _ in range(5)
    )
    tree = small_tree(maps=maps, scale="logit")
    scores = rng.normal(size=(6, 3))
    expected = [maps[node](scores[[i]])[0] for i, node in enumerate(NODES)]
    np.testing.assert_allclose(tree(scores, features=ROWS), expected, rtol=1e-12)


def test_a_call_without_attributes_is_refused():
    with pytest.raises(InputError, match="needs the original features"):
        small_tree()([0.5])


def test_the_text_shows_conditions_weights_and_maps():
    assert small_tree().export_text(1).splitlines() == [
        "age <= 40.0: σ(0.5·z +0.0)  (n=60)",
        "age > 40.0",
        "|   color = blue: σ(3.0·z +0.0)  (n=10)",
        "|   color = red: σ(4.0·z +0.0)  (n=30)",
    ]


def fitted_trees():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600), "b": rng.choice(["x", "y", "z"], 600)})
    X.loc[::9, "a"] = np.nan
    z = rng.normal(size=600)
    y = (rng.random(600) < 1 / (1 + np.exp(-z - 3 * (X["b"] == "x")))).astype(int)
    p = 1 / (1 + np.exp(-z))
    rows = rng.dirichlet([1, 1, 1], 600)
    labels = np.where(X["b"] == "x", 0, rng.integers(0, 3, 600))
    yield TreeCalibrator(pruning=None).fit(p, y, features=X), p, X
    yield TreeCalibrator(leaf=IsotonicCalibrator()).fit(p, y, features=X), p, X
    yield TreeCalibrator(pruning=None).fit(rows, labels, features=X), rows, X
    yield TreeCalibrator(leaf=IsotonicCalibrator()).fit(rows, labels, features=X), rows, X
    plain = X[["a"]].to_numpy()
    yield TreeCalibrator(pruning=None).fit(p, y, features=plain), p, plain


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.WorseThanOneMapWarning")
def test_a_saved_tree_comes_back_equal_and_predicts_the_same(tmp_path):
    for calibrator, scores, X in fitted_trees():
        path = tmp_path / "tree.json"
        calibrator.map_.save(path)
        again = trueodds.load(path)
        assert again == calibrator.map_
        p = again(scores, features=X)
        expected = calibrator.predict_proba(scores, features=X)
        np.testing.assert_array_equal(p, expected[:, 1] if scores.ndim == 1 else expected)


def document(**changes):
    raw = json.loads(json.dumps(small_tree().to_dict()))
    raw["parameters"].update(changes)
    return raw


def test_the_untouched_document_is_read():
    assert CalibrationMap.from_dict(document()) == small_tree()


HOSTILE = {
    "cycle": ({"parent": [-1, 2, 1, 2, 2]}, "pre-order"),
    "parent of itself": ({"parent": [-1, 0, 2, 2, 2]}, "pre-order"),
    "two roots": ({"parent": [-1, -1, 0, 2, 2]}, "pre-order"),
    "no root": ({"parent": [0, 0, 0, 2, 2]}, "root"),
    "not pre-order": ({"parent": [-1, 0, 0, 1, 2]}, "pre-order"),
    "parent beyond": ({"parent": [-1, 0, 0, 2, 99]}, "beyond"),
    "parent far below": ({"parent": [-1, 0, 0, 2, -7]}, "at least -1"),
    "fraction": ({"parent": [-1, 0, 0, 2, 1.5]}, "integers"),
    "huge": ({"attribute": [1e300, -1, 1, -1, -1]}, "beyond"),
    "attribute beyond": ({"attribute": [2, -1, 1, -1, -1]}, "features must exist"),
    "leaf with children": ({"attribute": [-1, -1, 1, -1, -1]}, "0 children"),
    "inner without": ({"attribute": [0, 0, 1, -1, -1]}, "2 children"),
    "too few children": ({"categories": [None, ["a", "b", "c"]]}, "3 children"),
    "no category": ({"categories": [None, []]}, "children"),
    "short cut": ({"cut": [1.0]}, "one entry per node"),
    "infinite cut": ({"cut": ["inf", 0, 0, 0, 0]}, "finite"),
    "nested cut": ({"cut": [[0.0], [0.0], [0.0], [0.0], [0.0]]}, "finite numbers"),
    "negative weight": ({"weight": [-1, 0, 0, 0, 0]}, "negative"),
    "no nodes": ({"parent": [], "attribute": [], "cut": [], "weight": [], "maps": []}, "one entry"),
    "missing map": ({"maps": [line(1.0).to_dict()] * 4}, "one per node"),
    "scale": ({"maps": [line(1.0, scale="logit").to_dict()] * 5}, "scale"),
    "mixed scales": (
        {"maps": [line(1.0).to_dict()] * 4 + [line(1.0, scale="raw").to_dict()]},
        "one scale",
    ),
    "mixed classes": (
        {
            "maps": [line(1.0).to_dict()] * 4
            + [OneVsRestMap(maps=(IdentityMap(), IdentityMap(), IdentityMap())).to_dict()]
        },
        "number of classes",
    ),
    "tree in a tree": ({"maps": [small_tree().to_dict()] * 5}, "cannot hold another"),
    "maps not a list": ({"maps": 3}, "list of maps"),
    "names": ({"names": ["age", "age"]}, "distinct"),
    "names of numbers": ({"names": [1, 2]}, "list of texts"),
    "fewer names": ({"names": ["age"]}, "one entry per feature"),
    "fill beyond": ({"fill": [0.0, 2.0]}, "position of a category"),
    "fill between": ({"fill": [0.0, 0.5]}, "position of a category"),
    "fill short": ({"fill": [0.0]}, "one entry per feature"),
    "categories twice": ({"categories": [None, ["red", "red"]]}, "distinct"),
    "categories of one text": ({"categories": [None, ["1.0", 1]]}, "distinct as texts"),
    "categories nested": ({"categories": [None, [["blue"], "red"]]}, "categories must be"),
    "categories text": ({"categories": "ab"}, "categories must be"),
    "parent text": ({"parent": "inf"}, "must be lists"),
    "parent null": ({"parent": None}, "must be a number"),
    "parent infinite": ({"parent": [-1, 0, 0, 2, "inf"]}, "parent"),
}


@pytest.mark.parametrize(("changes", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_damaged_or_hostile_tree_is_refused(changes, message):
    with pytest.raises(MapFormatError, match=message):
        CalibrationMap.from_dict(document(**changes))


def test_a_very_deep_tree_is_read_without_recursion():
    depth = 3000
    n = 2 * depth + 1
    parent, attribute = [-1], [0]
    for level in range(depth):
        above = 0 if level == 0 else 2 * level
        parent += [above, above]
        attribute += [-1, 0 if level < depth - 1 else -1]
    tree = TreeMap(
        maps=(line(1.0),) * n,
        parent=parent,
        attribute=attribute,
        cut=np.arange(n, dtype=float),
        weight=np.ones(n),
        names=None,
        categories=(None,),
        fill=[0.0],
    )
    assert tree.nodes_of([[1e9], [-1.0]]).tolist() == [n - 1, 1]
    assert len(tree.export_text().splitlines()) == n - 1


def test_a_single_node_can_be_asked_and_no_other():
    tree = small_tree()
    for node, inner in enumerate(tree.maps):
        np.testing.assert_allclose(tree.at_node(node, [0.2, 0.7])[:, 1], inner([0.2, 0.7]))
    for bad in (-1, len(tree.maps)):
        with pytest.raises(InputError, match=rf"node must be an integer .*; got {bad}\."):
            tree.at_node(bad, [0.2])
