"""LightGBM, XGBoost and CatBoost in CalibratedClassifier: categories, early stopping, weights."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from trueodds import BetaCalibrator, CalibratedClassifier
from trueodds.exceptions import InputError

MANY = 300
KINDS = ("lightgbm", "xgboost", "catboost")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def rows():
    """Numbers and a category, with labels that only the first hundred-odd rounds can learn."""
    rng = np.random.default_rng(0)
    town = rng.choice(["Ulm", "Bonn", "Kiel"], 600)
    age = rng.normal(size=600)
    y = (age + (town == "Ulm") + rng.normal(0, 1.5, size=600) > 0.4).astype(int)
    return pd.DataFrame({"age": age, "town": pd.Categorical(town)}), y


def booster(kind: str, **options):
    """A model of many rounds that stops when ten in a row do not help."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "lightgbm":
            from lightgbm import LGBMClassifier

            return LGBMClassifier(
                n_estimators=MANY, early_stopping_round=10, verbose=-1, n_jobs=1, random_state=0,
                num_leaves=7, **options,
            )  # fmt: skip
        if kind == "xgboost":
            from xgboost import XGBClassifier

            return XGBClassifier(
                n_estimators=MANY, early_stopping_rounds=10, enable_categorical=True, n_jobs=1,
                max_depth=3, random_state=0, **options,
            )  # fmt: skip
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            iterations=MANY, early_stopping_rounds=10, cat_features=["town"], verbose=0,
            thread_count=1, depth=3, allow_writing_files=False, random_state=0, **options,
        )  # fmt: skip


def rounds(model) -> int:
    """How many rounds a model uses to predict."""
    if hasattr(model, "tree_count_"):
        return model.tree_count_
    if hasattr(model, "best_iteration_"):
        return model.best_iteration_ or model.n_estimators_
    try:
        return model.best_iteration + 1
    except AttributeError:
        return model.get_booster().num_boosted_rounds()


@pytest.mark.parametrize("kind", KINDS)
def test_each_fold_stops_by_its_held_out_rows(rows, kind):
    X, y = rows
    model = CalibratedClassifier(booster(kind), BetaCalibrator(), cv=3, eval_set="held_out")
    model = clone(model).fit(X, y)
    kept = [rounds(member.estimator) for member in model.calibrated_classifiers_]
    assert all(1 <= n < MANY / 2 for n in kept)
    assert len(set(kept)) > 1
    assert model.score(X, y) > 0.6
    # The first fold by hand.
    train, test = next(iter(KFold(3).split(X)))
    ours = CalibratedClassifier(booster(kind), cv=[(train, test)], eval_set="held_out").fit(X, y)
    extra = {"verbose": False} if kind == "xgboost" else {}
    by_hand = booster(kind).fit(
        X.iloc[train], y[train], eval_set=[(X.iloc[test], y[test])], **extra
    )
    np.testing.assert_array_equal(
        ours.calibrated_classifiers_[0].estimator.predict_proba(X), by_hand.predict_proba(X)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_model_is_trained_for_the_mean_of_the_folds_rounds(rows, kind):
    X, y = rows
    ensemble = CalibratedClassifier(booster(kind), cv=3, eval_set="held_out").fit(X, y)
    kept = [rounds(member.estimator) for member in ensemble.calibrated_classifiers_]
    single = CalibratedClassifier(booster(kind), cv=3, eval_set="held_out", ensemble=False)
    model = single.fit(X, y).calibrated_classifiers_[0].estimator
    assert rounds(model) == round(np.mean(kept))


@pytest.mark.parametrize("kind", KINDS)
def test_a_trained_model_is_taken_as_it_is(rows, kind):
    X, y = rows
    extra = {"verbose": False} if kind == "xgboost" else {}
    trained = booster(kind).fit(X[:300], y[:300], eval_set=[(X[300:400], y[300:400])], **extra)
    model = CalibratedClassifier(FrozenEstimator(trained), BetaCalibrator(), eval_set="held_out")
    p = model.fit(X[400:], y[400:]).predict_proba(X[400:])
    expected = BetaCalibrator().fit(trained.predict_proba(X[400:])[:, 1], y[400:])
    np.testing.assert_array_equal(p, expected.predict_proba(trained.predict_proba(X[400:])[:, 1]))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_to_stop_by_may_be_weighted(rows, kind):
    """A weight of zero is a row that is not there, in training and in stopping."""
    X, y = rows
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    folds = list(KFold(2).split(X))
    model = CalibratedClassifier(booster(kind), cv=folds, eval_set="held_out").fit(X, y, weight)
    unweighted = CalibratedClassifier(booster(kind), cv=folds, eval_set="held_out").fit(X, y)
    by_hand = [
        booster(kind).fit(
            X.iloc[train], y[train], sample_weight=weight[train],
            **stop_by(kind, X.iloc[test], y[test], weight[test]),
        )
        for train, test in folds
    ]  # fmt: skip
    for member, own, other in zip(
        model.calibrated_classifiers_, by_hand, unweighted.calibrated_classifiers_, strict=True
    ):
        np.testing.assert_array_equal(member.estimator.predict_proba(X), own.predict_proba(X))
        assert (own.predict_proba(X) != other.estimator.predict_proba(X)).any()


def stop_by(kind: str, X, y, weight) -> dict:
    if kind == "catboost":
        from catboost import Pool

        return {"eval_set": Pool(X, y, weight=weight, cat_features=["town"])}
    if kind == "xgboost":
        return {"eval_set": [(X, y)], "sample_weight_eval_set": [weight], "verbose": False}
    return {"eval_set": [(X, y)], "eval_sample_weight": [weight]}


@pytest.mark.parametrize("ensemble", [True, False])
def test_the_last_step_of_a_pipeline_stops_by_transformed_rows(rows, ensemble):
    X, y = rows
    one_hot = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    encode = make_column_transformer((one_hot, ["town"]), remainder="passthrough")
    pipeline = Pipeline(
        [("encode", encode.set_output(transform="pandas")), ("boost", booster("lightgbm"))]
    )
    import lightgbm

    callbacks = [lightgbm.early_stopping(10, verbose=False)]
    pipeline.set_params(boost__early_stopping_round=None)
    model = CalibratedClassifier(pipeline, cv=2, eval_set="held_out", ensemble=ensemble)
    model.fit(X, y, boost__callbacks=callbacks)
    assert rounds(model.calibrated_classifiers_[0].estimator[-1]) < MANY / 2
    with pytest.raises(InputError, match="step__parameter"):
        model.fit(X, y, callbacks=callbacks)


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")
def test_a_model_does_not_stop_by_a_class_that_it_does_not_learn():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = np.concatenate([np.arange(200) % 2, np.arange(100) % 3])
    folds = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    model = CalibratedClassifier(booster("lightgbm"), cv=folds, eval_set="held_out").fit(X, y)
    assert model.calibrated_classifiers_[0].known.tolist() == [0, 1]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_model_that_cannot_stop_early_is_refused(rows):
    with pytest.raises(InputError, match=r"GaussianNB\.fit takes none"):
        CalibratedClassifier(GaussianNB(), eval_set="held_out").fit([[0.0], [1.0]] * 9, [0, 1] * 9)
    with pytest.raises(InputError, match="eval_set must be"):
        CalibratedClassifier(GaussianNB(), eval_set="test").fit([[0.0], [1.0]] * 9, [0, 1] * 9)


def test_grid_search_clones_a_model_with_categories(rows):
    X, y = rows
    model = CalibratedClassifier(booster("catboost", max_ctr_complexity=1), BetaCalibrator(), cv=2)
    model.set_params(estimator__iterations=10)
    search = GridSearchCV(model, {"calibrator__parameters": ["abm", "am"]}, cv=2).fit(X, y)
    assert search.best_estimator_.estimator.get_params()["cat_features"] == ["town"]
