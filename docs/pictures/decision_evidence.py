"""Compare methods by the results of the studies: the numbers that decision.py draws.

Losses are paired by set, model and fold, and averaged within each data set. The method with the
lowest mean over data sets is recommended, and so is every method whose paired difference from it is
below two standard errors (over data sets; where there are few of them, over samples or splits).
Nothing about which method wins is written here.
"""

import json
import sys

import numpy as np
import pandas as pd

__all__ = ["TIE", "compute"]

TIE = 2.0
"""Differences below so many standard errors are called a tie."""
ORDER_COSTS = 0.01
"""Where isotonic regression loses more log-loss than this to ENIR, the ranking is called wrong."""

# Methods of each study under the names of this library. Isotonic regression says 0 and 1, as naive
# Bayes does, so that the log-loss is infinite or, where a study clips it, a property of the clip:
# by log-loss it is compared with Platt's targets only (the star).
WITH_TARGETS = {
    "chains": "Bayesian isotonic",
    "enir-platt": "ENIR*",
    "iso-platt": "isotonic*",
    "beta-platt": "beta*",
    "log-platt": "logistic*",
}
FORMULAS = {"beta-platt": "beta*", "log-platt": "logistic*"}
BETA_STUDY = {
    "beta": "beta",
    "beta-am": "logistic",
    "logistic": "logistic, raw scores",
    "beta-ab": "beta, m = ½",
}
CLIPPED = {"isotonic": "isotonic", "uncalibrated": "uncalibrated"}
"""Compared by Brier score only."""
NETWORKS = {
    "CGS-3-withbias": "charcoal grill",
    "temperature": "temperature",
    "vector": "vector",
    "matrix": "matrix",
    "original": "uncalibrated",
}
ENIR_STUDY = {"ENIR": "ENIR", "BBQ": "BBQ", "IsoRegC": "isotonic", "base": "uncalibrated"}
TREE_STUDY = {"PCT": "calibration tree", "PS": "logistic", "IR": "isotonic"}
BENCHMARK = {
    "auto": "AutoCalibrator",
    "identity": "uncalibrated",
    "temperature": "temperature",
    "logistic": "logistic",
    "beta": "beta",
    "charcoal_grill": "charcoal grill",
    "isotonic": "isotonic",
    "histogram": "histogram",
    "acp": "ACP",
    "bbq": "BBQ",
    "enir": "ENIR",
    "bayesian_isotonic": "Bayesian isotonic",
}


def compare(panel, measure, losses, names, *, by):
    """How far each method is above the lowest: mean and standard error over the groups ``by``.

    ``losses`` has one row for each pair and one column for each method; pairs are the levels of its
    index. A method with an infinite loss somewhere has an infinite mean and can win nothing.
    ``infinite`` counts the pairs where it has, ``below`` those where it is below the lowest.
    """
    losses = losses[list(names)].rename(columns=names)
    if losses.isna().any().any():
        sys.exit(f"{panel}: some method has no result for some pair; is the study finished?")
    means = losses.groupby(level=by).mean()
    best = means.mean().idxmin()
    gaps = means.sub(means[best], axis=0)
    finite = np.isfinite(gaps).all()
    above = gaps.mean().where(finite, np.inf)
    error = gaps.loc[:, finite].std() / np.sqrt(len(gaps))
    found = pd.DataFrame({"above": above, "error": error.reindex(above.index)})
    found["infinite"] = np.isinf(losses).sum()
    found["below"] = losses.lt(losses[best], axis=0).sum()
    found = found.sort_values("above", kind="stable").rename_axis("method").reset_index()
    # Down to the first that is behind: one that is worse still, but erratic, is not recommended.
    found["recommended"] = (found["above"] <= TIE * found["error"].fillna(0)).cummin()
    found.insert(0, "panel", panel)
    found.insert(1, "measure", measure)
    sets = losses.index.get_level_values("set").nunique() if "set" in losses.index.names else 0
    return found.assign(sets=sets, groups=len(gaps), pairs=len(losses))


def wide(rows, loss, *pair):
    """One row for each pair, one column for each method."""
    return rows.pivot_table(index=list(pair), columns="method", values=loss)


def read(folder, name):
    path = folder / name / "results.parquet"
    if not path.exists():
        sys.exit(
            f"{path} is missing. Make it: trueodds study {name} --profile standard "
            f"--output {path.parent}"
        )
    return pd.read_parquet(path)


def bayes_isotonic_panels(folder):
    rows = read(folder, "bayes-isotonic")
    rows = rows[rows["part"] == "real"]
    # Folds that all methods have: the dear ones are not run on all, equal scores are left out.
    tables = {
        (loss, size): wide(rows[rows["size"] == size], loss, "set", "model", "outer", "inner")[
            ["iso", *WITH_TARGETS]
        ].dropna()
        for loss in ("log_loss", "brier_score")
        for size in (100, 1000, 3000)
    }
    # The price of insisting on the order of the scores: the same targets, with and without.
    price = [
        tables["log_loss", n]["iso-platt"] - tables["log_loss", n]["enir-platt"]
        for n in (1000, 3000)
    ]
    wrong = (price[0] > ORDER_COSTS) & (price[1] > ORDER_COSTS)
    for size in (100, 1000, 3000):
        table = tables["log_loss", size]
        right = ~wrong.reindex(table.index, fill_value=False)
        yield compare(f"rows-{size}", "log-loss", table[right], WITH_TARGETS, by="set")
        yield compare(f"rows-{size}-all", "log-loss", table, WITH_TARGETS, by="set")
        yield compare(f"formula-{size}", "log-loss", table[right], FORMULAS, by="set")
        yield compare(
            f"rows-{size}",
            "Brier score",
            tables["brier_score", size][right],
            {"iso": "isotonic", **WITH_TARGETS},
            by="set",
        )
    yield compare(
        "ranking-real",
        "log-loss",
        tables["log_loss", 3000][wrong.reindex(tables["log_loss", 3000].index)],
        WITH_TARGETS,
        by="set",
    )


def beta_panels(folder):
    rows = read(folder, "beta")
    rows = rows[rows["part"] == "cv"]
    pair = ("set", "model", "repeat", "fold")
    yield compare("formula", "log-loss", wide(rows, "log_loss", *pair), BETA_STUDY, by="set")
    with_clipped = {**BETA_STUDY, **CLIPPED}
    yield compare(
        "formula", "Brier score", wide(rows, "brier_score", *pair), with_clipped, by="set"
    )
    for model, some in rows.groupby("model"):
        table = wide(some, "log_loss", *pair)
        yield compare(f"formula-{model}", "log-loss", table, BETA_STUDY, by="set")


def grill_panels(folder):
    rows = read(folder, "grill")
    rows = rows[(rows["part"] == "networks") & (rows["solver"] != "paper")]
    hundred = rows["set"].str.contains("cifar100")
    for n_classes, some in ((10, rows[~hundred]), (100, rows[hundred])):
        table = wide(some, "log_loss", "set", "replicate")
        # Three networks and one: the error is that of other splits, not of other networks.
        yield compare(f"classes-{n_classes}", "log-loss", table, NETWORKS, by="replicate")


def enir_panels(folder):
    rows = read(folder, "enir")
    simulated = rows[(rows["part"] == "simulated") & (rows["source"] == "ours")]
    for panel, kernel in (("ranking-wrong", "linear"), ("ranking-right", "quadratic")):
        table = wide(simulated[simulated["kernel"] == kernel], "RMSE", "repeat")
        yield compare(panel, "RMSE", table, ENIR_STUDY, by="repeat")
    single_folds = rows[(rows["part"] == "real") & (rows["fold"] >= 0)]
    for model, some in single_folds.groupby("model"):
        table = wide(some, "RMSE", "set", "repeat", "fold")
        yield compare(f"enir-{model}", "RMSE", table, ENIR_STUDY, by="set")


def tree_panels(folder):
    rows = read(folder, "trees")
    for model, some in rows[rows["part"] == "cv"].groupby("model"):
        table = wide(some, "rmse", "set", "repeat", "fold")
        yield compare(f"tree-{model}", "RMSE", table, TREE_STUDY, by="set")


def benchmark_panels(folder):
    path = folder / "auto-ranks.jsonl"
    if not path.exists():
        sys.exit(f"{path} is missing. Make it: python benchmarks/choices/auto_ranks.py {path}")
    pairs = [json.loads(line) for line in path.read_text().splitlines()]
    index = pd.MultiIndex.from_tuples(
        [(p["set"], p["model"]) for p in pairs], names=["set", "model"]
    )
    losses = [p["held_out"] | {"auto": p["held_out"][p["auto"]]} for p in pairs]
    table = pd.DataFrame(losses, index=index)
    yield compare("auto", "log-loss", table, BENCHMARK, by="set")
    for model, some in table.groupby(level="model"):
        yield compare(f"auto-{model}", "log-loss", some, BENCHMARK, by="set")


def compute(folder):
    """Every comparison, one row for each method."""
    makers = (
        grill_panels,
        tree_panels,
        enir_panels,
        beta_panels,
        bayes_isotonic_panels,
        benchmark_panels,
    )
    return pd.concat([panel for maker in makers for panel in maker(folder)], ignore_index=True)
