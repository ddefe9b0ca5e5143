"""A report: from scores and labels to a plain, versioned dict, and from that to a page."""

from __future__ import annotations

import copy
import hashlib
import os
import platform
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import trueodds
from trueodds.basics.files import as_path, write_text
from trueodds.inputs import (
    Floats,
    InputScale,
    as_dense,
    as_tuple,
    check_instance,
    check_integer,
    check_text,
    direction_hint,
    is_choice,
    repeat_rows,
)
from trueodds.metrics._groups import group_array, read_groups
from trueodds.model_selection import CalibratorComparison, compare_calibrators
from trueodds.model_selection._auto import default_method
from trueodds.report._diagrams import diagrams
from trueodds.report._page import render
from trueodds.report._plain import number, show_method
from trueodds.report._rows import ReportRows, read_report_rows, sample_rows
from trueodds.report._sections import (
    decision_costs,
    group_table,
    headline_figures,
    method_rows,
    sureness,
    validation_section,
)
from trueodds.report._verdict import diagnose, verdict
from trueodds.table import ScoreTable

__all__ = ["Report", "build_report"]

FORMAT = "trueodds-report"
VERSION = 1
"""Raised when a key changes its meaning or disappears; new keys may come without."""


class Report:
    """What :func:`build_report` found.

    Parameters
    ----------
    content : dict
        As :meth:`to_json` gives it; ``docs/report.md`` says what each key means.

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
        """The sentence that the report begins with."""
        return str(self._content["verdict"]["sentence"])

    def to_json(self) -> dict[str, Any]:
        """All numbers as plain JSON values (no NaN, no infinity), with format and version."""
        return copy.deepcopy(self._content)

    def to_html(self) -> str:
        """One page that needs no network and no other file."""
        return render(self._content)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all.

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
    max_rows: int = 30_000,
    level: float = 0.9,
) -> Report:
    """Find out whether probabilities can be trusted, where not, and what would help.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, n_classes)
        Scores of the positive class, or one column per class, on the scale of ``scale``. They
        must come from rows that the model did not learn from.
    y : array-like of shape (n,)
        Labels; every class must occur.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row, which stays one observation.
    counts : array-like of shape (n,), default=None
        How often each row occurred: the report is that of the rows written out.
    groups : dict of str to array-like of shape (n,), default=None
        Columns that part the rows, such as a country or an age. Numbers of more than ten values
        are cut into five bands of equal mass; missing values are a group of their own.
    scale : {"probability", "logit", "raw"}, default="probability"
        The scale of the scores.
    classes : array-like, default=None
        The labels in the order of the columns; of two, the second is positive. By default the
        sorted labels. Two labels whose words contradict that order (``"ja"`` and ``"nein"``) need
        this argument if there is one column of scores.
    class_names : sequence, default=None
        Names of the classes on the page, in the order of ``classes``; by default the labels.
    calibrators : "default", list or dict, default="default"
        What to compare, as in :func:`trueodds.model_selection.compare_calibrators`.
    cv : int, default=5
        Folds of the comparison.
    names : dict, default=None
        What to call the columns ``"score"`` and ``"label"``, and the ``"title"`` of the page.
    notes : list of str, default=None
        Sentences under the verdict; by default a hint if high scores go with the negative class.
    provenance : dict, default=None
        Anything the reader should know of the data: file, date, model. Shown as text.
    command : str, default=None
        The command that makes this report again.
    random_state : int, default=0
    n_jobs : int, default=None
        As in :func:`trueodds.model_selection.compare_calibrators`.
    progress : bool, default=False
        Show progress on stderr.
    max_rows : int, default=30_000
        Methods are compared on about this many rows at most, drawn from each class in proportion.
        What is said of the scores as they are uses all rows.
    level : float, default=0.9
        Level of all intervals and bands.

    Returns
    -------
    Report
        ``.to_json()``, ``.to_html()``, ``.save(path)``. Warnings that occur are in it, and are
        not given once more.

    Notes
    -----
    A row is one independent observation, whatever its weight. The default calibrator is
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
    max_rows = check_integer(max_rows, "max_rows", 100)
    if names is not None:
        check_instance(names, Mapping, "names")
    names = dict(names or {})
    if provenance is not None:
        check_instance(provenance, Mapping, "provenance")
    if notes is not None:
        notes = [check_text(note, "a note") for note in as_tuple(notes, "notes")]
    if groups is not None:
        check_instance(groups, Mapping, "groups")
    given = repeat_rows(counts, scores=scores, y=y, sample_weight=sample_weight)
    rows = read_report_rows(**given, scale=scale, classes=classes, class_names=class_names)
    parts = {k: repeat_rows(counts, of=group_array(v))["of"] for k, v in (groups or {}).items()}
    columns = read_groups(parts, len(as_dense(given["scores"], "scores")))
    sample = sample_rows(rows, int(max_rows), np.random.default_rng(seed))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
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
            select="default" if is_choice(calibrators, "default") else "one_se",
        )
        table = method_rows(comparison)
        out_of_fold = {m: _columns(comparison.out_of_fold[m]) for m in comparison.methods}
        baseline = comparison.methods[0]
        recommended = comparison.recommended
        shown = _shown_method(table, recommended)
        for row in table:
            row["recommended"] = row["method"] == recommended
        by_group = group_table(columns, rows, sample, out_of_fold[shown], level=level)
        diagnosis = diagnose(rows, by_group, seed, level)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "title": names.get("title", "Can these probabilities be trusted?"),
            "level": level,
            "data": _data_summary(rows, sample, names, scale),
            "verdict": verdict(
                diagnosis,
                table,
                shown,
                level=level,
                default=shown in (default_method(2), default_method(3)),
                formula=_formula(comparison),
            ),
            "diagnosis": diagnosis,
            "notes": list(_notes(rows) if notes is None else notes),
            "figures": headline_figures(sample, out_of_fold, table, shown, level=level, seed=seed),
            "baseline": baseline,
            "shown_method": shown,
            "methods": table,
            "explanation": _explanation(comparison),
            "folds": int(comparison.n_folds),
            "diagrams": diagrams(rows, sample, out_of_fold, level=level, seed=seed),
            "sureness": sureness(comparison, shown, sample, scale, level),
            "costs": decision_costs(sample, out_of_fold, baseline, level),
            "validation": validation_section(sample, out_of_fold, level=level, seed=seed),
            "groups": by_group,
            "provenance": _provenance_of(provenance),
            "reproduce": _reproduce(
                command,
                {
                    "scale": scale,
                    **_named_classes(rows, classes, class_names, command),
                    "cv": cv,
                    "random_state": seed,
                    "max_rows": int(max_rows),
                    "level": level,
                    "calibrators": [row["method"] for row in table],
                },
            ),
        }
    content["warnings"] = _warnings_seen(caught) + _warnings_of_methods(comparison)
    content["labels"] = {row["method"]: show_method(row["method"]) for row in table}
    return Report(content)


def _named_classes(
    rows: ReportRows, classes: Any, class_names: Sequence[Any] | None, command: str | None
) -> dict[str, Any]:
    """The arguments that make the same class positive again; a command has passed codes."""
    if class_names is None or command is not None:
        return {"classes": rows.classes.tolist()}
    given = None if classes is None else np.asarray(as_dense(classes, "classes")).tolist()
    return {"classes": given, "class_names": list(class_names)}


def _notes(rows: ReportRows) -> list[str]:
    """What suggests a mistake in the call rather than in the model."""
    if not rows.binary:
        return []
    table = ScoreTable.from_codes(rows.score, rows.codes == 1, rows.weight)
    n_pos = int(rows.codes.sum())
    negative, positive = rows.classes.tolist()
    hint = direction_hint(
        table.n_neg,
        table.n_pos,
        rows=(len(rows) - n_pos, n_pos),
        negative=negative,
        remedy=f"pass classes=[{positive!r}, {negative!r}]",
    )
    return [] if hint is None else [hint]


def _columns(prob: Floats) -> Floats:
    """Probabilities of the positive class in 1-D, clipped to [0, 1] against rounding."""
    if prob.ndim == 2 and prob.shape[1] == 2:
        prob = prob[:, 1]
    return np.clip(prob, 0.0, 1.0)


def _formula(comparison: CalibratorComparison) -> str | None:
    """A formula that does as well as the default, other than the scores themselves."""
    found = comparison.formula_as_good
    defaults = (default_method(2), default_method(3))
    other = comparison.recommended in defaults and found != comparison.methods[0]
    return found if other else None


def _shown_method(table: list[dict[str, Any]], best: str) -> str:
    """The recommended method; if that is to do nothing, the one that would come closest."""
    others = [row for row in table[1:] if row["gain"] is not None]
    if best != table[0]["method"] or not others:
        return best
    return str(max(others, key=lambda row: row["gain"])["method"])


def _explanation(comparison: CalibratorComparison) -> str:
    """Why the method was chosen, with methods called as in the rest of the page."""
    sentence = comparison.explanation
    for name in comparison.methods:
        shown = show_method(name).replace("\\", r"\\")
        sentence = re.sub(rf"\b{re.escape(name)}\b", shown, sentence)
    return sentence[:1].upper() + sentence[1:]


# ----- where the numbers come from, and how to get them again -------------------------------------


def _fingerprint(rows: ReportRows) -> str:
    """SHA-256 of scores, label codes and weights in their order, to recognize the same data."""
    digest = hashlib.sha256()
    for array in (rows.score, rows.codes.astype("<i8"), rows.weight):
        if array is not None:
            digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def _data_summary(
    rows: ReportRows, sample: ReportRows, names: Mapping[str, str], scale: str
) -> dict[str, Any]:
    """How many rows of what."""
    count = np.bincount(rows.codes, minlength=len(rows.classes))
    weight = np.bincount(rows.codes, rows.weight, len(rows.classes))
    share = weight / weight.sum()
    return {
        "rows": len(rows),
        "compared_rows": len(sample),
        "weighted": rows.weight is not None,
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
    """What the caller says about the data, and what made the report."""
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
    """The command line if there was one, and the call with every setting that matters."""
    options = "".join(f"    {name}={value!r},\n" for name, value in settings.items())
    call = (
        "from trueodds.report import build_report\n\n"
        f"report = build_report(\n    scores,\n    y,\n{options})\n"
        'report.save("report.html")'
    )
    return {"command": command, "python": call}


def _warnings_seen(caught: list[Any]) -> list[dict[str, Any]]:
    """Each warning once, with how often it came."""
    seen = Counter((w.category.__name__, str(w.message)) for w in caught)
    return [{"category": c, "message": m, "count": n} for (c, m), n in seen.items()]


def _warnings_of_methods(comparison: Any) -> list[dict[str, Any]]:
    """What the methods warned of while they were compared, and which could not be fitted."""
    said = [(name, text) for name, texts in comparison.warnings.items() for text in texts]
    said += [(m, f"left out of the comparison: {e}") for m, e in comparison.failures.items()]
    return [{"category": show_method(m), "message": text, "count": 1} for m, text in said]
