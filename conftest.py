"""What all tests share: reference outputs, and an empty folder for examples."""

import os
from pathlib import Path

import hypothesis
import pytest
from _pytest.doctest import DoctestItem

# How long an example takes says nothing on a busy machine. The same examples every time, so that
# nobody's change fails for what it did not touch; HYPOTHESIS_EXPLORE=1 looks for new ones.
hypothesis.settings.register_profile(
    "trueodds", deadline=None, derandomize="HYPOTHESIS_EXPLORE" not in os.environ
)
hypothesis.settings.load_profile("trueodds")
# Tests run in several processes, and their matrices are small: with a pool of threads in each, the
# threads of BLAS and OpenMP would mostly wait for one another. To be set before NumPy is loaded.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starting Spark takes longer than any test, so its tests come first, in one process."""
    for item in items:
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
def shared() -> Path:
    """The folder with data sets and with outputs of the authors' programs; not in the project."""
    folder = os.environ.get("TRUEODDS_SHARED")
    path = Path(folder) if folder else Path(__file__).resolve().parents[1] / "shared"
    if not path.is_dir():
        pytest.skip(f"no folder {path}: set TRUEODDS_SHARED to the folder of reference outputs")
    return path


@pytest.fixture(scope="session")
def fixtures(shared: Path) -> Path:
    """Outputs of other implementations."""
    return shared / "fixtures"
