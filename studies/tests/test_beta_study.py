"""The beta study: the paper's numbers, the tasks, and a run on three sets."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from trueodds.compare import friedman_test
from trueodds_studies import find_study, run_study
from trueodds_studies._papers import beta
from trueodds_studies._papers._beta_numbers import (
    FRIEDMAN,
    PAPER_RANKS,
    SETS,
    table_2,
    table_2_ranks,
)
from trueodds_studies._papers._beta_report import report
from trueodds_studies._study import Results


def test_the_papers_table_is_typed_in_right():
    """Its own subscripts give its ranks, and agree with the order of its losses."""
    losses, ranks = table_2(), table_2_ranks()
    assert losses.shape == ranks.shape == (41, 4)
    for method, printed in PAPER_RANKS.items():
        assert ranks[method].mean() == pytest.approx(printed, abs=0.005)
    for name in SETS:
        in_order = losses.loc[name].iloc[np.argsort(ranks.loc[name])]
        assert in_order.is_monotonic_increasing, name
    # The p-value under figure 4 is that of these ranks.
    assert friedman_test(ranks).chi_square_p_value == pytest.approx(1.0e-12, rel=0.05)
    assert len(FRIEDMAN) == 12


def test_profiles_share_their_tasks():
    keys = {p: {beta.STUDY.key(t) for t in beta.tasks(p)} for p in ("quick", "standard", "full")}
    assert keys["quick"] < keys["standard"] == keys["full"]


def test_three_sets_run_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.delenv("TRUEODDS_DATA", raising=False)
    names = ["iris", "sonar", "diabetes"]
    few = dataclasses.replace(
        find_study("beta"),
        tasks=lambda profile: [t for t in beta.tasks(profile) if t["set"] in names],
    )
    found = run_study(few, profile="quick", folder=tmp_path / "s")
    frame = found.results.frame
    assert len(frame) == 3 * 5 * (3 * 6 + 2)
    assert found.results.n_missing == 0
    losses = found.results.table("log_loss", rows="set", columns="method", part="cv", model="ada-o")
    assert losses.loc["iris", "uncalibrated"] == pytest.approx(0.127, abs=0.001)  # as printed
    assert losses.loc["diabetes", "beta"] == pytest.approx(0.484, abs=0.03)
    assert losses.loc["sonar", "beta"] < losses.loc["sonar", "uncalibrated"]
    assert "3 of the paper's 41 data sets, 1 × 5-fold" in found.markdown
    assert found.save(tmp_path / "out").exists()
    assert (tmp_path / "out" / "beta-figure-4.png").stat().st_size > 10_000


def results_of(noise):
    """Results that are the paper's own, disturbed."""
    rng = np.random.default_rng(0)
    ranks = table_2_ranks()
    rows = []
    for name, line in table_2().iterrows():
        for model in beta.MODELS:
            for method in [*beta.METHODS, *beta.WITH_PLATT]:
                column = "beta" if method.startswith("beta") else method.removesuffix("-platt")
                extra = {"beta-am": 1e-4, "beta-ab": 2e-4}.get(method, 0.0)
                loss = line[column] + extra + noise * rng.normal()
                loss += 1e-3 * ranks.loc[name, column] / 4
                part = "cv" if method in beta.METHODS else "separable"
                rows.append(
                    {
                        "part": part, "set": name, "repeat": 0, "fold": 0, "model": model,
                        "method": method, "log_loss": loss, "brier_score": loss,
                        "accuracy": 0.8, "confidence": 0.7 if model == "ada-s" else 0.9,
                    }
                )  # fmt: skip
    return Results(pd.DataFrame(rows), "standard", len(rows))


def test_the_papers_own_numbers_confirm_its_claims():
    content = report(results_of(0.0))
    words = {claim.text: claim.word for claim in content.claims}
    missed = [
        text
        for text, word in words.items()
        if word != "confirmed" and "Ada-S beta" not in text and "on par" not in text
    ]
    assert missed == []


def test_noise_confirms_nothing_that_needs_an_order():
    content = report(results_of(5.0))
    words = {claim.text: claim.word for claim in content.claims}
    assert words["Beta is significantly better than logistic on Ada-O by log-loss."] == (
        "not confirmed"
    )
    assert words["Table 2 cell by cell: within 0.03 on at least 75 % of the cells."] == (
        "not confirmed"
    )
