"""Where the reference outputs of other implementations are found."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with data sets and with outputs of the authors' programs; not in the project."""
    folder = os.environ.get("TRUEODDS_SHARED")
    path = Path(folder) if folder else Path(__file__).resolve().parents[2] / "shared"
    if not path.is_dir():
        pytest.skip(f"no folder {path}: set TRUEODDS_SHARED to the folder of reference outputs")
    return path


@pytest.fixture(scope="session")
def fixtures(shared: Path) -> Path:
    return shared / "fixtures"
