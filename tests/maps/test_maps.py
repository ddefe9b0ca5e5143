"""Every family of maps computes what its docstring says."""

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit, log_softmax, logit, softmax

from support.map_examples import examples
from trueodds import maps
from trueodds.exceptions import InputError

inner = st.floats(0.001, 0.999)


@given(inner, st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
def test_log_odds_map_is_its_formula(p, a, b, c):
    expected = expit(a * np.log(p) - b * np.log1p(-p) + c)
    assert maps.LogOddsMap(a=a, b=b, c=c)([p])[0] == pytest.approx(expected, rel=1e-12)


@given(inner, st.floats(0.1, 3), st.floats(0.1, 3), st.floats(-3, 3))
def test_log_odds_map_gives_the_same_from_probabilities_and_from_log_odds(p, a, b, c):
    from_p = maps.LogOddsMap(a=a, b=b, c=c)([p])
    from_z = maps.LogOddsMap(a=a, b=b, c=c, scale="logit")([logit(p)])
    np.testing.assert_allclose(from_p, from_z, rtol=1e-9)


def test_log_odds_map_brings_the_ends_to_their_levels():
    fitted = maps.LogOddsMap(a=2.0, b=0.5, c=0.1, lower=-3.0, upper=5.0)
    inside = fitted(expit([-3.0, 5.0]))
    np.testing.assert_allclose(fitted([0.0, 1.0]), inside, rtol=1e-12)
    np.testing.assert_allclose(fitted([1e-200, 1 - 1e-16]), inside, rtol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_log_odds_map_takes_infinite_log_odds(a, b):
    p = maps.LogOddsMap(a=a, b=b, c=0.3, scale="logit")([-np.inf, np.inf])
    assert np.isfinite(p).all()
    assert p[0] == pytest.approx(0 if a else expit(0.3), abs=1e-300)
    assert p[1] == pytest.approx(1 if b else expit(0.3))


def test_log_odds_map_keeps_tiny_probabilities_positive_and_large_ones_below_one():
    p = maps.LogOddsMap(a=50.0, b=50.0, c=0.0)([1e-300, 1 - 1e-16])
    assert p[0] > 0
    assert p[1] < 1


@given(inner, st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
def test_quadratic_map_is_its_formula(p, a, b, c):
    z = np.clip(logit(p), -2.0, 4.0)
    fitted = maps.QuadraticMap(a=a, b=b, c=c, lower=-2.0, upper=4.0)
    assert fitted([p])[0] == pytest.approx(expit(a * z**2 + b * z + c), rel=1e-12)


def test_quadratic_map_is_constant_beyond_its_range():
    fitted = maps.QuadraticMap(a=0.2, b=0.5, c=0.1, lower=-3.0, upper=5.0, scale="logit")
    ends = fitted([-3.0, 5.0])
    np.testing.assert_array_equal(fitted([-np.inf, np.inf]), ends)
    probabilities = maps.QuadraticMap(a=0.2, b=0.5, c=0.1, lower=-3.0, upper=5.0)([0.0, 1.0])
    np.testing.assert_allclose(probabilities, ends, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": 1.0, "upper": 0.0}, "lower must not exceed upper"),
        ({"upper": np.inf}, "upper must be"),
        ({"a": 1e300, "upper": 1e100}, "must be finite at lower and upper"),
    ],
)
def test_impossible_quadratic_maps_are_refused(change, message):
    fields = {"a": 1.0, "b": 1.0, "c": 0.0, "lower": -1.0, "upper": 1.0}
    with pytest.raises(InputError, match=message):
        maps.QuadraticMap(**fields | change)


def test_a_long_batch_equals_its_parts():
    p = np.linspace(0, 1, 70_001)
    fitted = maps.LogOddsMap(a=0.7, b=1.3, c=0.2, lower=-9, upper=9)
    np.testing.assert_array_equal(fitted(p), np.concatenate([fitted(p[:33]), fitted(p[33:])]))


def test_step_map_gives_a_score_on_an_edge_to_the_bin_above():
    fitted = maps.StepMap(edges=[0.2, 0.6], values=[0.1, 0.5, 0.9])
    assert fitted([0.0, 0.2, 0.5999, 0.6, 1.0]).tolist() == [0.1, 0.5, 0.5, 0.9, 0.9]


def test_log_odds_curve_interpolates_log_odds_and_is_constant_beyond_its_knots():
    fitted = maps.LogOddsCurveMap(x=[-2.0, 0.0, 2.0], y=[-1.0, 3.0, 2.0])
    z = np.array([-np.inf, -5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 800.0])
    eta = np.array([-1.0, -1.0, -1.0, 1.0, 3.0, 2.5, 2.0, 2.0])
    np.testing.assert_allclose(fitted(expit(z)), expit(eta), rtol=1e-12)
    for scale in ("logit", "raw"):
        finite = np.clip(z, -1e300, None) if scale == "raw" else z
        np.testing.assert_allclose(replace(fitted, scale=scale)(finite), expit(eta), rtol=1e-12)


def test_piecewise_linear_map_treats_infinite_knots_as_points():
    fitted = maps.PiecewiseLinearMap(
        x=[-np.inf, -1.0, 1.0, np.inf], y=[0.0, 0.2, 0.6, 1.0], scale="logit"
    )
    result = fitted([-np.inf, -5.0, 0.0, 5.0, np.inf])
    np.testing.assert_allclose(result, [0.0, 0.2, 0.4, 0.6, 1.0])
    ends = maps.PiecewiseLinearMap(x=[-np.inf, np.inf], y=[0.1, 0.9], scale="logit")
    np.testing.assert_allclose(ends([-np.inf, 3.0, np.inf]), [0.1, 0.1, 0.9])


def test_softmax_map_is_its_formula():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20, 4))
    weights, bias = rng.normal(size=(4, 4)), rng.normal(size=4)
    full = maps.SoftmaxMap(weights=weights, bias=bias, scale="logit")
    np.testing.assert_allclose(full(logits), softmax(logits @ weights.T + bias, axis=1))
    diagonal = maps.SoftmaxMap(weights=bias, bias=weights[0])
    p = softmax(logits, axis=1)
    expected = softmax(log_softmax(logits, axis=1) * bias + weights[0], axis=1)
    np.testing.assert_allclose(diagonal(p), expected)


def test_softmax_map_puts_zeros_at_the_floor():
    fitted = maps.SoftmaxMap(weights=[1.0, 1.0, 1.0], bias=[0.0, 0.0, 0.0], floor=np.log(0.1))
    np.testing.assert_allclose(fitted([[0.0, 0.0, 1.0]]), [[1 / 12, 1 / 12, 10 / 12]])


@pytest.mark.parametrize("n", [5, 500])
def test_a_full_matrix_puts_zeros_at_the_floor_with_few_rows_and_many(n):
    rng = np.random.default_rng(0)
    weights, bias, floor = rng.normal(size=(3, 3)), rng.normal(size=3), np.log(1e-3)
    p = rng.dirichlet(np.full(3, 0.02), n)
    p[p < 1e-9] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    logs = np.log(np.maximum(p, 1e-3 * p.max(axis=1, keepdims=True)))
    fitted = maps.SoftmaxMap(weights=weights, bias=bias, floor=floor)
    assert (p == 0).any()
    np.testing.assert_allclose(fitted(p), softmax(logs @ weights.T + bias, axis=1), rtol=1e-12)


def test_the_identity_makes_rows_sum_to_one():
    rows = np.array([[0.2, 0.3, 0.48], [0.0, 0.04, 1.0]])
    expected = rows / rows.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(maps.IdentityMap()(rows), expected, rtol=1e-15)


def test_one_vs_rest_turns_logits_into_log_odds_against_the_others():
    identity = maps.IdentityMap(scale="logit")
    logits = np.array([[0.0, 1.0, 2.0], [-np.inf, 0.0, 0.0], [700.0, -700.0, 0.0]])
    fitted = maps.OneVsRestMap(maps=(identity,) * 3, scale="logit")
    np.testing.assert_allclose(fitted(logits), softmax(logits, axis=1), atol=1e-12)


def test_one_vs_rest_gives_equal_shares_where_nothing_is_left():
    zero = maps.StepMap(edges=[], values=[0.0])
    np.testing.assert_allclose(maps.OneVsRestMap(maps=(zero,) * 4)([[0.25] * 4]), [[0.25] * 4])


def test_two_columns_give_two_columns():
    fitted = maps.StepMap(edges=[0.5], values=[0.2, 0.7])
    np.testing.assert_allclose(fitted([[0.6, 0.4], [0.2, 0.8]]), [[0.8, 0.2], [0.3, 0.7]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: maps.LogOddsMap(a=np.nan, b=1.0, c=0.0), "a must be finite"),
        (lambda: maps.LogOddsMap(a="1", b=1.0, c=0.0), "a must be a number"),
        (
            lambda: maps.LogOddsMap(a=1.0, b=1.0, c=0.0, lower=1.0, upper=0.0),
            "lower must not exceed",
        ),
        (lambda: maps.LogOddsMap(a=1.0, b=2.0, c=0.0, axis="raw"), "needs a = b"),
        (lambda: maps.LogOddsMap(a=1.0, b=1.0, c=0.0, axis="odds"), "axis must be one of"),
        (lambda: maps.StepMap(edges=[0.5, 0.5], values=[0, 0, 0]), "strictly increasing"),
        (lambda: maps.StepMap(edges=[0.5], values=[0.1]), "one longer"),
        (lambda: maps.StepMap(edges=[0.5], values=[0.1, 1.2]), r"values must lie in \[0, 1\]"),
        (lambda: maps.LogOddsCurveMap(x=[], y=[]), "not empty"),
        (lambda: maps.LogOddsCurveMap(x=[1, 0], y=[0, 1]), "strictly increasing"),
        (lambda: maps.LogOddsCurveMap(x=[0, np.inf], y=[0, 1]), "x must lie within"),
        (lambda: maps.LogOddsCurveMap(x=[-1e308, 1e308], y=[0, 1]), "x must lie within"),
        (lambda: maps.LogOddsCurveMap(x=[0, 1], y=[0, 1e5]), "got 100000.0"),
        (lambda: maps.PiecewiseLinearMap(x=[], y=[]), "not empty"),
        (lambda: maps.PiecewiseLinearMap(x=[1, 0], y=[0, 1]), "strictly increasing"),
        (lambda: maps.PiecewiseLinearMap(x=[0, 1], y=[0, np.nan]), "NaN"),
        (lambda: maps.SoftmaxMap(weights=[1, 1], bias=[0, 0, 0]), "shape"),
        (lambda: maps.SoftmaxMap(weights=[1, np.inf], bias=[0, 0]), "finite"),
        (lambda: maps.SoftmaxMap(weights=[1, 1], bias=[0, 0], floor=1.0), "floor"),
        (lambda: maps.OneVsRestMap(maps=(maps.IdentityMap(),)), "two or more"),
        (
            lambda: maps.OneVsRestMap(maps=(maps.IdentityMap(), maps.IdentityMap(scale="logit"))),
            "same scale",
        ),
        (lambda: maps.IdentityMap(scale="odds"), "scale must be one of"),
        (lambda: maps.StepMap(edges=[], values=[0.5], classes=(0, 0)), "distinct"),
        (lambda: maps.StepMap(edges=[], values=[0.5], classes=(0, 1, 2)), "2 distinct"),
    ],
)
def test_impossible_parameters_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_maps_refuse_scores_of_another_scale():
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        maps.LogOddsMap(a=1.0, b=1.0, c=0.0)([1.5])
    with pytest.raises(InputError, match="3 columns"):
        maps.SoftmaxMap(weights=[1.0] * 3, bias=[0.0] * 3)([[0.5, 0.5]])


def test_maps_are_frozen():
    fitted = maps.StepMap(edges=[0.5], values=[0.2, 0.7])
    with pytest.raises(AttributeError, match="cannot assign"):
        fitted.edges = 0
    with pytest.raises(ValueError, match="read-only"):
        fitted.values[0] = 0


@pytest.mark.parametrize(
    ("scale", "rows", "usable"),
    [
        ("probability", [[0.0], [1.0], [-0.1], [1.1], [np.nan]], [1, 1, 0, 0, 0]),
        ("logit", [[-np.inf], [np.inf], [0.0], [np.nan]], [1, 1, 1, 0]),
        ("raw", [[-np.inf], [np.inf], [1e308], [np.nan]], [0, 0, 1, 0]),
        ("probability", [[0.5, 0.54], [0.5, 0.56], [0.5, 0.44], [1.0, 0.0]], [1, 0, 0, 1]),
        ("logit", [[-np.inf, 0.0], [-np.inf, -np.inf], [np.inf, 0.0], [0.0, np.nan]], [1, 0, 0, 0]),
    ],
)
def test_the_rows_that_a_formula_answers_are_those_that_the_map_takes(scale, rows, usable):
    from trueodds.maps._formulas import usable_rows

    found = usable_rows(maps.IdentityMap(scale=scale), np.array(rows))
    assert found.tolist() == [bool(each) for each in usable]


@given(st.floats(0.05, 20), st.floats(0.05, 20), st.floats(1e-6, 1 - 1e-6))
def test_the_midpoint_is_the_papers_parameter(a, b, m):
    beta = maps.LogOddsMap(a=a, b=b, c=b * math.log1p(-m) - a * math.log(m))
    assert math.isclose(beta.midpoint, m, rel_tol=1e-9)
    logistic = maps.LogOddsMap(a=a, b=a, c=-a * m, axis="raw")
    assert math.isclose(logistic.midpoint, m, rel_tol=1e-9)
    z = math.log(m) - math.log1p(-m)
    assert math.isclose(replace(beta, scale="logit").midpoint, z, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "c"), [(1, 0, -1), (0, 1, 1), (0, 0, 1), (1, -1, 0), (1e-3, 5, 9)]
)
def test_a_map_without_a_score_of_one_half_has_no_midpoint(a, b, c):
    assert math.isnan(maps.LogOddsMap(a=a, b=b, c=c).midpoint)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_no_public_method_turns_a_missing_score_into_a_probability(example):
    scores = np.array(example.scores[:3])
    scores[1] = np.nan
    features = {} if example.features is None else {"features": example.features[:3]}
    asked = ["__call__"]
    for name in dir(example.map):
        public = not name.startswith("_") and name != "expression"  # which takes nodes
        found = getattr(example.map, name, None) if public else None
        if callable(found) and "scores" in inspect.signature(found).parameters:
            asked.append(name)
    for name in asked:
        method = getattr(example.map, name)
        taken = inspect.signature(method).parameters
        extra = {key: value for key, value in features.items() if key in taken}
        if name == "at_node":
            extra["node"] = 0
        with pytest.raises(InputError, match=r"NaN|carries no band"):
            method(scores=scores, **extra)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_a_map_takes_numbers_of_any_type_and_layout(example):
    scores = np.array(example.scores[:40])
    features = {} if example.features is None else {"features": example.features[:40]}
    wide = np.repeat(scores, 2, axis=0)[::2]
    assert np.array_equal(example.map(wide, **features), example.map(scores, **features))
    assert np.array_equal(
        example.map(np.asfortranarray(scores), **features), example.map(scores, **features)
    )
    if example.n_scores == 1:
        small = np.array([0, 1, 1], dtype=np.float32)
        rows = {key: value[:3] for key, value in features.items()}
        expected = example.map(small.astype(np.float64), **rows)
        assert np.array_equal(example.map(small, **rows), expected)
        assert np.array_equal(example.map(small.astype(int), **rows), expected)
