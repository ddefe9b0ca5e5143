"""Section 4.3 of the calibration trees paper: a classifier that predicts class frequencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from trueodds import IsotonicCalibrator, LogisticCalibrator
from trueodds.inputs import Floats
from trueodds.metrics import root_mean_squared_error
from trueodds_studies._optional import need
from trueodds_studies._protocol import quietly
from trueodds_studies._report import Claim, Figure, Table
from trueodds_studies._study import Results, Row, pick_rows
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import LabeledRows, make_regions
from trueodds_studies.papers.trees.numbers import METHODS
from trueodds_studies.papers.trees.paper_tree import PaperTree

__all__ = [
    "artificial_claims",
    "artificial_items",
    "artificial_tasks",
    "run_artificial",
    "run_surface",
]

N_SAMPLES, N_TRAIN, N_TEST, N_GRID = 10, 1000, 10_000, 40
BASE, TREE, TRUTH = "base", "decision tree", "truth"
SIMILAR = 0.01


def artificial_tasks() -> list[Task]:
    """Samples × methods, and the picture of the first sample."""
    methods = [BASE, *METHODS, TREE, TRUTH]
    return [
        *crossed("artificial", replicate=range(N_SAMPLES), method=methods),
        Task("surface", {"replicate": 0}),
    ]


def _samples(replicate: int) -> tuple[LabeledRows, LabeledRows]:
    rng = np.random.default_rng(stable_seed("artificial", replicate))
    return make_regions(N_TRAIN, random_state=rng), make_regions(N_TEST, random_state=rng)


def run_artificial(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    """All methods on one sample."""
    train, test = _samples(todo[0]["replicate"])
    for task in todo:
        with quietly():
            p = _forecast(task["method"], train, test)
        yield task, {"rmse": root_mean_squared_error(test.y, p, classes=[0, 1])}


def _forecast(method: str, train: LabeledRows, test: LabeledRows) -> Floats:
    scores, new = (np.full(len(rows.y), train.y.mean()) for rows in (train, test))
    if method == TRUTH:
        return test.probability
    if method == BASE:
        return new
    if method == TREE:
        return _decision_tree(train, test.X)
    if method == "PCT":
        tree = PaperTree().fit(scores, train.y, features=train.X)
        return tree.predict_proba(new, features=test.X)[:, 1]
    kind = {"PS": LogisticCalibrator, "IR": IsotonicCalibrator}[method]
    found: Floats = kind().fit(scores, train.y).predict_proba(new)[:, 1]
    return found


def _decision_tree(train: LabeledRows, X: Floats) -> Floats:
    """An ordinary decision tree, pruned by cross-validation too."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    grid = {"ccp_alpha": [0.0, *np.geomspace(1e-4, 1e-1, 13)]}
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    search = GridSearchCV(tree, grid, scoring="neg_brier_score", cv=5).fit(train.X, train.y)
    found: Floats = search.predict_proba(X)[:, 1]
    return found


def run_surface(todo: Sequence[Task]) -> Iterator[tuple[Task, list[Row]]]:
    """Return the predictions of PCT on a grid of the square."""
    side = (np.arange(N_GRID) + 0.5) / N_GRID
    across, up = (axis.ravel() for axis in np.meshgrid(side, side))
    grid = np.column_stack([across, up])
    for task in todo:
        train, _ = _samples(task["replicate"])
        with quietly():
            p = _forecast("PCT", train, LabeledRows(grid, np.zeros(len(grid), np.int64), across))
        constant = float(train.y.mean())
        points = zip(across.tolist(), up.tolist(), p.tolist(), strict=True)
        yield task, [{"across": a, "up": u, "p": q, "constant": constant} for a, u, q in points]


def _table(results: Results) -> Any:
    """RMSE: samples × methods."""
    return results.table("rmse", rows="replicate", columns="method", part="artificial")


def artificial_claims(results: Results) -> list[Claim]:
    """The two claims of section 4.3."""
    table = _table(results)
    flat = float((table[["PS", "IR"]].sub(table[BASE], axis=0)).abs().to_numpy().max())
    better = int((table["PCT"] < table[BASE]).sum())
    apart = float((table["PCT"] - table[TREE]).mean())
    like_a_tree = better == len(table) and abs(apart) < SIMILAR
    return [
        Claim(
            "Global methods cannot improve a classifier that always predicts the class frequency.",
            "section 4.3",
            flat < 1e-3,
            f"RMSE moves by at most {flat:.1g} in {len(table)} samples",
            None if flat < 1e-3 else "criterion",
        ),
        Claim(
            "PCT does, and becomes essentially an ordinary decision tree.",
            "section 4.3, figure 4",
            like_a_tree,
            f"better in {better} of {len(table)} samples; its mean RMSE is {apart:+.4f} from that "
            f"of a decision tree, judged: within {SIMILAR}",
            None if like_a_tree else "criterion",
        ),
    ]


def artificial_items(results: Results) -> list[Table | Figure]:
    """A table and figure 4."""
    means = _table(results).mean()
    note = (
        "RMSE on 10,000 new rows; 1000 rows of `trueodds_studies.datasets.make_regions`, whose "
        "regions are ours: the paper shows its regions only in a picture. The decision tree is "
        "scikit-learn's, pruned by cross-validation."
    )
    names = {TRUTH: "true probability"}
    rows = [[names.get(method, method), float(mean)] for method, mean in means.items()]
    table = Table("A constant classifier", ["method", "RMSE"], rows, digits=4, note=note)
    return [table, _surface(results)]


def _surface(results: Results) -> Figure:
    pyplot = need("matplotlib.pyplot")
    points = pick_rows(results.frame, part="surface")
    wide = points.pivot_table(index="up", columns="across", values="p")
    constant = np.full(wide.shape, float(points["constant"].iloc[0]))
    figure, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.3), sharey=True, layout="constrained")
    titles = ("always the class frequency", "after PCT")
    for ax, values, title in zip(axes, (constant, wide.to_numpy()), titles, strict=True):
        image = ax.imshow(
            values, origin="lower", extent=(0, 1, 0, 1), vmin=0, vmax=1, cmap="RdBu_r"
        )
        ax.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="probability", shrink=0.9)
    return Figure.of(
        "figure-4", "Figure 4 again: a constant classifier before and after calibration", figure
    )
