from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2

from trueodds.exceptions import InputError
from trueodds.maps import IdentityMap, LogOddsCurveMap, LogOddsMap, load
from trueodds.metrics import calibration_intercept, calibration_slope, log_loss
from trueodds.model_selection import update_model


def drawn(shift, slope, n=1500, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return (rng.random(n) < expit(shift + slope * z)).astype(int), expit(z)


@pytest.mark.parametrize(
    ("shift", "slope", "expected"),
    [(0.0, 1.0, "none"), (0.8, 1.0, "intercept"), (0.3, 0.4, "logistic")],
)
def test_the_closed_test_takes_the_smallest_update_that_is_enough(shift, slope, expected):
    chosen = [update_model(*drawn(shift, slope, seed=s)).method for s in range(40)]
    # It goes too far once in twenty; of 40, more than 6 would be too many.
    assert chosen.count(expected) >= 34


def test_a_curve_is_taken_where_no_line_will_do():
    rng = np.random.default_rng(0)
    z = rng.normal(size=3000)
    y = rng.random(3000) < expit(z**2 - 1)
    update = update_model(y, expit(z))
    assert update.method == "curve"
    assert isinstance(update.map_, LogOddsCurveMap)
    assert log_loss(y, update.predict_proba(expit(z))) < log_loss(y, expit(z)) - 0.1


def test_maps_carry_the_intercept_and_the_slope(tmp_path):
    y, p = drawn(0.5, 0.6)
    shifted = update_model(y, p, method="intercept")
    assert shifted.intercept == pytest.approx(calibration_intercept(y, p))
    assert shifted.map_(p) == pytest.approx(expit(logit(p) + shifted.intercept))
    both = update_model(y, p, method="logistic")
    assert both.slope == pytest.approx(calibration_slope(y, p))
    assert isinstance(both.map_, LogOddsMap)
    both.map_.save(tmp_path / "update.json")
    assert load(tmp_path / "update.json")(p) == pytest.approx(both.predict_proba(p))
    # What the map gives needs no update any more.
    assert update_model(y, both.map_(p)).method == "none"
    assert isinstance(update_model(y, p, method="none").map_, IdentityMap)


def test_steps_are_likelihood_ratio_tests():
    y, p = drawn(0.3, 0.4)
    first, second, third = update_model(y, p).steps
    assert (first.degrees, second.degrees, third.degrees) == (3, 2, 1)
    gain = 2 * len(y) * (log_loss(y, p) - log_loss(y, update_model(y, p, method="curve").map_(p)))
    assert first.statistic == pytest.approx(gain, rel=1e-3)
    assert first.gain == pytest.approx(gain / (2 * len(y) * log_loss(y, p)), rel=1e-3)
    assert first.p_value == pytest.approx(chi2.sf(first.statistic, 3))


def test_features_that_matter_ask_for_a_revision():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 3))
    p = expit(X @ [1.0, 0.5, 0.0])
    y = rng.random(1000) < expit(X @ [1.0, 0.5, 1.0])
    update = update_model(y, p, X=X)
    assert update.method == "revision"
    assert update.map_ is None
    assert update.features == ("x0", "x1", "x2")
    # The old log-odds are a sum of the features: three coefficients and a constant are free.
    assert update.steps[0].degrees == 4
    assert log_loss(y, update.predict_proba(p, X)) < log_loss(y, p) - 0.05
    with pytest.raises(InputError, match="a revision needs the features X"):
        update.predict_proba(p)
    with pytest.raises(InputError, match="X must have 3 columns; got 2"):
        update.predict_proba(p, X[:, :2])


def test_equal_weights_change_neither_update_nor_tests():
    y, p = drawn(0.3, 0.4)
    plain, weighted = update_model(y, p), update_model(y, p, sample_weight=np.full(len(y), 3.0))
    assert weighted.slope == pytest.approx(plain.slope)
    assert [s.p_value for s in weighted.steps] == pytest.approx([s.p_value for s in plain.steps])


def test_probabilities_of_exactly_0_and_1_are_placed():
    y, p = drawn(0.3, 0.6)
    p[:20], p[20:40] = 0.0, 1.0
    update = update_model(y, p, method="logistic")
    assert 0 < update.map_([0.0])[0] < update.map_([1.0])[0] < 1


def test_what_cannot_be_updated_is_refused():
    with pytest.raises(InputError, match="separate those with the event"):
        update_model([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(InputError, match="the event never happened"):
        update_model([0, 0, 0], [0.1, 0.2, 0.3], classes=[0, 1])
    with pytest.raises(InputError, match='method="revision" needs the features X'):
        update_model([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], method="revision")


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("method", ["logistic", "revision"])
def test_probabilities_of_0_and_1_are_placed_by_maximum_likelihood(method, side):
    """Scores beyond their place count as they do, so that the order of scores is kept."""
    y, p = drawn(0.3, 0.8)
    end = float(side > 0)
    p[:200], y[:200] = end, np.arange(200) < 200 * abs(end - 0.2)
    X = np.zeros((len(p), 1))
    z = side * logit(p)

    def eta(theta, z):
        return theta[0] + theta[1] * side * np.minimum(z, theta[2])

    best = minimize(
        lambda theta: np.sum(np.logaddexp(0, eta(theta, z)) - y * eta(theta, z)),
        [0.4, 0.8, 2.0],
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 2000},
    )
    update = update_model(y, p, X=X, method=method)
    expected = expit(eta(best.x, np.inf))
    assert 0.1 < abs(end - expected) < 0.25
    assert update.predict_proba([end], X[:1]) == pytest.approx([expected], abs=0.01)


def maximum_likelihood(design, y, weight):
    """Coefficients and standard errors by SciPy, from the Hessian by differences."""
    design = np.asarray(design, dtype=float)

    def loss(theta):
        eta = design @ theta
        return np.sum(weight * (np.logaddexp(0, eta) - y * eta))

    best = minimize(loss, np.zeros(design.shape[1]), method="BFGS", options={"gtol": 1e-7}).x
    p = expit(design @ best)
    information = (design * (weight * p * (1 - p))[:, None]).T @ design
    return best, np.sqrt(np.diag(np.linalg.inv(information)))


@pytest.mark.parametrize("method", ["intercept", "logistic", "revision"])
def test_intervals_are_those_of_maximum_likelihood(method):
    rng = np.random.default_rng(5)
    y, p = drawn(0.4, 0.7, n=600)
    X = rng.normal(size=(600, 2))
    times = rng.integers(1, 4, 600)
    found = update_model(y, p, X=X, method=method, level=0.95, counts=times)
    one, z = np.ones((600, 1)), logit(p)[:, None]
    if method == "intercept":

        def loss(c):
            return np.sum(times * (np.logaddexp(0, z[:, 0] + c) - y * (z[:, 0] + c)))

        best = minimize(loss, [0.0], method="BFGS", options={"gtol": 1e-7}).x
        q = expit(z[:, 0] + best)
        coef, error = best, [1 / np.sqrt(np.sum(times * q * (1 - q)))]
    else:
        design = np.hstack([one, z] if method == "logistic" else [one, z, X])
        coef, error = maximum_likelihood(design, y, times)
    names = ["intercept", "slope", "x0", "x1"][: len(coef)]
    assert list(found.intervals) == names
    for name, value, se in zip(names, coef, error, strict=True):
        assert found.intervals[name] == pytest.approx(
            (value - 1.959964 * se, value + 1.959964 * se), abs=2e-4
        )
    before, after = found.log_loss
    assert before == pytest.approx(log_loss(y, p, counts=times))
    updated = found.predict_proba(p, X)
    assert after == pytest.approx(log_loss(y, updated, counts=times))
    assert found.gain == pytest.approx(1 - after / before)


def test_many_rows_do_not_make_a_curve_of_a_gain_that_nobody_needs():
    rng = np.random.default_rng(0)
    z = rng.normal(size=60_000)
    y = rng.random(60_000) < expit(0.1 + z - 0.06 * z**2)
    p = expit(z)
    plain = update_model(y, p, tolerance=0.0)
    assert plain.method == "curve"
    simple = update_model(y, p)
    assert simple.method == "intercept"
    last = simple.steps[-1]
    assert last.p_value < 1e-6
    assert 0 < last.gain <= 0.005
    lost = log_loss(y, simple.map_(p)) - log_loss(y, plain.map_(p))
    assert last.gain == pytest.approx(lost / log_loss(y, p), rel=1e-3)
    assert f"A curve gains {100 * last.gain:.2g}% more (p < 0.0001), within" in str(simple)
    assert "within" not in str(plain)
    # A shift alone is corrected however small its gain: a new intercept costs nothing.
    y = rng.random(60_000) < expit(0.05 + z)
    shifted = update_model(y, p)
    assert shifted.method == "intercept"
    assert shifted.gain < 0.005


def test_an_update_prints_as_a_table():
    y, p = drawn(0.3, 0.4)
    shown = repr(update_model(y, p, level=0.95)).splitlines()
    assert shown[0] == "Update: a new intercept and slope."
    assert shown[1].endswith("95% interval")
    assert shown[3].startswith("slope")
    assert " to " in shown[3]
    assert shown[-1].startswith("Log-loss 0.")
    assert len("\n".join(shown)) < 800
    curve = repr(update_model(y, p, method="curve")).splitlines()
    assert curve[0] == "Update: a curve of the log-odds."
    assert len(curve) == 2


def test_a_revision_has_an_equation_in_sql():
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"age": rng.normal(size=500), 'b"m i': rng.integers(0, 9, 500)})
    p = expit(rows["age"].to_numpy())
    p[:3] = 0.0, 1.0, 1e-12
    y = rng.random(500) < expit(rows["age"] * 1.5 + 0.2 * rows['b"m i'])
    update = update_model(y, p, X=rows, method="revision")
    frame = rows.assign(risk=p)  # noqa: F841 (read by DuckDB)
    query = f"select {update.to_sql('risk')} as q from frame"  # noqa: S608
    found = duckdb.sql(query).df()["q"]
    np.testing.assert_allclose(found, update.predict_proba(p, rows), rtol=1e-9)
    logistic = update_model(y, p, method="logistic")
    assert logistic.to_sql("risk") == logistic.map_.to_sql("risk")
    with pytest.raises(InputError, match=r"X must have the columns \['age'"):
        update.predict_proba(p, rows[['b"m i', "age"]])


@pytest.mark.parametrize(
    "column",
    [
        ["a6", "a7"] * 50,
        ["6", "7"] * 50,
        pd.Categorical(["6", "7"] * 50),
        pd.Categorical([6, 7] * 50),
        pd.array(["a", None] * 50, dtype="string"),
    ],
)
def test_texts_and_categories_are_refused_with_the_cure(column):
    y, p = drawn(0.3, 0.4, n=100)
    for X in (pd.DataFrame({"bmi": p, "age": column}), {"bmi": p, "age": column}):
        with pytest.raises(InputError, match=r"column 'age' of X has texts.*get_dummies"):
            update_model(y, p, X=X)
    with pytest.raises(InputError, match="X has texts"):
        update_model(y, p, X=np.array(["6", "7"] * 50)[:, None])
    coded = pd.get_dummies(pd.DataFrame({"bmi": p, "age": column}), drop_first=True)
    assert len(update_model(y, p, X=coded, method="revision").coef) == coded.shape[1]
    polars = pl.DataFrame({"bmi": p, "age": pl.Series(["x", "y"] * 50, dtype=pl.Categorical)})
    with pytest.raises(InputError, match="column 'age' of X has texts"):
        update_model(y, p, X=polars)
