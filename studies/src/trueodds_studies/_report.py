"""The report of a study: our tables next to the paper's, figures, and a verdict on each claim."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from trueodds.basics.files import atomic_file
from trueodds.exceptions import InputError
from trueodds_studies._optional import need

__all__ = [
    "Claim",
    "Figure",
    "Reason",
    "ReportContent",
    "StudyReport",
    "Table",
    "Verdict",
    "beside",
    "by_readings",
]

Verdict = Literal[
    "confirmed",
    "confirmed with the authors' measure",
    "inconclusive",
    "not confirmed",
    "not tested",
]
Reason = Literal["protocol", "data", "learner", "measure", "solver", "criterion", "refuted"]
Cell = str | float | int | None


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and the verdict of our run.

    Parameters
    ----------
    text : str
        The claim, in the paper's terms.
    where : str
        ``"Table 2"``, ``"section 4"``, ….
    verdict : bool, None or str
        True: confirmed; False: not confirmed; None: not tested; or the words of a ``Verdict``.
    evidence : str
        The figures behind the verdict, or why the claim was not tested.
    reason : str, default=None
        The most likely cause of any verdict but *confirmed*. ``"refuted"`` where the opposite is
        significant here.
    readings : tuple of (str, Claim), default=()
        The same claim by each reading of the paper, with its name, if there are several
        (:func:`by_readings`).
    """

    text: str
    where: str
    verdict: bool | Verdict | None
    evidence: str
    reason: Reason | None = None
    readings: tuple[tuple[str, Claim], ...] = ()

    @property
    def word(self) -> Verdict:
        """The verdict as the report prints it."""
        if isinstance(self.verdict, str):
            return self.verdict
        if self.verdict is None:
            return "not tested"
        return "confirmed" if self.verdict else "not confirmed"

    @property
    def verdict_and_reason(self) -> str:
        """Both in one text."""
        return self.word if self.reason is None else f"{self.word} ({self.reason})"

    @property
    def in_words(self) -> str:
        """The verdict of each reading; empty if there is one reading only."""
        return "; ".join(f"{name}: {claim.verdict_and_reason}" for name, claim in self.readings)

    @property
    def by_every_reading(self) -> bool:
        """Whether each reading confirms it."""
        return all(claim.word == "confirmed" for _, claim in self.readings or (("", self),))


def by_readings(
    readings: Mapping[str, Claim], *, program: str | None = None, reason: Reason | None = None
) -> Claim:
    """One verdict on a claim that was judged in several ways; every reading stays visible.

    The first reading decides. If it does not confirm the claim, and the reading named ``program``
    does, the claim is *confirmed with the authors' measure*.

    Parameters
    ----------
    readings : mapping of str to Claim
        The same claim, by the name of the reading; that of the paper's text first.
    program : str, default=None
        Name of the reading that is the authors' program, if there is one.
    reason : str, default=None
        Why the readings differ, if the program alone confirms it.
    """
    first = next(iter(readings.values()))
    if all(claim == first for claim in readings.values()):
        return first  # about something that all readings share
    found = replace(first, readings=tuple(readings.items()))
    if len({claim.evidence for claim in readings.values()}) > 1:
        parts = (
            f"*{name[0].upper()}{name[1:]}:* {claim.evidence}" for name, claim in readings.items()
        )
        found = replace(found, evidence=". ".join(parts))
    if program is None or first.word == "confirmed":
        return found
    other = readings[program]
    if other.word != "confirmed":
        return found
    return replace(found, verdict="confirmed with the authors' measure", reason=reason)


@dataclass(frozen=True)
class Table:
    """A table of a report.

    Parameters
    ----------
    title : str
    columns : sequence of str
        Headings; the first is that of the rows' names.
    rows : sequence of sequences
        Text, numbers, or None for an empty cell.
    digits : int, default=3
        Number of decimals; integers have none.
    note : str, default=""
        Printed above the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 3
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InputError(
                    f"table {self.title!r} has {len(self.columns)} columns; the row {row[0]!r} "
                    f"has {len(row)} cells."
                )

    def texts(self) -> list[list[str]]:
        """The cells as text."""
        return [[_text(cell, self.digits) for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A picture of a report.

    Parameters
    ----------
    name : str
        Part of the file's name: lower-case words with hyphens.
    title : str
        What the picture shows; also the alternative text.
    png : bytes
    """

    name: str
    title: str
    png: bytes

    @classmethod
    def of(cls, name: str, title: str, figure: Any, *, dpi: int = 100) -> Figure:
        """Create it from a matplotlib figure, which is closed."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
        need("matplotlib.pyplot").close(figure)
        return cls(name, title, buffer.getvalue())


@dataclass(frozen=True)
class ReportContent:
    """What a study's ``report`` function returns.

    Parameters
    ----------
    summary : str
        What was run: sets, repeats, substitutes, what is missing and why. Paragraphs are separated
        by blank lines; `code` is set in backquotes.
    claims : sequence of Claim
    items : sequence of Table, Figure or str
        In the order of the report. Text that begins with ``## `` is a heading.
    """

    summary: str
    claims: Sequence[Claim]
    items: Sequence[Table | Figure | str] = field(default=())


@dataclass(frozen=True)
class StudyReport:
    """The finished report of a study.

    Attributes
    ----------
    name, title, paper, profile : str
    content : ReportContent
    results : Results
        All rows; ``results.frame`` is a pandas frame.
    """

    name: str
    title: str
    paper: str
    profile: str
    content: ReportContent
    results: Any

    @property
    def command(self) -> str:
        """The command that makes it."""
        return f"trueodds-study {self.name} --profile {self.profile}"

    @property
    def markdown(self) -> str:
        """Return the report as Markdown; :meth:`save` writes its pictures next to it."""
        lines = [f"# {self.title}", "", self.paper, "", "```", self.command, "```", ""]
        lines += [self._effort, "", self.content.summary, ""]
        lines += self._trouble()
        lines += ["## The paper's claims", "", *markdown_table(self._claims()), ""]
        for item in self.content.items:
            if isinstance(item, str):
                lines += [item, ""]
            elif isinstance(item, Table):
                lines += [f"### {item.title}", ""]
                lines += [item.note, ""] if item.note else []
                lines += [*markdown_table(item), ""]
            else:
                lines += [f"![{item.title}]({self._picture(item)})", ""]
        return "\n".join(lines).rstrip() + "\n"

    def _trouble(self) -> list[str]:
        if not self.results.n_missing:
            return []
        shown = [f"- {failure}" for failure in self.results.failures[:10]]
        return [
            f"**{self.results.n_missing} of {self.results.n_tasks} tasks have no result.**",
            "",
            *shown,
            "",
        ]

    @property
    def _effort(self) -> str:
        """Return the effort from the stored rows, so that judging again changes nothing."""
        minutes = self.results.cpu_seconds / 60
        day = f", the last on {self.results.last_day}" if self.results.last_day else ""
        return (
            f"{self.results.n_tasks - self.results.n_missing:,} tasks in {minutes:.0f} minutes of "
            f"CPU time{day}."
        )

    def _claims(self) -> Table:
        several = any(claim.readings for claim in self.content.claims)
        heads = ["claim", "in the paper", "verdict", "each reading", "our figures"]
        rows = [
            [c.text, c.where, f"*{c.verdict_and_reason}*", c.in_words, c.evidence]
            for c in self.content.claims
        ]
        if not several:
            heads, rows = heads[:3] + heads[4:], [row[:3] + row[4:] for row in rows]
        return Table("", heads, rows)

    @property
    def verdicts(self) -> dict[str, Any]:
        """The claims with their verdicts as plain values, for the overview of all studies."""
        return {
            "name": self.name,
            "paper": self.paper,
            "profile": self.profile,
            "computed": self.results.last_day,
            "cpu_minutes": round(self.results.cpu_seconds / 60),
            "missing": self.results.n_missing,
            "claims": [
                {
                    "text": claim.text,
                    "where": claim.where,
                    "verdict": claim.word,
                    "reason": claim.reason,
                    "readings": claim.in_words,
                    "by_every_reading": claim.by_every_reading,
                }
                for claim in self.content.claims
            ],
        }

    def _picture(self, figure: Figure) -> str:
        return f"{self.name}-{figure.name}.png"

    def save(self, folder: Path | str) -> Path:
        """Write ``<name>.md``, the pictures and the verdicts; return the path of the first."""
        place = Path(folder)
        for item in self.content.items:
            if isinstance(item, Figure):
                write_whole(place / self._picture(item), item.png)
        verdicts = json.dumps(self.verdicts, indent=1, ensure_ascii=False)
        write_whole(place / f"{self.name}.json", f"{verdicts}\n".encode())
        write_whole(place / f"{self.name}.md", self.markdown.encode())
        return place / f"{self.name}.md"


def beside(
    title: str,
    ours: Any,
    paper: Any,
    *,
    digits: int = 3,
    note: str = "",
    rows: str = "data set",
    mean: bool = False,
) -> Table:
    """Our numbers and the paper's in turn, column by column.

    Parameters
    ----------
    title, digits, note
        As in :class:`Table`.
    ours, paper : pandas.DataFrame
        Frames with the same meaning of rows and columns. Cells that only one of them has are empty
        in the other.
    rows : str, default="data set"
        The heading of the rows' names.
    mean : bool, default=False
        Whether to add a row of means over the rows that both have.
    """
    columns = list(dict.fromkeys([*ours.columns, *paper.columns]))
    names = list(dict.fromkeys([*ours.index, *paper.index]))
    heads = [head for c in columns for head in (str(c), f"{c} (paper)")]
    lines: list[list[Cell]] = []
    for name in names:
        line: list[Cell] = [str(name)]
        for column in columns:
            line += [_cell(frame, name, column) for frame in (ours, paper)]
        lines.append(line)
    if mean:
        common = [name for name in names if name in ours.index and name in paper.index]
        line = [f"mean of the {len(common)} in both"]
        for column in columns:
            for frame in (ours, paper):
                line.append(
                    float(frame.loc[common, column].mean()) if column in frame.columns else None
                )
        lines.append(line)
    return Table(title, [rows, *heads], lines, digits=digits, note=note)


def _cell(frame: Any, row: Any, column: Any) -> Cell:
    if row not in frame.index or column not in frame.columns:
        return None
    value = float(frame.loc[row, column])
    return None if value != value else value


def _text(cell: Cell, digits: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    return str(cell) if isinstance(cell, int) else f"{cell:.{digits}f}"


def markdown_table(table: Table) -> list[str]:
    numeric = [
        any(isinstance(row[i], (int, float)) for row in table.rows)
        for i in range(len(table.columns))
    ]
    lines = [[*table.columns], ["---:" if right else "---" for right in numeric], *table.texts()]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def write_whole(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path, final=False) as file:
        file.write(data)
