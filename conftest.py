"""Examples in docstrings and documents run in an empty folder, where they may leave files."""

import pytest
from _pytest.doctest import DoctestItem


@pytest.fixture(autouse=True)
def _examples_run_in_an_empty_folder(request, tmp_path_factory, monkeypatch):
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(tmp_path_factory.mktemp("example"))
