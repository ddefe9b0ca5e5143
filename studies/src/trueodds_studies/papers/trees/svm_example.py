"""Figures 2 and 3 of the calibration trees paper: the tree of an SVM on Weka's RDG1 data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from trueodds.maps import TreeMap
from trueodds_studies._optional import need
from trueodds_studies._protocol import quietly
from trueodds_studies._report import Claim, Figure
from trueodds_studies._study import Results, Row, pick_rows
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import LabeledRows, make_decision_list
from trueodds_studies.papers.trees.paper_tree import AuthorsTree

__all__ = ["example_claim", "example_items", "example_rows", "example_tasks"]

N_EXAMPLES = 20
PRINTED = {"x5", "x8"}
"""The features on which figure 2 splits, numbered from 0 as in Weka."""


def example_tasks() -> list[Task]:
    """The same 100 rows, with the scores of several 5-fold cross-validations."""
    return crossed("rdg1", replicate=range(N_EXAMPLES))


def example_rows(task: Task) -> list[Row]:
    """Nodes of the tree in pre-order, with the path of one row."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.svm import SVC

    rows = make_decision_list()
    svm = SVC(C=10, gamma=0.01)
    seed = stable_seed("rdg1", task["replicate"]) % 2**32
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    scores = cross_val_predict(svm, rows.X, rows.y, cv=folds, method="decision_function")
    tree = AuthorsTree(scale="raw", categorical=range(10))
    with quietly():
        found: Any = tree.fit(scores, rows.y, features=rows.X).map_
    return _nodes(found, rows, svm.fit(rows.X, rows.y).decision_function(rows.X))


def _nodes(tree: TreeMap, rows: LabeledRows, scores: Any) -> list[Row]:
    at = tree.nodes_of(rows.X)
    deepest = max(range(len(tree.parent)), key=lambda node: (_depth(tree, node), -node))
    chosen = int(np.flatnonzero(at == deepest)[0]) if (at == deepest).any() else 0
    node, way = int(at[chosen]), set()
    while node >= 0:
        way.add(node)
        node = int(tree.parent[node])
    found: list[Row] = []
    for node, (parent, attribute) in enumerate(zip(tree.parent, tree.attribute, strict=True)):
        leaf: Any = tree.maps[node]
        siblings = [i for i, other in enumerate(tree.parent) if other == parent]
        found.append(
            {
                "node": node,
                "parent": int(parent),
                "branch": siblings.index(node),
                "attribute": f"x{attribute}" if attribute >= 0 else "",
                "n": float(tree.weight[node]),
                "slope": float(leaf.a),
                "intercept": float(leaf.c),
                "way": node in way,
                "chosen": chosen,
                "values": "".join(str(int(value)) for value in rows.X[chosen]),
                "score": float(scores[chosen]),
                "label": int(rows.y[chosen]),
            }
        )
    return found


def _depth(tree: TreeMap, node: int) -> int:
    depth = 0
    while tree.parent[node] >= 0:
        node, depth = int(tree.parent[node]), depth + 1
    return depth


def _trees(results: Results) -> dict[int, Any]:
    lines = pick_rows(results.frame, part="rdg1")
    return {int(number): tree for number, tree in lines.groupby("replicate", sort=True)}


def _asked(tree: Any) -> set[str]:
    return set(tree["attribute"]) - {""}


def example_claim(results: Results) -> Claim:
    """Judge whether figure 2 is reproduced."""
    trees = _trees(results)
    asked = [_asked(tree) for tree in trees.values()]
    roots = sum(tree["attribute"].iloc[0] == "x5" for tree in trees.values())
    both, same = sum(a >= PRINTED for a in asked), sum(a == PRINTED for a in asked)
    single = sum(not a for a in asked)
    return Claim(
        "The tree of an SVM (C = 10, γ = 0.01) on RDG1 splits on x5 and x8.",
        "figure 2",
        both > 0,
        f"100 rows of Weka's default seed; of {len(trees)} trees, each from another 5-fold "
        f"cross-validation of the SVM, {roots} split on x5 first, {both} on x8 too ({same} for "
        f"nothing else), and {single} are one leaf. The paper shows one example, so one such "
        "tree is enough",
    )


def _drawn(results: Results) -> Any:
    """Return the first tree with the paper's splits, or else the first with most of them."""
    trees = list(_trees(results).values())
    exact = [tree for tree in trees if _asked(tree) == PRINTED]
    return exact[0] if exact else max(trees, key=lambda tree: len(_asked(tree) & PRINTED))


def _places(tree: Any) -> dict[int, tuple[float, int]]:
    """Leaves side by side, parents over the middle of their children."""
    depth: dict[int, int] = {}
    for node, parent in zip(tree["node"], tree["parent"], strict=True):
        depth[int(node)] = depth[int(parent)] + 1 if parent >= 0 else 0
    across: dict[int, float] = {}
    leaves = 0
    for node in sorted(depth, reverse=True):
        children = [int(child) for child in tree.loc[tree["parent"] == node, "node"]]
        if children:
            across[node] = float(np.mean([across[child] for child in children]))
        else:
            across[node] = float(-leaves)
            leaves += 1
    return {node: (x, -depth[node]) for node, x in across.items()}


def _formula(slope: float, intercept: float) -> str:
    """F of the second class: half the log-odds, since both sum to zero."""
    sign = "−" if slope < 0 else "+"
    start = f"{intercept / 2:.2f}".replace("-", "−")
    return f"F₁ = {start} {sign} {abs(slope) / 2:.2f}·S\nF₀ = −F₁"


def example_items(results: Results) -> list[Figure | str]:
    """Draw the tree, with the path of one row and its probability."""
    pyplot = need("matplotlib.pyplot")
    tree = _drawn(results)
    places = _places(tree)
    lines = tree.set_index("node")
    figure, ax = pyplot.subplots(figsize=(7.5, 4.4), layout="constrained")
    for node, line in lines.iterrows():
        x, y = places[int(node)]
        color = "#d55e00" if line["way"] else "0.45"
        width = 2.2 if line["way"] else 1.0
        if line["parent"] >= 0:
            up = places[int(line["parent"])]
            ax.plot([up[0], x], [up[1], y], color=color, lw=width, zorder=1)
            middle = (up[0] + x) / 2, (up[1] + y) / 2
            ax.text(*middle, f"= {int(line['branch'])}", ha="center", va="center", fontsize=9,
                    bbox={"fc": "white", "ec": "none", "pad": 1.5})  # fmt: skip
        words = line["attribute"] or f"{_formula(line['slope'], line['intercept'])}\n"
        words += "" if line["attribute"] else f"{line['n']:.0f} rows"
        shape = "round,pad=0.5" if line["attribute"] else "square,pad=0.4"
        ax.text(x, y, words, ha="center", va="center", fontsize=9,
                bbox={"boxstyle": shape, "fc": "white", "ec": color, "lw": width})  # fmt: skip
    xs, ys = zip(*places.values(), strict=True)
    ax.set(xlim=(min(xs) - 0.6, max(xs) + 0.6), ylim=(min(ys) - 0.45, 0.35))
    ax.axis("off")
    title = "Figures 2 and 3 again: a calibration tree, and the way of one row through it"
    return [_walk(tree), Figure.of("figure-2", title, figure)]


def _walk(tree: Any) -> str:
    """Describe the path of the chosen row."""
    way = tree[tree["way"].astype(bool)]
    leaf = way.iloc[-1]
    values = str(leaf["values"])
    asked = [f"{name} = {values[int(name[1:])]}" for name in way["attribute"] if name]
    log_odds = float(leaf["slope"] * leaf["score"] + leaf["intercept"])
    return (
        "The tree of an SVM's scores S (C = 10, γ = 0.01) on the 100 rows of Weka's RDG1, as "
        "`trueodds_studies.datasets.make_decision_list` makes them. The row "
        f"{', '.join(values)} (x0 to x9; class {int(leaf['label'])}) has "
        f"{' and '.join(asked) or 'one leaf to go to'}. Its score S = {leaf['score']:.2f} becomes "
        f"F₁ = {log_odds / 2:.2f} = −F₀, and so the probability "
        f"{float(expit(log_odds)):.2f} of class 1."
    )
