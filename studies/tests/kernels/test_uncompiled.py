"""Kernels of the studies without a compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import trueodds_studies

USE_KERNELS = """
import numpy as np
from trueodds_studies.kernels import learners
print(learners.__file__)
rng = np.random.default_rng(0)
codes = rng.integers(0, 5, (2, 30)).astype(np.int32)
sizes, y = np.array([5, 5], np.int32), rng.integers(0, 2, 30).astype(np.int8)
for real in (False, True):
    found = learners.boost_stumps(codes, sizes, y, 4, real)
    print([np.round(column, 14).tolist() for column in found])
nominal = np.array([0, 1], np.int8)
response, weight = rng.random((1, 30)), np.ones((1, 30))
(tree,) = learners.grow_trees(codes, sizes, nominal, response, weight, 2, False)
for found in (tree.attribute, tree.low, tree.high, tree.value, tree.fitted):
    print(np.round(found, 14).tolist())  # exponentials are Python's own without a compiler
"""


def test_kernels_run_uncompiled_with_the_same_results(tmp_path):
    shutil.copytree(
        Path(trueodds_studies.__file__).parent,
        tmp_path / "trueodds_studies",
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
    )
    said = []
    for path in (str(tmp_path), os.environ.get("PYTHONPATH", "")):
        done = subprocess.run(
            [sys.executable, "-c", USE_KERNELS],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout.partition("\n"))
    uncompiled, installed = said
    assert uncompiled[0] == str(tmp_path / "trueodds_studies" / "kernels" / "learners.py")
    assert installed[0] != uncompiled[0]
    assert installed[2] == uncompiled[2]
