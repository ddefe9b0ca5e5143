"""All claims of all papers on one page, one line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from trueodds_studies._report import StudyReport, Table, Verdict, markdown_table, write_whole

__all__ = ["claims_overview", "save_all"]

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


def claims_overview(reports: Sequence[StudyReport]) -> str:
    """A page in Markdown: how many claims of each paper hold, then every claim with its verdict."""
    profile = reports[0].profile
    lines = [
        "# The papers' claims, one line each",
        "",
        "```",
        f"trueodds study all --profile {profile}",
        "```",
        "",
        "Each study runs the experiments of one paper; its page has the figures behind a verdict.",
        "",
        *markdown_table(_counts(reports)),
        "",
        "*Confirmed with the authors' measure*: by the measure of the authors' program, which "
        "differs from that of the paper's text. *Inconclusive*: the figures do not contradict "
        "the paper, but are too few to confirm it; the study's page gives the number that "
        "would suffice. Every other verdict has a reason:",
        "",
        *(f"- *{reason}*: {words}." for reason, words in REASONS.items()),
        "",
    ]
    for report in reports:
        rows = [[c.text, c.where, f"*{c.verdict_and_reason}*"] for c in report.content.claims]
        claims = Table("", ["claim", "in the paper", "verdict"], rows)
        lines += [f"## {report.paper}", "", f"[Tables, figures and evidence]({report.name}.md)", ""]
        lines += [*markdown_table(claims), ""]
    return "\n".join(lines).rstrip() + "\n"


def _counts(reports: Sequence[StudyReport]) -> Table:
    verdicts = get_args(Verdict)
    rows = []
    for report in reports:
        words = Counter(claim.word for claim in report.content.claims)
        run = report.results
        rows.append(
            [
                f"[{report.name}]({report.name}.md)",
                len(report.content.claims),
                *(words[verdict] for verdict in verdicts),
                run.last_day,
                f"{run.cpu_seconds / 60:.0f}",
            ]
        )
    heads = ["study", "claims", *verdicts, "computed on", "CPU minutes"]
    return Table("", heads, rows)


def save_all(reports: Sequence[StudyReport], folder: Path | str) -> Path:
    """Write every report and the overview; return the overview's path."""
    for report in reports:
        report.save(folder)
    path = Path(folder) / f"{NAME}.md"
    write_whole(path, claims_overview(reports).encode())
    return path
