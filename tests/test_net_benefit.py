from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from support import naive_validation as naive
from trueodds.decisions import decision_curve, net_benefit
from trueodds.exceptions import InputError
from trueodds.metrics import compare_metric

rows = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), st.integers(0, 1)),
    min_size=2,
    max_size=30,
)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 800)
    return (rng.random(800) < p).astype(int), p


@given(rows, st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.75, 0.99]))
def test_net_benefit_is_that_of_counting_rows(rows, threshold):
    p, y = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = net_benefit(y, p, threshold, classes=[0, 1])
    assert found == pytest.approx(naive.net_benefit(p, y, threshold), abs=1e-9)


def test_a_weight_of_k_equals_k_repetitions(sample):
    y, p = sample
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    expected = net_benefit(np.repeat(y, weight), np.repeat(p, weight), [0.1, 0.4])
    np.testing.assert_allclose(net_benefit(y, p, [0.1, 0.4], sample_weight=weight), expected)


def test_net_benefit_has_the_shape_of_the_threshold(sample):
    y, p = sample
    assert isinstance(net_benefit(y, p, 0.2), float)
    assert net_benefit(y, p, [[0.1, 0.2], [0.3, 0.4]]).shape == (2, 2)
    assert net_benefit(y, p, 0.2, standardized=True) == pytest.approx(
        net_benefit(y, p, 0.2) / y.mean()
    )


def test_thresholds_outside_their_range_are_refused(sample):
    y, p = sample
    with pytest.raises(InputError, match="0 <= threshold < 1; got 1"):
        net_benefit(y, p, [0.2, 1.0])
    with pytest.raises(InputError, match=r"0 <= threshold < 1; got -0\.1"):
        decision_curve(y, p, thresholds=[-0.1])
    with pytest.raises(InputError, match="net benefit needs two classes"):
        net_benefit([0, 1, 2], np.eye(3), 0.5)
    with pytest.raises(InputError, match="there are no events"):
        decision_curve([0, 0], [0.1, 0.2], standardized=True, classes=[0, 1])


@pytest.mark.parametrize("standardized", [False, True])
def test_intervals_of_a_decision_curve_are_as_wide_as_resamples_spread(sample, standardized):
    y, p = sample
    curve = decision_curve(y, p, thresholds=[0.1, 0.4], standardized=standardized)
    line = curve.models["model"]
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(500):
        i = rng.integers(0, len(y), len(y))
        drawn.append(net_benefit(y[i], p[i], [0.1, 0.4], standardized=standardized))
    np.testing.assert_allclose((line.high - line.low) / 3.29, np.std(drawn, axis=0), rtol=0.1)


def test_treating_all_is_a_model_that_is_always_sure(sample):
    y, p = sample
    curve = decision_curve(y, {"sure": np.ones(len(y)), "own": p}, thresholds=[0.05, 0.3])
    np.testing.assert_allclose(curve.models["sure"].net_benefit, curve.treat_all.net_benefit)
    np.testing.assert_allclose(curve.models["sure"].low, curve.treat_all.low)
    np.testing.assert_allclose(curve.treat_all.avoided, 0)
    own = curve.models["own"]
    odds = curve.threshold / (1 - curve.threshold)
    expected = (own.net_benefit - curve.treat_all.net_benefit) / odds
    np.testing.assert_allclose(own.avoided, expected)


def test_interventions_avoided_spread_as_resamples_do(sample):
    y, p = sample
    line = decision_curve(y, p, thresholds=[0.3]).models["model"]
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(400):
        i = rng.integers(0, len(y), len(y))
        drawn.append(decision_curve(y[i], p[i], thresholds=[0.3]).models["model"].avoided[0])
    width = float((line.avoided_high - line.avoided_low)[0]) / 3.29
    assert width == pytest.approx(np.std(drawn), rel=0.12)


def test_the_curve_in_its_other_forms(sample):
    y, p = sample
    curve = decision_curve(y, {"a": p, "b": p**2})
    assert len(curve.rows()) == 3 * 99
    assert list(curve.to_frame().columns)[:3] == ["model", "threshold", "net_benefit"]
    plain = decision_curve(y, p, thresholds=[0.0, 0.5]).to_dict()
    assert plain["models"]["model"]["avoided"][0] is None
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_two_models_are_compared_in_net_benefit(sample):
    y, p = sample
    found = compare_metric(net_benefit, y, p, p**3, threshold=0.2, n_resamples=100, random_state=0)
    assert found.low > 0
