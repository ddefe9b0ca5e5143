"""Decision curves: net benefit as a function of the threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueodds.basics.tables import Tabular
from trueodds.decisions._net_benefit import (
    ActionShares,
    check_thresholds,
    read_outcomes,
)
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, check_flag, check_level

__all__ = ["BenefitCurve", "DecisionCurve", "decision_curve"]

ACTED = np.array([0.0, 1.0])[:, None, None]


@dataclass(frozen=True, eq=False)
class BenefitCurve:
    """One line of a decision curve.

    Attributes
    ----------
    net_benefit, low, high : ndarray of shape (n_thresholds,)
        Net benefit with its pointwise interval.
    avoided, avoided_low, avoided_high : ndarray of shape (n_thresholds,)
        Interventions avoided compared with treating everybody, as a share of all rows, net of
        missed events; NaN at a threshold of 0.

    Examples
    --------
    >>> from trueodds.decisions import decision_curve
    >>> y, p = [0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8]
    >>> decision_curve(y, p, thresholds=[0.2, 0.5]).treat_all.net_benefit.tolist()
    [0.375, 0.0]
    """

    net_benefit: Floats
    low: Floats
    high: Floats
    avoided: Floats
    avoided_low: Floats
    avoided_high: Floats


@dataclass(frozen=True, eq=False)
class DecisionCurve(Tabular):
    """The result of :func:`decision_curve`.

    Attributes
    ----------
    threshold : ndarray of shape (n_thresholds,)
    models : dict of str to BenefitCurve
    treat_all : BenefitCurve
        Acting on every row. Acting on none has a net benefit of 0 everywhere.
    standardized : bool
        Whether net benefits are divided by the frequency of events.
    prevalence : float
        Frequency of events.
    n : int
        Number of rows of positive weight.
    level : float
        Confidence level of the
        intervals.

    Examples
    --------
    >>> from trueodds.decisions import decision_curve
    >>> y, p = [0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8]
    >>> curve = decision_curve(y, p, thresholds=[0.2, 0.5])
    >>> curve.prevalence, curve.n, list(curve.models)
    (0.5, 4, ['model'])
    """

    threshold: Floats
    models: dict[str, BenefitCurve]
    treat_all: BenefitCurve
    standardized: bool
    prevalence: float
    n: int
    level: float

    def rows(self) -> list[dict[str, Any]]:
        """Return one plain dict for each line and threshold."""
        found = []
        for name, curve in {**self.models, "treat all": self.treat_all}.items():
            columns = {key: getattr(curve, key).tolist() for key in BenefitCurve.__annotations__}
            for i, threshold in enumerate(self.threshold.tolist()):
                values = {key: column[i] for key, column in columns.items()}
                found.append({"model": name, "threshold": threshold, **values})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; None for undefined ones."""
        return {
            "threshold": self.threshold.tolist(),
            "models": {name: _plain(curve) for name, curve in self.models.items()},
            "treat_all": _plain(self.treat_all),
            "standardized": self.standardized,
            "prevalence": self.prevalence,
            "n": self.n,
            "level": self.level,
        }


def decision_curve(
    y_true: Any,
    y_prob: Any,
    *,
    thresholds: Any = None,
    standardized: bool = False,
    level: float = 0.9,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> DecisionCurve:
    """Compute the net benefit of models, of treating all and of treating none, over thresholds.

    A model is useful at thresholds where its curve lies above both. Choose the range of thresholds
    from the costs of the decision, before you look at the result.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    y_prob : array-like of shape (n,) or (n, 2), or dict of str to array-like
        Probabilities of one model, or of several by name.
    thresholds : array-like, default=None
        Thresholds in [0, 1). Default: 0.01, 0.02, … 0.99.
    standardized : bool, default=False
        Divide by the frequency of events, so that the maximum is 1.
    level : float,
        default=0.9
        Confidence level of the pointwise intervals.
    sample_weight, counts, classes
        As in :func:`net_benefit`. A row of any importance is one observation; a count of k is k.

    Returns
    -------
    DecisionCurve

    Notes
    -----
    Intervals are normal. That of the standardized net benefit includes the uncertainty of the
    frequency of events (delta method). For the difference of two models on the same rows see
    ``trueodds.metrics.compare_metric(net_benefit, y_true, a, b, threshold=...)``. Cost: one sort
    for each model, whatever the number of thresholds.

    References
    ----------
    Vickers and Elkin (2006), Decision curve analysis: a novel method for evaluating prediction
    models.
    Kerr et al. (2016), Assessing the clinical impact of risk prediction models with decision
    curves.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.decisions import decision_curve
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> curve = decision_curve(y, {"model": p}, thresholds=[0.2, 0.5])
    >>> bool((curve.models["model"].net_benefit > curve.treat_all.net_benefit).all())
    True
    """
    from scipy.special import ndtri  # slow to import

    level = check_level(level)
    check_flag(standardized, "standardized")
    places = check_thresholds(np.arange(1, 100) / 100 if thresholds is None else thresholds)
    if not len(places):
        raise InputError("thresholds must hold at least one number; got none.")
    given = y_prob if isinstance(y_prob, Mapping) else {"model": y_prob}
    if not given:
        raise InputError("y_prob must hold at least one model; got an empty dict.")
    read = {
        str(name): read_outcomes(y_true, prob, sample_weight, counts, classes)
        for name, prob in given.items()
    }
    first = next(iter(read.values()))
    if standardized and first.prevalence == 0:
        raise InputError("there are no events, so the standardized net benefit is undefined.")
    everybody = replace(first, prob=np.ones(len(first.prob)))
    z = float(ndtri((1 + level) / 2))
    return DecisionCurve(
        threshold=places,
        models={name: _line(o.at(places), z, standardized) for name, o in read.items()},
        treat_all=_line(everybody.at(places), z, standardized),
        standardized=bool(standardized),
        prevalence=first.prevalence,
        n=first.n_rows,
        level=level,
    )


def _line(shares: ActionShares, z: float, standardized: bool) -> BenefitCurve:
    odds = shares.odds
    # What a row is worth if acted on: 1 with the event, minus the odds without.
    worth = np.stack([-odds, np.ones(len(odds))])[None]
    value, gain = shares.net_benefit, ACTED * worth
    if standardized:
        prevalence = shares.share[:, 1].sum(axis=0)
        value = value / prevalence
        event = np.array([0.0, 1.0])[None, :, None]
        gain = (gain - value * event) / prevalence
    half = z * shares.error(gain)
    with np.errstate(all="ignore"):  # thresholds of 0, or so near to it that 1 / odds² is infinite
        # The gain on treating all comes from the rows that are spared.
        spared = -(1 - ACTED) * worth / odds
        spared = np.where(odds > 1e-150, spared, np.nan)
    avoided = (shares.share * spared).sum(axis=(0, 1))
    avoided_half = z * shares.error(spared)
    return BenefitCurve(
        value, value - half, value + half, avoided, avoided - avoided_half, avoided + avoided_half
    )


def _plain(curve: BenefitCurve) -> dict[str, Any]:
    return {
        key: [v if np.isfinite(v) else None for v in getattr(curve, key).tolist()]
        for key in BenefitCurve.__annotations__
    }
