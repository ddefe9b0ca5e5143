"""The ENIR study: the paper's numbers, the tasks, and a run on three sets."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from trueodds_studies import find_study, run_study
from trueodds_studies._papers import enir
from trueodds_studies._papers._enir_numbers import (
    INTERVALS,
    MEASURES,
    METHODS,
    RANKS,
    SETS,
    SIMULATED,
    SUPERIOR,
)
from trueodds_studies._papers._enir_report import report
from trueodds_studies._study import Results


def test_the_papers_tables_are_typed_in_right():
    """Ranks of three methods sum to six; stars stand only where ENIR has the better rank."""
    assert len(SETS) == 40
    for model, rows in RANKS.items():
        for measure, ranks in rows.items():
            assert sum(ranks) == pytest.approx(6, abs=0.002), (model, measure)
        for measure, rival in SUPERIOR[model]:
            ranks = dict(zip(METHODS, rows[measure], strict=True))
            assert ranks["ENIR"] < ranks[rival]
    for intervals in INTERVALS.values():
        assert list(intervals) == list(MEASURES)
        assert all(low < high for low, high in intervals.values())
    assert SIMULATED["linear"]["MCE"] == (0.78, 0.60, 0.13, 0.12)


def test_profiles_share_tasks(monkeypatch):
    monkeypatch.setattr(enir, "sets_at_hand", lambda: list(SETS))
    study = find_study("enir")
    quick, standard, full = (
        {study.key(task) for task in study.tasks_of(profile)} for profile in study.profiles
    )
    assert quick < standard
    small = [name for name, source in SETS.items() if source.rows <= enir.MOST_ROWS["standard"]]
    shared = [t for t in study.tasks_of("standard") if t.part == "real" and t["set"] in small]
    assert {study.key(task) for task in shared} < full


def test_three_sets_run_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.delenv("TRUEODDS_DATA", raising=False)
    names = ["breast", "heart", "sonar-scale"]
    few = dataclasses.replace(
        find_study("enir"),
        tasks=lambda profile: [
            task
            for task in enir.tasks(profile)
            if (task.part == "simulated" and task["repeat"] < 2) or task.options.get("set") in names
        ],
    )
    found = run_study(few, profile="quick", folder=tmp_path / "s", progress=False)
    assert found.results.n_missing == 0
    frame = found.results.frame
    n = frame[frame["part"] == "real"]["set"].nunique()
    assert n >= 2
    assert len(frame) == 2 * 2 * 4 + n * (10 + 1) * 3 * 4
    linear = frame[(frame["part"] == "simulated") & (frame["kernel"] == "linear")]
    auc = linear.groupby("method")["AUC"].mean()
    assert auc["ENIR"] == pytest.approx(0.85, abs=0.03)  # as printed
    assert auc["IsoRegC"] == pytest.approx(0.65, abs=0.05)
    assert f"{n} of the paper's 40 data sets, 1 × 10-fold" in found.markdown
    assert found.save(tmp_path / "out").exists()
    assert (tmp_path / "out" / "enir-gain.png").stat().st_size > 5_000


def results_of(enir_is_better):
    """Results in which ENIR improves on everything, or on nothing."""
    rng = np.random.default_rng(0)
    sign = 1 if enir_is_better else -1
    lift = {"base": 0.0, "BBQ": 0.01, "IsoRegC": 0.02, "ENIR": 0.03}
    rows = []
    for number, name in enumerate(SETS):
        for part in ("real", "pooled"):
            for model in ("LR", "SVM", "NB"):
                for method, gain in lift.items():
                    place = {"set": name, "rows": 1000, "repeat": 0, "fold": number % 10}
                    if part == "pooled":
                        place["fold"] = np.nan
                    change = sign * gain * (method == "ENIR" or sign > 0) + 1e-4 * rng.normal()
                    values = dict.fromkeys(("AUC", "ACC"), 0.8 + change)
                    values |= dict.fromkeys(("RMSE", "ECE", "MCE"), 0.4 - change)
                    rows.append({"part": part, **place, "model": model, "method": method, **values})
    for kernel, table in SIMULATED.items():
        for position, method in enumerate(("base", *METHODS)):
            values = {measure: line[position] for measure, line in table.items()}
            rows.append({"part": "simulated", "kernel": kernel, "repeat": 0, "method": method,
                         **values})  # fmt: skip
    return Results(pd.DataFrame(rows), "standard", len(rows))


def verdicts(results):
    return {claim.text: claim.word for claim in report(results).claims}


def test_clear_improvements_confirm_the_claims_of_superiority():
    words = verdicts(results_of(True))
    better = [text for text in words if "significantly better than" in text or "improves" in text]
    assert len(better) >= 12 + 5
    assert {words[text] for text in better} == {"confirmed"}
    assert words["On a linear SVM of circular classes ENIR outperforms IsoRegC by AUC, accuracy "
                 "and RMSE."] == "confirmed"  # fmt: skip
    # An AUC that has become greater everywhere is not "no significant difference".
    assert (
        words["By AUC ENIR does not differ significantly from the base classifiers."]
        == "not confirmed"
    )


def test_clear_losses_confirm_none_of_them():
    words = verdicts(results_of(False))
    better = [text for text in words if "significantly better than" in text or "improves" in text]
    assert "confirmed" not in {words[t] for t in better if not t.startswith("IsoRegC improves")}
    never = [text for text in words if "never significantly worse" in text]
    assert {words[text] for text in never} == {"not confirmed"}
