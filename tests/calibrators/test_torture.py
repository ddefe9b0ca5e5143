"""Every method at the edges of float64: probabilities, or one error (docs/torture.md)."""

import pytest

pytest.importorskip("resource", reason="limits of resources are a matter of Unix")

from support.torture import methods, outcome
from support.torture_cases import BINARY, CLASSES, LONG
from trueodds import BetaCalibrator
from trueodds.exceptions import InputError

SLOW = {"auto", "bayesian_isotonic", "bayesian_structured", "kernel", "charcoal_grill", "acp"}
FEW = {"weights 1e-300 to 1e15", "log-odds 1e-320·z", "decision values ±1.7e308 and 0"}
"""For methods that take long."""
SOME = FEW | {
    "weights of 5e-324",
    "probabilities among subnormals",
    "probabilities of all kinds",
    "all tied at 0",
    "one row per class",
    "log-odds log-uniform 1e-300 to 1e300",
    "decision values one outlier of 1e308",
    "logits 1e-16·z",
    "logits ±1e308",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", methods())
def test_cases_of_every_kind_give_probabilities_and_nothing_else_is_said(name, capfd):
    for case in (*BINARY, *CLASSES):
        if case.name not in (FEW if name in SLOW else SOME):
            continue
        found = outcome(name, case)
        assert found["kind"] == "finite", (case.name, found["words"])
    written = capfd.readouterr()
    assert (written.out, written.err) == ("", "")


@pytest.mark.parametrize("name", ["auto", "beta", "enir", "histogram", "isotonic", "logistic"])
def test_one_positive_in_a_million_gives_probabilities(name):
    found = outcome(name, next(case for case in LONG if case.name == "1 positive in 10⁶"))
    assert found["kind"] == "finite", found["words"]


def test_a_refusal_names_the_value_and_its_place():
    with pytest.raises(InputError, match=r"must not exceed 1e\+15.* got 1e\+300 at index 1"):
        BetaCalibrator().fit([0.2, 0.7, 0.8], [0, 0, 1], counts=[1, 1e300, 1])


@pytest.mark.parametrize(
    "case", [case for case in BINARY if "weights" in case.name], ids=lambda case: case.name
)
def test_importances_of_any_size_give_probabilities(case):
    found = outcome("beta", case)
    assert found["kind"] == "finite", found["words"]
