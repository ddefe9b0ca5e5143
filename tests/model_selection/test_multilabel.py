"""Several labels at once: one model, one map for each label, in every form that models have."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from trueodds import BetaCalibrator, CalibratedClassifier, IsotonicCalibrator, LogisticCalibrator
from trueodds.exceptions import InputError, MissingClassWarning

X, Y = make_multilabel_classification(600, n_features=8, n_classes=3, random_state=0)
NEW = make_multilabel_classification(200, n_features=8, n_classes=3, random_state=1)[0]
MODELS = {
    "list": MultiOutputClassifier(GaussianNB()),
    "matrix": OneVsRestClassifier(GaussianNB()),
    "chain": ClassifierChain(GaussianNB()),
    "forest": RandomForestClassifier(20, random_state=0),
    "neighbors": KNeighborsClassifier(),
    "network": MLPClassifier((4,), max_iter=20, random_state=0),
}


def columns(output):
    """Independent of the library: the positive class of each label."""
    return np.column_stack([p[:, 1] for p in output]) if isinstance(output, list) else output


def combination_folds(y, n_folds=5):
    names = ["".join(map(str, row)) for row in y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(StratifiedKFold(n_folds).split(np.zeros(len(y)), names))


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.filterwarnings("ignore:the fitted map is not increasing")
@pytest.mark.parametrize("name", MODELS)
def test_each_label_is_calibrated_by_itself_whichever_form_the_model_has(name):
    model = CalibratedClassifier(MODELS[name], LogisticCalibrator()).fit(X, Y)
    expected = np.zeros((len(NEW), 3))
    for train, test in combination_folds(Y):
        base = type(MODELS[name])(**MODELS[name].get_params(deep=False)).fit(X[train], Y[train])
        held_out, new = (columns(base.predict_proba(rows)) for rows in (X[test], NEW))
        for k in range(3):
            map_ = LogisticCalibrator().fit(held_out[:, k], Y[test, k])
            expected[:, k] += map_.predict_proba(new[:, k])[:, 1] / 5
    np.testing.assert_allclose(model.predict_proba(NEW), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(NEW), expected > 0.5)
    assert model.multilabel_
    assert [c.tolist() for c in model.classes_] == [[0, 1]] * 3


def test_one_model_of_all_rows_is_calibrated_on_out_of_fold_scores():
    base = MultiOutputClassifier(GaussianNB())
    model = CalibratedClassifier(base, IsotonicCalibrator(), ensemble=False).fit(X, Y)
    scores = np.zeros(Y.shape)
    for train, test in combination_folds(Y):
        fold = MultiOutputClassifier(GaussianNB()).fit(X[train], Y[train])
        scores[test] = columns(fold.predict_proba(X[test]))
    new = columns(MultiOutputClassifier(GaussianNB()).fit(X, Y).predict_proba(NEW))
    for k in range(3):
        p = IsotonicCalibrator().fit(scores[:, k], Y[:, k]).predict_proba(new[:, k])[:, 1]
        np.testing.assert_allclose(model.predict_proba(NEW)[:, k], p, atol=1e-12)
    assert len(model.calibrated_classifiers_) == 1


def test_a_frozen_model_is_not_trained_again():
    base = OneVsRestClassifier(GaussianNB()).fit(X[:300], Y[:300])
    model = CalibratedClassifier(FrozenEstimator(base), BetaCalibrator()).fit(X[300:], Y[300:])
    scores, new = base.predict_proba(X[300:]), base.predict_proba(NEW)
    for k in range(3):
        p = BetaCalibrator().fit(scores[:, k], Y[300:, k]).predict_proba(new[:, k])[:, 1]
        np.testing.assert_allclose(model.predict_proba(NEW)[:, k], p, atol=1e-12)


def test_decision_values_of_several_labels_are_calibrated():
    base = OneVsRestClassifier(LinearSVC(random_state=0)).fit(X[:300], Y[:300])
    model = CalibratedClassifier(FrozenEstimator(base), LogisticCalibrator()).fit(X[300:], Y[300:])
    scores, new = base.decision_function(X[300:]), base.decision_function(NEW)
    for k in range(3):
        fit = LogisticCalibrator(scale="raw").fit(scores[:, k], Y[300:, k])
        np.testing.assert_allclose(
            model.predict_proba(NEW)[:, k], fit.predict_proba(new[:, k])[:, 1], atol=1e-12
        )


@pytest.mark.parametrize(
    "y",
    [
        Y.astype(bool),
        Y.astype(float),
        Y.tolist(),
        csr_array(Y),
        pd.DataFrame(Y, columns=list("abc")),
    ],
)
def test_every_kind_of_indicator_matrix_gives_the_same(y):
    make = CalibratedClassifier(MODELS["matrix"], LogisticCalibrator(), cv=KFold(3))
    expected = make.fit(X, Y).predict_proba(NEW)
    np.testing.assert_array_equal(make.fit(X, y).predict_proba(NEW), expected)


def test_counts_of_k_equal_k_repetitions():
    counts = np.arange(len(Y)) % 3
    base = FrozenEstimator(OneVsRestClassifier(GaussianNB()).fit(X, Y))
    counted = CalibratedClassifier(base, LogisticCalibrator()).fit(X, Y, counts=counts)
    rows = np.repeat(np.arange(len(Y)), counts)
    repeated = CalibratedClassifier(base, LogisticCalibrator()).fit(X[rows], Y[rows])
    np.testing.assert_allclose(counted.predict_proba(NEW), repeated.predict_proba(NEW), atol=1e-9)


def test_a_label_that_only_rows_without_weight_have_is_absent():
    base = FrozenEstimator(OneVsRestClassifier(GaussianNB()).fit(X, Y))
    with pytest.raises(InputError, match=r"label 1 \(1 in all\) is present in all rows or in none"):
        CalibratedClassifier(base, LogisticCalibrator()).fit(X, Y, sample_weight=1 - Y[:, 1])


def test_intervals_hold_the_probability_of_each_label():
    model = CalibratedClassifier(MODELS["list"]).fit(X, Y)
    low, high = model.predict_interval(NEW, level=0.9)
    p = model.predict_proba(NEW)
    assert low.shape == high.shape == p.shape == (200, 3)
    assert np.all((low <= p + 1e-9) & (p <= high + 1e-9))


def test_scikit_learn_scores_several_labels():
    model = CalibratedClassifier(MODELS["list"], LogisticCalibrator(), cv=3)
    areas = cross_val_score(model, X, Y, cv=3, scoring="roc_auc")
    assert np.all((areas > 0.7) & (areas <= 1))
    assert 0 <= model.fit(X, Y).score(X, Y) <= 1
    model = CalibratedClassifier(MODELS["forest"], LogisticCalibrator()).fit(X, Y)
    assert model.fit(X, Y[:, 0]).predict_proba(NEW).shape == (200, 2)  # one label again
    assert not model.multilabel_


@pytest.mark.filterwarnings("ignore:the fitted map is not increasing")
@pytest.mark.filterwarnings("ignore:Label not 2 is present in all training examples")
def test_a_label_that_a_fold_lacks_is_calibrated_by_the_others():
    y = Y.copy()
    y[:, 2] = 0
    y[:8, 2] = 1  # in the first fold of three only, and a little in the second
    folds = KFold(3)
    y[250:255, 2] = 1
    with pytest.warns(MissingClassWarning, match="1 of 3 labels are present in all rows or in non"):
        model = CalibratedClassifier(MODELS["matrix"], LogisticCalibrator(), cv=folds).fit(X, y)
    assert np.isfinite(model.predict_proba(NEW)).all()
    y[:, 2] = 0
    with pytest.raises(InputError, match=r"label 2 .1 in all. is present in all rows or in none"):
        CalibratedClassifier(MODELS["matrix"], LogisticCalibrator(), cv=folds).fit(X, y)


def test_what_cannot_be_calibrated_is_refused_with_advice():
    with pytest.raises(InputError, match=r"MultiOutputClassifier\(LogisticRegression\(\)\)"):
        CalibratedClassifier(LogisticRegression()).fit(X, Y)
    wrong = Y.copy()
    wrong[7, 1] = 2
    with pytest.raises(
        InputError, match=r"entries 0 and 1 for several labels; got .*2.* in row 7, column 1"
    ):
        CalibratedClassifier(MODELS["list"]).fit(X, wrong)
    with pytest.raises(InputError, match="y"):
        CalibratedClassifier(MODELS["list"]).fit(X[:5], Y)
    with pytest.raises(InputError, match="eval_set needs a single label"):
        CalibratedClassifier(MODELS["list"], eval_set="held_out").fit(X, Y)
    with pytest.raises(InputError, match="CalibratedClassifier calibrates each label of a model"):
        BetaCalibrator().fit(Y[:, 0] * 0.5, Y)
    with pytest.raises(InputError, match="cv=700 folds, but there are 600 rows"):
        CalibratedClassifier(MODELS["list"], cv=700).fit(X, Y)
