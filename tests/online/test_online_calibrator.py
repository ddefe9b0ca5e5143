"""What an online calibrator takes and returns."""

import numpy as np
import pytest

from trueodds import LogisticCalibrator, OneVsRestCalibrator, OnlineCalibrator
from trueodds.exceptions import InputError
from trueodds.maps import CalibrationMap, IdentityMap, LogOddsMap, StepMap


def rows(seed=0, n=3000):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.02, 0.6, n)
    return truth**2, (rng.random(n) < truth).astype(int), truth


def log_loss(p, y):
    return -np.log(np.where(y == 1, p, 1 - p)).mean()


def test_forecasts_change_nothing():
    scores, y, _ = rows()
    online = OnlineCalibrator().update(scores, y)
    before = online.to_dict()
    first = online.predict_proba(scores)
    assert (online.predict_proba(scores) == first).all()
    assert online.to_dict() == before
    assert online.predict_proba(float(scores[0])).tolist() == first[:1].tolist()
    np.testing.assert_allclose(first.sum(axis=1), 1)


def test_replay_returns_the_forecast_before_each_label():
    scores, y, _ = rows(1, 200)
    online, other = OnlineCalibrator(), OnlineCalibrator()
    p = online.replay(scores, y)
    for i in range(200):
        assert (other.predict_proba(scores[i : i + 1])[0] == p[i]).all()
        other.update(scores[i : i + 1], y[i : i + 1])


def test_missing_labels_are_counted_and_left_out():
    scores, y, _ = rows(2, 300)
    labels = y.astype(float)
    labels[::3] = np.nan
    online = OnlineCalibrator().update(scores, labels)
    kept = ~np.isnan(labels)
    assert online.n_unlabeled == 100
    other = OnlineCalibrator().update(scores[kept], y[kept])
    assert online.to_dict()["streams"] == other.to_dict()["streams"]


def test_text_labels_and_their_order():
    scores, y, _ = rows(3, 500)
    plain = OnlineCalibrator().update(scores, y)
    named = OnlineCalibrator(classes=["ok", "fraud"]).update(scores, np.array(["ok", "fraud"])[y])
    assert (plain.predict_proba(scores) == named.predict_proba(scores)).all()
    assert named.map_.classes == ("ok", "fraud")
    with pytest.raises(InputError, match="y must hold labels of"):
        named.update(scores[:1], ["other"])


def test_log_odds_are_taken_as_their_probabilities_are():
    scores, y, _ = rows(4, 800)
    z = np.log(scores / (1 - scores))
    one = OnlineCalibrator().update(scores, y).predict_proba(scores)
    other = OnlineCalibrator(scale="logit").update(z, y).predict_proba(z)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_good_start_helps_at_once_and_a_bad_one_is_left():
    scores, y, truth = rows(5, 3000)
    good = LogisticCalibrator().fit(*rows(6)[:2])
    bad = LogOddsMap(a=-1.0, b=-1.0, c=0.0)
    few = slice(0, 100)
    with_start = OnlineCalibrator(start=good).replay(scores[few], y[few])[:, 1]
    without = OnlineCalibrator().replay(scores[few], y[few])[:, 1]
    assert log_loss(with_start, y[few]) < log_loss(without, y[few])
    online = OnlineCalibrator(start=bad)
    p = online.replay(scores, y)[:, 1]
    assert log_loss(p[1000:], y[1000:]) < log_loss(truth[1000:], y[1000:]) + 0.01
    assert online.experts_[0].name != "the start map"


def test_a_start_is_believed_until_labels_come():
    scores = np.array([1e-3, 0.01, 0.3, 0.9])
    p = OnlineCalibrator(start=IdentityMap()).predict_proba(scores)[:, 1]
    np.testing.assert_allclose(p, scores, rtol=0.25)
    assert OnlineCalibrator().predict_proba(0.01)[0, 1] > 0.03


def test_scores_of_exactly_0_and_1_are_learned():
    rng = np.random.default_rng(7)
    scores = rng.choice([0.0, 1.0], 4000)
    y = (rng.random(4000) < np.where(scores == 1, 0.8, 0.1)).astype(int)
    p = OnlineCalibrator().update(scores, y).predict_proba([0.0, 1.0])[:, 1]
    np.testing.assert_allclose(p, [0.1, 0.8], atol=0.03)


def test_several_classes_are_calibrated_one_against_the_rest():
    rng = np.random.default_rng(8)
    truth = rng.dirichlet([1, 2, 3], 6000)
    y = np.array([rng.choice(3, p=p) for p in truth])
    scores = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    online = OnlineCalibrator()
    p = online.replay(scores, y)
    own = np.arange(6000)
    assert -np.log(p[own, y])[3000:].mean() < -np.log(scores[own, y])[3000:].mean() - 0.03
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(online.map_(scores), online.predict_proba(scores), atol=1e-3)
    assert len(online.bound_) == len(online.experts_) == 3
    start = OneVsRestCalibrator(LogisticCalibrator()).fit(scores, y)
    assert OnlineCalibrator(start=start).predict_proba(scores).shape == (6000, 3)


@pytest.mark.parametrize("scale", ["probability", "logit", "raw"])
def test_the_map_is_the_forecast_of_the_moment(scale):
    rng = np.random.default_rng(9)
    scores, y, _ = rows(9)
    given = scores if scale == "probability" else np.log(scores / (1 - scores))
    if scale == "raw":
        given = 100 * given
        start = LogisticCalibrator(scale="raw").fit(given, y)
        online = OnlineCalibrator(start=start)
    else:
        online = OnlineCalibrator(scale=scale)
    online.update(given, y)
    fitted = online.map_
    x = rng.uniform(given.min(), given.max(), 20_000)
    assert np.abs(fitted(x) - online.predict_proba(x)[:, 1]).max() < 1e-3
    assert CalibrationMap.from_dict(fitted.to_dict()) == fitted


def test_the_map_of_a_start_with_jumps_is_near_but_for_the_jumps():
    scores, y, _ = rows(10)
    online = OnlineCalibrator(start=StepMap(edges=[0.1, 0.3], values=[0.1, 0.3, 0.7]))
    online.update(scores, y)
    x = np.random.default_rng(0).random(20_000)
    off = np.abs(online.map_(x) - online.predict_proba(x)[:, 1])
    away = (np.abs(x - 0.1) > 1e-5) & (np.abs(x - 0.3) > 1e-5)
    assert off[away].max() < 1e-3


def test_a_monotone_map_does_not_decrease():
    rng = np.random.default_rng(11)
    scores = rng.random(4000)
    y = (rng.random(4000) < 0.5 + 0.4 * np.sin(9 * scores)).astype(int)
    state = OnlineCalibrator().update(scores, y).to_dict()
    x = np.linspace(0, 1, 5001)
    assert (np.diff(OnlineCalibrator.from_dict(state).map_(x)) < 0).any()
    assert (np.diff(OnlineCalibrator.from_dict(state | {"monotone": True}).map_(x)) >= 0).all()


def test_the_map_in_sql_and_onnx_equals_the_map():
    duckdb, onnxruntime = pytest.importorskip("duckdb"), pytest.importorskip("onnxruntime")
    scores, y, _ = rows(12)
    fitted = OnlineCalibrator().update(scores, y).map_
    x = np.concatenate([[0.0, 1.0], np.random.default_rng(0).random(500)])
    query = f"SELECT {fitted.to_sql('s')} FROM (SELECT unnest(?) AS s)"  # noqa: S608
    found = np.array(duckdb.sql(query, params=[x.tolist()]).fetchall())[:, 0]
    np.testing.assert_allclose(found, fitted(x), atol=1e-12)
    session = onnxruntime.InferenceSession(fitted.to_onnx().SerializeToString())
    name = session.get_inputs()[0].name
    out = np.asarray(session.run(None, {name: x})[0])
    np.testing.assert_allclose(out.reshape(len(x), -1)[:, -1], fitted(x), atol=1e-6)


def test_an_answer_of_weight_0_is_none():
    without, unlabeled = OnlineCalibrator(), OnlineCalibrator()
    for online in (without, unlabeled):
        online.ask([0.1, 0.2, 0.3], ids=range(3))
    assert without.answer(range(3), [1, 0, 1], [0.5, 0.0, 1.0]) == 2
    assert unlabeled.answer(range(3), [1, None, 1], [0.5, 1.0, 1.0]) == 2
    assert (without.n_pending, without.n_unlabeled, unlabeled.n_unlabeled) == (0, 0, 1)
    assert without.to_dict()["streams"] == unlabeled.to_dict()["streams"]


def test_rows_that_wait_are_answered_in_any_order_dropped_and_counted():
    online = OnlineCalibrator(max_pending=3)
    p = online.ask([0.1, 0.2, 0.3, 0.4], ids=["a", "b", "c", "d"])
    assert (p == OnlineCalibrator().ask([0.1, 0.2, 0.3, 0.4], ids=range(4))).all()
    assert (online.n_pending, online.n_dropped) == (3, 1)
    assert online.answer(["d", "a", "b"], [1, 1, 0]) == 2
    assert (online.n_pending, online.n_unknown, online.n_rows) == (1, 1, 2)
    assert online.answer("c", None) == 0
    assert (online.n_pending, online.n_unlabeled) == (0, 1)
    with pytest.raises(InputError, match="ids must be different"):
        online.ask([0.1, 0.2], ids=[1, 1])
    online.ask(0.5, ids=7)
    with pytest.raises(InputError, match="7 waits for its label already"):
        online.ask(0.5, ids=7)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: OnlineCalibrator(scale="percent"), "scale"),
        (lambda: OnlineCalibrator(start=3), "start must be a map or a fitted calibrator"),
        (lambda: OnlineCalibrator(classes=[1, 1]), "two or more distinct labels"),
        (lambda: OnlineCalibrator(max_pending=0), "max_pending"),
        (lambda: OnlineCalibrator().update([0.5, 1.5], [0, 1]), r"must lie in \[0, 1\]"),
        (lambda: OnlineCalibrator().update(1.5, 1), r"must lie in \[0, 1\]"),
        (lambda: OnlineCalibrator().update([0.5], [2]), "y must hold labels of"),
        (
            lambda: OnlineCalibrator().update([0.5], [1], [-1.0]),
            "sample_weight must not be negative",
        ),
        (lambda: OnlineCalibrator().ask([0.5], ids=["x" * 65]), "at most 64 characters"),
        (
            lambda: OnlineCalibrator().update([0.5], [1]).predict_proba([[0.2, 0.3, 0.5]]),
            "scores are of 3 classes; expected 2",
        ),
    ],
)
def test_what_is_wrong_is_said(make, match):
    with pytest.raises(InputError, match=match):
        make()
