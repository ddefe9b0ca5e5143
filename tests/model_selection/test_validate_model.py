from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from trueodds.exceptions import InputError, UndefinedReplicatesWarning
from trueodds.metrics import brier_score, c_statistic
from trueodds.model_selection import validate_model
from trueodds.model_selection._validate_model import _plus

ONLY = {"c_statistic": c_statistic, "brier_score": brier_score}


def make(n, seed, n_features=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, (rng.random(n) < expit(1.2 * X[:, 0])).astype(int)


@pytest.fixture(scope="module")
def rows():
    return make(150, 0)


@pytest.fixture(scope="module")
def model():
    return LogisticRegression(C=1e6)


@pytest.mark.slow
def test_the_bootstrap_finds_most_of_the_optimism(model):
    new_X, new_y = make(20_000, 99)
    gaps = {"apparent": [], "harrell": [], "632+": []}
    for seed in range(6):
        X, y = make(120, seed)
        truth = brier_score(new_y, model.fit(X, y).predict_proba(new_X))
        for method in ("harrell", "632+"):
            found = validate_model(
                model, X, y, method=method, metrics=ONLY, n_resamples=20, random_state=seed
            )
            gaps[method].append(found.corrected["brier_score"] - truth)
        gaps["apparent"].append(found.apparent["brier_score"] - truth)
    bias = {name: abs(np.mean(values)) for name, values in gaps.items()}
    assert bias["harrell"] < 0.5 * bias["apparent"]
    assert bias["632+"] < 0.5 * bias["apparent"]


def test_default_metrics_and_the_table(rows, model):
    found = validate_model(model, *rows, n_resamples=5, random_state=0)
    assert found.apparent["slope"] == pytest.approx(1.0, abs=0.01)
    assert found.corrected["slope"] < 1
    assert found.optimism["slope"] == found.apparent["slope"] - found.corrected["slope"]
    assert list(found.to_frame()["metric"]) == list(found.apparent)
    assert "corrected" in str(found)


def test_each_group_is_left_out_once(rows, model):
    X, y = rows
    site = np.repeat(["a", "b", "c"], 50)
    found = validate_model(model, X, y, method="internal_external", clusters=site, metrics=ONLY)
    assert found.clusters == ("a", "b", "c")
    own = model.fit(X[50:], y[50:]).predict_proba(X[:50])
    assert found.replicates["brier_score"][0] == pytest.approx(brier_score(y[:50], own))
    assert found.corrected["brier_score"] == pytest.approx(found.replicates["brier_score"].mean())


def test_the_result_does_not_depend_on_the_number_of_threads(rows, model):
    one = validate_model(model, *rows, metrics=ONLY, n_resamples=4, random_state=1)
    two = validate_model(model, *rows, metrics=ONLY, n_resamples=4, random_state=1, n_jobs=2)
    assert one.corrected == two.corrected


def test_rows_of_a_group_are_drawn_together(rows, model):
    X, y = rows
    seen = []

    class Spy(LogisticRegression):
        def fit(self, X, y):
            seen.append(set(X[:, -1].astype(int)))
            return super().fit(X, y)

    unit = np.repeat(np.arange(15), 10)
    marked = np.column_stack([X, np.arange(150)])
    spy = Spy(max_iter=2000)
    validate_model(spy, marked, y, clusters=unit, metrics=ONLY, n_resamples=3, random_state=0)
    assert len(seen) == 1 + 3
    for drawn in seen[1:]:
        groups = {row // 10 for row in drawn}
        assert drawn == {row for row in range(150) if row // 10 in groups}


def test_the_632_plus_weights_by_hand():
    # No overfitting: the plain .632; full overfitting: what was left out.
    assert _plus(0.1, 0.1, 0.5) == pytest.approx(0.1)
    assert _plus(0.0, 0.5, 0.5) == pytest.approx(0.5)
    assert _plus(0.0, 0.9, 0.5) == pytest.approx(0.5)
    overfit = 0.25 / 0.5
    weight = 0.632 / (1 - 0.368 * overfit)
    assert _plus(0.0, 0.25, 0.5) == pytest.approx(weight * 0.25)
    assert _plus(1.0, 1.02, 1.0) == pytest.approx(1 + 0.632 * 0.02)


def test_a_slope_that_is_not_finite_is_left_out_with_a_warning(rows):
    forest = RandomForestClassifier(5, random_state=0)
    with pytest.warns(UndefinedReplicatesWarning, match="slope in"):
        found = validate_model(forest, *rows, method="harrell", n_resamples=3, random_state=0)
    assert np.isfinite(found.corrected["c_statistic"])


def test_what_cannot_be_validated_is_refused(rows, model):
    X, y = rows
    with pytest.raises(
        InputError, match="needs clusters= with at least two different clusters; got 0"
    ):
        validate_model(model, X, y, method="internal_external")
    with pytest.raises(InputError, match="two classes; got 3"):
        validate_model(model, X, np.arange(150) % 3)
    with pytest.raises(InputError, match="method must be one of"):
        validate_model(model, X, y, method="jackknife")
