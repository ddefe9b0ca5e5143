"""Every entry point gives the same answer to "which method should I use?"."""

import ast
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import trueodds
from trueodds import AutoCalibrator, CalibratedClassifier
from trueodds.cli import main
from trueodds.model_selection import compare_calibrators

ROOT = Path(__file__).parents[2]
RECOMMENDED = {2: "bayesian_smooth", 3: "bayesian_structured"}
"""By number of classes. A new default is entered here, and then at every entry point."""
CALL = re.compile(r"\b(?:CalibratedClassifier|AutoCalibrator)\((?:[^()]|\([^()]*\))*\)")
COMMAND = re.compile(r"\btrueodds fit\b[^`\n#|]*")
METHOD_PAGE = re.compile(r"\(methods/([\w-]+)\.md\)")


class Sample:
    """Rows of a model that is overconfident, as arrays and as a file."""

    def __init__(self, n_classes, folder):
        rng = np.random.default_rng(n_classes)
        self.n_classes = n_classes
        self.X = rng.normal(0, 1.5, (500, n_classes))
        true = np.exp(self.X) / np.exp(self.X).sum(axis=1, keepdims=True)
        self.y = (true.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
        sure = np.exp(2.5 * self.X) / np.exp(2.5 * self.X).sum(axis=1, keepdims=True)
        self.scores = sure[:, 1] if n_classes == 2 else sure
        columns = {"p": sure[:, 1]} if n_classes == 2 else {f"p{k}": sure[:, k] for k in range(3)}
        self.file = folder / "scores.csv"
        pd.DataFrame({**columns, "y": self.y}).to_csv(self.file, index=False)
        self.options = [str(self.file), *(w for name in columns for w in ("-s", name)), "-l", "y"]


@pytest.fixture(params=RECOMMENDED, ids="{} classes".format)
def sample(request, tmp_path):
    return Sample(request.param, tmp_path)


@pytest.fixture
def run(capsys):
    """Run a command line; returns standard output and standard error."""

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as leave:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        assert not leave.value.code, captured.err
        return captured

    return call


def method_of(calibrator):
    """The name of the method that a fitted calibrator used."""
    if isinstance(calibrator, AutoCalibrator):
        return calibrator.best_method_
    names = {kind: name for name, kind in trueodds.calibrators.all_calibrators().items()}
    return names[type(calibrator)]


def fit_model(model, sample):
    fitted = model.fit(sample.X, sample.y)
    return {method_of(member.calibrator) for member in fitted.calibrated_classifiers_}


def fit_file(run, sample, *more):
    """The method in the metadata of the map that ``trueodds fit`` saves, and its message."""
    target = sample.file.with_name("map.json")
    message = run("fit", *sample.options, *more, "-o", target, "--force").err
    metadata = json.loads(target.read_text(encoding="utf-8"))["metadata"]
    return {metadata.get("chosen", metadata["method"]), *re.findall(r"^auto: Used (\w+)", message)}


def build(call):
    """The calibrator that a call on a page makes; its arguments are literals."""
    options = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    return getattr(trueodds, call.func.id)(*map(ast.literal_eval, call.args), **options)


def methods_called(text, sample, run):
    """The methods that the calls and commands on a page use, each of which is run."""
    found = set()
    for source in CALL.findall(text):
        call = ast.parse(source, mode="eval").body
        if call.func.id == "AutoCalibrator":
            found.add(method_of(build(call).fit(sample.scores, sample.y)))
            continue
        given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "calibrator")]
        found |= fit_model(CalibratedClassifier(GaussianNB(), *map(build, given)), sample)
    for command in COMMAND.findall(text):
        words = shlex.split(command)
        at = [i for i, word in enumerate(words) if word in ("-m", "--method")]
        found |= fit_file(run, sample, *(w for i in at for w in words[i : i + 2]))
    return found


def beginning_of_choosing():
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    return text[: text.index("Choose another method only")]


def test_the_python_entry_points(sample):
    one = {RECOMMENDED[sample.n_classes]}
    assert fit_model(CalibratedClassifier(GaussianNB()), sample) == one
    assert {AutoCalibrator().fit(sample.scores, sample.y).best_method_} == one
    comparison = compare_calibrators(sample.scores, sample.y)
    assert {comparison.recommended, comparison.best_method} == one
    assert {row["method"] for row in comparison.rows() if row["recommended"]} == one
    assert comparison.explanation.startswith(f"{RECOMMENDED[sample.n_classes]} is recommended")


def test_fit(sample, run):
    assert fit_file(run, sample) == {RECOMMENDED[sample.n_classes]}


def test_compare(sample, run):
    name = RECOMMENDED[sample.n_classes]
    content = json.loads(run("compare", *sample.options, "--json").out)
    assert content["best_method"] == name
    assert [row["method"] for row in content["methods"] if row["recommended"]] == [name]
    assert content["explanation"].startswith(f"Recommendation: the default ({name})")


def test_report(sample, run):
    name = RECOMMENDED[sample.n_classes]
    content = json.loads(run("report", *sample.options, "--json").out)["report"]
    assert [row["method"] for row in content["methods"] if row["recommended"]] == [name]
    assert content["verdict"]["method"] == name
    assert content["verdict"]["recommendation"].startswith("calibrate; the default reduces")


def test_readme(sample, run):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {c.partition("(")[0] for c in CALL.findall(text)} == {
        "CalibratedClassifier",
        "AutoCalibrator",
    }
    assert COMMAND.search(text)
    assert methods_called(text, sample, run) == {RECOMMENDED[sample.n_classes]}


def test_the_page_on_choosing(sample, run):
    text = beginning_of_choosing()
    assert len(CALL.findall(text)) == 2
    assert COMMAND.search(text)
    assert methods_called(text, sample, run) == {RECOMMENDED[sample.n_classes]}


def test_the_page_on_choosing_names_the_default_and_no_other_method():
    pages = [name.replace("-", "_") for name in METHOD_PAGE.findall(beginning_of_choosing())]
    assert pages == list(RECOMMENDED.values())


@pytest.mark.parametrize(
    "text",
    [
        "`CalibratedClassifier(model, BetaCalibrator())`",
        "`CalibratedClassifier(GaussianNB(), calibrator=BetaCalibrator())`",
        '`AutoCalibrator(calibrators=["beta"])`',
        "trueodds fit scores.csv -s p -l y -m beta -o map.json",
    ],
)
def test_a_page_that_recommends_another_method_is_found(text, tmp_path, run):
    assert methods_called(text, Sample(2, tmp_path), run) == {"beta"}
