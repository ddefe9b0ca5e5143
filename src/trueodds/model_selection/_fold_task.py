"""One fold's work: train a model, score the rest, calibrate it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from trueodds.inputs import Floats, InputScale, Labels
from trueodds.model_selection._adapter import fit_calibrator, needs_features
from trueodds.model_selection._member import CalibratedMember
from trueodds.model_selection._response import ResponseMethod, choose_response, response_of
from trueodds.model_selection._training import Training

__all__ = ["FoldTask", "ScoredFold"]


@dataclass(frozen=True, eq=False)
class ScoredFold:
    """Out-of-fold scores, of which rows, and what their model knew."""

    scores: Floats
    rows: Labels
    known: Labels
    rounds: int | None


@dataclass(frozen=True, eq=False)
class FoldTask:
    """What every fold needs."""

    training: Training
    calibrator: Any
    classes: npt.NDArray[Any]
    response_method: ResponseMethod

    def known_to(self, model: Any) -> Labels:
        """Positions of the model's classes among ours."""
        places = {label: k for k, label in enumerate(self.classes.tolist())}
        return np.array([places[label] for label in np.asarray(model.classes_).tolist()])

    def scores(self, model: Any, rows: Labels | None) -> tuple[Floats, str, InputScale]:
        """A model's scores, the method that gave them, and their scale."""
        method, scale = self.response_of(model)
        X = self.training.X if rows is None else _safe_indexing(self.training.X, rows)
        return response_of(model, X, method, len(model.classes_)), method, scale

    def response_of(self, model: Any) -> tuple[str, InputScale]:
        """What a model is asked for, and on which scale it answers."""
        return choose_response(model, self.calibrator, self.response_method)

    def member(
        self,
        model: Any,
        scores: Floats,
        rows: Labels,
        method: str,
        scale: InputScale,
    ) -> CalibratedMember:
        """Calibrate ``model`` on ``scores`` of ``rows``, as far as it knows their classes."""
        known = self.known_to(model)
        position = np.full(len(self.classes), -1)
        position[known] = np.arange(len(known))
        codes = position[self.training.codes[rows]]
        kept = codes >= 0
        if not kept.all():
            scores, codes, rows = scores[kept], codes[kept], rows[kept]
        weight = None if self.training.weight is None else self.training.weight[rows]
        asks = needs_features(self.calibrator)
        features = _safe_indexing(self.training.X, rows) if asks else None
        fitted = fit_calibrator(
            self.calibrator, scores, codes, weight, features, scale=scale, n_classes=len(known)
        )
        return CalibratedMember(model, fitted, known, method, len(self.classes))

    def can_calibrate(self, train: Labels, test: Labels) -> bool:
        """Whether two classes that a model of ``train`` knows are left in ``test``."""
        codes = self.training.codes
        return self.usable(test[np.isin(codes[test], codes[train])])

    def usable(self, rows: Labels) -> bool:
        """Whether rows of positive weight hold two classes or more."""
        codes, weight = self.training.codes[rows], self.training.weight
        if weight is not None:
            codes = codes[weight[rows] > 0]
        return bool(len(codes) and (codes != codes[0]).any())

    def fit_fold(self, train: Labels, test: Labels) -> CalibratedMember:
        """Train on one part, calibrate on the other."""
        model = self.training.fit(train, test)
        scores, method, scale = self.scores(model, test)
        return self.member(model, scores, test, method, scale)

    def score_fold(self, train: Labels, test: Labels) -> ScoredFold:
        """Train on one part, score the other."""
        model = self.training.fit(train, test)
        scores, _, _ = self.scores(model, test)
        return ScoredFold(scores, test, self.known_to(model), self.training.rounds(model))
