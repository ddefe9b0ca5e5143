"""The nine base models of the Bayesian isotonic paper, with scikit-learn's defaults of 2019.

The paper takes "the default parameters, except for the decision tree". Those of scikit-learn 0.20
and 0.21, which its authors had, differ from today's: ten trees in a forest, ``gamma="auto"`` of the
support vector machine, liblinear for logistic regression, and AdaBoost by SAMME.R. Features are not
standardized, there or here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from trueodds.inputs import Floats

__all__ = ["DEFAULTS", "MODELS", "RealAdaBoost", "held_out_scores"]

MODELS = ("DT", "NB", "SVM", "RF", "LR", "KNN", "ADA", "BAG-DT", "ANN")

DEFAULTS = (
    "DT: Gini, leaves of at least 10 rows, as in the paper. NB: Gaussian. SVM: radial kernel, "
    'C = 1, `gamma="auto"` (1 over the number of features). RF: 10 trees. LR: liblinear, C = 1. '
    "KNN: 5 neighbors. ADA: 50 stumps, SAMME.R. BAG-DT: 10 trees. ANN: one layer of 100 units, "
    "Adam, at most 200 epochs"
)
"""The defaults of scikit-learn 0.20 and 0.21, for the page."""


class RealAdaBoost:
    """Boosted stumps that vote with probabilities: SAMME.R, scikit-learn's default until 1.4.

    Each stump gives p(x); its vote is 0.5·ln(p/(1 − p)), and rows are weighted by exp(−y·vote).
    The model's log-odds are the mean of the stumps' log-odds, as scikit-learn took them.

    Parameters
    ----------
    n_stumps : int, default=50
    random_state : int, default=0
        Decides between equally good splits.

    References
    ----------
    Zhu, Zou, Rosset and Hastie (2009), Multi-class AdaBoost, algorithm 4. Friedman, Hastie and
    Tibshirani (2000), Additive logistic regression, algorithm 2.
    """

    def __init__(self, *, n_stumps: int = 50, random_state: int = 0) -> None:
        self.n_stumps = n_stumps
        self.random_state = random_state

    def fit(self, X: Floats, y: npt.NDArray[Any]) -> RealAdaBoost:
        """Boost on rows X (n, d) with labels 0 and 1, of which both must occur."""
        from sklearn.tree import DecisionTreeClassifier

        weight, sign = np.full(len(y), 1 / len(y)), np.where(y == 1, 1.0, -1.0)
        self.stumps_: list[Any] = []
        rng = np.random.RandomState(self.random_state)
        for _ in range(self.n_stumps):
            stump = DecisionTreeClassifier(max_depth=1, random_state=rng)
            stump.fit(X, y, sample_weight=weight)
            self.stumps_.append(stump)
            log_odds = _log_odds(stump, X)
            if not np.any((log_odds > 0) != (y == 1)):
                break  # it makes no error
            weight *= np.exp(-sign * log_odds / 2)
            weight /= weight.sum()
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of shape (n, 2)."""
        p = expit(np.mean([_log_odds(stump, X) for stump in self.stumps_], axis=0))
        return np.column_stack([1 - p, p])


def _log_odds(stump: Any, X: Floats) -> Floats:
    logs = np.log(np.maximum(stump.predict_proba(X), np.finfo(np.float64).eps))
    return np.asarray(logs[:, 1] - logs[:, 0])


def _model(name: str, seed: int) -> Any:
    from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    models = {
        "DT": lambda: DecisionTreeClassifier(min_samples_leaf=10, random_state=seed),
        "NB": GaussianNB,
        "SVM": lambda: SVC(gamma="auto"),
        "RF": lambda: RandomForestClassifier(n_estimators=10, random_state=seed),
        "LR": lambda: LogisticRegression(solver="liblinear", random_state=seed),
        "KNN": KNeighborsClassifier,
        "ADA": lambda: RealAdaBoost(random_state=seed),
        "BAG-DT": lambda: BaggingClassifier(n_estimators=10, random_state=seed),
        "ANN": lambda: MLPClassifier(random_state=seed),
    }
    return models[name]()


def held_out_scores(
    name: str, X: Floats, y: npt.NDArray[Any], others: list[Floats], seed: int
) -> list[Floats]:
    """Scores in [0, 1] of other rows by a model of the rows X.

    The logistic function turns decision values of the support vector machine into scores, as in the
    authors' program.
    """
    if len(np.unique(y)) < 2:
        return [np.full(len(other), float(y[0])) for other in others]
    model = _model(name, seed)
    with warnings.catch_warnings():  # default parameters stop early; they are the paper's
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if name == "SVM":
        return [np.asarray(expit(model.decision_function(other))) for other in others]
    return [np.asarray(model.predict_proba(other)[:, 1]) for other in others]
