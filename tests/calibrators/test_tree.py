"""Calibration trees: equal to the authors' program, and sound where it is not defined."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from trueodds import (
    AutoCalibrator,
    BetaCalibrator,
    CalibratedClassifier,
    DirichletCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    TemperatureCalibrator,
    TreeCalibrator,
)
from trueodds.calibrators._tree import calibrator as tree_module
from trueodds.exceptions import (
    InputError,
    UnknownCategoriesWarning,
    WorseThanOneMapWarning,
)
from trueodds.maps import LogOddsMap, StepMap
from trueodds.maps.features import FeatureSpace

# Most samples here are small, so that trees overfit them.
pytestmark = pytest.mark.filterwarnings("ignore::trueodds.exceptions.WorseThanOneMapWarning")


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def one_sigmoid(n, seed):
    """Scores wrong in the same way everywhere; the attributes say nothing about the class."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    y = (rng.random(n) < sigmoid(z)).astype(int)
    return sigmoid(2.5 * z + 0.5), y, rng.normal(size=(n, 4))


def regions(n, seed):
    """Two groups whose scores are wrong in opposite ways; also the true probability."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    z = rng.normal(size=n)
    true = sigmoid(np.where(x[:, 0] > 0.3, 0.3 * z + 1.5, 2.5 * z - 1.0))
    return sigmoid(z), (rng.random(n) < true).astype(int), x, true


def test_one_global_sigmoid_prunes_to_the_root_and_equals_logistic_calibration():
    scores, y, X = one_sigmoid(3000, 0)
    calibrator = TreeCalibrator(n_iterations=60).fit(scores, y, features=X)
    assert calibrator.n_leaves_ == 1
    logistic = LogisticCalibrator(label_smoothing=None).fit(scores, y)
    np.testing.assert_allclose(
        calibrator.predict_proba(scores, features=X), logistic.predict_proba(scores), atol=1e-6
    )
    chosen = TreeCalibrator().fit(scores, y, features=X)
    assert chosen.n_leaves_ == 1
    np.testing.assert_allclose(
        chosen.predict_proba(scores, features=X), logistic.predict_proba(scores), atol=0.03
    )


def test_where_regions_differ_it_beats_every_global_method_by_a_tenth_of_a_nat():
    scores, y, X, _ = regions(4000, 0)
    test_scores, test_y, test_X, _ = regions(20000, 1)
    tree = TreeCalibrator().fit(scores, y, features=X)
    loss = log_loss(test_y, tree.predict_proba(test_scores, features=test_X))
    for method in (
        BetaCalibrator(),
        IsotonicCalibrator(label_smoothing="platt"),
        LogisticCalibrator(),
        TemperatureCalibrator(),
    ):
        rival = log_loss(test_y, method.fit(scores, y).predict_proba(test_scores))
        assert loss < rival - 0.1


def test_the_true_probabilities_of_the_regions_are_found():
    scores, y, X, _ = regions(20000, 0)
    test_scores, _, test_X, true = regions(5000, 1)
    p = TreeCalibrator().fit(scores, y, features=X).predict_proba(test_scores, features=test_X)
    assert np.sqrt(np.mean((p[:, 1] - true) ** 2)) < 0.03


def constant_scores(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 2))
    rate = np.where(x[:, 0] <= 0.4, np.where(x[:, 1] <= 0.6, 0.1, 0.8), 0.5 * x[:, 1] > 0.3)
    y = (rng.random(n) < np.clip(rate, 0.15, 0.85)).astype(int)
    return np.full(n, y.mean()), y, x


@pytest.mark.slow
def test_with_constant_scores_it_is_as_good_as_a_pruned_decision_tree():
    scores, y, X = constant_scores(1500, 0)
    test_scores, test_y, test_X = constant_scores(20000, 1)
    search = GridSearchCV(
        DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0),
        {"ccp_alpha": np.geomspace(1e-4, 0.1, 20)},
        scoring="neg_brier_score",
    ).fit(X, y)
    rival = brier_score_loss(test_y, search.predict_proba(test_X)[:, 1])
    tree = TreeCalibrator().fit(scores, y, features=X)
    test_scores[:] = scores[0]
    ours = brier_score_loss(test_y, tree.predict_proba(test_scores, features=test_X)[:, 1])
    assert ours < 1.05 * rival
    assert all(m.a == 0 for m in tree.map_.maps)


def hills(n, seed):
    """Probabilities that change smoothly with the attributes, which asks for many leaves."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < sigmoid(2 * X[:, 0] + X[:, 1])).astype(int)
    return sigmoid(X[:, 0] + rng.normal(size=n)), y, X


def test_the_number_of_leaves_grows_without_pruning_and_obeys_max_depth():
    scores, y, X = hills(2000, 0)
    leaves = {
        name: TreeCalibrator(**options).fit(scores, y, features=X).n_leaves_
        for name, options in {
            "pruned": {},
            "whole": {"pruning": None},
            "stump": {"pruning": None, "max_depth": 1},
            "root": {"max_depth": 0},
            "coarse": {"pruning": None, "min_samples": 500},
        }.items()
    }
    assert leaves["root"] == 1
    assert leaves["stump"] == 2
    assert leaves["pruned"] < leaves["whole"]
    assert leaves["stump"] < leaves["coarse"] < leaves["whole"]


def test_any_calibrator_can_sit_in_the_leaves():
    scores, y, X, _ = regions(4000, 0)
    tree = TreeCalibrator(leaf=IsotonicCalibrator(interpolation="step")).fit(scores, y, features=X)
    plain = TreeCalibrator().fit(scores, y, features=X)
    assert tree.n_leaves_ == plain.n_leaves_ > 1
    assert all(isinstance(m, StepMap) for m in tree.map_.maps)
    leaf = tree.map_.nodes_of(X) == len(tree.map_.maps) - 1
    alone = IsotonicCalibrator(interpolation="step").fit(scores[leaf], y[leaf])
    np.testing.assert_array_equal(
        tree.predict_proba(scores[leaf], features=X[leaf]), alone.predict_proba(scores[leaf])
    )


def test_a_leaf_of_one_class_predicts_its_frequencies_whatever_the_scores_say():
    rng = np.random.default_rng(0)
    x = rng.random((400, 1))
    y = ((x[:, 0] > 0.5) & (rng.random(400) < 0.5)).astype(int)
    scores = rng.random(400)
    weight = rng.integers(1, 4, 400)
    tree = TreeCalibrator(leaf=IsotonicCalibrator(), pruning=None, max_depth=1)
    tree.fit(scores, y, counts=weight, features=x)
    left = x[:, 0] <= tree.map_.cut[0]
    assert not y[left].any()
    above = (weight @ y + 1) / (weight.sum() + 2)
    expected = 2 * above / (weight[left].sum() + 2)
    np.testing.assert_allclose(tree.predict_proba([0, 0.3, 1], features=[[0]] * 3)[:, 1], expected)
    assert tree.map_.maps[2] != tree.map_.maps[0]


def test_of_three_classes_a_leaf_of_one_is_constant_and_a_leaf_of_two_has_its_parents_map():
    rng = np.random.default_rng(1)
    x = rng.choice(["a", "b", "c"], 900)
    y = np.where(
        x == "a", 2, np.where(x == "b", rng.integers(2, size=900), rng.integers(3, size=900))
    )
    scores = rng.dirichlet([1, 1, 1], 900)
    tree = TreeCalibrator(leaf=DirichletCalibrator(), pruning=None, max_depth=1)
    tree.fit(scores, y, features=pd.DataFrame({"x": x}))
    root, only_two, without_two, whole = tree.map_.maps
    in_a = x == "a"
    above = (np.bincount(y) + 1) / (len(y) + 3)
    expected = (3 * above + [0, 0, in_a.sum()]) / (in_a.sum() + 3)
    np.testing.assert_allclose(only_two(scores[:5]), [expected] * 5)
    assert without_two == root
    assert whole != root


def mixed_frame(n, seed):
    rng = np.random.default_rng(seed)
    color = rng.choice(["blue", "green", "red"], n)
    size = rng.normal(size=n)
    z = rng.normal(size=n)
    true = sigmoid(np.select([color == "red", color == "green"], [2 * z - 2, 0.2 * z + 2], z))
    y = (rng.random(n) < true).astype(int)
    return sigmoid(z), y, {"color": color.tolist(), "size": size.tolist()}


@pytest.mark.parametrize("library", ["pandas", "polars", "objects", "category"])
def test_frames_of_any_library_give_the_same_tree(library):
    scores, y, columns = mixed_frame(1500, 0)
    frames = {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "objects": np.array(list(zip(*columns.values(), strict=True)), dtype=object),
        "category": pd.DataFrame(columns).astype({"color": "category"}),
    }
    X = frames[library]
    tree = TreeCalibrator().fit(scores, y, features=X)
    name = "x0" if library == "objects" else "color"
    assert [line.split(":")[0] for line in tree.export_text().splitlines()] == [
        f"{name} = {color}" for color in ("blue", "green", "red")
    ]
    expected = TreeCalibrator().fit(scores, y, features=frames["pandas"])
    np.testing.assert_array_equal(
        tree.predict_proba(scores, features=X),
        expected.predict_proba(scores, features=frames["pandas"]),
    )


def test_columns_of_a_frame_are_found_by_name_and_numbers_can_be_categories():
    scores, y, columns = mixed_frame(1500, 0)
    frame = pd.DataFrame(columns)
    frame["code"] = frame["color"].map({"blue": 7, "green": 3, "red": 5})
    tree = TreeCalibrator(categorical=["code"]).fit(scores, y, features=frame[["size", "code"]])
    assert [line.split(":")[0] for line in tree.export_text().splitlines()] == [
        f"code = {value}" for value in (3, 5, 7)
    ]
    p = tree.predict_proba(scores, features=frame[["size", "code"]])
    turned = frame[["code", "color", "size"]]
    np.testing.assert_array_equal(p, tree.predict_proba(scores, features=turned))
    by_position = TreeCalibrator(categorical=[1]).fit(
        scores, y, features=frame[["size", "code"]].to_numpy()
    )
    np.testing.assert_array_equal(
        p, by_position.predict_proba(scores, features=frame[["size", "code"]].to_numpy())
    )


def test_sparse_attributes_and_frames_without_names_are_arrays():
    scores, y, X = hills(500, 0)
    X = np.where(np.abs(X) < 0.5, 0, X)
    expected = TreeCalibrator().fit(scores, y, features=X)
    for other in (csr_array(X), pd.DataFrame(X)):
        tree = TreeCalibrator().fit(scores, y, features=other)
        assert tree.export_text() == expected.export_text()
        np.testing.assert_array_equal(
            tree.predict_proba(scores, features=other), tree.predict_proba(scores, features=X)
        )


def test_missing_values_count_as_the_mean_or_the_most_frequent_category():
    scores, y, columns = mixed_frame(1500, 0)
    frame = pd.DataFrame(columns)
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "color"] = None
    filled = frame.fillna({"size": frame["size"].mean(), "color": frame["color"].mode()[0]})
    tree = TreeCalibrator(pruning=None).fit(scores, y, features=frame)
    expected = TreeCalibrator(pruning=None).fit(scores, y, features=filled)
    assert tree.export_text() == expected.export_text()
    np.testing.assert_array_equal(
        tree.predict_proba(scores, features=frame), expected.predict_proba(scores, features=filled)
    )


MISSING = {
    "polars": pl.DataFrame(
        {
            "text": ["u", None, "v", "u"],
            "enum": pl.Series(["a", "b", None, "a"], dtype=pl.Enum(["b", "a"])),
            "flag": [True, None, False, True],
            "number": [1, 2, None, 6],
            "nothing": [None] * 4,
        }
    ),
    "pandas": pd.DataFrame(
        {
            "text": pd.array(["u", None, "v", "u"], dtype="string"),
            "enum": pd.Categorical(["a", "b", None, "a"]),
            "flag": pd.array([True, None, False, True], dtype="boolean"),
            "number": pd.array([1, 2, None, 6], dtype="Int64"),
            "nothing": [None] * 4,
        }
    ),
    "objects": np.array(
        [
            ["u", "a", True, 1],
            [None, "b", None, 2],
            ["v", None, False, np.nan],
            ["u", "a", True, 6],
        ],
        dtype=object,
    ),
}


@pytest.mark.parametrize("library", MISSING)
def test_every_kind_of_missing_value_is_known(library):
    frame = MISSING[library]
    space, encoded = FeatureSpace.learn(frame, None, np.ones(4))
    assert space.categories[:4] == (("u", "v"), ("a", "b"), ("0", "1"), None)
    expected = [[0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 0, 3], [0, 0, 1, 6]]
    np.testing.assert_array_equal(space.filled(encoded)[:, :4], expected)
    holes = np.isnan(space.encode(frame)[:, :4])
    np.testing.assert_array_equal(np.argwhere(holes), [[1, 0], [1, 2], [2, 1], [2, 3]])


def test_attributes_of_rows_without_weight_are_not_looked_at():
    weight = np.array([1.0, 1.0, 0.0, 0.0])
    features = [["a", 1.0, np.nan], ["b", 2.0, np.nan], ["c", np.inf, 5.0], ["b", 7.0, 6.0]]
    space, encoded = FeatureSpace.learn(np.array(features, dtype=object), None, weight)
    assert space.categories == (("a", "b"), None, None)
    np.testing.assert_array_equal(space.fill, [0, 1.5, 0])
    np.testing.assert_array_equal(space.filled(encoded)[:2], [[0, 1, 0], [1, 2, 0]])


def test_an_unseen_category_is_calibrated_by_the_node_that_asks_for_it():
    scores, y, columns = mixed_frame(1500, 0)
    tree = TreeCalibrator().fit(scores, y, features=pd.DataFrame(columns))
    strange = pd.DataFrame({"color": ["violet"], "size": [0.0]})
    root = tree.map_.maps[0]
    assert isinstance(root, LogOddsMap)
    expected = sigmoid(root.a * 0.7 + root.c)
    with pytest.warns(UnknownCategoriesWarning, match="'color'.*'violet'.*'blue', 'green'"):
        p = tree.predict_proba([sigmoid(0.7)], features=strange)
    np.testing.assert_allclose(p[0, 1], expected, rtol=1e-12)


def test_log_odds_and_margins_need_no_transformation():
    scores, y, X, _ = regions(1500, 0)
    z = np.log(scores / (1 - scores))
    a = TreeCalibrator().fit(scores, y, features=X).predict_proba(scores, features=X)
    for scale in ("logit", "raw"):
        b = TreeCalibrator(scale=scale).fit(z, y, features=X).predict_proba(z, features=X)
        np.testing.assert_allclose(a, b, atol=1e-12)
    # A regression does not care for the size of its column.
    c = TreeCalibrator(scale="raw").fit(1e200 * z, y, features=X)
    np.testing.assert_allclose(a, c.predict_proba(1e200 * z, features=X), atol=1e-9)


def test_exact_zero_and_one_count_as_the_authors_say():
    scores, y, X, _ = regions(1000, 0)
    scores[:20], scores[20:40] = 0, 1
    replaced = scores.copy()
    replaced[:20], replaced[20:40] = 1e-5, 0.99999
    a = TreeCalibrator().fit(scores, y, features=X).predict_proba(scores, features=X)
    b = TreeCalibrator().fit(replaced, y, features=X).predict_proba(replaced, features=X)
    np.testing.assert_allclose(a, b, atol=1e-12)
    infinite = np.log(
        np.divide(scores, 1 - scores, where=scores < 1, out=np.full(1000, np.inf)),
        where=scores > 0,
        out=np.full(1000, -np.inf),
    )
    c = TreeCalibrator(scale="logit").fit(infinite, y, features=X)
    np.testing.assert_allclose(a, c.predict_proba(infinite, features=X), atol=1e-12)


def test_two_unrelated_columns_are_both_used():
    rng = np.random.default_rng(0)
    S = rng.normal(size=(2000, 2))
    y = (rng.random(2000) < sigmoid(S[:, 1] - 3 * S[:, 0])).astype(int)
    X = rng.normal(size=(2000, 2))
    both = TreeCalibrator(scale="raw", n_iterations=40).fit(S, y, features=X)
    slopes = both.map_.maps[0].weights[1]
    np.testing.assert_allclose(slopes, [-3, 1], atol=0.4)


def test_platts_targets_lead_to_platts_scaling():
    z = np.linspace(-3, 3, 60)
    y = (z > 0).astype(int)
    X = np.zeros((60, 1))
    tree = TreeCalibrator(scale="logit", n_iterations=300, label_smoothing="platt")
    expected = LogisticCalibrator(scale="logit", label_smoothing="platt").fit(z, y)
    np.testing.assert_allclose(
        tree.fit(z, y, features=X).predict_proba(z, features=X),
        expected.predict_proba(z),
        atol=1e-6,
    )


def test_the_seed_chooses_the_folds_and_the_default_is_fixed():
    scores, y, X = hills(600, 0)

    def fitted(seed):
        tree = TreeCalibrator(random_state=seed).fit(scores, y, features=X)
        return tree.predict_proba(scores, features=X)

    np.testing.assert_array_equal(fitted(0), fitted(0))
    assert any(np.abs(fitted(0) - fitted(seed)).max() > 1e-6 for seed in range(1, 6))
    assert TreeCalibrator().random_state == 0


def test_counts_equal_repetition_for_three_classes_and_ties():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 250).round(1)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    p = p.clip(0, 1)
    y = rng.integers(0, 3, 250)
    X = np.column_stack([rng.integers(0, 3, 250) + y, rng.integers(0, 4, 250)]).astype(float)
    counts = rng.integers(0, 5, 250)
    rows = rng.permutation(np.repeat(np.arange(250), counts))
    a = TreeCalibrator().fit(p, y, counts=counts, features=X)
    b = TreeCalibrator().fit(p[rows], y[rows], features=X[rows])
    assert a.n_leaves_ > 1
    np.testing.assert_array_equal(a.predict_proba(p, features=X), b.predict_proba(p, features=X))


def test_the_size_of_fractional_weights_does_not_matter():
    scores, y, X, _ = regions(1500, 0)
    weight = np.random.default_rng(0).gamma(2, 0.5, 1500)
    a = TreeCalibrator().fit(scores, y, sample_weight=weight, features=X)
    b = TreeCalibrator().fit(scores, y, sample_weight=weight / weight.sum(), features=X)
    assert a.n_leaves_ > 1
    np.testing.assert_allclose(
        a.predict_proba(scores, features=X), b.predict_proba(scores, features=X), atol=1e-9
    )


def test_inside_a_calibrated_classifier_the_attributes_are_passed_by_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    X = np.column_stack([X, X[:, 0] + 0.1 * rng.normal(size=1200)])
    y = (X[:, 0] * np.where(X[:, 1] > 0, 1.5, -1) + X[:, 1] + rng.normal(size=1200) > 0).astype(int)
    train, test = slice(0, 800), slice(800, None)
    model = CalibratedClassifier(GaussianNB(), TreeCalibrator()).fit(X[train], y[train])
    plain = CalibratedClassifier(GaussianNB(), LogisticCalibrator()).fit(X[train], y[train])
    ours = log_loss(y[test], model.predict_proba(X[test]))
    assert ours < log_loss(y[test], plain.predict_proba(X[test])) - 0.05


BAD_OPTIONS = [
    ({"leaf": "isotonic"}, "leaf must be"),
    ({"leaf": TreeCalibrator()}, "does not need features"),
    ({"n_iterations": 0}, "n_iterations must be"),
    ({"n_iterations": "many"}, "n_iterations must be"),
    ({"pruning": "auc"}, "pruning must be one of"),
    ({"min_samples": 1}, "min_samples must be"),
    ({"min_gap": -1.0}, "min_gap must be"),
    ({"max_depth": -1}, "max_depth must be"),
    ({"max_depth": 2.0}, "max_depth must be"),
    ({"cv": 1}, "cv must be"),
    ({"cv": "5"}, "cv must be"),
    ({"random_state": "x"}, "random_state must be"),
    ({"categorical": "color"}, "categorical must be a list"),
    ({"categorical": [7]}, "which features lacks"),
    ({"label_smoothing": 2.0}, "label_smoothing must be"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        TreeCalibrator(**options).fit([0.2, 0.8, 0.4], [0, 1, 1], features=[[1], [2], [3]])


BAD_FEATURES = [
    (None, "needs the original features"),
    ([1, 2, 3], "must be 2-D"),
    ([[1], [2]], "inconsistent numbers of samples"),
    ([[1], [np.inf], [2]], "must be finite or missing"),
    ([[], [], []], "at least one column"),
    (np.array([[1j], [2], [3]]), "numbers or categories"),
    (pd.DataFrame({"t": pd.to_datetime(["2020", "2021", "2022"], utc=True)}), "without a zone"),
    (np.array([[{}], [1], [2]], dtype=object), r"must hold numbers; got \{\}, of type dict"),
    (pl.LazyFrame({"a": [1, 2, 3]}), "collect it first"),
    ([[1], [2, 3], [4]], "rectangular"),
]


@pytest.mark.parametrize(("features", "message"), BAD_FEATURES)
def test_attributes_that_cannot_be_used_are_refused(features, message):
    with pytest.raises(InputError, match=message):
        TreeCalibrator().fit([0.2, 0.8, 0.4], [0, 1, 1], features=features)


def test_attributes_that_differ_from_those_of_the_fit_are_refused():
    scores, y, columns = mixed_frame(300, 0)
    tree = TreeCalibrator().fit(scores, y, features=pd.DataFrame(columns))
    with pytest.raises(InputError, match="lacks the columns"):
        tree.predict_proba(scores, features=pd.DataFrame({"size": columns["size"]}))
    with pytest.raises(InputError, match="must have 2 columns"):
        tree.predict_proba(scores, features=np.zeros((300, 3)))
    turned = pd.DataFrame(columns).assign(size="large")
    with pytest.raises(InputError, match=r"size.*must hold numbers; got 'large'"):
        tree.predict_proba(scores, features=turned)
    with pytest.raises(InputError, match="inconsistent numbers of samples"):
        tree.predict_proba(scores[:-1], features=pd.DataFrame(columns))
    with pytest.raises(InputError, match="needs the original features"):
        tree.predict_proba(scores)


def test_a_clone_is_unfitted_and_score_is_accuracy():
    scores, y, X, _ = regions(500, 0)
    tree = TreeCalibrator(max_depth=2).fit(scores, y, features=X)
    copy = clone(tree)
    assert copy.max_depth == 2
    assert not hasattr(copy, "map_")
    assert tree.score(scores, y, features=X) == np.mean(tree.predict(scores, features=X) == y)


def held_out_weights(monkeypatch):
    """The weights of the test rows that the first tree of a fit has dealt, in its row order."""
    found = []
    grow = tree_module.fit_tree

    def recorded(data, options):
        tree = grow(data, options)
        found.append((tree.test_weight, data.y, data.scores, data.attributes))
        return tree

    monkeypatch.setattr(tree_module, "fit_tree", recorded)
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
def test_out_of_fold_losses_are_those_of_trees_and_maps_fitted_without_the_rows(
    monkeypatch, n_classes
):
    rng = np.random.default_rng(n_classes)
    x = rng.normal(size=(400, 2))
    z = rng.normal(size=(400, n_classes))
    shifted = z + np.where(x[:, :1] > 0, 3, 0) * np.eye(n_classes)[0]
    y = (shifted + rng.gumbel(size=z.shape)).argmax(axis=1)
    z -= z.mean(axis=1, keepdims=True)
    scores = z[:, 1] - z[:, 0] if n_classes == 2 else z
    found = held_out_weights(monkeypatch)
    fitted = TreeCalibrator(scale="logit").fit(scores, y, features=x)
    assert fitted.n_leaves_ > 1
    test_weight, codes, columns, attributes = found[0]
    ordered = columns[0] if n_classes == 2 else columns.T
    own, one = np.empty((2, 400, n_classes))
    for test in test_weight > 0:
        learned = TreeCalibrator(scale="logit")
        learned.fit(ordered[~test], codes[~test], features=attributes.T[~test])
        own[test] = learned.predict_proba(ordered[test], features=attributes.T[test])
        single = AutoCalibrator(scale="logit").fit(ordered[~test], codes[~test])
        one[test] = single.predict_proba(ordered[test])
    assert fitted.out_of_fold_log_loss_ == pytest.approx(log_loss(codes, own), rel=1e-12)
    assert fitted.one_map_log_loss_ == pytest.approx(log_loss(codes, one), rel=1e-12)


def test_out_of_fold_losses_agree_with_fresh_rows():
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, 6000))
    true = 1 / (1 + np.exp(-np.where(x > 0, z + 2, z / 2 - 1)))
    y = rng.random(6000) < true
    fitted = TreeCalibrator(scale="logit").fit(z[:2000], y[:2000], features=x[:2000, None])
    p = fitted.predict_proba(z[2000:], features=x[2000:, None])[:, 1]
    one = AutoCalibrator(scale="logit").fit(z[:2000], y[:2000]).predict_proba(z[2000:])[:, 1]
    for measured, forecast in (
        (fitted.out_of_fold_log_loss_, p),
        (fitted.one_map_log_loss_, one),
    ):
        losses = -np.where(y[2000:], np.log(forecast), np.log1p(-forecast))
        error = losses.std() * np.sqrt(1 / 2000 + 1 / 4000)
        assert abs(measured - losses.mean()) < 4 * error
    assert fitted.out_of_fold_log_loss_ < fitted.one_map_log_loss_ - 0.1


def test_out_of_fold_losses_do_not_depend_on_the_order_and_counts_are_repetitions():
    rng = np.random.default_rng(6)
    x, z = rng.normal(size=(2, 300))
    y = rng.random(300) < 1 / (1 + np.exp(-z))
    times = rng.integers(1, 4, 300)
    order = rng.permutation(times.sum())
    repeated = [np.repeat(column, times)[order] for column in (z, y, x)]
    counted = TreeCalibrator(scale="logit").fit(z, y, counts=times, features=x[:, None])
    single = TreeCalibrator(scale="logit").fit(*repeated[:2], features=repeated[2][:, None])
    assert counted.out_of_fold_log_loss_ == pytest.approx(single.out_of_fold_log_loss_, rel=1e-12)
    assert counted.one_map_log_loss_ == pytest.approx(single.one_map_log_loss_, rel=1e-9)


def test_a_tree_that_overfits_warns_and_one_that_gains_does_not():
    rng = np.random.default_rng(7)
    group = rng.integers(15, size=300)
    z = rng.normal(group - 7)
    noise = rng.logistic(size=300)
    frame = pd.DataFrame({"group": group.astype(str)})
    with pytest.warns(WorseThanOneMapWarning, match="one map for all rows 0.2") as caught:
        TreeCalibrator(scale="logit", pruning=None).fit(z, noise < z, features=frame)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrong = np.where(group > 7, -z, z)
        TreeCalibrator(scale="logit").fit(wrong, noise < z, features=frame)


def test_many_rows_hold_out_one_fold_only(monkeypatch):
    rng = np.random.default_rng(8)
    x, p = rng.random((2, 60_000))
    found = held_out_weights(monkeypatch)
    fitted = TreeCalibrator(max_depth=1).fit(p, rng.random(60_000) < p, features=x[:, None])
    assert len(found) == 2
    assert np.isfinite(fitted.out_of_fold_log_loss_)


def test_too_few_rows_to_hold_a_class_out_have_no_out_of_fold_loss():
    fitted = TreeCalibrator().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 0, 1], features=[[1], [2], [3], [4]])
    assert np.isnan([fitted.out_of_fold_log_loss_, fitted.one_map_log_loss_]).all()


def test_calibrators_of_leaves_below_a_category_are_fitted_to_its_rows():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 2000)
    z = rng.logistic(size=2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-(z + np.where(group == "a", 2, -2))))
    frame = pd.DataFrame({"group": group})
    fitted = TreeCalibrator(scale="logit", leaf=LogisticCalibrator()).fit(z, y, features=frame)
    for name in "ab":
        own = group == name
        alone = LogisticCalibrator(scale="logit").fit(z[own], y[own]).predict_proba([0.5])
        p = fitted.predict_proba([0.5], features=pd.DataFrame({"group": [name]}))
        np.testing.assert_allclose(p, alone, rtol=1e-12)


def test_a_leaf_that_is_a_huge_number_is_refused():
    with pytest.raises(InputError, match="leaf must be"):
        TreeCalibrator(leaf=10**5000).fit([0.2, 0.8], [0, 1], features=[[0.0], [1.0]])
