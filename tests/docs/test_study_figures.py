"""Figures of studies stand on their pages; other pages that quote them agree."""

import json
import re

import pytest
from project_pages import DOCS

STUDIES = DOCS / "studies"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_ranks_of_beta_calibration_are_those_of_the_study():
    quoted = re.search(
        r"logistic calibration on (\d+) data sets:\s+([\d.]+) and ([\d.]+) with naive Bayes, "
        r"([\d.]+) and ([\d.]+) with the original AdaBoost",
        page("arena.md"),
    )
    study = page("studies/beta.md")
    claim = (
        r"Beta is significantly better than logistic on {} by log-loss\.."
        r"*?ranks ([\d.]+) and ([\d.]+)"
    )
    found = [
        number
        for model in ("naive Bayes", "Ada-O")
        for number in re.search(claim.format(model), study).groups()
    ]
    assert list(quoted.groups()[1:]) == found
    assert f"{quoted[1]} of the paper's 41 data sets" in study


def test_errors_of_calibration_trees_are_those_of_the_study():
    quoted = re.search(
        r"With naive Bayes on (\d+) data sets, calibration trees have a mean RMSE of ([\d.]+), "
        r"isotonic regression of\s+([\d.]+) and Platt scaling of ([\d.]+)",
        page("arena.md"),
    )
    means = re.search(
        r"naive Bayes ([\d.]+) / ([\d.]+) / ([\d.]+) \((\d+) sets\)", page("studies/trees.md")
    )
    pct, platt, isotonic = (f"{float(value):.3f}" for value in means.groups()[:3])
    assert quoted.groups() == (means[4], pct, isotonic, platt)


@pytest.mark.parametrize("file", sorted(STUDIES.glob("*.json")), ids=lambda file: file.stem)
def test_the_overview_has_the_verdicts_of_every_page(file):
    study = json.loads(file.read_text(encoding="utf-8"))
    overview, own = page("studies/claims.md"), page(f"studies/{file.stem}.md")
    for claim in study["claims"]:
        reason = f" ({claim['reason']})" if claim["reason"] else ""
        row = f"| {claim['text']} | {claim['where']} | *{claim['verdict']}{reason}* |"
        assert row in overview, row
        assert row in own, row
    assert f"| [{file.stem}]({file.stem}.md) | {len(study['claims'])} |" in overview
