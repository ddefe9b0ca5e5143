"""The charcoal grill study: the paper's numbers, the tasks, a small run, and verdicts."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from trueodds_studies import Scratch, find_study, run_study
from trueodds_studies._study import Results
from trueodds_studies._task import Task
from trueodds_studies.papers.grill import (
    report as grill_report,
    scores as grill_scores,
    study as grill,
)
from trueodds_studies.papers.grill.judge import Difference, all_lower
from trueodds_studies.papers.grill.numbers import (
    CLIPS,
    MEASURES,
    NO_BIAS,
    PAPER_TASKS,
    PLACED,
    WITH_BIAS,
    paper_table,
)
from trueodds_studies.papers.grill.report import judge, report

COALS = [*NO_BIAS, *WITH_BIAS]
PARTS = {
    "synthetic": [*grill.BINARY, *COALS],
    "binary": [*grill.BINARY, *COALS],
    "networks": [name for name in (*grill.NETWORKS, *COALS) if name != "isotonic-odds"],
}
LOWEST = "Isotonic regression has consistently the lowest weighted ECE: at T = 3, 5, 10."
BETTER_THAN_PLATT = "More than one coal (with bias) is better than Platt scaling by both ECE."
WORSENS = "On fraud temperature scaling makes calibration worse."
NEVER_FALL = "The fitted maps never fall."


def part_of(name):
    return "networks" if name.startswith("nn-") else "binary"


def test_the_papers_tables_have_a_row_for_every_method():
    tasks = {"synthetic": ["T = 5"], "binary": ["stocknet", "fraud"]}
    tasks["networks"] = ["MNIST", "CIFAR", "SVHN"]
    for part, names in tasks.items():
        for name in names:
            assert sorted(paper_table(part, name).index) == sorted(PARTS[part])
    assert paper_table("networks", "CIFAR").loc["matrix"].tolist() == [0.66, 35.68]
    assert paper_table("binary", "fraud").loc["CGS-3-withbias"].tolist() == [0.026, 24.81]
    # What the paper says of its own table.
    table = paper_table("synthetic", "T = 5")
    assert (table.loc[WITH_BIAS[1:]] < table.loc["platt"]).all(axis=None)


def test_profiles_share_their_tasks(monkeypatch):
    monkeypatch.setattr(grill, "available", lambda: dict.fromkeys(PAPER_TASKS, "folder"))
    quick, standard, full = (set(map(hash, grill.tasks(p))) for p in grill.REPLICATES)
    assert quick < standard < full


def test_coals_of_every_temperature_are_fitted_by_both_solvers(monkeypatch):
    monkeypatch.setattr(grill, "available", dict)
    found = {
        solver: {
            (task["temperature"], task["method"])
            for task in grill.tasks("standard")
            if task.part == "synthetic" and task["solver"] == solver
        }
        for solver in ("paper", "joint")
    }
    assert found["paper"] == found["joint"]
    assert {temperature for temperature, _ in found["paper"]} == set(grill.TEMPERATURES)
    assert {name for temperature, name in found["paper"] if temperature == 5} == set(COALS)


@pytest.mark.slow
def test_synthetic_scores_run_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.delenv("TRUEODDS_DATA", raising=False)

    def is_cheap(task):
        return task["solver"] != "paper" or task["method"] in ("CGS-1-withbias", "CGS-2-withbias")

    def same_fit(tasks):  # the paper's solver takes seconds, and the report wants all its rows
        for task in list(tasks):
            yield task if is_cheap(task) else Task(task.part, {**task.options, "solver": "joint"})

    run = grill.run

    def run_cheaply(todo, scratch):
        for task, cheap in zip(todo, same_fit(todo), strict=True):
            for _, rows in run([cheap], scratch):
                yield task, rows

    few = dataclasses.replace(find_study("grill"), run=run_cheaply)
    found = run_study(few, profile="quick", folder=tmp_path / "s", progress=False)
    assert found.results.n_missing == 0
    where = {"part": "synthetic", "solver": "none"}
    table = found.results.table("weighted", rows="method", columns="temperature", **where)
    assert table.loc["original", 5.0] == pytest.approx(9.09, abs=0.1)  # as printed
    assert table.loc["platt", 5.0] == pytest.approx(5.85, abs=0.8)
    ours = found.results.table(
        "weighted", rows="method", columns="temperature", part="synthetic", solver="joint"
    )
    assert ours.loc["CGS-3-withbias", 5.0] < table.loc["platt", 5.0]
    assert "samples of 1000, 1 at each temperature" in found.markdown
    assert "`nn-mnist-mlp`" in found.markdown.split("Not in this run")[1].split("\n")[0]
    assert found.save(tmp_path / "out").exists()
    for name in ("figure-9", "reliability", "functions", "table-1"):
        assert (tmp_path / "out" / f"grill-{name}.png").stat().st_size > 10_000


def test_networks_are_halved_and_all_pairs_of_row_and_class_are_pooled(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(600, 3))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)  # calibrated: softmax is true
    monkeypatch.setattr(grill_scores, "network_scores", lambda name: (scores * 4, y))
    methods = ["original", "temperature"]
    todo = grill.crossed("networks", set="nn-x", replicate=0, method=methods, solver="none")
    rows = {task["method"]: row for task, row in grill.run(todo, Scratch(tmp_path))}
    assert rows["temperature"]["weighted"] < 0.5 * rows["original"]["weighted"]
    assert rows["temperature"]["accuracy"] == rows["original"]["accuracy"]
    halves = grill_scores.halves("nn-x", 0)
    assert len(halves["fit"]) == len(halves["test"]) == 300
    p = np.exp(halves["test"] - np.logaddexp.reduce(halves["test"], axis=1, keepdims=True))
    bins = np.minimum((10 * p).astype(int), 9).ravel()
    gaps = np.bincount(bins, (p - np.eye(3)[halves["test_y"]]).ravel(), 10)
    assert rows["original"]["weighted"] == pytest.approx(100 * np.abs(gaps).sum() / p.size)


def test_a_logit_by_itself_misleads_isotonic_regression_where_rows_are_shifted(
    tmp_path, monkeypatch
):
    rng = np.random.default_rng(0)
    scores = 3 * rng.normal(size=(2000, 4))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    shifted = scores + 6 * rng.normal(size=(2000, 1))  # the softmax does not see it
    monkeypatch.setattr(grill_scores, "network_scores", lambda name: (shifted, y))
    methods = ["isotonic", "isotonic-odds", "original"]
    todo = grill.crossed("networks", set="nn-y", replicate=0, method=methods, solver="none")
    rows = {task["method"]: row["weighted"] for task, row in grill.run(todo, Scratch(tmp_path))}
    assert rows["isotonic"] > 3 * rows["isotonic-odds"]
    assert rows["isotonic"] > 3 * rows["original"]


def test_clipped_zeros_with_a_positive_among_them_spoil_temperature_scaling(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    scores = np.concatenate([np.zeros(1800), rng.uniform(0.01, 0.9, 200)])
    y = np.concatenate([np.zeros(1800), rng.random(200) < scores[1800:]]).astype(int)
    y[:2] = 1  # two that the model has missed
    data = {"fit": scores, "fit_y": y, "test": scores, "test_y": y}
    monkeypatch.setitem(grill.SCORERS, "zeros", lambda replicate: data)
    found = {}
    for level in (PLACED, *CLIPS):
        options = {"set": "zeros", "replicate": 0, "zeros": level, "solver": "none"}
        todo = [Task("binary", {**options, "method": "temperature"})]
        ((_, row),) = grill.run(todo, Scratch(tmp_path))
        found[level] = row["weighted"]
        assert row["zero"] == pytest.approx(0.9)
    assert found[PLACED] < found["1e-06"] < found["1e-12"]


def figure_rows():
    """One bin and two points of a curve for every method that is drawn."""
    found = []
    for solver, methods in (("none", grill.BINARY), ("paper", grill.DRAWN), ("joint", grill.DRAWN)):
        for method in methods:
            common = {"part": "figures", "method": method, "solver": solver}
            for side in ("train", "held out"):
                bins = {"bin": 3, "share": 1.0, "forecast": 0.35, "rate": 0.3}
                found.append({**common, "side": side, **bins})
            found += [
                {**common, "side": "curve", "score": s, "forecast": s, "heat": 1.0}
                for s in (0.2, 0.8)
            ]
    return found


def results_of(swap=(), ours=None):
    """Results that are the paper's own in four samples; methods in ``swap`` change places.

    With our solver coals have the ECE ``ours``, if it is given.
    """
    rng = np.random.default_rng(0)
    names = {name: name for name in grill.METHODS} | dict([swap, swap[::-1]] if swap else [])
    rows = figure_rows()
    for start, weighted in enumerate((1.87, 9.03)):
        common = {"part": "starts", "solver": "paper", "within_a_minute": True}
        rows += [{**common, "method": name, "replicate": 0, "start": start, "weighted": weighted}
                 for name in grill.SEVERAL]  # fmt: skip
    for replicate in range(4):
        common = {"part": "descent", "method": "adam", "solver": "none", "replicate": replicate}
        rows.append({**common, "rate": 0.1, "train_log_loss": 0.5, "weighted": 20.0})
    rows.append({"part": "forest", "set": grill.FRAUD, "solver": "none", "f1": 0.86})
    for temperature in grill.TEMPERATURES:
        common = {"part": "population", "temperature": temperature, "solver": "none"}
        for name, slope in (("temperature", 1 / temperature), ("platt", 1 / temperature)):
            rows.append({**common, "method": name, "slope": slope, "intercept": -0.5})

    def add(part, methods, paper, solver, **options):
        for method in methods:
            kept = names[method] if names[method] in paper.index else method
            line = paper.loc["isotonic" if kept == "isotonic-odds" else kept]
            if solver == "joint" and ours is not None:
                line = dict.fromkeys(MEASURES, ours)
            for replicate in range(4):
                noise, spread = 1 + 1e-4 * rng.normal(), 0.985 + 0.01 * replicate
                rows.append({
                    "part": part, **options, "replicate": replicate, "method": method,
                    "solver": solver,
                    **{measure: line[measure] * noise for measure in MEASURES},
                    "maximum": 10 + replicate,
                    "log_loss": 0.5, "train_weighted": 0.01, "train_unweighted": 0.02,
                    "train_log_loss": 0.1 + 0.01 * replicate if method == "matrix" else 0.49,
                    "falls": False, "stopped": False, "within_a_minute": True,
                    "accuracy": 0.9 if method == "isotonic" else 0.91,
                    "n_above_tenth": 50, "above_tenth": 0.002, "zero": 0.9,
                    "n_used_bins": 9 if method == "isotonic" else 10,
                    "flat": 0.9 if method == "isotonic" else 0.0,
                    "slope": (1 / 2.43 if method == "temperature" else 0.43) * spread,
                    "intercept": -0.5 * spread,
                    "bias_below_half": 0.1 if method == "temperature" else 0.0,
                })  # fmt: skip

    def add_solvers(part, methods, coals, paper, **options):
        add(part, methods, paper, "none", **options)
        for solver in ("paper", "joint"):
            add(part, coals, paper, solver, **options)

    table_1 = paper_table("synthetic", "T = 5")
    for temperature in grill.TEMPERATURES:
        coals = COALS if temperature == 5 else WITH_BIAS
        add_solvers("synthetic", grill.BINARY, coals, table_1, temperature=temperature)
    for name, task in PAPER_TASKS.items():
        paper = paper_table(part_of(name), task)
        if name == grill.FRAUD:
            for task_ in grill._fraud_tasks(set=name):
                add("binary", [task_["method"]], paper, task_["solver"], set=name,
                    zeros=task_["zeros"])  # fmt: skip
        elif part_of(name) == "networks":
            add_solvers("networks", grill.NETWORKS, COALS, paper, set=name)
        else:
            add_solvers("binary", grill.BINARY, COALS, paper, set=name, zeros=PLACED)
    return Results(pd.DataFrame(rows), "standard", len(rows))


@pytest.fixture(scope="module")
def papers_own():
    return results_of()


def claims_of(results):
    return {claim.text: claim for claim in judge(results)}


def verdicts(results):
    return {text: claim.word for text, claim in claims_of(results).items()}


def test_the_papers_own_numbers_confirm_its_claims(papers_own):
    claims = claims_of(papers_own)
    missed = {text for text, claim in claims.items() if claim.word != "confirmed"}
    assert missed == {
        # The numbers of T = 5 stand in for those of T = 1.1.
        "Where scores are nearly right, expressive models calibrate worse than simple ones.",
        # Its table on fraud contradicts its text: one coal is not temperature scaling there, more
        # coals without bias are better than one, and without noise its few high scores tell all.
        "With one coal unweighted ECE is on par with temperature scaling.",
        "By unweighted ECE more coals gain nothing.",
        "On fraud methods are hard to compare by unweighted ECE: few scores are high.",
    }
    assert all(claims[text].reason for text in missed)


@pytest.mark.parametrize(
    ("swap", "text"),
    [
        (("platt", WITH_BIAS[2]), BETTER_THAN_PLATT),
        (("isotonic", WITH_BIAS[1]), LOWEST),
        (("isotonic", "temperature"), "Isotonic regression does poorly on several classes: MNIST, "
                                      "each class's logit separately."),
        (("matrix", "original"), "It is worse there than no calibration."),
        (("temperature", "original"), WORSENS),
        ((NO_BIAS[0], "platt"), "One coal is temperature scaling without bias, and Platt scaling "
                                "with it."),
    ],
)  # fmt: skip
def test_methods_that_change_places_take_the_verdict_with_them(swap, text):
    assert verdicts(results_of(swap))[text] == "not confirmed"


def test_the_papers_solver_decides_and_ours_stands_beside_it(papers_own):
    bad, good = claims_of(results_of(ours=20.0)), claims_of(results_of(ours=0.001))
    own = verdicts(papers_own)
    assert {text: claim.word for text, claim in bad.items()} == own
    assert {text: claim.word for text, claim in good.items()} == own
    assert "our solver: not confirmed" in bad[BETTER_THAN_PLATT].in_words
    assert "our solver: not confirmed" in good[LOWEST].in_words
    assert "our solver: confirmed" in good[BETTER_THAN_PLATT].in_words


def test_a_map_that_falls_and_a_slow_fit_are_seen(papers_own):
    frame = papers_own.frame.copy()
    one = frame.index[(frame["solver"] == "paper") & (frame["part"] == "synthetic")][-1]
    frame.loc[one, "falls"], frame.loc[one, "within_a_minute"] = True, False
    words = verdicts(dataclasses.replace(papers_own, frame=frame))
    # The last synthetic row is of T = 10; maps are judged at T = 5.
    assert words["Each model took less than a minute to fit on all data sets."] == "not confirmed"
    at_5 = frame.index[(frame["solver"] == "paper") & (frame["temperature"] == 5)][0]
    frame.loc[at_5, "falls"] = True
    assert verdicts(dataclasses.replace(papers_own, frame=frame))[NEVER_FALL] == "not confirmed"


def test_the_page_shows_every_table_beside_the_papers(papers_own, monkeypatch):
    for name in ("figure_9", "functions_figure", "reliability_figure", "samples_figure"):
        monkeypatch.setattr(grill_report, name, lambda rows: "a picture")
    items = report(papers_own).items
    titles = [item.title for item in items if not isinstance(item, str)]
    assert sum(title.startswith("Table 1: ") for title in titles) == 2
    assert {f"`{name}`" for name in PAPER_TASKS} < set(titles)
    assert "Fraud: scaling, by the level of zeros" in titles


def test_a_single_sample_leaves_comparisons_untested(papers_own):
    frame = papers_own.frame
    one = frame[(frame["replicate"] == 0) | frame["part"].isin(["figures", "population"])]
    words = verdicts(dataclasses.replace(papers_own, frame=one))
    assert words["It is worse there than no calibration."] == "not tested"
    assert words[BETTER_THAN_PLATT] == "not tested"


def test_a_difference_that_noise_hides_is_inconclusive_and_says_what_it_would_need():
    gap = Difference(mean=-0.1, error=0.1, n=9, words="ours and theirs")
    found = all_lower([gap])
    assert (found.verdict, found.reason) == ("inconclusive", "data")
    # 80% power takes 2.8 standard errors, so 2.8² times the nine samples.
    assert "71 would show it" in found.words
    assert all_lower([gap._replace(mean=0.1)])[::2] == ("inconclusive", "data")
    assert all_lower([gap._replace(mean=0.3)])[::2] == (False, "refuted")
    assert all_lower([gap._replace(mean=-0.3)]).verdict is True
    # Three standard errors are not enough for three samples (Student's t is 4.3).
    assert all_lower([gap._replace(mean=-0.3, n=3)]).verdict == "inconclusive"
