"""The report: a plain, versioned dict of scores and labels, and its HTML page."""

from __future__ import annotations

import copy
import hashlib
import os
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import trueodds
from trueodds.basics.files import as_path, write_text
from trueodds.basics.warned import collected_warnings
from trueodds.calibrators import default_method
from trueodds.decisions import Risk
from trueodds.inputs import (
    Floats,
    InputScale,
    Weights,
    as_dense,
    as_tuple,
    check_instance,
    check_integer,
    check_text,
    direction_hint,
    group_array,
    read_groups,
)
from trueodds.model_selection import CalibratorComparison, compare_calibrators
from trueodds.report._diagrams import diagrams
from trueodds.report._page import render
from trueodds.report._plain import number, show_method
from trueodds.report._rows import ReportRows, read_report_rows, sample_rows
from trueodds.report._sections import (
    add_pooled,
    decision_costs,
    evaluated,
    group_table,
    guarantee_section,
    headline_figures,
    method_rows,
    uncertainty,
    validated,
    validation_section,
)
from trueodds.report._verdict import diagnose, verdict
from trueodds.table import ScoreTable

__all__ = ["Report", "build_report"]

FORMAT = "trueodds-report"
VERSION = 1
"""Format version; it increases when a key changes its meaning or disappears."""


MOST_COMPARED = {True: 100_000, False: 30_000}
"""Rows on which methods are compared: of two classes, and of several, whose fits take longer."""


class Report:
    """The result of :func:`build_report`.

    Parameters
    ----------
    content : dict
        The content that :meth:`to_json` returns; ``docs/report.md`` describes each key.

    Examples
    --------
    >>> import json
    >>> from trueodds.report import Report
    >>> page = Report(json.load(open("summary.json"))).to_html()  # doctest: +SKIP
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def __repr__(self) -> str:
        return f"Report({self.verdict!r})"

    @property
    def verdict(self) -> str:
        """The verdict: the finding and the recommendation as sentences."""
        return str(self._content["verdict"]["sentence"])

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as plain JSON values (no NaN, no infinity) with the version."""
        return copy.deepcopy(self._content)

    def to_html(self) -> str:
        """Return the report as one HTML page that needs no network and no other file."""
        return render(self._content)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; the file appears only when it is complete.

        Returns
        -------
        Path
        """
        target = as_path(path)
        write_text(self.to_html(), target)
        return target


def build_report(
    scores: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    groups: Mapping[str, Any] | None = None,
    scale: InputScale = "probability",
    classes: Any = None,
    class_names: Sequence[Any] | None = None,
    calibrators: Any = "default",
    cv: int = 5,
    names: Mapping[str, str] | None = None,
    notes: Sequence[str] | None = None,
    provenance: Mapping[str, Any] | None = None,
    command: str | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    max_rows: int | None = None,
    level: float = 0.9,
    at_most: float | None = None,
    risk: Risk = "errors",
    confidence: float = 0.9,
) -> Report:
    """Measure the calibration of scores, compare calibration methods, and recommend an action.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, n_classes)
        Scores of the positive class, or one column per class, on the scale of ``scale``. They must
        come from rows that the model was not trained on.
    y : array-like of shape (n,)
        Labels; every class must occur.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row; each row is still one observation.
    counts : array-like of shape (n,), default=None
        How often each row occurred; equivalent to repeating the rows.
    groups : dict of str to array-like of shape (n,), default=None
        Grouping columns, such as country or age, as in :func:`trueodds.metrics.group_test`: a
        column of numbers with more than ten distinct values is cut into five bands.
    scale : {"probability", "logit", "raw"}, default="probability"
        The scale of the scores.
    classes : array-like, default=None
        The labels in the order of the columns; with two labels, the second is positive. Default:
        the sorted labels. With one score column, two labels whose words contradict that order
        (``"ja"`` and ``"nein"``) need this argument.
    class_names : sequence, default=None
        Names of the classes on the page, in the order of ``classes``. Default: the labels.
    calibrators : {"default", "all"}, list or dict, default="default"
        Methods to compare, as in :func:`trueodds.model_selection.compare_calibrators`.
    cv : int, default=5
        Number of cross-validation folds.
    names : dict, default=None
        Names of the columns ``"score"`` and ``"label"``, and the ``"title"`` of the page.
    notes : list of str, default=None
        Sentences below the verdict. Default: a hint if high scores go with the negative class.
    provenance : dict, default=None
        Information about the data, such as file, date and model; shown as text.
    command : str, default=None
        Command that reproduces this report.
    random_state : int, default=0
    n_jobs : int, default=None
        As in :func:`trueodds.model_selection.compare_calibrators`.
    progress : bool, default=False
        Show progress on stderr.
    max_rows : int, default=None
        Methods are compared on about this many rows at most, sampled from each class in
        proportion; by default 100,000, or 30,000 of several classes. Every figure of the scores
        as given uses all rows.
    level : float, default=0.9
        Confidence level of all intervals and bands.
    at_most : float, default=None
        Add the threshold that keeps a risk below this limit, as
        :func:`trueodds.decisions.guaranteed_threshold` finds it for the scores as given.
    risk, confidence
        As in :func:`trueodds.decisions.guaranteed_threshold`, with unit costs.

    Returns
    -------
    Report
        ``.to_json()``, ``.to_html()`` and ``.save(path)``. Warnings of the methods are listed in
        the report and not issued again.

    Notes
    -----
    A row of any importance is one observation, and a count of k is k. The default calibrator is
    recommended if it is among ``calibrators``, as it is by default. Otherwise the method is chosen
    on the rows that measure its gain, which is then slightly optimistic with few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.report import build_report
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(0, 1.5, 4000)
    >>> y = rng.random(4000) < 1 / (1 + np.exp(-truth))
    >>> p = 1 / (1 + np.exp(-2.5 * truth))  # log-odds 2.5 times too large
    >>> report = build_report(p, y, calibrators=["identity", "temperature"])
    >>> report.to_json()["verdict"]["method"]
    'temperature'
    >>> report.to_html()[:15]
    '<!doctype html>'
    """
    # A number, so that the page can name it and be made again.
    seed = check_integer(random_state, "random_state", 0, most=2**63 - 1)
    most = None if max_rows is None else check_integer(max_rows, "max_rows", 100)
    if names is not None:
        check_instance(names, Mapping, "names")
    names = dict(names or {})
    if provenance is not None:
        check_instance(provenance, Mapping, "provenance")
    if notes is not None:
        notes = [check_text(note, "a note") for note in as_tuple(notes, "notes")]
    if groups is not None:
        check_instance(groups, Mapping, "groups")
    rows = read_report_rows(scores, y, sample_weight, counts, scale, classes, class_names)
    n_given = len(as_dense(scores, "scores"))
    times = np.zeros(n_given)
    times[rows.index] = rows.row_counts
    columns = read_groups(groups or {}, n_given, times)
    guarantee = guarantee_section(rows, at_most, risk, confidence)
    max_rows = MOST_COMPARED[rows.binary] if most is None else most
    sample = sample_rows(rows, max_rows, np.random.default_rng(seed))
    with collected_warnings() as caught:
        comparison = compare_calibrators(
            sample.score,
            sample.codes,
            classes=np.arange(len(sample.classes)),
            calibrators=calibrators,
            scale=scale,
            sample_weight=sample.weight,
            cv=cv,
            random_state=seed,
            n_jobs=n_jobs,
            progress=progress,
            level=level,
            select="default" if isinstance(calibrators, str) else "one_se",
        )
        table = method_rows(comparison)
        held_out, out_of_fold = _held_out(sample, comparison)
        baseline = comparison.methods[0]
        recommended = comparison.recommended
        one_map = _shown_method(table, recommended)
        by_group = group_table(columns, rows, held_out, out_of_fold[one_map], level=level)
        pooled = None
        if by_group["significant_before"]:
            pooled = compare_calibrators(
                sample.score,
                sample.codes,
                classes=np.arange(len(sample.classes)),
                calibrators=["group"],
                scale=scale,
                sample_weight=sample.weight,
                features=_group_features(groups or {}, sample),
                cv=cv,
                random_state=seed,
                n_jobs=n_jobs,
                level=level,
            )
        if pooled is not None and "group" in pooled.methods:  # a date is no feature
            _, pooled_forecasts = _held_out(sample, pooled)  # the same rows in the same folds
            with_groups = pooled_forecasts["group"]
            found = group_table(columns, rows, held_out, with_groups, level=level)
            add_pooled(by_group, found, method_rows(pooled)[-1])
        validation = validated(by_group, columns, rows, level=level, seed=seed)
        before = evaluated(rows, rows.prob, level=level, seed=seed)
        diagnosis = diagnose(rows, by_group, before)
        judged = verdict(
            diagnosis,
            table,
            one_map,
            level=level,
            default=one_map in (default_method(2), default_method(3)),
            formula=_formula(comparison),
            formula_verdict=comparison.formula_verdict,
            groups=by_group,
        )
        shown = "group" if judged["method"] == "group" else one_map
        if judged["pooled"] is not None:  # what is recommended is listed and drawn
            table.append(method_rows(pooled)[-1])
            out_of_fold["group"] = with_groups
        for row in table:
            row["recommended"] = row["method"] == (shown if shown == "group" else recommended)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "title": names.get("title", "Are these probabilities calibrated?"),
            "level": level,
            "data": _data_summary(rows, sample, names, scale),
            "verdict": judged,
            "diagnosis": diagnosis,
            "notes": list(_notes(rows) if notes is None else notes),
            "figures": headline_figures(
                before, evaluated(held_out, out_of_fold[shown], level=level, seed=seed)
            ),
            "baseline": baseline,
            "shown_method": shown,
            "one_map": one_map,
            "methods": table,
            "explanation": _explanation(comparison, judged["pooled"]),
            "folds": int(comparison.n_folds),
            "diagrams": diagrams(rows, held_out, out_of_fold, level=level, seed=seed),
            "uncertainty": uncertainty(comparison, one_map, sample, scale, level),
            "costs": decision_costs(held_out, out_of_fold, baseline, level),
            "validation": validation_section(validation, held_out, out_of_fold, level=level),
            "groups": by_group,
            "guarantee": guarantee,
            "provenance": _provenance_of(provenance),
            "reproduce": _reproduce(
                command,
                {
                    "scale": scale,
                    **_named_classes(rows, classes, class_names, command),
                    "cv": cv,
                    "random_state": seed,
                    "max_rows": max_rows,
                    "level": level,
                    **_limits(at_most, risk, confidence),
                    "calibrators": list(comparison.methods),
                },
            ),
        }
    content["warnings"] = _warnings_seen(caught) + _warnings_of_methods(comparison)
    content["labels"] = {row["method"]: show_method(row["method"]) for row in table}
    return Report(content)


def _held_out(
    sample: ReportRows, comparison: CalibratorComparison
) -> tuple[ReportRows, dict[str, Floats]]:
    """The rows by the folds that their repetitions are in, and the forecasts of each method."""
    row, counts, forecasts = comparison._out_of_fold_parts()
    columns = {method: _columns(prob) for method, prob in forecasts.items()}
    if counts is None:
        return sample, columns
    parts = sample.take(row)
    return replace(parts, weight=Weights.recounted(parts.weight, counts)), columns


def _limits(at_most: float | None, risk: Risk, confidence: float) -> dict[str, Any]:
    """The arguments of the guaranteed threshold, if there is one."""
    if at_most is None:
        return {}
    return {"at_most": at_most, "risk": risk, "confidence": confidence}


def _group_features(groups: Mapping[str, Any], sample: ReportRows) -> Any:
    """Return the grouping columns of the sample, one column for each."""
    features = np.empty((len(sample), len(groups)), dtype=object)
    for k, values in enumerate(groups.values()):
        features[:, k] = group_array(values)[sample.index]
    return features


def _named_classes(
    rows: ReportRows, classes: Any, class_names: Sequence[Any] | None, command: str | None
) -> dict[str, Any]:
    """Return the arguments that make the same class positive; a command has passed codes."""
    if class_names is None or command is not None:
        return {"classes": rows.classes.tolist()}
    given = None if classes is None else np.asarray(as_dense(classes, "classes")).tolist()
    return {"classes": given, "class_names": list(class_names)}


def _notes(rows: ReportRows) -> list[str]:
    """Return signs of a mistake in the call rather than in the model."""
    if not rows.binary:
        return []
    table = ScoreTable.from_codes(rows.score, rows.codes == 1, rows.weight)
    n_pos = int(rows.row_counts @ rows.codes)
    negative, positive = rows.classes.tolist()
    hint = direction_hint(
        table.n_neg,
        table.n_pos,
        rows=(rows.n_rows - n_pos, n_pos),
        negative=negative,
        remedy=f"pass classes=[{positive!r}, {negative!r}]",
    )
    return [] if hint is None else [hint]


def _columns(prob: Floats) -> Floats:
    """Return the probabilities of the positive class in 1-D, clipped to [0, 1] against rounding."""
    if prob.ndim == 2 and prob.shape[1] == 2:
        prob = prob[:, 1]
    return np.clip(prob, 0.0, 1.0)


def _formula(comparison: CalibratorComparison) -> str | None:
    """Return a formula that does as well as the default, other than the unchanged scores."""
    found = comparison.formula_as_good
    defaults = (default_method(2), default_method(3))
    other = comparison.recommended in defaults and found != comparison.methods[0]
    return found if other else None


def _shown_method(table: list[dict[str, Any]], best: str) -> str:
    """Return the recommended method; if that is to leave the scores unchanged, the next best."""
    others = [row for row in table[1:] if row["gain"] is not None]
    if best != table[0]["method"] or not others:
        return best
    return str(max(others, key=lambda row: row["gain"])["method"])


def _explanation(comparison: CalibratorComparison, pooled: str | None) -> str:
    """Return the reason for the choice, with the method names of the page."""
    sentence = comparison.explanation
    for name in comparison.methods:
        shown = show_method(name).replace("\\", r"\\")
        sentence = re.sub(rf"\b{re.escape(name)}\b", shown, sentence)
    sentence = sentence[:1].upper() + sentence[1:]
    if pooled is None:
        return sentence
    return f"{pooled[:1].upper()}{pooled[1:]}. Of the maps for all groups alike: {sentence}"


# ----- where the numbers come from, and how to get them again -------------------------------------


def _fingerprint(rows: ReportRows) -> str:
    """Return the SHA-256 of scores, label codes and weights in order, to identify the data."""
    digest = hashlib.sha256()
    for array in (rows.score, rows.codes.astype("<i8"), rows.mass):
        if array is not None:
            digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def _data_summary(
    rows: ReportRows, sample: ReportRows, names: Mapping[str, str], scale: str
) -> dict[str, Any]:
    """Return the numbers of rows and classes."""
    count = np.bincount(rows.codes, rows.row_counts, len(rows.classes))
    weight = np.bincount(rows.codes, rows.mass, len(rows.classes))
    share = weight / weight.sum()
    return {
        "rows": rows.n_rows,
        "compared_rows": sample.n_rows,
        "weighted": rows.weight is not None and rows.weight.importance is not None,
        "score": names.get("score", "score"),
        "label": names.get("label", "label"),
        "scale": scale,
        "binary": rows.binary,
        "positive": str(rows.classes[1]) if rows.binary else None,
        "classes": [
            {"label": str(label), "rows": int(n), "share": number(s)}
            for label, n, s in zip(rows.classes.tolist(), count, share, strict=True)
        ],
        "fingerprint": _fingerprint(rows),
    }


def _provenance_of(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the caller's information about the data, and the software versions."""
    return {
        "given": {str(k): str(v) for k, v in (given or {}).items()},
        "made_by": {
            "trueodds": trueodds.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _reproduce(command: str | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command line, if any, and the Python call with its settings."""
    options = "".join(f"    {name}={value!r},\n" for name, value in settings.items())
    call = (
        "from trueodds.report import build_report\n\n"
        f"report = build_report(\n    scores,\n    y,\n{options})\n"
        'report.save("report.html")'
    )
    return {"command": command, "python": call}


def _warnings_seen(caught: list[Any]) -> list[dict[str, Any]]:
    """Return each warning once, with its count."""
    seen = Counter((w.category.__name__, str(w.message)) for w in caught)
    return [{"category": c, "message": m, "count": n} for (c, m), n in seen.items()]


def _warnings_of_methods(comparison: Any) -> list[dict[str, Any]]:
    """Return the warnings of the comparison, and the methods that could not be fitted."""
    said = [(name, text) for name, texts in comparison.warnings.items() for text in texts]
    said += [(m, f"not compared: {e}") for m, e in comparison.failures.items()]
    return [{"category": show_method(m), "message": text, "count": 1} for m, text in said]
