"""The calibration trees study: the paper's numbers, the learners, the tasks, a small run."""

import dataclasses
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from trueodds_studies import find_study, run_study
from trueodds_studies._study import Results
from trueodds_studies.papers.trees import learners, study as trees
from trueodds_studies.papers.trees.compared import Compared
from trueodds_studies.papers.trees.learners import logit_boost, rbf_svm, weka_naive_bayes
from trueodds_studies.papers.trees.numbers import (
    METHODS,
    MODELS,
    SETS,
    SIGN_TESTS,
    paper_table,
)
from trueodds_studies.papers.trees.report import report
from trueodds_studies.papers.trees.study import log_odds
from trueodds_studies.papers.trees.svm_example import example_rows, example_tasks
from trueodds_studies.stats import SignTest


def test_the_papers_tables_are_typed_in_right():
    """The circles of Tables 2 to 5 are counted by Table 6, and stand on the right side."""
    assert len(SETS) == 32
    for (model, rival), (wins, draws, losses, _) in SIGN_TESTS.items():
        numbers, marks = paper_table(model)
        assert wins + draws + losses == 32
        # Table 2 has 22 filled circles against isotonic regression, Table 6 counts 23.
        off = 1 if (model, rival) == ("naive-bayes", "IR") else 0
        assert (marks[rival] > 0).sum() == wins - off
        assert (marks[rival] < 0).sum() == losses
        gap = numbers[rival] - numbers["PCT"]
        assert (gap[marks[rival] > 0] >= 0).all()
        assert (gap[marks[rival] < 0] <= 0).all()


def mixed_data():
    """Two numeric attributes (one with holes) and a nominal one, three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = np.column_stack([y + rng.normal(0, 0.4, 300), rng.normal(size=300), (y == 2) * 1.0])
    X[::10, 1] = np.nan
    return X, y, np.array([0, 0, 2], np.int32)


@pytest.mark.parametrize("name", ["bayes", "stumps", "trees", "svm"])
def test_learners_tell_the_classes_apart_with_missing_values_and_categories(name):
    X, y, n_values = mixed_data()
    learner = {
        "bayes": lambda: weka_naive_bayes(n_values, 4),
        "stumps": lambda: logit_boost(n_values, 4, depth=1),
        "trees": lambda: logit_boost(n_values, 4, depth=3),
        "svm": lambda: rbf_svm(n_values, 4, X[:200], y[:200], seed=0),
    }[name]()
    (scores,) = learner(X[:200], y[:200], [X[200:]])
    assert scores.shape == (100, 4)  # the fourth class is not among the rows
    assert (scores.argmax(axis=1) == y[200:]).mean() > 0.85
    if name != "svm":
        assert scores.sum(axis=1) == pytest.approx(1)


def test_naive_bayes_multiplies_frequencies_with_laplaces_correction():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 0, 1])
    new = np.array([[0.0], [1.0], [2.0], [np.nan]])
    (p,) = weka_naive_bayes(np.array([3], np.int32), 2)(X, y, [new])
    prior = np.array([4, 2]) / 6
    # The third value was not seen, but the attribute has it.
    likelihoods = ([3 / 6, 1 / 4], [2 / 6, 2 / 4], [1 / 6, 1 / 4], [1, 1])
    for row, likelihood in zip(p, likelihoods, strict=True):
        joint = prior * likelihood
        assert row == pytest.approx(joint / joint.sum())


def test_naive_bayes_takes_normal_densities_over_intervals_of_the_precision():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, 200) * 0.5, rng.integers(0, 2, 200)
    x[y == 1] += 2
    (p,) = weka_naive_bayes(np.array([0], np.int32), 2)(x[:, None], y, [x[:, None]])
    precision = np.diff(np.unique(x)).mean()
    rounded = np.rint(x / precision) * precision
    joint = []
    for k in (0, 1):
        normal = norm(rounded[y == k].mean(), rounded[y == k].std())
        mass = normal.cdf(rounded + precision / 2) - normal.cdf(rounded - precision / 2)
        joint.append(mass * ((y == k).sum() + 1) / 202)
    np.testing.assert_allclose(p[:, 1], joint[1] / np.sum(joint, axis=0), rtol=1e-9)


def test_far_off_classes_become_exactly_zero_as_in_weka():
    """Ten factors of 1e-75 against ten of about 1: less than the least number above 0."""
    X = np.repeat([[0.0], [1.0]], 50, axis=0) + np.random.default_rng(0).normal(0, 1e-3, (100, 1))
    y = np.repeat([0, 1], 50)
    (p,) = weka_naive_bayes(np.zeros(10, np.int32), 2)(np.tile(X, 10), y, [np.tile(X, 10)])
    assert (p[:50] == [1, 0]).all()
    assert log_odds(p[:50]) == pytest.approx(np.tile([11.512915, -11.512915], (50, 1)))


def test_log_odds_move_exact_zeros_and_ones_only():
    found = log_odds(np.array([0.0, 1e-300, 0.5, 1 - 1e-12, 1.0]))
    expected = [np.log(1e-5 / 0.99999), -690.7755, 0.0, 27.631, np.log(0.99999 / 1e-5)]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-12)


def naive_logit_boost(X, y, n_classes, n_rounds):
    """Friedman, Hastie and Tibshirani (2000), algorithm 6, with stumps found by trying all."""
    total = np.zeros((len(y), n_classes))
    for _ in range(n_rounds):
        p = np.exp(total - total.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        answers = np.zeros_like(total)
        for j in range(n_classes):
            target = y == j
            z = np.where(target, np.minimum(1 / p[:, j], 3), np.maximum(-1 / (1 - p[:, j]), -3))
            answers[:, j] = naive_stump(X, z, (target - p[:, j]) / z)
        centered = answers - answers.mean(axis=1, keepdims=True)
        total += (n_classes - 1) / n_classes * centered
    p = np.exp(total - total.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def naive_stump(X, z, w):
    best, answer = np.inf, None
    for column in X.T:
        for low, high in pairwise(np.unique(column)):
            left = column <= (low + high) / 2
            values = [np.average(z[side], weights=w[side]) for side in (left, ~left)]
            fitted = np.where(left, *values)
            error = (w * (z - fitted) ** 2).sum()
            if error < best:
                best, answer = error, fitted
    return answer


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_stumps_are_those_of_a_naive_logit_boost(n_classes, monkeypatch):
    monkeypatch.setattr(learners, "N_ROUNDS", 12)
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.5, 90) > np.arange(n_classes)[:, None]).sum(0) % 3
    y = np.minimum(y, n_classes - 1)
    learner = logit_boost(np.zeros(3, np.int32), n_classes, depth=1)
    np.testing.assert_allclose(learner(X, y, [X])[0], naive_logit_boost(X, y, n_classes, 12))


def test_boosting_bears_an_attribute_without_any_value():
    X, y, n_values = mixed_data()
    X[:, 1] = np.nan
    for depth in (1, 3):
        (p,) = logit_boost(n_values, 3, depth=depth)(X, y, [X])
        assert np.isfinite(p).all()


def test_profiles_share_tasks(monkeypatch):
    monkeypatch.setattr(trees, "sets_at_hand", lambda: list(SETS))
    study = find_study("trees")
    quick, standard, full = (
        {study.key(task) for task in study.tasks_of(profile)} for profile in study.profiles
    )
    assert quick < standard < full
    folds = [t for t in study.tasks_of("full") if t.part == "cv" and t["set"] == "vote"]
    assert len(folds) == 10 * 10 * 4 * 3
    counts = Counter(
        t["set"] for t in study.tasks_of("standard") if t.part == "cv" and t["model"] == "stumps"
    )
    assert set(counts) == set(SETS)
    assert min(counts.values()) >= 3  # of every set at least a fold, with all methods


def test_two_sets_run_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.delenv("TRUEODDS_DATA", raising=False)
    names = [name for name in ("pima-diabetes", "vote") if name in trees.sets_at_hand()]
    assert names
    monkeypatch.setattr(trees, "FIGURE_5", tuple(names))
    few = dataclasses.replace(
        find_study("trees"),
        tasks=lambda profile: [
            task
            for task in trees.tasks(profile)
            if (task.part in ("artificial", "surface", "rdg1") and task["replicate"] < 2)
            or (
                task.options.get("set") in names
                and task.options.get("fold", 0) < 2
                and task.options.get("repeat", 0) == 0
            )
        ],
    )
    found = run_study(few, profile="standard", folder=tmp_path / "s", progress=False)
    assert found.results.n_missing == 0
    rmse = found.results.table("rmse", rows="set", columns="method", part="cv", model="naive-bayes")
    assert rmse.loc["pima-diabetes", "IR"] == pytest.approx(0.410, abs=0.03)  # as printed
    words = {claim.text: claim.word for claim in found.content.claims}
    constant = (
        "Global methods cannot improve a classifier that always predicts the class frequency."
    )
    assert words[constant] == "confirmed"
    assert f"{len(names)} sets 2 folds" in found.markdown
    assert found.save(tmp_path / "out").exists()
    for picture in ("cells", "figure-2", "figure-4", "figure-5"):
        assert (tmp_path / "out" / f"trees-{picture}.png").stat().st_size > 5_000


def results_of(sign):
    """Results that are the paper's own; ``sign`` −1 swaps PCT with what it is compared to."""
    rows = []
    for model in MODELS:
        numbers, marks = paper_table(model)
        for name, line in numbers.iterrows():
            for method in METHODS:
                value = line[method] if sign > 0 or method != "PCT" else 2 * line["PS"]
                # Folds scatter little around what the paper calls significant, else widely.
                scatter = abs(line[method] - line["PCT"]) * (0.1 if marks.loc[name, method] else 2)
                rows += [
                    {"part": "cv", "set": name, "repeat": 0, "fold": fold,
                     "model": model, "method": method, "n_leaves": 1,
                     "rmse": value + scatter * (-1) ** fold}
                    for fold in range(10)
                ]  # fmt: skip
    for method, gap in {"base": 0.2, "PCT": 0.01, "PS": 0.1, "IR": 0.05}.items():
        rows.append({"part": "reliability", "set": "vote", "method": method, "predicted": 0.5,
                     "observed": 0.5 + gap, "weight": 10})  # fmt: skip
    return Results(pd.DataFrame(rows), "standard", len(rows))


def test_a_set_with_one_fold_is_no_draw():
    results = results_of(1)
    frame = results.frame
    few = frame[~((frame["set"] == "vote") & (frame["model"] == "stumps") & (frame["fold"] > 0))]
    before, after = (
        Compared(dataclasses.replace(results, frame=part), "stumps") for part in (frame, few)
    )
    assert "vote" in before.marks.index
    assert "vote" not in after.marks.index
    assert len(after.tested) == len(before.tested) - 1
    test = after.signs("PS")
    assert test.wins + test.draws + test.losses == len(after.tested)
    claims = report(dataclasses.replace(results, frame=few)).claims
    never = next(c for c in claims if c.text.startswith("With boosted stumps PCT is never"))
    assert f"never on {len(after.tested)} sets with at least two folds" in never.evidence


def test_the_papers_own_numbers_confirm_its_claims():
    claims = report(results_of(1)).claims
    against_platt = [c for c in claims if c.where == "Table 6" and "Platt" in c.text]
    assert len(against_platt) == 4
    assert {c.word for c in against_platt} == {"confirmed"}
    words = {c.text: c.word for c in claims}
    assert words["PCT gains most with naive Bayes."] == "confirmed"
    assert {word for text, word in words.items() if "cell by cell" in text} == {"confirmed"}


def test_worse_trees_confirm_nothing():
    claims = report(results_of(-1)).claims
    judged = [c for c in claims if c.where.startswith("Table") or c.where.startswith("abstract")]
    wrong = [
        c.text for c in judged if c.word == "confirmed" and "isotonic regression is" not in c.text
    ]
    assert wrong == []


@pytest.mark.parametrize("sign", [1, -1])
def test_every_verdict_but_confirmed_has_a_reason(sign):
    claims = report(results_of(sign)).claims
    assert {c.word for c in claims} > {"confirmed"}
    for claim in claims:
        assert (claim.reason is None) == claim.word.startswith("confirmed"), claim


def test_the_sign_test_gives_the_papers_p_values():
    for wins, draws, losses, p in SIGN_TESTS.values():
        found = SignTest(wins, draws, losses, p_value=math.nan).normal_p_value
        if p == 1e-5:  # printed as "< 0.00001"
            assert found < p
        else:
            assert found == pytest.approx(p, rel=0.01)


def test_the_tree_of_the_svm_asks_what_the_papers_asks():
    """Figure 2, from Weka's own rows: x5 first, then x8."""
    asked = [[row["attribute"] for row in example_rows(task)] for task in example_tasks()[:6]]
    assert all(attributes[0] in ("x5", "") for attributes in asked)
    assert any({"x5", "x8"} <= set(attributes) for attributes in asked)


def test_the_way_of_a_row_leads_from_the_root_to_its_leaf():
    ways = [[row for row in example_rows(task) if row["way"]] for task in example_tasks()[:3]]
    assert max(map(len, ways)) > 1
    for way in ways:
        assert way[0]["parent"] == -1
        assert way[-1]["attribute"] == ""
        for above, below in pairwise(way):
            assert below["parent"] == above["node"]
            assert below["branch"] == int(below["values"][int(above["attribute"][1:])])
