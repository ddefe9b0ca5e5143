"""One map with pooled effects of groups."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import trueodds
from support.naive_group import naive_pooling
from trueodds import CalibratedClassifier, GroupCalibrator
from trueodds.calibrators._group.levels import category_levels, crossed, number_levels
from trueodds.calibrators._group.pooling import Pooling, Prior
from trueodds.calibrators._group.search import PRIOR
from trueodds.calibrators._group.small_groups import log_evidence_of_groups
from trueodds.calibrators._group.terms import terms_of
from trueodds.exceptions import InputError
from trueodds.maps import GroupMap, GroupTerm, LogOddsMap
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


def _same_answers(one, other, p, features, more):
    """Forecasts and intervals of two fits, one with more columns."""
    found = other.predict_proba(p, features=more)
    np.testing.assert_allclose(found, one.predict_proba(p, features=features), atol=1e-12)
    for found, expected in zip(
        other.predict_interval(p, features=more),
        one.predict_interval(p, features=features),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)


REDUNDANT = {
    "the same column twice": (lambda d: d.assign(more=d["region"]), "region"),
    "a name of each category": (lambda d: d.assign(more="the " + d["region"]), "region"),
    "a code": (lambda d: d.assign(more=d["region"].str[1:].astype(int) * 7 % 8), "region"),
    "a number in other units": (lambda d: d.assign(more=12 * d["age"]), "age"),
    "a number in reverse": (lambda d: d.assign(more=-d["age"]), "age"),
    "a constant number": (lambda d: d.assign(more=3.0), None),
    "a constant text": (lambda d: d.assign(more="k"), None),
    "missing numbers": (lambda d: d.assign(more=np.nan), None),
    "missing values": (lambda d: d.assign(more=None), None),
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("name", REDUNDANT)
def test_a_column_that_says_nothing_new_changes_nothing(name, first):
    p, y, frame, _ = drawn(900)
    add, twin = REDUNDANT[name]
    more = add(frame)
    if first:
        more = more[["more", *frame.columns]]
    one = GroupCalibrator().fit(p, y, features=frame)
    other = GroupCalibrator().fit(p, y, features=more)
    _same_answers(one, other, p, frame, more)
    swapped = first and twin is not None and name != "a code"
    assert other.unused_ == ({twin: "more"} if swapped else {"more": twin})
    assert one.unused_ == {}
    kept = ["score", "region", "age", "noise"]
    assert sorted(other.included_) == sorted("more" if swapped and f == twin else f for f in kept)


def test_many_redundant_categories_are_used_once():
    rng = np.random.default_rng(0)
    group, z = rng.integers(0, 400, 3000), rng.normal(size=3000)
    y = rng.random(3000) < expit(z + rng.normal(size=400)[group])
    names = pd.DataFrame({"code": group, "name": [f"g{k}" for k in group]})
    one = GroupCalibrator().fit(expit(z), y, features=names[["name"]])
    other = GroupCalibrator(categorical=["code"]).fit(expit(z), y, features=names)
    assert other.unused_ == {"name": "code"}
    _same_answers(one, other, expit(z), names[["name"]], names)


def test_a_number_with_more_values_than_bins_is_used_next_to_its_text():
    """Days and their names: a trend is no group effect."""
    rng = np.random.default_rng(0)
    day, z = rng.integers(0, 50, 2000), rng.normal(size=2000)
    true = expit(z + (day - 25) / 15)
    y = rng.random(2000) < true
    frame = pd.DataFrame({"day": day, "name": [f"day {d}" for d in day]})
    both = GroupCalibrator().fit(expit(z), y, features=frame)
    names = GroupCalibrator().fit(expit(z), y, features=frame[["name"]])
    assert both.unused_ == {}
    errors = [
        np.mean((fit.predict_proba(expit(z), features=frame)[:, 1] - true) ** 2)
        for fit in (both, names)
    ]
    assert errors[0] < 0.5 * errors[1]


def test_columns_without_effects_may_be_absent_or_new_in_later_rows(sample, fitted, tmp_path):
    p, y, frame, _ = sample
    more = frame.assign(name="the " + frame["region"], year=2026, gone=np.nan)
    other = GroupCalibrator().fit(p, y, features=more)
    assert other.unused_ == {"name": "region", "year": None, "gone": None}
    assert other.map_.used_features == ("region", "age", "noise")
    expected = fitted.predict_proba(p, features=frame)
    for later in (frame, more.assign(name="renamed", year="2027", gone="text"), more[::-1][::-1]):
        np.testing.assert_array_equal(other.predict_proba(p, features=later), expected)
    rows = more.assign(name="renamed").to_numpy(dtype=object)
    np.testing.assert_array_equal(other.map_(p, features=rows), expected[:, 1])
    other.map_.save(tmp_path / "map.json")
    np.testing.assert_array_equal(
        trueodds.load(tmp_path / "map.json")(p, features=frame), expected[:, 1]
    )
    with pytest.raises(InputError, match=r"lacks the columns \['region'\]"):
        other.predict_proba(p, features=more.drop(columns="region"))


def test_an_interaction_of_nested_features_is_no_interaction():
    rng = np.random.default_rng(0)
    n = 6000
    city, z = rng.integers(0, 12, n), rng.normal(size=n)
    y = rng.random(n) < expit(z + rng.normal(size=12)[city])
    frame = pd.DataFrame({"city": city.astype(str), "region": (city // 4).astype(str)})
    fitted = GroupCalibrator().fit(expit(z), y, features=frame)
    assert ("city", "region") not in dict(fitted.interactions_)
    assert fitted.unused_ == {}


def _covered(rows_per_group, n_groups, effect, seed):
    """Shares of seen and of unseen groups whose true probability lies within 90% intervals."""
    rng = np.random.default_rng(seed)
    shift = rng.normal(0, effect, 2 * n_groups)
    group = np.repeat(np.arange(n_groups), rows_per_group)
    z = rng.normal(0, 1.2, len(group))
    y = rng.random(len(group)) < expit(z + shift[group])
    fitted = GroupCalibrator(categorical=[0]).fit(expit(z), y, features=group[:, None])
    z, every = rng.normal(0, 1.2, 2 * n_groups), np.arange(2 * n_groups)[:, None]
    low, high = fitted.predict_interval(expit(z), features=every)
    inside = (low <= expit(z + shift)) & (expit(z + shift) <= high)
    return inside[:n_groups].mean(), inside[n_groups:].mean()


@pytest.mark.parametrize(
    ("rows_per_group", "n_groups"), [(1, 100), (1, 1000), (3, 1000), (10, 310)]
)
def test_intervals_of_tiny_and_unseen_groups_contain_the_true_probability(rows_per_group, n_groups):
    """Effects have a standard deviation of 1; Laplace's method covers 48% to 86%."""
    found = np.mean([_covered(rows_per_group, n_groups, 1.0, seed) for seed in range(3)], axis=0)
    assert (found > 0.87).all()
    assert (found < 0.97).all()


@pytest.mark.parametrize("rows_per_group", [1, 2, 4])
def test_evidence_of_small_groups_is_that_of_a_fine_integral(rows_per_group):
    """Against integrals on a fine grid, of groups whose mean probability is given."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(50), rows_per_group)
    eta, weight = rng.normal(-1, 1.5, len(codes)), rng.integers(1, 3, len(codes)).astype(float)
    y = (rng.random(len(codes)) < expit(eta + rng.normal(size=50)[codes])).astype(float)
    deviations = np.array([0.1, 0.5, 1.0, 1.6])
    found = log_evidence_of_groups(eta, y, weight, codes, 50, deviations)

    a = np.linspace(-12, 12, 4001)
    for k, deviation in enumerate(deviations):
        density = np.exp(-0.5 * (a / deviation) ** 2)
        density /= density.sum()
        given = [
            brentq(lambda m, e=e, d=density: d @ expit(m + a) - expit(e), -60, 60) for e in eta
        ]
        of_rows = weight[:, None] * np.where(
            y[:, None] > 0,
            log_expit(np.array(given)[:, None] + a),
            log_expit(-np.array(given)[:, None] - a),
        )
        of_groups = [np.log(density @ np.exp(of_rows[codes == g].sum(axis=0))) for g in range(50)]
        none = weight @ np.where(y > 0, log_expit(eta), log_expit(-eta))
        assert found[k] == pytest.approx(sum(of_groups) - none, abs=0.2)


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
    """Nine of ten rows, in part of the simulation of benchmarks/coverage/group_intervals.py."""
    covered, of_effects = [], []
    for seed in range(24):
        p, y, frame, _ = drawn(1000, effect=0.5, seed=seed)
        fitted = GroupCalibrator().fit(p, y, features=frame)
        shift = 0.5 * np.linspace(-1, 1, 8)
        shift -= shift[frame["region"].str[1:].astype(int)].mean()
        of_effects += [
            e.low <= shift[int(e.level[1:])] <= e.high for e in fitted.effects_.of("region")
        ]
        p, _, frame, true = drawn(2000, effect=0.5, seed=1000 + seed)
        low, high = fitted.predict_interval(p, features=frame)
        covered.append(np.mean((low <= true) & (true <= high)))
    assert 0.86 < np.mean(covered) < 0.97
    assert 0.84 < np.mean(of_effects) < 0.98


@pytest.mark.parametrize("effect", [0.0, 0.4, 1.2])
def test_intervals_of_effects_are_those_of_a_uniform_prior_of_their_deviation(effect):
    """Against draws from the posterior, integrated on a grid without any normal approximation."""
    rng = np.random.default_rng(3)
    sizes = np.array([12, 20, 30, 45, 60, 80, 120, 200])
    group = np.repeat(np.arange(8), sizes)
    shift = effect * rng.normal(size=8)
    z = rng.normal(size=len(group))
    y = (rng.random(len(group)) < expit(z + shift[group])).astype(float)

    a, tau = np.linspace(-6, 6, 1201), np.linspace(0.005, 1.995, 200)
    eta = z[:, None] + a
    by_row = y[:, None] * eta - np.logaddexp(0, eta)
    likelihood = np.stack([by_row[group == g].sum(axis=0) for g in range(8)])
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    prior = np.exp(-0.5 * (a / tau[:, None]) ** 2)
    prior /= prior.sum(axis=1, keepdims=True)
    evidence = np.log(prior @ likelihood.T).sum(axis=1)
    chosen = rng.choice(200, 4000, p=np.exp(evidence - np.logaddexp.reduce(evidence)))
    draws = np.empty((4000, 8))
    for k in np.unique(chosen):
        for g in range(8):
            density = prior[k] * likelihood[g]
            draws[chosen == k, g] = rng.choice(a, (chosen == k).sum(), p=density / density.sum())
    draws -= (draws @ sizes / sizes.sum())[:, None]

    weight = np.ones(len(group))
    pooling = Pooling(z, z, y, weight, PRIOR)
    pooling.add(category_levels(0, group.astype(float), weight, 8), "shift")
    pooling.refine(4, 3)
    pooling.refine(1, 10)
    (_, term), _ = terms_of(pooling, 0)
    mean, _, (variance,) = term.for_intervals()
    half = 1.6449 * np.sqrt(variance[:8])
    found = np.stack([mean[:8] - half, mean[:8] + half])
    expected = np.quantile(draws, [0.05, 0.95], axis=0)
    # A group of 12 rows with a large effect has a skew posterior.
    assert (abs(found - expected) < 0.16 * (expected[1] - expected[0])).all()
    assert (abs(found - expected)[:, 4:] < 0.06).all()


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.UnknownCategoriesWarning")
def test_an_interval_has_its_own_effects_and_the_forecast_does_not():
    """By hand, row by row: a shift with a slope for all rows, and shifts of two towns."""
    rng = np.random.default_rng(0)
    base, low, high = (LogOddsMap(a=0.8, b=0.8, c=c) for c in (0.1, -0.3, 0.6))
    own = np.array([[0.5], [-0.2], [0.3], [0.1], [0.2]])
    every = ([0.2], [0.1], [[0.02], [0.01], [0.03]])
    towns = ([0.4, -0.3, 0.1, 0.0], [], [[0.05, 0.1, 0.2, 0.4]])
    own_towns = rng.uniform(0.2, 0.9, (2, 4))
    fields = {
        "base": base, "center": [0.2], "unit": [1.7], "names": ("town",),
        "categories": (("A", "B"),),
    }  # fmt: skip
    plain, grouped = (
        GroupMap(
            terms=(
                GroupTerm(0, (), (), *every, *([own] if has_own else [])),
                GroupTerm(0, (0,), (None,), *towns, *([own_towns] if has_own else [])),
            ),
            **fields,
        )
        for has_own in (False, True)
    )
    s, features = np.array([0.03, 0.4, 0.9, 0.6]), [["A"], ["B"], [None], ["C"]]
    np.testing.assert_array_equal(grouped(s, features=features), plain(s, features=features))
    assert grouped != plain
    document = json.loads(json.dumps(grouped.to_dict()))
    assert trueodds.CalibrationMap.from_dict(document) == grouped
    assert "interval" not in json.dumps(plain.to_dict())
    found = grouped.with_band(low, high, level=0.8).interval(s, features)
    for k in range(4):
        m = 0.8 * logit(s[k]) + 0.1
        z = (m - 0.2) / 1.7
        eta = m + own[0, 0] + own[1, 0] * z + own_towns[0, k]
        v = own[2, 0] + 2 * own[3, 0] * z + own[4, 0] * z**2 + own_towns[1, k]
        reach = 1.2815515655446004
        ends = [eta - np.hypot(0.4, reach * v**0.5), eta + np.hypot(0.5, reach * v**0.5)]
        forecast = plain(s[[k]], features=[features[k]])[0]
        np.testing.assert_allclose(found[0][k], min(expit(ends[0]), forecast), atol=1e-12)
        np.testing.assert_allclose(found[1][k], max(expit(ends[1]), forecast), atol=1e-12)


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        ([[0.1]], r"interval must have shape \(5, 1\)"),
        ([[0.1], [0.1], [-1.0], [0.0], [1.0]], "variances and covariances"),
        ([[0.1], [0.1], [1.0], [2.0], [1.0]], "variances and covariances"),
        ([[np.nan], [0.1], [1.0], [0.0], [1.0]], "interval must be finite"),
        ([[1e7], [0.1], [1.0], [0.0], [1.0]], "must lie within"),
        ("wide", "interval must be an array of numbers"),
    ],
)
def test_senseless_tables_of_intervals_are_refused(interval, message):
    term = GroupTerm(0, (), (), [0.2], [0.1], [[0.02], [0.01], [0.03]], interval)
    with pytest.raises(InputError, match=message):
        GroupMap(
            base=LogOddsMap(a=1.0, b=1.0, c=0.0), center=[0.0], unit=[1.0], names=None,
            categories=(None,), terms=(term,),
        )  # fmt: skip


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
