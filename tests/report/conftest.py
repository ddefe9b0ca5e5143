"""Reports that several tests look at, made once, and a browser to look at them."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from report_samples import HOSTILE, METHODS, method, over_confident, several_classes

from support.services import lacking
from trueodds.report import build_report

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        lacking("needs Chromium (Debian package chromium) and the Python package playwright")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def binary_report():
    p, y, groups = over_confident()
    return build_report(
        p,
        y,
        groups=groups,
        calibrators=METHODS,
        provenance={"file": "predictions.parquet"},
        command="trueodds report predictions.parquet --score p --label y -o report.html",
    )


@pytest.fixture(scope="session")
def hostile_report():
    p, y, groups = over_confident(n=1500)
    return build_report(
        p,
        np.where(y, HOSTILE, "!"),
        groups={HOSTILE: np.where(groups["region"] == "west", HOSTILE, "fine")},
        calibrators={"identity": method("identity"), HOSTILE: method("temperature")},
        names={"score": HOSTILE, "label": HOSTILE, "title": HOSTILE},
        provenance={HOSTILE: HOSTILE},
        command=HOSTILE,
    )


@pytest.fixture(scope="session")
def several_report():
    p, y = several_classes()
    rng = np.random.default_rng(0)
    groups = {"site": rng.choice(["a", "b"], len(y))}
    return build_report(p, y, groups=groups, calibrators=["identity", "temperature", "vector"])


@pytest.fixture
def run_fresh():
    """Run lines in a new interpreter and fail if they do."""

    def run(lines):
        done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return run
