"""Metadata of a fit: rows, options and losses, saved with the map."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from trueodds.calibrators import Calibrator, method_name
from trueodds.estimator import Estimator
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Weights, check_instance
from trueodds.maps import CalibrationMap, IdentityMap
from trueodds.model_selection._folds import fold_losses, json_number, mean_loss, take_features
from trueodds.numerics.event_ratio import event_ratio
from trueodds.rows import Rows

__all__ = ["fit_metadata", "rows_metadata"]

LONGEST_OPTION = 500
CLOCK = "SOURCE_DATE_EPOCH"


def fit_metadata(
    calibrator: Calibrator,
    scores: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    counts: Any = None,
    features: Any = None,
    parent: CalibrationMap | None = None,
    notes: Any = None,
) -> dict[str, Any]:
    """How a calibrator's map was learned, for :meth:`trueodds.CalibrationMap.with_metadata`.

    Fitting itself keeps nothing of this: maps of the same data stay equal and fitting stays fast.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    scores, y, sample_weight, counts, features
        What it was fitted on.
    parent : CalibrationMap, default=None
        The map that this one replaces; its fingerprint is kept.
    notes : JSON value, default=None
        Whatever else should be known.

    Returns
    -------
    dict
        See ``docs/map-format.md``. It holds method and options, the choice of
        :class:`AutoCalibrator` with its reason, time and version; rows and positives, range of
        scores, and a fingerprint of the data. Log-loss and Brier score are given before the map
        and after it. ``before`` is that of all rows; the change is measured out of fold, on at most
        50,000 rows (10,000 of several classes) and by five more fits of the method. Losses are left
        out for mixtures, for methods that depend on the order of the rows, and without the
        features that a method needs. Of two classes, ``observed_expected`` is the number of
        positives over the number that was expected before the map and after it, on all rows, with
        90% intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import BetaCalibrator
    >>> from trueodds.model_selection import fit_metadata
    >>> rng = np.random.default_rng(0)
    >>> z = rng.logistic(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z / 3))  # the scores are three times too steep
    >>> p = 1 / (1 + np.exp(-z))
    >>> calibrator = BetaCalibrator().fit(p, y)
    >>> metadata = fit_metadata(calibrator, p, y, notes="nightly")
    >>> metadata["rows"], metadata["positives"], metadata["method"]
    (2000, 1017, 'beta')
    >>> {name: round(loss, 3) for name, loss in metadata["losses"]["log_loss"].items()}
    {'before': 0.747, 'after': 0.652}
    >>> described = calibrator.map_.with_metadata(metadata)  # .save("map.json")
    """
    if not isinstance(calibrator, Calibrator):
        raise InputError(f"fit_metadata needs a calibrator; got {type(calibrator).__name__}.")
    calibrator._check_fitted("map_")
    weight = Weights.read(sample_weight, counts, len(y))
    if features is not None and weight is not None:  # rows of weight zero are left out
        features = take_features(features, np.flatnonzero(weight.values))
    rows = calibrator.read_rows(scores, y, sample_weight, counts, calibrator.classes_)
    class_rows = np.bincount(rows.codes, rows.row_counts, rows.n_classes).astype(int).tolist()
    metadata = rows_metadata(calibrator, rows, class_rows, calibrator.map_, features)
    if parent is not None:
        check_instance(parent, CalibrationMap, "parent")
        metadata["parent"] = parent.fingerprint
    return metadata if notes is None else {**metadata, "notes": notes}


def rows_metadata(
    calibrator: Calibrator,
    rows: Rows,
    class_rows: Sequence[int],
    learned_map: CalibrationMap,
    features: Any = None,
) -> dict[str, Any]:
    """:func:`fit_metadata` of validated rows, with the number of rows of each class."""
    import trueodds

    several = rows.scores.ndim == 2
    metadata: dict[str, Any] = {
        "method": method_name(type(calibrator).__name__),
        "options": _options(calibrator),
    }
    fitted = vars(calibrator)
    if "best_method_" in fitted:  # a calibrator that chose another
        metadata |= {"chosen": fitted["best_method_"], "reason": fitted["explanation_"]}
    learned: Calibrator | None = fitted.get("calibrator_", calibrator)
    metadata |= {
        "created": _now(),
        "software": f"trueodds {trueodds.__version__}",
        "rows": sum(class_rows),
        **({"class_rows": list(class_rows)} if several else {"positives": class_rows[1]}),
    }
    if rows.has_importances:
        metadata["effective_rows"] = rows.effective
    metadata["score_range"] = [json_number(rows.scores.min()), json_number(rows.scores.max())]
    metadata["data"] = _fingerprint(rows)
    if not several and (features is not None or not learned_map.features):
        metadata["observed_expected"] = _observed_expected(learned_map, rows, features)
    losses = None if learned is None else _losses(learned, rows, features)
    return metadata if losses is None else {**metadata, "losses": losses}


LEVEL = 0.9


def _observed_expected(learned: CalibrationMap, rows: Rows, features: Any) -> dict[str, Any]:
    """Positives over the sum of their probabilities, of the scores and of the map's output."""
    rows = rows.uncounted()
    maps: dict[str, CalibrationMap] = {"after": learned}
    if learned.scale != "raw":  # margins expect nothing
        maps = {"before": IdentityMap(scale=learned.scale), **maps}
    found: dict[str, Any] = {}
    for name, one in maps.items():
        given = {"features": features} if one.features else {}
        prob = np.asarray(one(rows.scores, **given))
        ends = event_ratio(rows.codes.astype(bool), prob, rows.weight, LEVEL)[:3]
        found[name] = dict(zip(("estimate", "low", "high"), map(json_number, ends), strict=True))
    return {**found, "level": LEVEL}


def _losses(learned: Calibrator, rows: Rows, features: Any) -> dict[str, Any] | None:
    """Those that the fit has measured itself; else measured now."""
    after = vars(learned).get("out_of_fold_log_loss_")
    if after is None:
        missing = learned.needs_features and features is None
        return None if missing else fold_losses(learned, rows, features)
    if np.isnan(after):
        return None
    found = {"after": after, "one_map": vars(learned)["one_map_log_loss_"]}
    if learned.scale != "raw":
        found = {"before": mean_loss("log_loss", learned.scale, rows), **found}
    return {"log_loss": {name: json_number(loss) for name, loss in found.items()}}


def _options(calibrator: Calibrator) -> dict[str, Any]:
    """The options of the method; the scale and the classes are in the map."""
    options = calibrator.get_params(deep=False)
    return {
        name: _json_option(value) for name, value in options.items() if name not in LEFT_TO_THE_MAP
    }


LEFT_TO_THE_MAP = ("scale", "classes")


def _json_option(value: Any) -> Any:
    """An option as a JSON value; an object by what it is called, never by where it lies."""
    if value is None or isinstance(value, (str, bool, int)):
        return value[:LONGEST_OPTION] if isinstance(value, str) else value
    if isinstance(value, (float, np.floating)):
        return json_number(value)
    if isinstance(value, Estimator):
        return repr(value)[:LONGEST_OPTION]
    if isinstance(value, Mapping):
        return {str(key)[:LONGEST_OPTION]: _json_option(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_option(item) for item in value]
    return type(value).__name__


def _now() -> str:
    """The time in UTC, or the one that a build which must repeat has set."""
    fixed = os.environ.get(CLOCK)
    try:
        moment = datetime.now(UTC) if not fixed else datetime.fromtimestamp(int(fixed), UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"{CLOCK} must be a number of seconds since 1970; got {fixed!r}."
        ) from None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _fingerprint(rows: Rows) -> str:
    """Return a hash of the table in any order of its rows; of several classes, row by row."""
    columns: list[Floats]
    if rows.scores.ndim == 1:
        table = rows.smoothed(None).table
        columns = [table.score, table.n_neg, table.n_pos]
    else:
        columns = [rows.scores, rows.codes.astype(np.float64)]
        columns += [] if rows.weight is None else [rows.row_weight]
    found = hashlib.sha256()
    for column in columns:
        found.update(np.ascontiguousarray(column, dtype="<f8").tobytes())
    return f"sha256:{found.hexdigest()}"
