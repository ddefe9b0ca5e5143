"""A map for each group: what it is, and where a group has none."""

import numpy as np
import pandas as pd
import pytest

from trueodds import AutoCalibrator, compare_calibrators
from trueodds.model_selection._per_group import MOST_GROUPS, PerGroupCalibrator


def shifted_groups(n=600, seed=0):
    rng = np.random.default_rng(seed)
    town = rng.choice(["Bern", "Graz", "", "O'Hara"], n, p=[0.5, 0.3, 0.15, 0.05])
    z = rng.normal(size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-z - 2 * (town == "Graz")))
    return z, y.astype(int), pd.DataFrame({"town": town})


def test_each_group_has_the_map_of_its_rows_alone():
    z, y, features = shifted_groups()
    fitted = PerGroupCalibrator(scale="logit").fit(z, y, features=features)
    for town in ("Bern", "Graz", "", "O'Hara"):
        own = (features["town"] == town).to_numpy()
        alone = AutoCalibrator(scale="logit").fit(z[own], y[own])
        np.testing.assert_allclose(
            fitted.predict_proba(z[own], features=features[own]),
            alone.predict_proba(z[own]),
            rtol=1e-12,
        )


def test_counts_are_repetitions_and_rows_without_weight_do_not_count():
    z, y, features = shifted_groups()
    features["age"] = np.round(20 * z) + 50
    times = np.random.default_rng(1).integers(0, 3, len(y)) * np.where(z > 0, 4, 1)
    counted = PerGroupCalibrator(scale="logit").fit(z, y, counts=times, features=features)
    rows = np.repeat(np.arange(len(y)), times)
    repeated = PerGroupCalibrator(scale="logit").fit(z[rows], y[rows], features=features.iloc[rows])
    np.testing.assert_allclose(
        counted.predict_proba(z, features=features),
        repeated.predict_proba(z, features=features),
        rtol=1e-9,
    )


def test_a_group_that_is_new_or_has_one_class_uses_the_map_of_all_rows():
    z, y, features = shifted_groups()
    y = np.where(features["town"] == "", 1, y)
    features.loc[features["town"] == "Graz", "town"] = None  # missing is a group, new ones are not
    fitted = PerGroupCalibrator(scale="logit").fit(z, y, features=features)
    other = pd.DataFrame({"town": ["", "Wien"]})
    one = AutoCalibrator(scale="logit").fit(z, y).predict_proba([0.3, 0.4])
    np.testing.assert_allclose(fitted.predict_proba([0.3, 0.4], features=other), one, rtol=1e-12)


def test_numbers_are_cut_into_fifths_and_missing_is_a_group():
    rng = np.random.default_rng(2)
    x = rng.normal(size=1000)
    x[:100] = np.nan
    z = rng.normal(size=1000)
    band = np.where(np.isnan(x), -1, np.searchsorted(np.quantile(x[100:], [0.2, 0.4, 0.6, 0.8]), x))
    y = (rng.random(1000) < 1 / (1 + np.exp(-z - band))).astype(int)
    features = np.column_stack([x, np.full(1000, np.nan)])
    fitted = PerGroupCalibrator(scale="logit").fit(z, y, features=features)
    for code in (-1, 0, 4):
        own = band == code
        alone = AutoCalibrator(scale="logit").fit(z[own], y[own]).predict_proba([0.5])
        p = fitted.predict_proba([0.5], features=features[own][:1])
        np.testing.assert_allclose(p, alone, rtol=1e-12)


def test_only_the_most_frequent_of_many_groups_have_a_map():
    rng = np.random.default_rng(3)
    n = 12 * MOST_GROUPS
    code = np.minimum(rng.integers(0, 4 * MOST_GROUPS, n), 3 * MOST_GROUPS).astype(str)
    z = rng.normal(size=n)
    y = (rng.random(n) < 0.5).astype(int)
    fitted = PerGroupCalibrator(scale="logit").fit(z, y, features=code[:, None])
    assert sum(one is not fitted.map_ for one in fitted._maps) <= MOST_GROUPS


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_comparison_with_features_has_one_map_per_group_pooled_and_tree(n_classes):
    rng = np.random.default_rng(4)
    z = rng.normal(size=(400, n_classes))
    group = rng.integers(0, 3, 400)
    y = (z + 2 * np.eye(n_classes)[group % n_classes] + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    features = pd.DataFrame({"group": group.astype(str)})
    found = compare_calibrators(p[:, 1] if n_classes == 2 else p, y, features=features, cv=3)
    one = "bayesian_smooth" if n_classes == 2 else "bayesian_structured"
    assert {one, "per_group", "group", "tree"} <= set(found.methods)
    assert found.recommended == "group"
    loss = {row["method"]: row["log_loss"] for row in found.rows()}
    assert loss["per_group"] < loss[one] - 0.02
    without = compare_calibrators(p[:, 1] if n_classes == 2 else p, y, cv=3)
    assert "per_group" not in without.methods
