"""Which labels there are, which one is positive, and how SQL codes them as numbers from 0."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueodds.basics.shown import shown
from trueodds.cli.errors import UsageError
from trueodds.cli.files.open import DataSource
from trueodds.cli.files.sql import as_text, quoted, values
from trueodds.cli.output import note
from trueodds.cli.rows.columns import ColumnNames
from trueodds.engines.labels import Label, class_of, find_label, is_similar, labels_of
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.table import ScoreTable

__all__ = ["Classes", "code_known_classes", "find_classes"]

MOST_LABELS = 1000


@dataclass(frozen=True)
class Classes:
    """Labels in the order of their codes, and the SQL that codes a row's label."""

    labels: tuple[Label, ...]
    code: str
    counts: tuple[int, ...]
    """Good rows of each label."""
    remedy: str = ""
    """What to do if the scores belong to the first label."""

    def notes(self, table: ScoreTable | None, counts: Sequence[int] | None = None) -> list[str]:
        """What suggests that the other of two labels is the positive one.

        Parameters
        ----------
        table : ScoreTable or None
            The rows of two classes; None for several, which have no direction.
        counts : sequence of int, default=None
            Rows of each label in the table; by default all good rows.
        """
        from trueodds.inputs import direction_hint  # NumPy, which --help must not wait for

        if table is None:
            return []
        negatives, positives = self.counts if counts is None else counts
        hint = direction_hint(
            table.n_neg,
            table.n_pos,
            rows=(negatives, positives),
            negative=self.labels[0],
            remedy=self.remedy,
        )
        return [] if hint is None else [hint]


def find_classes(
    source: DataSource, good: Any, columns: ColumnNames, positive: str | None
) -> Classes:
    """Look at all labels of the good rows and order them."""
    from trueodds.inputs import order_two_labels

    name = columns.label
    if name is None:
        raise UsageError("pass the label column as --label.")
    text = as_text(name, source.kinds[name])
    keys, rows = _labels_of(source, good, name)
    labels = found = sorted(keys, key=str if any(isinstance(key, str) for key in keys) else float)
    if len(columns.score) > 1:
        labels = _of_columns(labels, columns, name)
        if positive is not None:
            raise UsageError("--positive is for a single score column; use --class for several.")
    else:
        if columns.classes:
            raise UsageError("--class is for several score columns; use --positive for one.")
        if positive is None and len(labels) == 2:
            order = order_two_labels(*labels)
            if order.decided_by == "alphabet":
                raise _doubt(source, good, columns, labels)
            labels = [order.negative, order.positive]
        else:
            labels, keys = _of_two(labels, keys, name, positive)
    each = tuple(sum(rows[key] for key in keys.get(label, ())) for label in labels)
    if len(columns.score) > 1:
        remedy = "name the label of each column, in order, with --class"
    elif labels[0] not in found:  # it stands for several
        remedy = "pass the scores of the positive class"
    else:
        option = _positive(labels[0])
        remedy = f"pass {shlex.join(option)}" if option else "pass it as --positive"
    code = _code(text, [keys.get(label, []) for label in labels])
    return Classes(tuple(labels), code, each, remedy)


def code_known_classes(
    source: DataSource,
    name: str,
    classes: Sequence[Label],
    positive: str | None,
    *,
    named: bool = True,
) -> str:
    """SQL for a label as one of a map's classes: NULL if it is missing, −1 if it is none of them.

    Parameters
    ----------
    source, name
    classes : sequence
        Classes of the map, or 0, 1, … if it has no names for them (``named=False``).
    positive : str or None
        The label in the file that means the map's positive class; all others are negative.
    named : bool, default=True
    """
    kind = source.kinds[name]
    text, missing = as_text(name, kind), f"{quoted(name)} IS NULL"
    if kind in ("DOUBLE", "FLOAT"):
        missing += f" OR isnan({quoted(name)})"
    keys, counts = _labels_of(source, source.relation.filter(f"NOT ({missing})"), name)
    if positive is None:
        texts: list[list[str]] = [[] for _ in classes]
        for one in counts:
            code = class_of(one, classes)
            if code is not None:
                texts[code].append(one)
        return _code(text, texts, missing, "-1")
    if len(classes) != 2:
        raise UsageError("--positive is for two classes.")
    if named and find_label(classes, positive) == classes[0]:
        raise UsageError(
            f"the map's positive class is {shown(classes[1])}, and {shown(positive)} (--positive) "
            "is its negative one; leave the option out, or fit a map with it."
        )
    chosen = find_label(keys, positive)
    if chosen is None:
        note(f"{source.name}: no row has the label {shown(positive)} (--positive).")
    return _code(text, [[], [] if chosen is None else keys[chosen]], missing, "0")


def _code(text: str, groups: Sequence[list[str]], missing: str = "", other: str = "NULL") -> str:
    """SQL for the place of a label's text among groups of texts."""
    cases = [f"WHEN {missing} THEN NULL"] if missing else []
    cases += [
        f"WHEN {text} IN {values(texts)} THEN {code}" for code, texts in enumerate(groups) if texts
    ]
    return f"CASE {' '.join(cases)} ELSE {other} END"


def _labels_of(
    source: DataSource, rows: Any, name: str
) -> tuple[dict[Label, list[str]], dict[str, int]]:
    """The labels of rows with the texts that stand for each, and how often each text occurs."""
    kind = source.kinds[name]
    text = as_text(name, kind)
    counts = rows.aggregate(f"{text} AS label, count(*) AS n", text).limit(MOST_LABELS + 1)
    seen = dict(counts.fetchall())
    found = [key for key in seen if key is not None]
    if len(found) > MOST_LABELS:
        raise InputError(
            f"column {shown(name)} has more than {MOST_LABELS:,} different values, such as "
            f"{shown(found[0])} and {shown(found[1])}; labels must be a few classes."
        )
    if kind == "BOOLEAN":
        return {key == "true": [key] for key in found}, seen
    # All values of a CSV file are texts, so labels such as 0 and 1 are read as numbers.
    as_texts = kind == "VARCHAR" and source.files.format != "csv"
    labels = labels_of(found, as_texts=as_texts)
    real = [label for label in labels if isinstance(label, float)]
    if real:
        raise InputError(
            f"column {shown(name)} holds numbers that are not whole, such as {real[0]}; labels "
            "must be classes, not real numbers."
        )
    return labels, seen


def _plain(label: Label) -> str:
    return str(label).strip().casefold()


def _shown(labels: list[Label]) -> str:
    more = ", …" if len(labels) > 10 else ""
    return ", ".join(map(shown, labels[:10])) + more


def _positive(label: Label) -> list[str]:
    """The option that makes a label positive; empty if messages show only parts of the label."""
    text = str(label)
    return ["--positive", text] if shown(text) == repr(text) else []


def _doubt(source: DataSource, good: Any, columns: ColumnNames, labels: list[Label]) -> UsageError:
    """Return the error if the positive label is ambiguous; it suggests the one with high scores."""
    name = str(columns.label)
    text, score = as_text(name, source.kinds[name]), columns.number(source, columns.score[0])
    means = dict(good.aggregate(f"{text} AS label, avg({score}) AS mean", text).fetchall())
    high = max(labels, key=lambda label: means.get(str(label)) or 0.0)
    return UsageError(
        f"column {shown(name)} has the labels {_shown(labels)}, and the positive one cannot be "
        f"inferred; pass as --positive the label whose probabilities the scores are (they are "
        f"higher for {shown(high)}).",
        _positive(high),
    )


def _of_two(
    labels: list[Label], keys: dict[Label, list[str]], name: str, positive: str | None
) -> tuple[list[Label], dict[Label, list[str]]]:
    if len(labels) == 1:
        raise InputError(
            f"column {shown(name)} has only one label, {shown(labels[0])}; calibration needs two "
            "classes."
        )
    if positive is None:
        raise InputError(
            f"column {shown(name)} has {len(labels)} labels ({_shown(labels)}), not two; pass "
            "--positive LABEL to compare one with the rest, or one --score for each class."
        )
    chosen = find_label(labels, positive)
    if chosen is None:
        raise InputError(
            f"column {shown(name)} has no label {shown(positive)} (--positive); "
            f"it has {_shown(labels)}."
        )
    others = [label for label in labels if label != chosen]
    if len(others) == 1:
        return [others[0], chosen], keys
    alike = [label for label in others if _plain(label) == _plain(chosen)]
    if alike:
        raise InputError(
            f"column {shown(name)} has {_shown([chosen, *alike])}, which differ only in case or "
            "blanks. Write them in one way; otherwise they count as different classes."
        )
    rest = f"not {chosen}"
    merged = {rest: [key for label in others for key in keys[label]], chosen: keys[chosen]}
    return [rest, chosen], merged


def _named_like(labels: list[Label], columns: tuple[str, ...]) -> list[Label] | None:
    """The label that each column is named after, such as ``p_cat``; None if one has none."""
    prefix = os.path.commonprefix(columns)  # noqa: RUF071 (of letters, not of folders)
    for start in sorted({0, prefix.rfind("_") + 1, len(prefix), len(prefix.rstrip("0123456789"))}):
        ends = [name[start:] for name in columns]
        found = [next((x for x in labels if is_similar(x, end)), None) for end in ends]
        if len(set(ends)) == len(ends) and len({*found} - {None}) == len(labels):
            whole = all(isinstance(label, int) for label in labels)
            if all(end.isdecimal() for end in ends) or not whole:
                named = [int(end) if whole else end for end in ends]
                return [n if f is None else f for f, n in zip(found, named, strict=True)]
    return None


def _of_columns(labels: list[Label], columns: ColumnNames, name: str) -> list[Label]:
    """Return one label for each score column: those of --class, else sorted labels."""
    count = len(columns.score)
    if not columns.classes:
        named = _named_like(labels, columns.score)
        if named is not None:
            return named
        if len(labels) != count:
            raise InputError(
                f"column {shown(name)} has {len(labels)} labels ({_shown(labels)}) but there are "
                f"{count} score columns; pass the label of each column as --class."
            )
        return labels
    if len(columns.classes) != count:
        raise UsageError(
            f"pass one --class for each --score; got {len(columns.classes)} and {count}."
        )
    if len(labels) == 1:
        raise InputError(f"column {shown(name)} holds one label only, {shown(labels[0])}.")
    result: list[Label] = []
    for text in columns.classes:
        found = [label for label in labels if is_similar(label, text)]
        result.append(found[0] if found else text)
    return result
