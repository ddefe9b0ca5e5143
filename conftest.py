"""What all tests share: reference outputs, and an empty folder for examples."""

import importlib.util
import os
import sys
from pathlib import Path

import hypothesis
import pytest
from _pytest.doctest import DoctestItem

# Examples of this module need river; without it they are left out, unless all is required.
if importlib.util.find_spec("river") is None and "TRUEODDS_REQUIRE_ALL" not in os.environ:
    collect_ignore = ["src/trueodds/river.py"]
pytest_plugins = ["support.services"]  # the fixtures spark and postgres

# How long an example takes says nothing on a busy machine. The same examples every time, so that
# nobody's change fails for what it did not touch; HYPOTHESIS_EXPLORE=1 looks for new ones.
EXPLORE = "HYPOTHESIS_EXPLORE" in os.environ
hypothesis.settings.register_profile("trueodds", deadline=None, derandomize=not EXPLORE)
hypothesis.settings.load_profile("trueodds")
providers = sys.modules.get("hypothesis.internal.conjecture.providers")
if not EXPLORE and hasattr(providers, "_get_local_constants"):
    # Even so, Hypothesis draws constants of the modules that happen to be loaded: examples would
    # depend on the order of tests, and on every number in the code.
    providers._get_local_constants = lambda: providers._local_constants
# Tests run in several processes, and their matrices are small: with a pool of threads in each, the
# threads of BLAS and OpenMP would mostly wait for one another. To be set before NumPy is loaded.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of data sets run where ``TRUEODDS_DATA`` names their folder; Spark's come first.

    Starting Spark takes longer than any test, so its tests run in one process.
    """
    of_data_sets = {item for item in items if "data_sets" in getattr(item, "fixturenames", ())}
    if "TRUEODDS_DATA" not in os.environ:
        config.hook.pytest_deselected(items=of_data_sets)
        items[:] = [item for item in items if item not in of_data_sets]
    for item in items:
        if item in of_data_sets:
            item.add_marker(pytest.mark.data_sets)
        if _needs_spark(item):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: not _needs_spark(item))


def _needs_spark(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return "spark" in getattr(item, "fixturenames", ()) or parameters.get("engine") == "spark"


@pytest.fixture(autouse=True)
def _examples_run_in_an_empty_folder(request, tmp_path_factory, monkeypatch):
    """Examples in docstrings and documents may leave files."""
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Outputs of other implementations."""
    return Path(__file__).parent / "tests" / "fixtures"


@pytest.fixture
def data_sets() -> Path:
    """The folder of data sets; its tests are deselected unless ``TRUEODDS_DATA`` names it."""
    return Path(os.environ["TRUEODDS_DATA"])
