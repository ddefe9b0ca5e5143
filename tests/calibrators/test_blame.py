"""Whose fault an error is: the numbers', the method's, or the caller's; and facts on a class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import trueodds
from trueodds import AutoCalibrator, BetaCalibrator, all_calibrators, compare_calibrators
from trueodds.calibrators import Calibrator
from trueodds.exceptions import InputError
from trueodds.maps import IdentityMap, LogOddsMap, StepMap
from trueodds.model_selection import _per_group

FACTS = ("is_monotone", "needs_features", "learns_classes_jointly", "ignores_row_order")
P = np.random.default_rng(0).random(90)
Y = (np.random.default_rng(1).random(90) < P).astype(int)
CLASSES = np.arange(90) % 3


def method(fit):
    """A calibrator whose ``_fit`` is the given function."""

    @dataclass(kw_only=True, eq=False, repr=False)
    class OwnCalibrator(Calibrator):
        steepness: Any = None

        def _fit(self, rows):
            return fit(self, rows)

    return OwnCalibrator()


def three_columns():
    return np.column_stack([P, 1 - P, np.ones(90)]) / 2


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, RuntimeError])
def test_a_defect_of_a_method_is_not_blamed_on_the_numbers(error):
    def fit(self, rows):
        raise error("a defect")

    with pytest.raises(error, match="a defect") as caught:
        method(fit).fit(P, Y)
    assert type(caught.value) is error
    with pytest.raises(error, match="a defect"):
        method(fit).fit(three_columns(), CLASSES)
    with pytest.raises(ValueError, match="could not be broadcast"):
        method(lambda self, rows: np.zeros(3) + np.zeros(4)).fit(P, Y)


@pytest.mark.parametrize(
    "fit",
    [
        lambda self, rows: 1 / 0,
        lambda self, rows: np.linalg.inv(np.zeros((2, 2))),
        lambda self, rows: 10.0**400,
        lambda self, rows: LogOddsMap(a=np.inf, b=1.0, c=0.0),
        lambda self, rows: StepMap(edges=[], values=[np.nan]),
    ],
)
def test_arithmetic_that_fails_is_advice_about_the_numbers(fit):
    with pytest.raises(InputError, match=r"OwnCalibrator failed: .*\(scores are 0\.0\d+ to 0\.9"):
        method(fit).fit(P, Y)


def test_a_comparison_names_the_defect():
    def fit(self, rows):
        raise ValueError("a defect")

    found = compare_calibrators(P, Y, calibrators={"own": method(fit)}, cv=2)
    assert found.failures == {"own": "ValueError: a defect"}


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "returned NoneType"),
        (0.5, "returned float"),
        (IdentityMap(scale="raw"), "returned a map with scale='raw'"),
    ],
)
def test_a_method_that_returns_no_map_of_its_scale_is_named(returned, words):
    for scores, y in ((P, Y), (three_columns(), CLASSES)):
        with pytest.raises(TypeError, match=f"OwnCalibrator has a defect: .*; it {words}"):
            method(lambda self, rows: returned).fit(scores, y)


def test_facts_of_a_class_are_those_of_its_default_instance():
    kinds = [*all_calibrators().values(), AutoCalibrator, _per_group.PerGroupCalibrator]
    for kind in kinds:
        for fact in FACTS:
            assert getattr(kind, fact) is getattr(kind(), fact), (kind, fact)
    assert not Calibrator.needs_features


@pytest.mark.parametrize(
    ("changed", "fact"),
    [
        (BetaCalibrator("ab"), "is_monotone"),
        (trueodds.SplineCalibrator(monotone=True), "is_monotone"),
        (trueodds.BayesianSmoothCalibrator(monotone=True), "is_monotone"),
        (trueodds.BBQCalibrator(ties="input"), "ignores_row_order"),
        (trueodds.OneVsRestCalibrator(trueodds.BBQCalibrator(ties="input")), "ignores_row_order"),
        (AutoCalibrator(["group"]), "needs_features"),
    ],
)
def test_facts_of_an_instance_follow_its_options(changed, fact):
    assert getattr(changed, fact) is not getattr(type(changed), fact)


@pytest.mark.parametrize(
    ("fitted", "asked"),
    [([0, 1], ["0", "1"]), (["0", "1"], [0, 1]), ([False, True], ["no", "yes"])],
)
def test_a_score_of_labels_of_another_type_is_refused(fitted, asked):
    calibrator = BetaCalibrator().fit(P, np.array(fitted)[Y])
    assert calibrator.score(P, np.array(fitted)[Y]) > 0.6
    for labels in (np.array(asked)[Y], np.array(asked, dtype=object)[Y]):
        with pytest.raises(InputError, match="pass labels of the same type"):
            calibrator.score(P, labels)


def test_a_score_takes_one_and_true_for_the_same_label():
    calibrator = BetaCalibrator().fit(P, Y)
    expected = calibrator.score(P, Y)
    assert calibrator.score(P, Y.astype(bool)) == calibrator.score(P, Y.astype(float)) == expected
    assert calibrator.score(P, np.where(Y == 1, 7, 0)) < expected, "an unseen label is a mistake"
