"""What tests need of the machine, such as a server or a browser."""

import importlib
import os
from types import ModuleType
from typing import NoReturn

import pytest


def lacking(reason: str) -> NoReturn:
    """Skip a test for want of something; in CI (``TRUEODDS_REQUIRE_ALL``), fail it."""
    if os.environ.get("TRUEODDS_REQUIRE_ALL"):
        pytest.fail(f"{reason} (TRUEODDS_REQUIRE_ALL is set, so this test is not skipped)")
    pytest.skip(reason)


def library(name: str) -> ModuleType:
    """An optional library that a test needs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        lacking(f"needs the Python library {name}")
