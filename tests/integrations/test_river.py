"""The calibrator in river: its own checks, pipelines, and the same numbers as without it."""

import math
import pickle

import pytest

from support.services import library
from trueodds import OnlineCalibrator
from trueodds.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def adapter():
    library("river")
    from trueodds.river import OnlineCalibratedClassifier

    return OnlineCalibratedClassifier


def test_river_accepts_the_classifier_by_its_own_checks(adapter):
    from river import checks, linear_model

    model = adapter(linear_model.LogisticRegression())
    names = [check.__name__ for check in checks.yield_checks(model)]
    assert len(names) > 30
    for check in checks.yield_checks(model):
        if check.__name__ not in model._unit_test_skips():
            check(model.clone())


def test_forecasts_are_those_of_the_calibrator(adapter):
    from river import datasets, naive_bayes

    plain, model = naive_bayes.GaussianNB(), adapter(naive_bayes.GaussianNB())
    online = OnlineCalibrator()
    for x, y in datasets.Phishing().take(300):
        found = plain.predict_proba_one(x)
        score = float(found.get(True, 1.0 - found.get(False, 0.5)))
        p = model.predict_proba_one(x)
        assert p[True] == online.predict_proba(score)[0, 1]
        assert math.isclose(p[True] + p[False], 1.0)
        online.update(score, int(y))
        plain.learn_one(x, y)
        model.learn_one(x, y)
    assert model.calibrator.to_dict() == online.to_dict()


def test_a_pipeline_learns_and_is_copied(adapter):
    from river import compose, datasets, metrics, naive_bayes, preprocessing

    losses = []
    for last in (naive_bayes.GaussianNB(), adapter(naive_bayes.GaussianNB())):
        model, loss = preprocessing.StandardScaler() | last, metrics.LogLoss()
        assert isinstance(model, compose.Pipeline)
        for x, y in datasets.Phishing().take(600):
            loss.update(y, model.predict_proba_one(x))
            model.learn_one(x, y)
        losses.append(loss.get())
    assert losses[1] < losses[0] - 0.1
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.predict_proba_one(x) == model.predict_proba_one(x)


def test_texts_as_labels_and_what_is_refused(adapter):
    from river import linear_model, naive_bayes

    model = adapter(naive_bayes.GaussianNB(), positive="spam", negative="ham")
    assert model.predict_proba_one({"a": 1.0})["spam"] == pytest.approx(0.5, abs=1e-6)
    for i in range(60):
        model.learn_one({"a": float(i % 5)}, "spam" if i % 5 > 2 else "ham")
    assert model.predict_one({"a": 4.0}) == "spam"
    with pytest.raises(InputError, match="y must be 'ham' or 'spam'; got 'eggs'"):
        model.learn_one({"a": 1.0}, "eggs")
    with pytest.raises(InputError, match="must be different labels"):
        adapter(linear_model.LogisticRegression(), positive=1, negative=True)
