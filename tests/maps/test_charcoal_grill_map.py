"""The charcoal maps: their formula, their ends, and what they refuse."""

import numpy as np
import pytest
from scipy.special import expit, logit

from trueodds.exceptions import InputError
from trueodds.maps import CharcoalGrillMap, CharcoalSoftmaxMap, load


def naive(z, means, temperatures, widths, bias):
    """Equations 11 and 12 as they are printed."""
    out = []
    for value in z:
        weights = np.array(
            [np.exp(-((value - m) ** 2) / (2 * s**2)) for m, s in zip(means, widths, strict=True)]
        )
        field = sum(weights * temperatures) / sum(weights)
        out.append(1 / (1 + np.exp(-(value / field + bias))))
    return np.array(out)


def test_the_map_is_the_formula_of_the_paper():
    rng = np.random.default_rng(0)
    z = rng.normal(scale=3, size=50)
    coals = ([-2.0, 0.5, 3.0], [0.7, 1.4, 5.0], [1.0, 0.6, 2.0])
    grill = CharcoalGrillMap(
        means=coals[0], temperatures=coals[1], widths=coals[2], bias=0.3, scale="logit"
    )
    np.testing.assert_allclose(grill(z), naive(z, *coals, 0.3), rtol=1e-12)
    from_probability = CharcoalGrillMap(
        means=coals[0], temperatures=coals[1], widths=coals[2], bias=0.3
    )
    np.testing.assert_allclose(from_probability(expit(z)), grill(z), rtol=1e-9)


def test_one_coal_is_a_straight_line_of_the_log_odds_wherever_it_lies():
    p = np.array([0.001, 0.3, 0.9])
    grill = CharcoalGrillMap(means=[50.0], temperatures=[2.0], widths=[1.0], bias=-0.4)
    np.testing.assert_allclose(grill(p), expit(logit(p) / 2 - 0.4))
    np.testing.assert_array_equal(grill.temperature(p), [2, 2, 2])


def test_scores_beyond_the_range_are_treated_like_its_ends():
    grill = CharcoalGrillMap(
        means=[-1.0, 1.0], temperatures=[1.0, 3.0], widths=[1.0, 1.0], lower=-4, upper=5,
        scale="logit",
    )  # fmt: skip
    np.testing.assert_array_equal(grill([-np.inf, -9, 7, np.inf]), grill([-4, -4, 5, 5]))


def test_infinite_scores_have_a_probability_without_a_range_too():
    grill = CharcoalGrillMap(
        means=[-1.0, 1.0], temperatures=[1.0, 3.0], widths=[1.0, 1.0], scale="logit"
    )
    p = grill([-np.inf, 0.0, np.inf])
    assert np.isfinite(p).all()
    assert (np.diff(p) > 0).all()
    np.testing.assert_allclose(grill.temperature([-np.inf, np.inf]), [1, 3])


def test_far_from_all_coals_the_nearest_one_decides():
    grill = CharcoalGrillMap(
        means=[-1.0, 1.0], temperatures=[2.0, 3.0], widths=[1.0, 1.0], scale="logit"
    )
    np.testing.assert_allclose(grill.temperature([-500.0, 500.0]), [2, 3])


def test_two_columns_give_two_columns():
    grill = CharcoalGrillMap(means=[0.0], temperatures=[2.0], widths=[1.0])
    both = grill([[0.2, 0.8]])
    np.testing.assert_allclose(both, [[1 - grill([0.8])[0], grill([0.8])[0]]])
    np.testing.assert_allclose(grill.temperature([[0.2, 0.8]]), [2.0])


def test_a_saved_map_comes_back_as_it_was(tmp_path):
    grill = CharcoalGrillMap(
        means=[-1.1, 1 / 3], temperatures=[0.9, 3.7], widths=[1.0, 1.0], bias=0.1, lower=-7.3,
        upper=6.0, classes=("no", "yes"),
    )  # fmt: skip
    grill.save(tmp_path / "map.json")
    again = load(tmp_path / "map.json")
    assert again == grill
    p = np.linspace(0, 1, 11)
    np.testing.assert_array_equal(again(p), grill(p))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"means": []}, "not empty"),
        ({"means": [1.0]}, "of one length"),
        ({"means": [0.0, np.inf]}, "must be finite"),
        ({"temperatures": [1.0, 0.0]}, "must be positive"),
        ({"widths": [-1.0, 1.0]}, "must be positive"),
        ({"bias": np.inf}, "bias must be finite"),
        ({"lower": 2.0, "upper": 1.0}, "lower must not exceed upper"),
    ],
)
def test_impossible_parameters_are_refused(wrong, message):
    right = {"means": [0.0, 1.0], "temperatures": [1.0, 2.0], "widths": [1.0, 1.0]}
    with pytest.raises(InputError, match=message):
        CharcoalGrillMap(**(right | wrong))


def several_classes(**changes):
    values = {
        "means": [[0.0, -3.0, -3.0], [-1.0, -1.0, -1.0]],
        "temperatures": [2.0, 0.7],
        "widths": [1.0, 1.5],
        "bias": [0.1, 0.0, -0.2],
    }
    return CharcoalSoftmaxMap(**(values | changes))


def test_the_map_of_several_classes_is_the_formula_with_vectors():
    grill = several_classes()
    p = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    for row, found in zip(p, grill(p), strict=True):
        logs = np.log(row)
        weights = [
            np.exp(-((logs - m) ** 2).sum() / (2 * s**2))
            for m, s in zip(grill.means, grill.widths, strict=True)
        ]
        field = np.dot(weights, grill.temperatures) / sum(weights)
        expected = np.exp(logs / field + grill.bias)
        np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-10)


def test_a_constant_added_to_a_row_of_logits_changes_nothing():
    grill = several_classes(scale="logit")
    logits = np.random.default_rng(1).normal(size=(10, 3))
    shift = np.linspace(-30, 30, 10)[:, None]
    np.testing.assert_allclose(grill(logits + shift), grill(logits), rtol=1e-9)


def test_impossible_classes_and_many_rows_are_legal():
    grill = several_classes()
    p = np.tile([[1.0, 0.0, 0.0], [0.2, 0.8, 0.0]], (200_000, 1))
    out = grill(p)
    assert np.isfinite(out).all()
    np.testing.assert_array_equal(out[-2:], out[:2])
    assert (grill.temperature(p[:2]) > 0).all()


def test_a_saved_map_of_several_classes_comes_back_as_it_was(tmp_path):
    grill = several_classes(classes=("a", "b", "c"), floor=-40.0)
    grill.save(tmp_path / "map.json")
    assert load(tmp_path / "map.json") == grill


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"means": [0.0, 1.0, 2.0]}, "means must have shape"),
        ({"bias": [0.0, 1.0]}, "means must have shape"),
        ({"widths": [1.0]}, "one entry for each row"),
        ({"bias": [0.0, 1.0, np.inf]}, "must be finite"),
        ({"temperatures": [0.0, 1.0]}, "must be positive"),
        ({"floor": 1.0}, "floor must not be positive"),
        ({"floor": -np.inf}, "floor must be finite"),
    ],
)
def test_impossible_parameters_of_several_classes_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        several_classes(**wrong)


def test_another_number_of_columns_is_refused():
    with pytest.raises(InputError, match="must have 3 columns"):
        several_classes()([[0.5, 0.5]])
