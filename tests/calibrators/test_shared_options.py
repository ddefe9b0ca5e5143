"""What every calibrator has is written once, and shown with each."""

import inspect
from dataclasses import dataclass, field

import pytest

from trueodds.calibrators import Calibrator, all_calibrators


@pytest.mark.parametrize("kind", all_calibrators().values())
def test_every_option_of_every_method_is_in_its_signature_and_its_docs(kind):
    assert {"scale", "label_smoothing", "classes"} <= set(inspect.signature(kind).parameters)
    for option in [*inspect.signature(kind).parameters, "map_", "classes_"]:
        assert any(
            option in line.partition(" :")[0].replace(",", "").split()
            for line in kind.__doc__.splitlines()
        ), option


def test_what_a_method_says_itself_is_kept_and_the_rest_is_added():
    @dataclass(kw_only=True, eq=False, repr=False)
    class Odd(Calibrator):
        """One line.

        Parameters
        ----------
        width : int
        classes : list
            In an order of its own.

        Notes
        -----
        None.
        """

        width: int = field(default=1, kw_only=False)

        def _fit(self, evidence):
            raise NotImplementedError

    parameters = list(inspect.signature(Odd).parameters)
    assert parameters == ["width", "scale", "label_smoothing", "classes"]
    assert Odd.__doc__.count("classes :") == 1
    assert "In an order of its own." in Odd.__doc__
    assert "Scale of the scores." in Odd.__doc__
    assert (
        Odd.__doc__.index("Scale of") < Odd.__doc__.index("Attributes") < Odd.__doc__.index("Notes")
    )
    assert Odd(3, scale="logit").get_params() == {
        "width": 3,
        "scale": "logit",
        "label_smoothing": None,
        "classes": None,
    }


def test_an_option_that_no_method_has_is_refused():
    with pytest.raises(TypeError, match="inptu"):
        all_calibrators()["beta"](inptu="logit")
