"""Results are values: nobody changes them, and arrays in them are never compared by ``==``."""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

PACKAGES = (
    "decisions", "engines", "export", "inputs", "maps", "metrics", "model_selection",
    "monitoring", "report", "watch",
)  # fmt: skip
STATEFUL = {
    *("AutoCalibrator", "PerGroupCalibrator", "MethodRun"),  # fitted; filled fold by fold
    *("History", "Bets"),  # updated row by row
    *("Watch", "StreamWatch", "Run", "RowArrays", "Deliveries", "Written"),  # run by run
}
ARRAYS = ("Floats", "Labels", "NDArray")


def modules_of(package):
    module = importlib.import_module(f"trueodds.{package}")
    yield module
    for found in pkgutil.walk_packages(module.__path__, f"{module.__name__}."):
        yield importlib.import_module(found.name)


def dataclasses_of(package):
    return [
        kind
        for module in modules_of(package)
        for kind in vars(module).values()
        if inspect.isclass(kind)
        and kind.__module__ == module.__name__
        and dataclasses.is_dataclass(kind)
    ]


def has_arrays(kind):
    return any(word in str(field.type) for field in dataclasses.fields(kind) for word in ARRAYS)


def frozen(kind):
    return kind.__dataclass_params__.frozen


@pytest.mark.parametrize("package", PACKAGES)
def test_results_are_frozen_and_those_with_arrays_equal_only_themselves(package):
    found = dataclasses_of(package)
    assert found
    changing = {kind.__name__ for kind in found if not frozen(kind)} - STATEFUL
    assert {name for name in changing if not name.endswith("Writer")} == set()  # text in the making
    assert [kind for kind in found if has_arrays(kind) and kind.__dataclass_params__.eq] == []


def test_many_results_hold_arrays():
    assert sum(has_arrays(kind) for name in PACKAGES for kind in dataclasses_of(name)) > 20


def test_what_changes_is_among_what_is_looked_at():
    """Otherwise a name here would hide another class of that name."""
    assert {kind.__name__ for name in PACKAGES for kind in dataclasses_of(name)} >= STATEFUL
