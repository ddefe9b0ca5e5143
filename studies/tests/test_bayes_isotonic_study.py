"""The Bayesian isotonic study: the paper's numbers, the protocol, a small run, and verdicts."""

import dataclasses
from functools import partial

import numpy as np
import pandas as pd
import pytest

from trueodds_studies import Claim, find_study, run_study
from trueodds_studies._study import Results
from trueodds_studies.papers.bayes_isotonic import extras, study as bayes_isotonic
from trueodds_studies.papers.bayes_isotonic.claims import claims
from trueodds_studies.papers.bayes_isotonic.findings import COMPARED, Findings, Gap, Share
from trueodds_studies.papers.bayes_isotonic.models import MODELS, RealAdaBoost, held_out_scores
from trueodds_studies.papers.bayes_isotonic.numbers import SETS, SIZES, TABLE_2, table_1
from trueodds_studies.papers.bayes_isotonic.report import summary
from trueodds_studies.papers.bayes_isotonic.verdicts import above, by_each, judged_leads

N_SETS, N_SAMPLES = 120, 12
METHODS = list(bayes_isotonic.METHODS)
ENIR = ("enir-platt", "enir-platt-program")


def test_the_papers_table_is_typed_in_right():
    """Its subscripts rank the methods; 17 sets are named."""
    ranks = table_1().drop("ideal").rank(method="first")
    printed = {"bayes-iso": [1, 1, 1, 1], "beta(-platt)": [2, 2, 4, 4], "log-platt": [5] * 4}
    for method, expected in printed.items():
        assert ranks.loc[method].tolist() == expected
    assert tuple(table_1().index[1:]) == COMPARED
    assert len(SETS) == 17
    assert all(line["3000 LH"] > line["3000"] for line in TABLE_2.values())


def test_profiles_share_their_tasks_and_corrections_have_all_25_folds(monkeypatch):
    names = [name for name in SETS.values() if name]
    monkeypatch.setattr(bayes_isotonic, "sets_at_hand", lambda: names)
    found = {profile: bayes_isotonic.tasks(profile) for profile in bayes_isotonic.REPLICATES}
    quick, standard, full = (set(map(hash, tasks)) for tasks in found.values())
    assert quick < standard < full
    pairs = len(names) * len(MODELS)
    real = {profile: [t for t in tasks if t.part == "real"] for profile, tasks in found.items()}
    assert len(real["full"]) == pairs * 25 * len(SIZES) * len(METHODS)
    for method in ("iso", "iso-platt", "enir-platt", "log", "beta-platt"):
        assert sum(t["method"] == method for t in real["standard"]) == pairs * 25 * len(SIZES)


# The protocol.


def made_up_data(name):
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(20_000, 3))
    return X, (rng.random(20_000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(np.int8)


def test_two_made_up_sets_run_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(bayes_isotonic, "_data", made_up_data)
    monkeypatch.setattr(bayes_isotonic, "sets_at_hand", lambda: bayes_isotonic.QUICK["set"])
    monkeypatch.setattr(bayes_isotonic, "N_TEST", 20_000)
    monkeypatch.setattr(extras, "N_SWEEPS", 3000)
    for name in ("bayes-iso", "bayes-iso-text", "chains"):  # fewer maps, for speed
        quicker = partial(bayes_isotonic.METHODS[name], n_samples=1000, min_effective_size=20)
        monkeypatch.setitem(bayes_isotonic.METHODS, name, quicker)
    few = dataclasses.replace(
        find_study("bayes-isotonic"),
        tasks=lambda profile: [
            t for t in bayes_isotonic.tasks(profile) if t.options.get("model", "NB") == "NB"
        ],
    )
    found = run_study(few, profile="quick", folder=tmp_path / "s", progress=False)
    assert found.results.n_missing == 0
    frame = found.results.frame
    assert (frame["part"] == "real").sum() == 2 * 3 * len(METHODS)
    assert (frame["part"] == "curves").sum() == 2 * 6 * 101
    losses = found.results.table("log_loss", rows="method", columns="n", part="synthetic")
    assert losses.loc["ideal", 3000] == pytest.approx(0.4741, abs=0.009)
    gap = losses.loc["bayes-iso", 3000] - losses.loc["ideal", 3000]
    assert gap == pytest.approx(0.4753 - 0.4741, abs=0.005)
    assert losses.loc["iso", 100] > losses.loc["iso-platt", 100]
    # The naive Bayes model of made-up data is right, so no map gains much with 3000 rows.
    real = found.results.table("log_loss", rows="method", columns="size", part="real")
    assert real.loc["bayes-iso", 3000] == pytest.approx(real.loc["beta-platt", 3000], abs=0.01)
    assert "2 of the paper's 17 sets are used with 1 of its nine models (NB)" in found.markdown
    assert found.save(tmp_path / "out").exists()
    for name in ("1", "2", "3", "3-by-map", "4", "5", "6", "7-log-loss", "7-brier-score"):
        picture = tmp_path / "out" / f"bayes-isotonic-figure-{name}.png"
        assert picture.stat().st_size > 8_000


def test_the_models_see_neither_the_calibration_nor_the_test_rows(monkeypatch):
    """Each row has its number as its only feature, and the models are spied on."""
    numbers, y = np.arange(20_000.0)[:, None], np.arange(20_000) % 2
    seen = {}

    def spy(name, X, y, others, seed):
        seen["train"], (seen["calibration"], seen["test"]) = X[:, 0], [o[:, 0] for o in others]
        return [np.full(len(other), 0.5) for other in others]

    monkeypatch.setattr(bayes_isotonic, "_data", lambda name: (numbers, y))
    monkeypatch.setattr(bayes_isotonic, "held_out_scores", spy)
    tests = []
    for outer in range(5):
        arrays = bayes_isotonic._model_scores("x", "NB", outer, 4 - outer)
        sizes = {part: len(rows) for part, rows in seen.items()}
        assert sizes == {"train": 3000, "calibration": 3200, "test": 4000}  # as the paper says
        assert len(np.unique(np.concatenate(list(seen.values())))) == sum(sizes.values())
        assert len(arrays["fit_y"]) == 3200
        tests.append(seen["test"])
    assert len(np.unique(np.concatenate(tests))) == 20_000


def rows_of(monkeypatch, data, methods):
    """What a fold gives for the sizes and methods, of made-up scores."""

    class Kept:
        def arrays(self, description, compute):
            return data

    monkeypatch.setattr(bayes_isotonic, "sets_at_hand", lambda: ["2dplanes"])
    tasks = [
        t for t in bayes_isotonic.tasks("quick")
        if t.part == "real" and t["model"] == "NB" and t["method"] in methods and t["size"] == 100
    ]  # fmt: skip
    return {task["method"]: row for task, row in bayes_isotonic.run(tasks, Kept())}


def test_a_hundred_rows_of_one_class_are_calibrated_and_equal_scores_are_not(monkeypatch):
    rng = np.random.default_rng(0)
    scores = {"fit": rng.random(3200), "test": rng.random(4000)}
    labels = {"fit_y": np.zeros(3200, np.int8), "test_y": (np.arange(4000) < 8).astype(np.int8)}
    found = rows_of(monkeypatch, scores | labels, ("iso", "iso-platt", "log-platt", "beta-platt"))
    assert found["iso"]["impossible"] == 8 / 4000  # it said 0 to everyone
    wrong, right = np.log(1 / 102), np.log(101 / 102)  # Platt's target for a negative
    expected = -(8 * wrong + 3992 * right) / 4000
    for method in ("iso-platt", "log-platt", "beta-platt"):
        assert found[method]["log_loss"] == pytest.approx(expected, rel=1e-6)
    scores["fit"] = np.full(3200, 0.3)
    assert rows_of(monkeypatch, scores | labels, ("iso",))["iso"] == {"constant": 1.0}


def test_rows_tied_for_the_last_places_at_an_end_share_them():
    """Of 80 rows the lowest 2.5% are two: one row for certain, and one of four that are tied."""
    key = np.concatenate([[0.1], np.full(4, 0.2), np.linspace(0.3, 1, 75)])
    y = np.zeros(80)
    y[[1, 2]] = 1  # half of the tied
    assert bayes_isotonic._end_excess(key, y, np.zeros(80)) == pytest.approx((0 + 0.5) / 2)
    p = np.full(80, 0.4)
    assert bayes_isotonic._end_excess(key, y, p) == pytest.approx(0.25 - 0.4)


def test_isotonic_steps_are_ties_for_the_authors_ranking_though_not_for_the_papers():
    scores = np.linspace(0, 1, 4000)
    y = (np.arange(4000) % 2 == 0) | (scores > 0.9)
    p = np.where(scores > 0.5, 0.6 + 1e-16 * np.arange(4000), 0.5)
    found = bayes_isotonic._confidence(scores, y, p)
    assert found["high_excess"] == pytest.approx(0.6 - 1)  # the outermost are all positive
    assert found["high_excess_by_map"] == pytest.approx(0.6 - (0.4 * 0.5 + 0.1) / 0.5, abs=0.01)


def test_the_authors_enir_of_corrected_labels_is_isotonic():
    """Where the truth falls and rises ENIR does too, unless its smoothest model stands alone."""
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    y = rng.random(3000) < 4 * (scores - 0.5) ** 2
    grid = np.linspace(0, 1, 200)
    falls = {
        method: np.diff(bayes_isotonic._Fitted(method, scores, y)(grid)).min()
        for method in ("enir-platt", "enir-platt-program", "iso-platt")
    }
    assert falls["enir-platt"] < -0.01
    assert falls["enir-platt-program"] > -1e-3  # but for the smoothing of bins
    assert falls["iso-platt"] >= 0


def test_credit_card_frauds_are_as_rare_as_in_the_whole_set():
    rng = np.random.default_rng(0)
    y = np.arange(23_349) < 492
    rows = bayes_isotonic._at_natural_rate(rng.permutation(len(y)), y, rng)
    assert len(np.unique(rows)) == 20_000
    assert 20 <= y[rows].sum() <= 50  # 34.5 ± 5.7


def test_the_gibbs_sampler_of_sorted_uniform_numbers_has_the_exact_mean(monkeypatch):
    """Of three ranks the posterior mean is an integral over the ordered cube."""
    monkeypatch.setattr(extras, "N_SWEEPS", 60_000)
    y = np.array([1, 0, 1])
    found = extras.sorted_uniform_mean(y, np.random.default_rng(0))
    x = np.sort(np.random.default_rng(1).random((400_000, 3)), axis=1)
    weight = np.prod(np.where(y == 1, x, 1 - x), axis=1)
    np.testing.assert_allclose(found, weight @ x / weight.sum(), atol=0.005)


def test_merged_bins_rise_and_follow_the_true_map():
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    y = rng.random(3000) < scores**2
    grid = np.linspace(0.02, 0.98, 49)
    p = extras.merged_bins(scores, y, grid, bayes_isotonic.METHODS["iso-platt"])
    assert np.diff(p).min() >= 0
    assert np.abs(p - grid**2).max() < 0.12


# Base models.


def made_up_rows(n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(np.int8)


def test_real_adaboost_lowers_the_exponential_loss_with_every_stump():
    """Its votes ½·log-odds are the steps that minimize it (Friedman et al., 2000)."""
    X, y = made_up_rows()
    sign = np.where(y == 1, 1, -1)
    losses = []
    for n in (1, 2, 5, 20, 50):
        p = RealAdaBoost(n_stumps=n).fit(X, y).predict_proba(X)[:, 1]
        total = n * np.log(p / (1 - p)) / 2  # the log-odds are a mean over stumps
        losses.append(np.mean(np.exp(-sign * total)))
    assert np.all(np.diff(losses) < 0)
    first = RealAdaBoost(n_stumps=1).fit(X, y)
    assert np.allclose(first.predict_proba(X), first.stumps_[0].predict_proba(X))


@pytest.mark.parametrize("name", MODELS)
def test_every_base_model_gives_scores_between_0_and_1(name):
    X, y = made_up_rows()
    scores, again = held_out_scores(name, X, y, [X[:50], X[:50]], seed=3)
    assert np.array_equal(scores, again)
    assert np.all((scores >= 0) & (scores <= 1))
    assert scores[y[:50] == 1].mean() > scores[y[:50] == 0].mean() + 0.02  # ADA stays near ½


# Verdicts.

CLAIM = Claim("text", "where", True, "figures")


def test_a_share_below_its_limit_is_refuted_only_if_that_is_more_than_chance():
    near, far = Share(0.48, 0.05, 10, 48, 100), Share(0.3, 0.05, 10, 30, 100)
    assert above(CLAIM, [(Share(0.65, 0.05, 10, 65, 100), 0.5, None)]).word == "confirmed"
    # Within noise nothing is confirmed.
    assert above(CLAIM, [(Share(0.51, 0.05, 10, 51, 100), 0.5, None)]).word == "inconclusive"
    inconclusive = above(CLAIM, [(near, 0.5, 0.56)])
    assert inconclusive.verdict_and_reason == "inconclusive (data)"
    # (2.8 · 0.05/0.06)² = 5.4 times the ten sets.
    assert inconclusive.evidence.endswith("56% from 50% in 80% of studies takes 55 such sets")
    assert above(CLAIM, [(far, 0.5, 0.56)]).verdict_and_reason == "not confirmed (refuted)"


def test_a_lead_must_be_negative_by_more_than_chance_to_refute():
    assert judged_leads(CLAIM, [Gap(3, 1, 10)]).word == "confirmed"
    assert judged_leads(CLAIM, [Gap(2.1, 1, 10)]).word == "inconclusive"  # Student's t: 2.26
    assert judged_leads(CLAIM, [Gap(-0.1, 1, 10)]).word == "inconclusive"
    assert judged_leads(CLAIM, [Gap(-3, 1, 10)]).reason == "refuted"


def test_both_readings_are_kept_whichever_confirms():
    no = dataclasses.replace(CLAIM, verdict=False, reason="refuted")
    names = {"text": 0, "program": 1}
    assert by_each(lambda program: CLAIM, names) == CLAIM
    found = by_each(lambda program: CLAIM if program else no, names)
    assert found.verdict_and_reason == "confirmed with the authors' measure"
    found = by_each(lambda program: no if program else CLAIM, names)
    assert found.word == "confirmed"
    assert found.in_words == "text: confirmed; program: not confirmed (refuted)"
    assert by_each(lambda program: no, names) == no  # once where the readings agree


def test_the_standard_error_of_a_share_is_that_of_means_of_sets():
    index = pd.MultiIndex.from_product([["a", "b", "c"], ["NB", "LR"]])
    share = Share.of([pd.Series([True, True, True, False, False, False], index)])
    assert (share.mean, share.cases, share.n_sets) == (0.5, 3, 3)
    assert share.error == pytest.approx(0.5 / np.sqrt(3))


def results_of(best="bayes-iso"):
    """Results with an order of methods as the paper sees it, the ``best`` in front."""
    free, parametric = [*ENIR, "iso-platt"], ["beta-platt", "beta", "log-platt"]
    order = {
        100: [best, "beta-platt", "beta", *free, "log-platt"],
        1000: [best, *free, *parametric],
        3000: [best, *free, *parametric],
    }
    rows = []
    rng = np.random.default_rng(0)
    for n in SIZES:
        names = list(dict.fromkeys([*order[n], *METHODS]))
        for place, method in enumerate(["ideal", *names]):
            for replicate in range(N_SAMPLES):
                noise = 2e-5 * rng.normal()
                rows.append({"part": "synthetic", "n": n, "replicate": replicate,
                             "method": method, "brier_score": 0.1621 + 1e-4 * place + noise,
                             "log_loss": 0.4741 + 1e-4 * place + noise,
                             "heaviest": 0.1})  # fmt: skip
        for run in range(3):
            p = 0.5 + 1e-6 * n * run
            rows += [{"part": "runs", "n": n, "run": run, "score": s, "probability": p,
                      "lower": 0, "upper": 1} for s in (0, 1)]  # fmt: skip
        order[100] = [best, *parametric, *free]  # in real sets both are ahead with 100
        rows += real_rows(n, list(dict.fromkeys([*order[n], *METHODS])), best)
    truth = dict(zip(("beta", "log-platt"), (0.2, 0.3), strict=True))
    for method in bayes_isotonic.CURVES:
        rows += [{"part": "curves", "n": 1000, "replicate": 0, "method": method, "score": s,
                  "probability": min(1, s + truth.get(method, 0))} for s in (0.0, 1.0)]  # fmt: skip
    return Results(pd.DataFrame(rows), "standard", len(rows))


def real_rows(n, names, best):
    rows = []
    for number in range(N_SETS):
        # In some pairs others are ahead of Bayes-Iso: more of them with more rows.
        place_behind = 6.5 if n == 100 else 3.5
        behind = number % 10 < {100: 1, 1000: 2, 3000: 4}[n]
        for place, method in enumerate(names):
            loss = 0.3 + 1e-3 * (place_behind if behind and method == best else place)
            raw = method in ("iso", "enir", "enir-text")
            loss += 1e-2 * raw + 2e-2 * (method == "log")
            helped = 1e-5 * (number % 2) - 5e-6  # beta by Brier score: half of the pairs
            uncorrected = raw or method in ("log", "beta")
            over = 1 if uncorrected or (method == "bayes-iso" and number % 2) else -1
            brier = loss - 0.11 + (method == "beta") * (helped - 1e-3)
            if n == 100 and method in bayes_isotonic.SURE:
                timid = method == "bayes-iso" and number % 10 == 0
                rows.append({"part": "confidence", "set": f"set {number}", "model": "NB",
                             "outer": 0, "inner": 0, "size": n, "method": method,
                             "sureness": -0.1 if timid else 0.01})  # fmt: skip
            rows.append({
                "part": "real", "set": f"set {number}", "model": "NB", "outer": 0, "inner": 0,
                "size": n, "method": method, "log_loss": loss + (method == "beta") * 2e-3,
                "brier_score": brier, "accuracy": 0.99 if number % 10 == 0 else 0.8,
                "impossible": 0.1 * raw, "constant": 0.0,
                "heaviest": 0.9 if number % 10 < 3 and n == 3000 else 0.1,
                **{f"{end}_excess{ranking}": 0.01 * over
                   for end in ("low", "high") for ranking in ("", "_by_map")},
            })  # fmt: skip
    return rows


def verdicts(results):
    return {claim.text: claim for claim in claims(Findings(results))}


def test_results_like_the_papers_confirm_its_claims():
    found = verdicts(results_of())
    exempt = ("The ideal losses", "With 1000 rows parametric")
    assert sum(not text.startswith(exempt) for text in found) > 5
    for text, claim in found.items():
        if not text.startswith(exempt):
            assert claim.word == "confirmed", claim


def test_another_winner_takes_the_verdicts():
    found = verdicts(results_of("iso-platt"))
    for text in (
        "On synthetic data Bayes-Iso wins over all other methods.",
        "Bayes-Iso is the best non-parametric method in the majority of cases at every size.",
        "Bayes-Iso is best or tied with the best for all sizes and losses.",
    ):
        assert found[text].verdict_and_reason == "not confirmed (refuted)", found[text]


def test_every_verdict_but_confirmed_has_a_reason_or_names_the_authors_measure():
    found = claims(Findings(results_of("iso-platt")))
    assert len({claim.word for claim in found}) > 1
    for claim in found:
        assert (claim.reason is None) == claim.word.startswith("confirmed"), claim


def test_without_real_sets_their_claims_are_not_tested():
    results = results_of()
    frame = results.frame[~results.frame["part"].isin(["real", "confidence"])]
    found = Findings(dataclasses.replace(results, frame=frame))
    words = {claim.text: claim.word for claim in claims(found)}
    assert words["On synthetic data Bayes-Iso wins over all other methods."] == "confirmed"
    assert words["Bayes-Iso is best or tied with the best for all sizes and losses."] == (
        "not tested"
    )
    assert "None of the real sets" in summary(found)


def test_shares_of_table_2_leave_out_flagged_cases():
    found = Findings(results_of())
    shares = [found.won("log_loss", n).mean() for n in SIZES]
    assert shares == pytest.approx([0.9, 0.8, 0.6])
    # Of the four pairs at 3000 where it is not ahead, three are flagged.
    for kept in found.won_unflagged("log_loss").values():
        assert kept.mean() == pytest.approx(6 / 7)
