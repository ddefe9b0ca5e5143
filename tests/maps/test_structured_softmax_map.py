"""Softmax of structured features."""

import numpy as np
import pytest

from trueodds.exceptions import InputError
from trueodds.maps import SoftmaxMap, StructuredSoftmaxMap

FIELDS = {
    "tau": 0.8, "floor": 1e-6, "mixing": 0.01, "prior": [0.5, 0.3, 0.2], "bias": [0.1, 0.0, -0.1],
    "on_logs": [0.1, 0.2, 0.3], "on_probabilities": [], "shared": [0.1, 0.2, 0.3, 0.4],
}  # fmt: skip
ROWS = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 1.0], [0.4, 0.4, 0.2], [1 / 3, 1 / 3, 1 / 3]])


def structured(**changes):
    return StructuredSoftmaxMap(**FIELDS | changes)


def test_rows_sum_to_one_and_nothing_is_impossible():
    found = structured()(ROWS)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found > 0).all()


def test_matrix_scaling_is_one_of_its_corners():
    weights = np.array([[1.2, -0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.9]])
    matrix = SoftmaxMap(weights=weights, bias=[0.1, 0.0, -0.1])
    corner = structured(
        tau=1.0, floor=1e-300, mixing=1e-12, on_logs=weights - np.eye(3), shared=np.zeros(4)
    )
    np.testing.assert_allclose(corner(ROWS[[0, 2, 3]]), matrix(ROWS[[0, 2, 3]]), atol=1e-10)


def test_logits_give_what_their_probabilities_give():
    logits = np.log(np.maximum(ROWS, 1e-300))
    found = structured(scale="logit")(logits)
    np.testing.assert_allclose(found, structured()(ROWS), atol=1e-12)
    np.testing.assert_array_equal(structured(scale="logit")([[-np.inf, 0, -np.inf]])[0].argmax(), 1)


def test_the_unit_divides_margins():
    z = np.array([[1.0, 2.0, 4.0]])
    found = structured(scale="raw", unit=2.0**30)(2.0**30 * z)
    np.testing.assert_allclose(found, structured(scale="raw")(z), rtol=1e-12)


def test_two_classes_take_one_score_or_two():
    pair = {"prior": [0.6, 0.4], "bias": [0.1, 0.0], "on_logs": [[0.1, 0.2], [0.3, 0.4]]}
    for scale, one, two in (
        ("probability", [0.3, 1.0], [[0.7, 0.3], [0.0, 1.0]]),
        ("logit", [-1.0, np.inf], [[1.0, 0.0], [-np.inf, 3.0]]),
        ("raw", [-1.0, 2.5], [[1.0, 0.0], [-2.0, 0.5]]),
    ):
        fitted = structured(**pair, scale=scale)
        np.testing.assert_allclose(fitted(two)[:, 1], fitted(one), rtol=1e-12)
        np.testing.assert_allclose(fitted(two).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bias": [0.0]}, "with k ≥ 2"),
        ({"bias": [[0.0, 1.0]]}, "with k ≥ 2"),
        ({"prior": [0.5, 0.5]}, "shape"),
        ({"prior": [0.5, 0.5, 0.5]}, "must sum to 1"),
        ({"prior": [1.2, -0.1, -0.1]}, "mixing·prior must not be less"),
        ({"prior": [1.0, 0.0, 0.0]}, "mixing·prior must not be less"),
        ({"on_logs": [[1.0, 2.0]]}, "shape"),
        ({"on_probabilities": [1.0, 2.0, 3.0]}, "empty or of shape"),
        ({"shared": [0.0]}, r"shape \(4,\)"),
        ({"bias": [0.0, np.inf, 0.0]}, "within ±1e"),
        ({"on_logs": [0.0, np.nan, 0.0]}, "NaN"),
        ({"tau": -1.0}, "tau must lie in"),
        ({"tau": np.inf}, "finite"),
        ({"floor": 0.0}, "floor must lie in"),
        ({"floor": 2.0}, "floor must lie in"),
        ({"mixing": 0.0}, "mixing must lie in"),
        ({"mixing": 1.0}, "mixing must lie in"),
        ({"unit": 0.0}, "unit must lie in"),
        ({"tau": "hot"}, "must be a number"),
    ],
)
def test_impossible_parameters_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        structured(**changes)


def test_the_largest_coefficients_give_probabilities():
    most = {"bias": [1e100, -1e100, 0], "on_logs": [[1e100] * 3] * 3, "tau": 1e6}
    found = structured(**most, on_probabilities=[[-1e100] * 3] * 3, shared=[1e100] * 4)(ROWS)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
