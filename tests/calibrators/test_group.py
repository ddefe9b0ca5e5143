"""One map with pooled effects of groups."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit, logit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import trueodds
from support.naive_group import naive_pooling
from trueodds import CalibratedClassifier, GroupCalibrator
from trueodds.calibrators._group.levels import category_levels, crossed, number_levels
from trueodds.calibrators._group.pooling import Pooling, Prior
from trueodds.exceptions import InputError
from trueodds.metrics import log_loss


def drawn(n=1500, n_groups=8, effect=0.8, seed=0):
    """Scores that are off by a shift in each group and by a number; another number is noise."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, n)
    group = rng.integers(0, n_groups, n)
    shift = effect * np.linspace(-1, 1, n_groups)
    age, noise = rng.normal(40, 10, n), rng.normal(size=n)
    true = expit(z + shift[group] + effect * (age - 40) / 20)
    y = (rng.random(n) < true).astype(int)
    frame = pd.DataFrame({"region": [f"r{g}" for g in group], "age": age, "noise": noise})
    return expit(z), y, frame, true


@pytest.fixture(scope="module")
def sample():
    return drawn()


@pytest.fixture(scope="module")
def fitted(sample):
    p, y, frame, _ = sample
    return GroupCalibrator().fit(p, y, features=frame)


@pytest.mark.parametrize("has_wide", [False, True])
def test_the_posterior_is_that_of_a_dense_design_matrix(has_wide):
    rng = np.random.default_rng(1)
    n = 400
    z, x = rng.normal(size=(2, n))
    group, many = rng.integers(0, 4, n).astype(float), rng.integers(0, 40, n).astype(float)
    group[:20] = np.nan
    weight = rng.integers(1, 4, n).astype(float)
    y = (rng.random(n) < expit(z + 0.7 * np.nan_to_num(group) - 1 + 0.3 * x)).astype(float)
    regions, numbers = category_levels(0, group, weight, 4), number_levels(1, x, weight, 5)
    both = crossed([regions, number_levels(-1, z, weight, 3)], weight)
    wide = category_levels(2, many, weight, 40) if has_wide else None
    pooling = Pooling(z, z, y, weight, Prior(0.5, 0.9, 0.8), wide)
    blocks = ((regions, "shift"), (numbers, "shift"), (regions, "slope"), (both, "interaction"))
    for levels, kind in blocks:
        pooling.add(levels, kind)
    pooling.refine(3, 3)
    pooling.refine(1, 8)

    def dense(levels, kind="shift"):
        columns = levels.to_levels(np.eye(levels.n_columns))[levels.codes]
        return columns * z[:, None] if kind == "slope" else columns

    mean, covariance, weights = naive_pooling(
        [dense(*block) for block in blocks],
        [kind for _, kind in blocks],
        None if wide is None else dense(wide),
        z, y, weight, {"shift": 0.5, "slope": 0.9, "interaction": 0.8}, ((3, 3), (1, 8)),
    )  # fmt: skip
    k = len(pooling.mean)
    np.testing.assert_allclose(pooling.mean, mean[:k], atol=1e-8)
    np.testing.assert_allclose(pooling.covariance, covariance[:k, :k], atol=1e-8)
    for block, expected in zip(pooling.all_blocks, weights, strict=True):
        np.testing.assert_allclose(block.weights, expected, atol=1e-8)
    if has_wide:
        np.testing.assert_allclose(pooling.wide_mean, mean[k:], atol=1e-8)
        variance = np.diag(covariance)[k:]
        np.testing.assert_allclose(pooling.wide_variance(), variance, atol=1e-8)


def test_it_is_nearer_to_the_true_probability_than_one_map(sample, fitted):
    p, _, frame, true = sample
    one = fitted.base_.predict_proba(p)[:, 1]
    grouped = fitted.predict_proba(p, features=frame)[:, 1]
    assert np.mean((grouped - true) ** 2) < 0.2 * np.mean((one - true) ** 2)


def test_features_that_matter_are_told_from_one_that_does_not(fitted):
    assert list(fitted.included_) == ["score", "region", "age", "noise"]
    assert fitted.included_["region"] > 0.99
    assert fitted.included_["age"] > 0.99
    assert fitted.included_["noise"] < 0.6


def test_effects_are_the_shifts_with_intervals(fitted):
    effects = fitted.effects_.of("region")
    assert [e.level for e in effects] == [f"r{g}" for g in range(8)]
    assert sum(e.rows for e in effects) == 1500
    shifts = np.array([e.shift for e in effects])
    np.testing.assert_allclose(shifts, 0.8 * np.linspace(-1, 1, 8), atol=0.35)
    assert all(e.low < e.shift < e.high for e in effects)
    assert len(fitted.effects_.to_frame()) == len(fitted.effects_)
    assert abs(sum(e.rows * e.shift for e in effects)) < 1e-8 * 1500
    assert "region" in str(fitted.effects_)


@pytest.mark.slow
def test_no_effects_cost_next_to_nothing():
    """Mean excess log-loss over the one map, with six features that change nothing."""
    costs = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        z = rng.normal(0, 1.5, 21_000)
        true = expit(z)
        y = rng.random(21_000) < true
        features = np.column_stack([rng.integers(0, 8, (21_000, 3)), rng.normal(size=(21_000, 3))])
        own, new = slice(0, 1000), slice(1000, None)
        model = GroupCalibrator(categorical=[0, 1, 2])
        model.fit(true[own], y[own], features=features[own])
        one = model.base_.predict_proba(true[new])[:, 1]
        grouped = model.predict_proba(true[new], features=features[new])[:, 1]
        costs.append(_risk(true[new], grouped) - _risk(true[new], one))
    assert np.mean(costs) < 3e-4


def _risk(true, p):
    return -np.mean(true * np.log(p) + (1 - true) * np.log(1 - p))


def test_a_category_that_was_not_seen_has_the_mean_effect_and_a_wide_interval(sample, fitted):
    frame = sample[2].iloc[:3].assign(region=["r0", "nowhere", None])
    q = fitted.predict_proba([0.5] * 3, features=frame)[:, 1]
    low, high = fitted.predict_interval([0.5] * 3, features=frame)
    assert np.isfinite(q).all()
    assert (low < q).all()
    assert (q < high).all()
    assert high[1] - low[1] > 2 * (high[0] - low[0])
    assert high[2] - low[2] > 2 * (high[0] - low[0])  # missing was not seen either


def test_missing_values_are_a_level_of_their_own():
    p, y, frame, _ = drawn(2000)
    gone = np.arange(2000) % 4 == 0
    y = np.where(gone, 1, y)
    frame["region"] = frame["region"].where(~gone, None)
    fitted = GroupCalibrator().fit(p, y, features=frame)
    q = fitted.predict_proba(p, features=frame)[:, 1]
    assert q[gone].mean() > 0.95
    assert abs(q[~gone].mean() - y[~gone].mean()) < 0.02
    assert "(missing)" in [e.level for e in fitted.effects_.of("region")]


def test_frames_arrays_and_declared_codes_agree(sample):
    p, y, frame, _ = sample
    codes = frame.assign(region=frame["region"].str[1:].astype(float))
    asked = {
        "pandas": (frame, None),
        "polars": (pl.from_pandas(frame), None),
        "category": (frame.astype({"region": "category"}), None),
        "codes": (codes, ["region"]),
        "array": (codes.to_numpy(), [0]),
    }
    found = {
        name: GroupCalibrator(categorical=codes).fit(p, y, features=X).predict_proba(p, features=X)
        for name, (X, codes) in asked.items()
    }
    for other in found.values():
        np.testing.assert_allclose(other, found["pandas"], atol=1e-9)


def test_the_map_is_saved_and_gives_the_same(sample, fitted, tmp_path):
    p, _, frame, _ = sample
    expected = fitted.predict_proba(p, features=frame)
    fitted.map_.save(tmp_path / "map.json")
    read = trueodds.load(tmp_path / "map.json")
    assert read == fitted.map_
    np.testing.assert_array_equal(read(p, features=frame), expected[:, 1])
    copied = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(copied.predict_proba(p, features=frame), expected)
    assert len(json.dumps(fitted.map_.to_dict())) < 60_000  # no training rows inside


def test_python_source_and_sql_equal_the_map_on_hostile_levels():
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    names = np.array(
        ["", "O'Brien", '"quoted"', "-- ; drop", "NaN", "null", "ö\n", None], dtype=object
    )
    group = rng.choice(names, 3000)
    z = rng.normal(size=3000)
    shift = {name: k / 3 - 1 for k, name in enumerate(names)}
    y = rng.random(3000) < expit(z + np.array([shift[g] for g in group]))
    x = np.where(rng.random(3000) < 0.1, np.nan, rng.normal(size=3000).round(1))
    frame = pd.DataFrame({"p": expit(z), "the group": group, 'a "number"': x})
    features = frame[["the group", 'a "number"']]
    fitted = GroupCalibrator().fit(frame["p"], y, features=features)
    new = frame.iloc[:300].reset_index(drop=True)
    new.loc[:5, "the group"] = "never seen"
    asked = new[["the group", 'a "number"']]
    expected = fitted.map_(new["p"], features=asked)
    query = f"SELECT {fitted.map_.to_sql('p')} AS q FROM new"  # noqa: S608
    found = duckdb.sql(query).df()["q"]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    source: dict = {}
    exec(fitted.map_.to_python(), source)  # noqa: S102
    rows = asked.astype(object).where(asked.notna(), None).to_dict("records")
    answers = [source["calibrate"](s, r) for s, r in zip(new["p"], rows, strict=True)]
    np.testing.assert_allclose(answers, expected, atol=1e-9)
    pytest.importorskip("onnx")
    with pytest.raises(InputError, match="empty"):
        fitted.map_.to_onnx()  # a tensor of texts cannot tell an empty one from a missing one


def test_a_hundred_thousand_levels():
    rng = np.random.default_rng(0)
    n = 40_000
    group, z = rng.integers(0, 100_000, n), rng.normal(size=n)
    frequent = rng.random(n) < 0.5
    group[frequent] = rng.integers(0, 20, frequent.sum())
    shift = rng.normal(0, 1, 100_000)
    y = rng.random(n) < expit(z + shift[group])
    features = np.column_stack([group, rng.normal(size=n)])
    fitted = GroupCalibrator(categorical=[0]).fit(expit(z), y, features=features)
    found = {e.level: e for e in fitted.effects_.of("x0")}
    inner = np.array([found[str(k)].shift for k in range(20)])
    assert np.corrcoef(inner, shift[:20])[0, 1] > 0.98
    q = fitted.predict_proba(expit(z), features=features)[:, 1]
    assert log_loss(y, q) < log_loss(y, fitted.base_.predict_proba(expit(z)))


def test_constant_and_absent_features_change_nothing(sample):
    p, y, _, _ = sample
    frame = pd.DataFrame(
        {"constant": 3.0, "text": "a", "gone": np.nan, "none": None}, index=range(1500)
    )
    fitted = GroupCalibrator().fit(p, y, features=frame)
    q = fitted.predict_proba(p, features=frame)[:, 1]
    one = fitted.base_.predict_proba(p)[:, 1]
    assert abs(q - one).max() < 0.02


@pytest.mark.parametrize(("n_values", "n"), [(60, 6000), (500, 20_000)])
def test_values_of_the_score_may_have_effects(n_values, n):
    """Frequencies scatter around a smooth curve, by more than chance; 500 are eliminated."""
    rng = np.random.default_rng(0)
    values = np.linspace(0.1, 0.9, n_values)
    true = expit(2 * logit(values) + rng.normal(0, 0.7, n_values))
    place = rng.integers(0, n_values, n)
    y = rng.random(n) < true[place]
    features = rng.normal(size=(n, 1))
    fitted = GroupCalibrator().fit(values[place], y, features=features)
    q = fitted.predict_proba(values, features=features[:n_values])[:, 1]
    one = fitted.base_.predict_proba(values)[:, 1]
    assert np.mean((q - true) ** 2) < 0.85 * np.mean((one - true) ** 2)
    assert len({(e.feature, e.level) for e in fitted.effects_}) == len(fitted.effects_)


def test_several_classes_have_effects_of_their_own():
    rng = np.random.default_rng(0)
    n = 3000
    logits, group = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    true = logits.copy()
    true[np.arange(n), group] += 1.0
    draws = true + rng.gumbel(size=(n, 3))
    y = np.array(["a", "b", "c"])[draws.argmax(axis=1)]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    fitted = GroupCalibrator(categorical=[0]).fit(p, y, features=group[:, None])
    q = fitted.predict_proba(p, features=group[:, None])
    np.testing.assert_allclose(q.sum(axis=1), 1)
    assert log_loss(y, q) < log_loss(y, fitted.base_.predict_proba(p)) - 0.05
    assert {e.label for e in fitted.effects_} == {"a", "b", "c"}
    low, high = fitted.predict_interval(p[:9], features=group[:9, None])
    assert low.shape == (9, 3)
    assert ((low <= q[:9]) & (q[:9] <= high)).all()


def test_interactions_are_found_when_they_are_there():
    rng = np.random.default_rng(0)
    n = 6000
    z, a, b = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    y = rng.random(n) < expit(z + np.where(a == b, 0.7, -0.7))
    features = pd.DataFrame({"a": a.astype(str), "b": b.astype(str)})
    fitted = GroupCalibrator().fit(expit(z), y, features=features)
    assert dict(fitted.interactions_)["a", "b"] > 0.99
    q = fitted.predict_proba(np.full(n, 0.5), features=features)[:, 1]
    np.testing.assert_allclose(q, expit(np.where(a == b, 0.7, -0.7)), atol=0.05)


def test_a_calibrated_classifier_takes_the_features_by_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=3000), "town": rng.choice(["A", "B"], 3000)})
    y = rng.random(3000) < expit(frame["x"] + 2 * (frame["town"] == "A"))
    model = make_pipeline(make_column_transformer(("passthrough", ["x"])), LogisticRegression())
    plain = CalibratedClassifier(model).fit(frame, y)
    grouped = CalibratedClassifier(model, GroupCalibrator()).fit(frame, y)
    other_order = frame[["town", "x"]]
    q = grouped.predict_proba(other_order)[:, 1]
    np.testing.assert_array_equal(q, grouped.predict_proba(frame)[:, 1])
    assert log_loss(y, q) < log_loss(y, plain.predict_proba(frame)[:, 1]) - 0.05


@pytest.mark.slow
def test_intervals_contain_the_true_probability():
    """Nine of ten rows, in a tenth of the simulation of benchmarks/coverage/group_intervals.py."""
    covered = []
    for seed in range(12):
        p, y, frame, _ = drawn(1000, effect=0.5, seed=seed)
        fitted = GroupCalibrator().fit(p, y, features=frame)
        p, _, frame, true = drawn(2000, effect=0.5, seed=1000 + seed)
        low, high = fitted.predict_interval(p, features=frame)
        covered.append(np.mean((low <= true) & (true <= high)))
    assert 0.86 < np.mean(covered) < 0.97


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categorical": "region"}, "categorical must be a list"),
        ({"categorical": ["town"]}, "which features lacks"),
        ({"base": "beta"}, "base must be a calibrator"),
        ({"base": GroupCalibrator()}, "does not need features"),
    ],
)
def test_senseless_options_are_refused(sample, options, message):
    p, y, frame, _ = sample
    with pytest.raises(InputError, match=message):
        GroupCalibrator(**options).fit(p, y, features=frame)


def test_features_are_required(sample, fitted):
    p, y, frame, _ = sample
    with pytest.raises(InputError, match="needs the original features"):
        GroupCalibrator().fit(p, y)
    with pytest.raises(InputError, match="needs the original features"):
        fitted.predict_proba(p)
    with pytest.raises(InputError, match="features lacks the columns"):
        fitted.predict_proba(p, features=frame[["age"]])
    with pytest.raises(InputError, match="inconsistent"):
        fitted.predict_proba(p[:5], features=frame)


def test_another_base_is_used(sample):
    p, y, frame, _ = sample
    fitted = GroupCalibrator(base=trueodds.BetaCalibrator()).fit(p, y, features=frame)
    assert isinstance(fitted.base_, trueodds.BetaCalibrator)
    assert fitted.map_.base == fitted.base_.map_.with_classes(None)
