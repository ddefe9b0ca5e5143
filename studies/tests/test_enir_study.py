"""The ENIR study: the paper's numbers, the tasks, and a run on three sets."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from trueodds_studies import find_study, run_study
from trueodds_studies._report import Claim
from trueodds_studies._study import Results
from trueodds_studies.papers.enir import study as enir
from trueodds_studies.papers.enir.claims import Duel, judged
from trueodds_studies.papers.enir.numbers import (
    ALL_FOLDS,
    INTERVALS,
    MEASURES,
    METHODS,
    RANKS,
    SETS,
    SIMULATED,
    SUPERIOR,
    VIEWS,
    column_of,
)
from trueodds_studies.papers.enir.report import report
from trueodds_studies.papers.enir.simulated import simulated_sources


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
    assert quick < standard == full
    real = [task for task in study.tasks_of("standard") if task.part == "real"]
    assert {task["set"]: task["repeat"] + 1 for task in real} == dict.fromkeys(SETS, 10)
    assert {task["set"]: task["rows"] for task in real} == {n: s.rows for n, s in SETS.items()}
    # One worker has run every large set once before any for a second time.
    turns = sorted(real, key=study.cost)
    large = [task["repeat"] for task in turns if SETS[task["set"]].rows > enir.FEW_ROWS]
    assert large == sorted(large)


def test_three_sets_run_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.delenv("TRUEODDS_DATA", raising=False)
    names = ["breast", "heart", "sonar-scale"]
    few = dataclasses.replace(
        find_study("enir"),
        tasks=lambda profile: [
            task
            for task in enir.tasks(profile)
            if (task.part == "simulated" and task["repeat"] < 2)
            or task.options.get("set") in names
            or (task.part in ("binning", "time") and task["n"] <= 10_000)
        ],
    )
    found = run_study(few, profile="quick", folder=tmp_path / "s", progress=False)
    assert found.results.n_missing == 0
    frame = found.results.frame
    n = frame[frame["part"] == "real"]["set"].nunique()
    assert n >= 2
    k = len(enir.METHODS)
    assert len(frame) == 2 * 2 * k + n * (10 + 1) * 3 * k + 4 * 3 * 3 * 2 + 2
    assert frame[frame["fold"] == ALL_FOLDS]["rarer"].between(0.1, 0.5).all()
    linear = frame[(frame["part"] == "simulated") & (frame["kernel"] == "linear")]
    auc = linear.groupby("method")["AUC"].mean()
    assert auc["ENIR"] == pytest.approx(0.85, abs=0.03)  # as printed
    assert auc["IsoRegC"] == pytest.approx(0.65, abs=0.05)
    assert f"{n} of the paper's 40 data sets, 1 × 10-fold" in found.markdown
    assert found.save(tmp_path / "out").exists()
    for name in ("gain", "ties"):
        assert (tmp_path / "out" / f"enir-{name}.png").stat().st_size > 5_000


@pytest.mark.slow
def test_the_authors_measures_give_the_papers_table_on_the_authors_rows(data_sets):
    assert "authors" in simulated_sources(), f"{data_sets} lacks the authors' rows"
    todo = [
        t for t in enir.tasks("quick")
        if t.part == "simulated" and t["source"] == "authors" and t["kernel"] == "linear"
    ]  # fmt: skip
    rows = [{**task.options, **row} for task, row in enir.run(todo, None)]
    means = pd.DataFrame(rows).groupby("method").mean(numeric_only=True)
    for place, method in enumerate(("base", *METHODS)):
        for measure in ("AUC", "ACC", "RMSE", "ECE"):
            printed = SIMULATED["linear"][measure][place]
            found = means.loc[method, column_of(measure, "program")]
            # One cell is 0.021 off, with any cut of the rows: ECE of isotonic regression.
            assert found == pytest.approx(printed, abs=0.025), (method, measure)
    # Isotonic regression is not as badly calibrated as the measure that cuts ties says.
    assert means.loc["IsoRegC", "ECE shared"] < 0.05
    assert means.loc["IsoRegC", "ECE program"] > 0.3


def test_a_claim_that_the_authors_measure_alone_confirms_says_so():
    claims = [Claim("a", "b", verdict, f"{verdict}") for verdict in (True, False, "inconclusive")]
    pairs = [(one, other) for one in claims for other in claims]
    text, program = map(list, zip(*pairs, strict=True))
    words = [claim.word for claim in judged({"text": text, "program": program})]
    authors = "confirmed with the authors' measure"
    assert words == [*["confirmed"] * 3, authors, "not confirmed", "not confirmed",
                     authors, "inconclusive", "inconclusive"]  # fmt: skip


def test_a_lead_that_could_be_chance_is_inconclusive_with_the_sets_it_would_need():
    duel = Duel(sign=0, lead=0.25, n_sets=40, figures="")
    assert duel.needed == pytest.approx((3.08 / 0.25) ** 2, abs=1)


def in_all_readings(values):
    return {column_of(name, view): value for view in VIEWS for name, value in values.items()}


def results_of(enir_is_better):
    """Results in which ENIR improves on everything, or on nothing."""
    rng = np.random.default_rng(0)
    sign = 1 if enir_is_better else -1
    lift = {"base": 0.0, "Platt": 0.0, "BBQ": 0.01, "IsoRegC": 0.02}
    lift |= {"ENIR": 0.03, "ENIR-text": 0.03}
    rows = []
    for number, name in enumerate(SETS):
        for fold in (number % 10, ALL_FOLDS):
            for model in ("LR", "SVM", "NB"):
                for method, gain in lift.items():
                    place = {"set": name, "rows": 1000, "repeat": 0, "fold": fold, "rarer": 0.2}
                    change = sign * gain * ("ENIR" in method or sign > 0) + 1e-4 * rng.normal()
                    values = dict.fromkeys(("AUC", "ACC"), 0.8 + change)
                    values |= dict.fromkeys(("RMSE", "ECE", "MCE"), 0.4 - change)
                    task = {"part": "real", **place, "model": model, "method": method}
                    rows.append(task | in_all_readings(values))
    for kernel, table in SIMULATED.items():
        for position, method in enumerate(("base", *METHODS)):
            values = {measure: line[position] for measure, line in table.items()}
            for repeat in range(3):
                task = {"part": "simulated", "source": "ours", "kernel": kernel, "repeat": repeat}
                noisy = {name: value + 1e-4 * rng.normal() for name, value in values.items()}
                rows.append(task | {"method": method} | in_all_readings(noisy))
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


def test_more_losses_than_wins_are_not_commonly_better():
    words = {claim.text: claim for claim in report(results_of(False)).claims}
    claim = words["On real data ENIR is commonly significantly better than the other methods."]
    assert claim.verdict_and_reason == "not confirmed (refuted)"
    assert "better in 0 and worse in 30 of 30 comparisons" in claim.evidence


def test_clear_losses_confirm_none_of_them():
    words = verdicts(results_of(False))
    better = [text for text in words if "significantly better than" in text or "improves" in text]
    assert "confirmed" not in {words[t] for t in better if not t.startswith("IsoRegC improves")}
    never = [text for text in words if "never significantly worse" in text]
    assert {words[text] for text in never} == {"not confirmed"}
