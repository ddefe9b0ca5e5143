"""All claims of all papers on one page, one line each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from trueodds.exceptions import InputError
from trueodds_studies._report import StudyReport, Table, Verdict, markdown_table, write_whole

__all__ = ["claims_overview", "save_all", "save_overview"]

NAME = "claims"
REASONS = {
    "protocol": "it was not run as in the paper (fewer folds, not part of the study)",
    "data": "other or too few data sets",
    "learner": "the base model's program or settings differ or are not known",
    "measure": "it depends on how a measure is computed",
    "solver": "it depends on how a method is fitted",
    "criterion": "it depends on our rule for a claim that the paper makes in words",
    "refuted": "the opposite is significant here",
}


def claims_overview(studies: Sequence[Mapping[str, Any]]) -> str:
    """A page in Markdown: how many claims of each paper hold, then every claim with its verdict.

    Parameters
    ----------
    studies : sequence of mappings
        :attr:`StudyReport.verdicts` of each study.
    """
    lines = [
        "# The papers' claims, one line each",
        "",
        "```",
        f"trueodds-study all --profile {studies[0]['profile']}",
        "```",
        "",
        "Each study runs the experiments of one paper; its page has the figures behind a verdict.",
        "",
        *markdown_table(_counts(studies)),
        "",
        "A claim is judged by the paper's text. *Confirmed with the authors' measure*: only by "
        "the measure of the authors' program, which differs from that of the text. The last "
        "column of a paper's table has the verdict of each reading; *by every reading* counts "
        "claims that all of them confirm. *Inconclusive*: the figures neither show the claim nor "
        "contradict it significantly; the study's page gives the number that would suffice. "
        "Significant is what the paper's own test finds so; without one, Student's t-test over "
        "data sets, samples or splits at 5%. Every other verdict has a reason:",
        "",
        *(f"- *{reason}*: {words}." for reason, words in REASONS.items()),
        "",
    ]
    earlier = [s["name"] for s in studies if _by_every_reading(s["claims"]) is None]
    if earlier:
        lines += [
            f"The reports of {', '.join(earlier)} are older than this rule: they have one verdict "
            "for each claim, and some of it without a test.",
            "",
        ]
    for study in studies:
        rows = [[c["text"], c["where"], _verdict(c), c["readings"]] for c in study["claims"]]
        claims = Table("", ["claim", "in the paper", "verdict", "each reading"], rows)
        lines += [f"## {study['paper']}", "", f"[Tables, figures and evidence]({study['name']}.md)"]
        lines += ["", *markdown_table(claims), ""]
    return "\n".join(lines).rstrip() + "\n"


def _verdict(claim: Mapping[str, Any]) -> str:
    reason = f" ({claim['reason']})" if claim["reason"] else ""
    return f"*{claim['verdict']}{reason}*"


def _counts(studies: Sequence[Mapping[str, Any]]) -> Table:
    verdicts = get_args(Verdict)
    rows = []
    for study in studies:
        words = Counter(claim["verdict"] for claim in study["claims"])
        rows.append(
            [
                f"[{study['name']}]({study['name']}.md)",
                len(study["claims"]),
                *(words[verdict] for verdict in verdicts),
                _by_every_reading(study["claims"]),
                study["computed"],
                str(study["cpu_minutes"]),
            ]
        )
    heads = ["study", "claims", *verdicts, "confirmed by every reading", "computed on"]
    return Table("", [*heads, "CPU minutes"], rows)


def _by_every_reading(claims: Sequence[Mapping[str, Any]]) -> int | None:
    """Return how many claims all readings confirm; None if a report does not contain it."""
    known = [claim["by_every_reading"] for claim in claims]
    return None if None in known else sum(known)


def save_all(reports: Sequence[StudyReport], folder: Path | str) -> Path:
    """Write every report and the overview; return the overview's path."""
    for report in reports:
        report.save(folder)
    return save_overview(folder, [report.name for report in reports])


def save_overview(folder: Path | str, names: Sequence[str]) -> Path:
    """Write the overview of the reports that a folder has; return its path."""
    files = [Path(folder) / f"{name}.json" for name in names]
    studies = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]
    if not studies:
        raise InputError(f"{folder} has no reports of studies; run one with -o first.")
    path = Path(folder) / f"{NAME}.md"
    write_whole(path, claims_overview(studies).encode())
    return path
