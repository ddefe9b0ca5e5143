"""Results are values: nobody changes them, and arrays in them are never compared by ``==``."""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

PACKAGES = ("compare", "decisions", "maps", "metrics", "model_selection", "report", "validation")
STATEFUL = {"AutoCalibrator", "MethodRun"}  # fitted; filled fold by fold


def dataclasses_of(package):
    module = importlib.import_module(f"trueodds.{package}")
    for found in pkgutil.iter_modules(module.__path__, f"{module.__name__}."):
        for kind in vars(importlib.import_module(found.name)).values():
            if (
                inspect.isclass(kind)
                and kind.__module__ == found.name
                and dataclasses.is_dataclass(kind)
            ):
                yield kind


@pytest.mark.parametrize("package", PACKAGES)
def test_results_are_frozen_and_those_with_arrays_equal_only_themselves(package):
    found = list(dataclasses_of(package))
    assert found
    for kind in found:
        parameters = kind.__dataclass_params__
        assert parameters.frozen or kind.__name__ in STATEFUL, kind
        types = " ".join(str(field.type) for field in dataclasses.fields(kind))
        if "Floats" in types or "Labels" in types or "NDArray" in types:
            assert not parameters.eq, kind
