"""The tree of the paper's authors: equal to their program, and to its naive twin."""

import numpy as np
import pandas as pd
import pytest

from support.naive_tree import NaiveTree, weka_test_rows
from trueodds import TreeCalibrator
from trueodds.exceptions import InputError
from trueodds_studies.papers.trees import AuthorsTree
from trueodds_studies.papers.trees.paper_tree import authors_order

REFERENCE = {
    "bin800": (
        {},
        [
            "x1 <= 0.038955: (n=400)",
            "x1 > 0.038955",
            "|   x4 <= 0.254339",
            "|   |   x2 <= 0.718192: (n=194)",
            "|   |   x2 > 0.718192: (n=50)",
            "|   x4 > 0.254339: (n=156)",
        ],
    ),
    "bin800_C": (
        {"n_iterations": "node"},
        [
            "x1 <= 0.038955: (n=400)",
            "x1 > 0.038955",
            "|   x4 <= 0.254339: (n=244)",
            "|   x4 > 0.254339: (n=156)",
        ],
    ),
    "global500": ({}, ["one leaf: (n=500)"]),
    "multi900": (
        {},
        [
            "x2 <= -0.400000: (n=318)",
            "x2 > -0.400000",
            "|   x1 <= 0.100000",
            "|   |   c1 = a: (n=114)",
            "|   |   c1 = b: (n=108)",
            "|   |   c1 = c: (n=95)",
            "|   x1 > 0.100000: (n=265)",
        ],
    ),
}
REFERENCE["bin800_ERR"] = ({"pruning": "error"}, REFERENCE["bin800"][1])
REFERENCE["bin800_I10"] = ({"n_iterations": 10}, REFERENCE["bin800"][1])


def read_set(folder, name):
    frame = pd.read_csv(folder / f"{name}.csv")
    scores = frame[[c for c in frame if c.startswith("s")]].to_numpy()
    return scores, frame["label"], frame[[c for c in frame if c[0] in "xc"]]


def structure(text):
    """The lines of the text without the maps."""
    return [
        line if ": " not in line else line.split(": ")[0] + ": (" + line.split("  (")[1]
        for line in text.splitlines()
    ]


@pytest.mark.parametrize("name", REFERENCE)
def test_tree_and_probabilities_equal_the_authors_program(fixtures, name):
    folder, base = fixtures / "pct", name.partition("_")[0]
    options, lines = REFERENCE[name]
    scores, y, X = read_set(folder, f"{base}_train")
    calibrator = AuthorsTree(scale="logit", **options).fit(scores, y, features=X)
    assert structure(calibrator.export_text(decimals=6)) == lines
    expected = pd.read_csv(folder / f"{name}_pred.csv")
    columns = [c for c in expected if c.startswith("p")]
    for part in expected["set"].unique():
        test_scores, _, test_X = read_set(folder, f"{base}_{part}")
        p = calibrator.predict_proba(test_scores, features=test_X)
        rows = expected[expected["set"] == part]
        np.testing.assert_allclose(p[rows["row"]], rows[columns], rtol=0, atol=1e-8)


def test_iterations_equal_the_authors_program(fixtures):
    for name, expected in {"global500": 2, "multi900": 2}.items():
        scores, y, X = read_set(fixtures / "pct", f"{name}_train")
        calibrator = AuthorsTree(scale="logit").fit(scores, y, features=X)
        assert calibrator.n_iterations_ == expected


@pytest.mark.parametrize("n", [5, 23, 60])
def test_folds_equal_those_of_the_naive_twin(n):
    labels = np.random.default_rng(n).integers(0, 3, n)
    expected = np.concatenate(weka_test_rows(labels))
    np.testing.assert_array_equal(authors_order(labels.astype(np.int32)), expected)


def test_the_library_names_where_the_folds_are():
    with pytest.raises(InputError, match="in trueodds-studies"):
        TreeCalibrator(cv="weka").fit([0.1, 0.2, 0.8], [0, 1, 1], features=[[1], [2], [3]])


def make(seed, m, constant=False):
    """Rounded attributes and a nominal one, so that cuts, gains and branches often tie."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, 110))
    X = np.column_stack(
        [
            rng.normal(size=n).round(1),
            rng.integers(0, 4, n),
            rng.integers(0, 3, n),
            rng.random(n),
        ]
    ).astype(float)
    S = rng.normal(size=(n, m)).round(2)
    if m == 2:
        S[:, 0] = -S[:, 1]
    if constant:
        S[X[:, 1] == 1] = 0.5  # some nodes have no column that varies
        S[:, 0] = -S[:, 1] if m == 2 else S[:, 0]
    logits = 1.5 * S + np.outer(X[:, 0], np.arange(m)) + 2.0 * (X[:, [2]] == np.arange(m))
    y = (logits + rng.gumbel(size=(n, m))).argmax(axis=1)
    if len(np.unique(y)) < m:
        y[:m] = np.arange(m)
    return X, S, y


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("m", [2, 3, 4])
def test_structure_and_probabilities_equal_the_naive_tree(seed, m):
    X, S, y = make(seed, m, constant=seed % 3 == 0)
    n_iterations = 1 + seed % 4
    naive = NaiveTree(X, [0, 0, 3, 0], S, y, m, n_iterations)
    fast = AuthorsTree(scale="logit", n_iterations=n_iterations, categorical=[2]).fit(
        S, y, features=X
    )
    assert fast.n_leaves_ == len([n for n in walk(naive.root) if n.is_leaf])
    np.testing.assert_allclose(
        fast.predict_proba(S, features=X), naive.predict(X, S), rtol=0, atol=1e-9
    )


def walk(node):
    yield node
    for child in () if node.is_leaf else node.children:
        yield from walk(child)
