"""The scores that the charcoal grill study calibrates: synthetic, of our models, of networks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from trueodds.inputs import Floats
from trueodds_studies._protocol import as_matrix
from trueodds_studies._scratch import Arrays
from trueodds_studies._task import stable_seed
from trueodds_studies.datasets import load, make_compressed_scores

__all__ = [
    "SCORERS",
    "HeldOut",
    "forest_f1",
    "halves",
    "held_out",
    "one_coal_by_descent",
    "synthetic_scores",
]

N_FIT, N_HELD_OUT = 1000, 100_000
LEGITIMATE = 12.44
"""The weight of a legitimate row of creditcard-casecontrol that restores the natural rate."""
N_STOCKNET = {"fit": 656, "test": 1008}


class HeldOut(NamedTuple):
    """Evenly spread scores, and the probabilities of equation 5."""

    scores: Floats
    true: Floats

    def weighted_labels(self) -> tuple[Any, Floats]:
        """A row of probability t is a positive of weight t and a negative of weight 1 − t."""
        labels = np.repeat([1, 0], len(self.true))
        return labels, np.concatenate([self.true, 1 - self.true])


def synthetic_scores(temperature: float, replicate: int) -> Any:
    """1000 uniform scores with labels; samples of one number share their scores."""
    seed = stable_seed("fit", replicate)
    return make_compressed_scores(N_FIT, temperature=temperature, random_state=seed)


@lru_cache(maxsize=2)
def held_out(temperature: float) -> HeldOut:
    """Return the quantities that the paper's 10⁶ labeled points approximate."""
    scores = (np.arange(N_HELD_OUT) + 0.5) / N_HELD_OUT
    z = logit(scores)
    return HeldOut(scores, np.asarray(expit(np.where(z > 0, z / temperature, z))))


@lru_cache(maxsize=1)
def network_scores(name: str) -> tuple[Floats, Any]:
    """Logits and labels."""
    dataset = load(name)
    return as_matrix(dataset.X), np.asarray(dataset.y).astype(np.int64)


def halves(name: str, replicate: int) -> Arrays:
    """A network's rows, shuffled and cut in half."""
    scores, y = network_scores(name)
    order = np.random.default_rng(stable_seed("halves", name, replicate)).permutation(len(y))
    fit, test = np.array_split(order, 2)
    return {"fit": scores[fit], "fit_y": y[fit], "test": scores[test], "test_y": y[test]}


def _stocknet_scores(replicate: int) -> Arrays:
    """A small neural network on prices and numbers of tweets, cut by date as Stocknet was."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    dataset = load("stocknet-movement")
    X, y = as_matrix(dataset.X.iloc[:, :35]), np.asarray(dataset.y).astype(np.int64)
    X = StandardScaler().fit(X[:14_983]).transform(X)
    seed = stable_seed("stocknet", replicate)
    model = MLPClassifier((64,), max_iter=40, tol=0, n_iter_no_change=40, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Stochastic Optimizer")  # 40 epochs are intended
        model.fit(X[:14_983], y[:14_983])
    rng = np.random.default_rng(seed)
    arrays: Arrays = {}
    for name, rows in (("fit", np.arange(14_983, 16_933)), ("test", np.arange(16_933, len(y)))):
        some = np.sort(rng.choice(rows, N_STOCKNET[name], replace=False))
        arrays[name], arrays[f"{name}_y"] = model.predict_proba(X[some])[:, 1], y[some]
    return arrays


def _fraud_scores(replicate: int) -> Arrays:
    """The paper's random forest of 200 trees, on 80% of the rows; 10% to fit, 10% to test."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    dataset = load("creditcard-casecontrol")
    X, y = as_matrix(dataset.X), np.asarray(dataset.y).astype(np.int64)
    weight = np.where(y == 0, LEGITIMATE, 1.0)
    seed = stable_seed("fraud", replicate)
    split = partial(train_test_split, random_state=seed)
    train, rest = split(np.arange(len(y)), test_size=0.2, stratify=y)
    fit, test = split(rest, test_size=0.5, stratify=y[rest])
    model = RandomForestClassifier(200, random_state=seed).fit(X[train], y[train], weight[train])
    arrays: Arrays = {}
    for name, rows in (("fit", fit), ("test", test)):
        arrays[name], arrays[f"{name}_y"] = model.predict_proba(X[rows])[:, 1], y[rows]
        arrays[f"{name}_weight"] = weight[rows]
    return arrays


def forest_f1() -> float:
    """F1 of the positive class in 5-fold cross-validation of that forest, at the natural rate."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold

    dataset = load("creditcard-casecontrol")
    X, y = as_matrix(dataset.X), np.asarray(dataset.y).astype(np.int64)
    weight = np.where(y == 0, LEGITIMATE, 1.0)
    seed = stable_seed("forest")
    found = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
        model = RandomForestClassifier(200, random_state=seed)
        model.fit(X[train], y[train], weight[train])
        found.append(f1_score(y[test], model.predict(X[test]), sample_weight=weight[test]))
    return float(np.mean(found))


N_STEPS = 2000


def one_coal_by_descent(z: Floats, y: Any, optimizer: str, rate: float) -> tuple[float, float]:
    """Temperature and bias of σ(z/T + b) after some steps on the log-loss, T kept positive.

    ``"descent"`` is plain gradient descent, ``"adam"`` Adam with its usual constants.
    """
    theta, first, second = np.array([1.0, 0.0]), np.zeros(2), np.zeros(2)
    for step in range(1, N_STEPS + 1):
        residual = expit(z / theta[0] + theta[1]) - y
        gradient = np.array([-np.mean(residual * z) / theta[0] ** 2, np.mean(residual)])
        if optimizer == "adam":
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            gradient = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        theta = theta - rate * gradient
        theta[0] = max(theta[0], 1e-3)
    return float(theta[0]), float(theta[1])


SCORERS: dict[str, Callable[[int], Arrays]] = {
    "stocknet-movement": _stocknet_scores,
    "creditcard-casecontrol": _fraud_scores,
}
