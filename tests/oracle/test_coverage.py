"""Nothing that shows a number is without an oracle."""

import inspect
from pathlib import Path

import pytest

from oracle.figures import Figures, Near, Such
from trueodds import decisions, metrics, stats

TESTS = "".join(path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py")))


@pytest.mark.parametrize("module", [metrics, decisions, stats], ids=lambda one: one.__name__)
def test_every_public_function_is_called(module):
    functions = [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    assert [name for name in functions if name not in TESTS] == []


@pytest.mark.parametrize(
    "command", ["evaluate", "compare", "report", "fit", "apply", "show", "diff", "monitor"]
)
def test_every_command_with_numbers_is_run(command):
    assert f'command("{command}"' in TESTS or f'"{command}", identity' in TESTS


def test_a_number_without_an_oracle_fails():
    """The walk itself: new keys, wrong values, lost keys and lists that are out of date."""
    figures = Figures()
    figures.document("walk", {"a": [1.0, {"b": 2}], "c": "text"}, {"a": [1.0, {"b": 2}]})
    assert figures.counts["walk"] == 2
    for found, expected, listed, message in (
        ({"a": 1, "new": 2.5}, {"a": 1}, {}, "new: 2.5 has no oracle"),
        ({"a": True}, {}, {}, "a: True has no oracle"),
        ({"a": 1.1}, {"a": 1}, {}, "a: found 1.1, expected 1"),
        ({"a": None}, {"a": 1}, {}, "a: found None, expected 1"),
        ({"a": 0.5}, {"a": float("nan")}, {}, "a: found 0.5, expected nan"),
        ({"a": 0.2}, {"a": Near(0.1, 0.05)}, {}, "a: found 0.2"),
        ({"a": 0.2}, {"a": Such(lambda v: v > 1, "above 1")}, {}, "above 1"),
        ({}, {"a": 1}, {}, "a: expected, but not there"),
        ({"a": []}, {"a": []}, {}, "nothing was expected"),
        ({"a": 1}, {"a": 1}, {"b.*": "a reason"}, "no such figure"),
    ):
        with pytest.raises(AssertionError, match=message):
            figures.document("walk", found, expected, listed)
    figures.document("walk", {"a": None, "b": 3}, {"a": float("inf")}, {"b": "a reason"})
    del figures
