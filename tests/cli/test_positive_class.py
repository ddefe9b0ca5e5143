"""Which label is positive: one answer from every entry point, checked against NumPy."""

import shlex
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import mannwhitneyu
from score_files import write_table
from sklearn.linear_model import LogisticRegression

import trueodds
from trueodds import CalibratedClassifier, LogisticCalibrator, ScoreTable
from trueodds.decisions import cost_curve
from trueodds.exceptions import InputError
from trueodds.inputs import direction_hint, order_two_labels
from trueodds.maps import CalibrationMap
from trueodds.metrics import log_loss, reliability_curve
from trueodds.model_selection import compare_calibrators
from trueodds.report import build_report

N = 300


@dataclass(frozen=True)
class Case:
    """Two labels, and the words that make the second positive on the command line."""

    negative: Any
    positive: Any
    option: str | None = None
    kind: pa.DataType | None = None
    in_csv: tuple[Any, Any] | None = None
    """What a CSV file makes of the labels, if that differs."""
    in_doubt: bool = False
    """Whether sorted order and meaning disagree, so that Python asks."""

    def in_file(self, suffix):
        """The labels as a command reads them: whole numbers of any type are integers."""
        if suffix == "csv" and self.in_csv:
            return self.in_csv
        labels = (self.negative, self.positive)
        return tuple(int(x) if isinstance(x, float) else x for x in labels)

    @property
    def options(self):
        return [] if self.option is None else ["--positive", self.option]


CASES = {
    "ja and nein": Case("nein", "ja", in_doubt=True),
    "nein is chosen": Case("ja", "nein", "nein", in_doubt=True),
    "no and yes in capitals": Case("NO", "YES"),
    "bad against good": Case("good", "bad", "bad"),
    "good against bad": Case("bad", "good", "good"),
    "claim": Case("no claim", "claim", "claim"),
    "claim in another case": Case("no claim", "claim", "Claim"),
    "1": Case(0, 1),
    "0 is chosen": Case(1, 0, "0"),
    "true": Case(False, True, in_csv=("false", "true")),
    "false is chosen": Case(True, False, "false", in_csv=("true", "false")),
    "1 as a text": Case("0", "1", in_csv=(0, 1)),
    "10 as a text": Case("2", "10", in_csv=(2, 10), in_doubt=True),
    "minus one": Case(-1, 1),
    "minus one is chosen": Case(1, -1, "-1"),
    "1.0": Case(0.0, 1.0, in_csv=(0, 1)),
    "category": Case("no", "yes", kind=pa.dictionary(pa.int8(), pa.string())),
    "plus": Case("-", "+", in_doubt=True),
}


def sample(case, positive_first=True):
    """Scores with log-odds half as large as they should be, in percent, and 35 % positives."""
    rng = np.random.default_rng(8)
    z = rng.normal(-0.8, 1.5, N)
    hit = rng.random(N) < 1 / (1 + np.exp(-z))
    first = np.flatnonzero(hit == positive_first)[0]
    order = np.r_[first, np.delete(np.arange(N), first)]
    p = np.round(1 / (1 + np.exp(-z / 2)), 2)[order]
    hit = hit[order]
    return p, hit, [case.positive if one else case.negative for one in hit]


def write(case, path, positive_first=True):
    p, hit, y = sample(case, positive_first)
    write_table(pa.table({"p": p, "y": pa.array(y, case.kind)}), path)
    return p, hit


def loss_of(p, hit):
    return float(-np.where(hit, np.log(p), np.log1p(-p)).mean())


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-"))
def case(request):
    return CASES[request.param]


@pytest.mark.parametrize(("suffix", "positive_first"), [("csv", True), ("parquet", False)])
def test_every_command_takes_the_same_label_as_positive(
    run, tmp_path, case, suffix, positive_first
):
    path, out = tmp_path / f"scores.{suffix}", tmp_path / "map.json"
    p, hit = write(case, path, positive_first)
    labels = case.in_file(suffix)
    columns = ["-s", "p", "-l", "y", *case.options]

    found = run("evaluate", path, *columns, "--resamples", 20, "--json").json
    assert found["classes"] == list(labels)
    assert found["evaluation"]["metrics"]["log_loss"]["estimate"] == pytest.approx(loss_of(p, hit))
    assert found["evaluation"]["prevalence"] == pytest.approx(hit.mean())
    assert found["notes"] == []

    found = run("compare", path, *columns, "-m", "identity", "-m", "logistic", "--json").json
    losses = {row["method"]: row["log_loss"] for row in found["methods"]}
    assert losses["identity"] == pytest.approx(loss_of(p, hit))
    assert losses["logistic"] < losses["identity"]
    assert found["classes"] == list(labels)
    assert found["notes"] == []

    found = run("fit", path, *columns, "-m", "logistic", "-o", out, "--json").json
    assert found["losses"]["log_loss"]["before"] == pytest.approx(loss_of(p, hit))
    assert found["notes"] == []
    fitted = trueodds.load(out)
    assert fitted.classes == labels
    assert list(map(type, fitted.classes)) == list(map(type, labels))
    assert fitted.metadata["positives"] == hit.sum()
    assert fitted(0.9) > 0.9
    assert fitted(0.1) < 0.1

    run("apply", out, path, "-s", "p", "-o", tmp_path / "applied.parquet")
    applied = pa.parquet.read_table(tmp_path / "applied.parquet")["probability"].to_numpy()
    np.testing.assert_allclose(applied, fitted(p), rtol=1e-12)

    state = ["--state", tmp_path / "watch.json", "-s", "p", "-l", "y"]
    line = run("monitor", out, path, *state, "--json").json
    assert line["alarm"] is False
    assert line["notes"] == []
    assert line["periods"][0]["observed"] == hit.sum()
    assert line["periods"][0]["expected"] == pytest.approx(fitted(p).sum())


def test_a_report_takes_the_same_label_as_positive(run, tmp_path, case):
    path = tmp_path / "scores.parquet"
    p, hit = write(case, path)
    words = ["-s", "p", "-l", "y", *case.options, "-m", "identity", "-m", "logistic"]
    content = run("report", path, *words, "--json").json["report"]
    positive = str(case.in_file("parquet")[1])
    assert content["data"]["positive"] == positive
    shares = {entry["label"]: entry["share"] for entry in content["data"]["classes"]}
    assert shares[positive] == pytest.approx(hit.mean())
    losses = {row["method"]: row["log_loss"] for row in content["methods"]}
    assert losses["identity"] == pytest.approx(loss_of(p, hit))
    assert losses["logistic"] < losses["identity"]
    assert content["diagrams"][0]["event"] == positive
    assert content["notes"] == []


def as_arrays(case):
    p, _, y = sample(case)
    yield p, y
    yield p.tolist(), np.array(y)
    yield pd.Series(p), pd.Series(y)
    yield pl.Series(p), pl.Series(y)
    if isinstance(case.positive, str):
        yield p, pd.Series(y, dtype="category")
        yield p, np.array(y, dtype=object)


def as_frames(case):
    p, _, y = sample(case)
    yield pd.DataFrame({"p": p, "y": y})
    yield pl.DataFrame({"p": p, "y": y})
    yield pl.DataFrame({"p": p, "y": y}).lazy()
    table = pa.table({"p": p, "y": y})
    yield table
    yield duckdb.from_arrow(table)


def test_python_takes_the_class_that_is_named(case):
    p, hit, _ = sample(case)
    classes = [case.negative, case.positive]
    loss = pytest.approx(loss_of(p, hit))
    by_hand = LogisticCalibrator().fit(p, hit).map_
    for scores, y in as_arrays(case):
        assert log_loss(y, scores, classes=classes) == loss
        table = ScoreTable.from_arrays(scores, y, pos_label=case.positive)
        assert table.total_pos == hit.sum()
        fitted = LogisticCalibrator(classes=classes).fit(scores, y)
        assert fitted.classes_.tolist() == classes
        assert fitted.map_(0.8) == by_hand(0.8)
        curve = reliability_curve(y, scores, pos_label=case.positive)
        assert curve.weight @ curve.prob_true == pytest.approx(curve.weight.sum() * hit.mean())
    for frame in as_frames(case):
        fitted = LogisticCalibrator().fit_frame(
            frame, score="p", label="y", pos_label=case.positive
        )
        assert fitted.map_.classes == tuple(classes)
        assert fitted.map_(0.8) == pytest.approx(by_hand(0.8), rel=1e-9)
        named = LogisticCalibrator(classes=classes).fit_frame(frame, score="p", label="y")
        assert named.map_ == fitted.map_


@pytest.mark.parametrize("name", ["ja and nein", "bad against good", "0 is chosen", "true"])
def test_python_compares_and_reports_the_class_that_is_named(name):
    case = CASES[name]
    p, hit, y = sample(case)
    options = {"classes": [case.negative, case.positive], "calibrators": ["identity", "logistic"]}
    rows = compare_calibrators(p, y, **options).rows()
    assert rows[0]["log_loss"] == pytest.approx(loss_of(p, hit))
    assert rows[1]["log_loss"] < rows[0]["log_loss"]
    content = build_report(p, y, **options).to_json()
    assert content["data"]["positive"] == str(case.positive)
    assert content["methods"][0]["log_loss"] == pytest.approx(loss_of(p, hit))


@pytest.mark.parametrize(
    "call",
    [
        lambda p, y: LogisticCalibrator().fit(p, y).classes_.tolist(),
        lambda p, y: (
            LogisticCalibrator()
            .fit_frame(pl.DataFrame({"p": p, "y": y}), score="p", label="y")
            .classes_.tolist()
        ),
    ],
    ids=["arrays", "frame"],
)
def test_python_alone_agrees_with_the_command_line_or_asks(case, call):
    p, _, y = sample(case)
    if case.in_doubt:
        with pytest.raises(
            InputError, match=r"the positive label is ambiguous: .* Pass (classes|pos_label)="
        ):
            call(p, y)
        return
    classes = call(p if case.positive > case.negative else 1 - p, y)
    assert classes == sorted(classes)
    if case.option is None:
        assert classes[1] == case.positive


@pytest.mark.parametrize(
    "call",
    [
        lambda p, y: log_loss(y, p),
        lambda p, y: compare_calibrators(p, y, calibrators=["identity"]),
        lambda p, y: build_report(p, y, calibrators=["identity"]),
        lambda p, y: ScoreTable.from_arrays(p, y),
    ],
    ids=["metric", "comparison", "report", "table"],
)
def test_python_asks_where_words_contradict_the_sorted_order(call):
    with pytest.raises(InputError, match="'ja' by its meaning, 'nein' by the sorted order"):
        call([0.2, 0.7, 0.4, 0.9], ["nein", "ja", "nein", "ja"])


def test_a_report_names_its_classes_in_the_call_that_makes_it_again(run, tmp_path):
    case = CASES["ja and nein"]
    p, _, y = sample(case)
    given = {"calibrators": ["identity"], "classes": ["nein", "ja"]}
    write(case, tmp_path / "scores.csv")
    words = ["report", tmp_path / "scores.csv", "-s", "p", "-l", "y", "-m", "identity", "--json"]
    for content in (build_report(p, y, **given).to_json(), run(*words).json["report"]):
        found = {"scores": p, "y": y}
        exec(content["reproduce"]["python"].replace("report.save", "str"), found)  # noqa: S102
        again = found["report"].to_json()
        assert again["data"] | {"score": "", "label": ""} == content["data"] | {
            "score": "",
            "label": "",
        }
        assert again["methods"][0]["log_loss"] == content["methods"][0]["log_loss"]


def test_two_columns_belong_to_the_sorted_labels_and_leave_no_doubt():
    p, hit, y = sample(CASES["ja and nein"])
    both = np.column_stack([p, 1 - p])  # of 'ja', then of 'nein'
    assert log_loss(y, both) == pytest.approx(loss_of(p, hit))
    fitted = LogisticCalibrator().fit(both, y)
    assert fitted.classes_.tolist() == ["ja", "nein"]
    one = LogisticCalibrator(classes=["nein", "ja"]).fit(p, y)
    np.testing.assert_allclose(fitted.predict_proba(both)[:, 0], one.predict_proba(p)[:, 1])


def test_costs_take_the_column_of_the_positive_class():
    p, hit, y = sample(CASES["ja and nein"])
    both = np.column_stack([p, 1 - p])  # of 'ja', then of 'nein'
    costs = {"cost_fp": 1, "cost_fn": 3}
    wanted = cost_curve(hit, p, **costs)
    for found in (
        cost_curve(y, p, pos_label="ja", **costs),
        cost_curve(y, both, pos_label="ja", **costs),
    ):
        np.testing.assert_allclose(found.cost, wanted.cost)
    other = cost_curve(~hit, 1 - p, **costs)
    np.testing.assert_allclose(cost_curve(y, both, **costs).cost, other.cost)
    with pytest.raises(InputError, match="Pass pos_label='ja' if the scores are those of 'ja'"):
        cost_curve(y, p, **costs)


def test_a_calibrated_classifier_keeps_the_sorted_classes_of_scikit_learn():
    p, _, y = sample(CASES["ja and nein"])
    model = CalibratedClassifier(LogisticRegression(), LogisticCalibrator(), cv=2)
    model.fit(p[:, None], y)
    assert model.classes_.tolist() == ["ja", "nein"]
    of_yes = model.predict_proba([[0.1], [0.9]])[:, 0]
    assert of_yes[0] < of_yes[1]


@pytest.mark.parametrize("command", ["evaluate", "compare", "fit", "report"])
@pytest.mark.parametrize("first", [True, False])
def test_two_words_without_an_order_are_asked_about(run, tmp_path, command, first):
    path = tmp_path / "scores.csv"
    write(CASES["bad against good"], path, first)
    out = ["-o", tmp_path / "out"] if command in ("fit", "report") else []
    result = run(command, path, "-s", "p", "-l", "y", *out)
    assert result.code == 2
    assert "has the labels 'bad', 'good', and the positive one cannot be inferred" in result.err
    typed = result.err.partition("Try: trueodds ")[2].partition(". See '")[0]
    assert typed.endswith("--positive bad"), "the scores are higher where it is 'bad'"
    assert run(*shlex.split(typed)).code == 0


def turned(run, tmp_path, *, command, positive):
    """A command on scores of 'bad' that is told another label."""
    path, out = tmp_path / "scores.csv", tmp_path / f"out.{command}"
    write(CASES["bad against good"], path)
    words = [command, path, "-s", "p", "-l", "y", "--positive", positive]
    if command == "compare" or command == "report":
        words += ["-m", "identity", "-m", "logistic"]
    return words + (["-o", out, "--force"] if command in ("fit", "report") else []), out


HINT = (
    "High scores go with 'bad' (ROC AUC 0.15): if they are its probabilities, pass --positive bad."
)


@pytest.mark.parametrize("command", ["evaluate", "compare", "fit", "report"])
def test_scores_of_the_other_label_are_hinted_at_by_every_command(run, tmp_path, command):
    p, hit, _ = sample(CASES["bad against good"])
    pairs = p[hit][:, None] - p[~hit]
    assert f"{1 - np.mean((pairs > 0) + (pairs == 0) / 2):.2f}" in HINT
    words, out = turned(run, tmp_path, command=command, positive="good")
    shown = run(*words)
    assert HINT in shown.out + shown.err
    found = run(*words, "--json").json
    assert found.get("report", found)["notes"] == [HINT]
    if command == "report":
        assert HINT.replace("'", "&#39;") in out.read_text()
    words, _ = turned(run, tmp_path, command=command, positive="bad")
    shown = run(*words)
    assert "High scores go with" not in shown.out + shown.err


def test_python_hints_at_scores_of_the_other_label():
    p, _, y = sample(CASES["bad against good"])
    notes = build_report(p, y, calibrators=["identity"]).to_json()["notes"]
    assert len(notes) == 1
    assert notes[0].endswith("pass classes=['good', 'bad'].")


@pytest.fixture
def watched(run, tmp_path):
    path, out = tmp_path / "scores.csv", tmp_path / "map.json"
    write(CASES["ja and nein"], path)
    run("fit", path, "-s", "p", "-l", "y", "-m", "logistic", "-o", out)

    def call(case, *words):
        new = tmp_path / "new.csv"
        _, hit = write(CASES[case], new)
        state = ["--state", tmp_path / "watch.json", "--json"]
        return run("monitor", out, new, "-s", "p", "-l", "y", *state, *words), hit

    return call


@pytest.mark.parametrize("word", ["bad", "BAD"])
def test_a_monitor_takes_the_label_that_stands_for_the_positive_class(watched, word):
    result, hit = watched("bad against good", "--positive", word)
    assert result.json["periods"][0]["observed"] == hit.sum()
    assert result.json["notes"] == []


def test_a_monitor_hints_at_scores_of_the_other_label(watched):
    result, _ = watched("bad against good", "--positive", "good")
    assert result.code == 4
    assert result.json["notes"] == [
        "High scores go with 'nein' (ROC AUC 0.15): if they are its probabilities, pass the scores "
        "of 'ja' (--score), or the label of 'ja' (--positive)."
    ]


def test_a_monitor_refuses_to_turn_a_map_round(watched):
    result, _ = watched("ja and nein", "--positive", "nein")
    assert result.code == 2
    assert "the map's positive class is 'ja', and 'nein' (--positive)" in result.err


def test_a_monitor_mentions_a_positive_label_without_rows(watched):
    result, _ = watched("bad against good", "--positive", "bed")
    assert "no row has the label 'bed' (--positive)" in result.err


def test_one_of_several_labels_is_set_against_the_rest_by_every_command(run, tmp_path):
    p, hit, _ = sample(CASES["1"])
    kinds = [("dog" if one else ("cat", "fox")[k % 2]) for k, one in enumerate(hit)]
    words = ["-s", "p", "-l", "y", "--positive", "dog"]
    methods = ["-m", "identity", "-m", "logistic"]
    path = write_table(pa.table({"p": p, "y": kinds}), tmp_path / "scores.parquet")
    found = run("evaluate", path, *words, "--resamples", 20, "--json").json
    assert found["evaluation"]["metrics"]["log_loss"]["estimate"] == pytest.approx(loss_of(p, hit))
    found = run("compare", path, *words, *methods, "--json").json
    assert found["methods"][0]["log_loss"] == pytest.approx(loss_of(p, hit))
    found = run("report", path, *words, *methods, "--json").json["report"]
    assert found["data"]["positive"] == "dog"
    assert found["methods"][0]["log_loss"] == pytest.approx(loss_of(p, hit))
    write_table(pa.table({"p": 1 - p, "y": kinds}), path)
    for command in ("evaluate", "compare", "report"):
        found = run(command, path, *words, *methods * (command != "evaluate"), "--json").json
        (note,) = found.get("report", found)["notes"]
        assert note.startswith("High scores go with 'not dog' (ROC AUC 0.15)")
        assert note.endswith("pass the scores of the positive class.")


@pytest.mark.parametrize("seed", range(3))
def test_the_hint_is_the_test_of_mann_and_whitney(seed):
    """Ties, few rows and weights that do not count as rows; SciPy has the test."""
    rng = np.random.default_rng(seed)
    hinted = 0
    for _ in range(200):
        hit = rng.random(40) < 0.4
        p = np.round(np.clip(rng.normal(0.5 - 0.12 * hit, 0.25), 0, 1), 1)
        table = ScoreTable.from_codes(p, hit)
        rows = (int((~hit).sum()), int(hit.sum()))
        test = mannwhitneyu(
            p[hit], p[~hit], alternative="less", method="asymptotic", use_continuity=False
        )
        hint = direction_hint(
            5 * table.n_neg, 5 * table.n_pos, rows=rows, negative="bad", remedy="stop"
        )
        assert (hint is not None) == (test.pvalue < 0.05)
        if hint is not None:
            hinted += 1
            area = float(hint.partition("(ROC AUC ")[2].partition(")")[0])
            assert area == pytest.approx(test.statistic / rows[0] / rows[1], abs=0.005001)
    assert 20 < hinted < 180


def test_spellings_of_the_positive_label_are_not_counted_as_negative(run, csv_file):
    rows = [f"0.{k},{label}" for k in range(1, 10) for label in ("yes", "Yes", "no")]
    result = run("evaluate", csv_file("p,y", *rows), "-s", "p", "-l", "y", "--positive", "yes")
    assert result.code == 1
    assert "has 'yes', 'Yes', which differ only in case or blanks" in result.err


@pytest.mark.parametrize("label", ["y", "n", "yes", "no", "nein", "ja", "-1", "1", "bad", "good"])
def test_the_order_of_two_labels_does_not_depend_on_which_is_named_first(label):
    for other in ("t", "f", "oui", "non", "da", "nu", "0", "2", "10", "+1", "-", "+", "", " "):
        assert order_two_labels(label, other) == order_two_labels(other, label)


@pytest.mark.parametrize("text", ["inf", "-inf", "nan", "1e400"])
def test_numbers_that_json_lacks_are_texts_as_labels_of_a_csv_file(csv_file, run, tmp_path, text):
    path = csv_file("p,y", *["0.2,0", f"0.7,{text}", f"0.1,{text}", "0.6,0"] * 5)
    words = ["-s", "p", "-l", "y", f"--positive={text}", "-m", "beta", "-o", tmp_path / "m.json"]
    result = run("fit", path, *words)
    assert result.code == 0, result.err
    assert CalibrationMap.load(tmp_path / "m.json").classes == ("0", text)


def test_infinite_numbers_are_no_labels(run, tmp_path):
    y = [0.0, np.inf, np.inf, 0.0] * 5
    path = write_table(pa.table({"p": [0.2, 0.7, 0.1, 0.6] * 5, "y": y}), tmp_path / "s.parquet")
    result = run("fit", path, "-s", "p", "-l", "y", "-o", tmp_path / "m.json")
    assert result.code == 1
    assert "'y' is infinite in 10 (first in row 2: " in result.err


@pytest.mark.parametrize("command", ["evaluate", "fit"])
def test_a_long_label_is_never_repeated_whole(tmp_path, run, command):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    long = ["x" * 1000, "z" * 1000]
    labels = [long[int(u < q)] for u, q in zip(rng.random(200), p, strict=True)]
    path = write_table(pa.table({"p": p, "y": labels}), tmp_path / "s.parquet")
    words = [command, path, "-s", "p", "-l", "y"]
    words += ["-o", tmp_path / "map.json"] if command == "fit" else ["--resamples", "20"]
    result = run(*words)
    assert result.code == 2
    assert "(they are higher for 'zzz" in result.err
    assert "Try:" not in result.err  # a part of a label is no label
    assert len(result.err) < 700
    result = run(*words, "--positive", long[0])  # the wrong one: the hint has no whole label either
    assert result.code == 0, result.err[:1000]
    said = result.out + result.err
    assert "if they are its probabilities, pass it as --positive." in said
    assert long[1] not in said


def test_a_label_that_messages_show_whole_is_in_the_command_to_try(tmp_path, run):
    label = "z" * 60
    path = write_table(pa.table({"p": [0.2, 0.8] * 9, "y": ["x", label] * 9}), tmp_path / "s.csv")
    result = run("evaluate", path, "-s", "p", "-l", "y")
    assert f"--positive {label}" in result.err.partition("Try: ")[2]


@pytest.mark.parametrize("names", [("p_no", "p_yes"), ("p_yes", "p_no")])
def test_of_two_columns_the_second_is_positive_and_named(run, csv_file, names):
    path = csv_file("p_no,p_yes,y", *["0.8,0.2,no", "0.3,0.7,yes", "0.1,0.9,yes"] * 20)
    result = run("evaluate", path, "-s", names[0], "-s", names[1], "-l", "y", "--resamples", "20")
    positive = names[1].removeprefix("p_")
    assert f"; positive: '{positive}'." in result.out
    mean = {"no": 0.4, "yes": 0.6}[positive]
    assert f"Mean score {mean:.4f}, observed rate" in result.out
