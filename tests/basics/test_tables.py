"""Results as tables, in LaTeX as a paper prints them."""

import re

import numpy as np
import pytest

from trueodds import GroupCalibrator, ScoreTable, compare_calibrators
from trueodds.basics.tables import Tabular
from trueodds.decisions import decision_curve
from trueodds.metrics import (
    brier_score,
    confidence_interval,
    evaluate_classes,
    evaluate_counts,
    validation_report,
)
from trueodds.model_selection import validate_model

RNG = np.random.default_rng(0)
P = RNG.random(300)
Y = (RNG.random(300) < P**1.3).astype(int)
GROUPS = np.where(RNG.random(300) < 0.5, "50% & more_or_less", "a")


def results():
    from sklearn.linear_model import LogisticRegression

    group = GroupCalibrator().fit(P, Y, features=GROUPS[:, None])
    return {
        "validation": validation_report(Y, P),
        "decisions": decision_curve(Y, {"model": P}, thresholds=[0.1, 0.5]),
        "effects": group.effects_,
        "bootstrap": validate_model(LogisticRegression(), P[:, None], Y, n_resamples=5),
        "comparison": compare_calibrators(P, Y, calibrators=["beta", "logistic"], cv=2),
        "evaluation": evaluate_counts(ScoreTable.from_arrays(P, Y)),
        "classes": evaluate_classes(Y + (P > 0.8), np.stack([1 - P, P / 2, P / 2], axis=1)),
        "interval": confidence_interval(brier_score, Y, P, n_resamples=50, random_state=0),
    }


@pytest.fixture(scope="module")
def tables():
    return results()


def unescaped(cell):
    for text, latex in (("−", "$-$"), ("–", "--"), ("<", "$<$")):
        cell = cell.replace(latex, text)
    return re.sub(r"\\([&%#_{}$])", r"\1", cell)


@pytest.mark.parametrize(
    "kind",
    [
        "validation",
        "decisions",
        "effects",
        "bootstrap",
        "comparison",
        "evaluation",
        "classes",
        "interval",
    ],
)
def test_every_result_with_rows_is_a_frame_and_the_same_table_in_markdown_and_latex(tables, kind):
    result = tables[kind]
    assert isinstance(result, Tabular)
    frame = result.to_frame()
    assert len(frame) == len(result.rows())
    lines = result.to_latex(digits=4).splitlines()
    assert re.fullmatch(r"\\begin\{tabular\}\{lr*\}", lines[0])
    assert (lines[1], lines[-1]) == (r"\toprule", r"\end{tabular}")
    body = [line for line in lines if line.endswith(r" \\")]
    cells = [[unescaped(c) for c in re.split(r" & ", line[:-3])] for line in body]
    assert {len(row) for row in cells} == {len(cells[0])}
    markdown = result.to_markdown(digits=4).splitlines()
    shown = [[c.strip() for c in line.strip("|").split(" | ")] for line in markdown]
    assert [[c.strip() for c in row] for row in cells] == [shown[0], *shown[2:]]
    assert len(cells) == 1 + len(frame) or kind == "validation"


def test_an_interval_is_printed_as_a_paper_prints_it(tables):
    interval = tables["interval"]
    numbers = (interval.estimate, interval.low, interval.high)
    assert f"{interval:.2f}" == "{:.2f} ({:.2f} to {:.2f})".format(*numbers)
    assert f"{interval}" == str(interval)
    assert "{:.3f} & {:.3f} to {:.3f}".format(*numbers) in interval.to_latex()
    assert r"estimate & interval \\" in interval.to_latex()


def test_an_evaluation_is_a_table_of_its_metrics(tables):
    table, found = tables["evaluation"].to_latex(), tables["evaluation"].metrics
    assert r"metric & estimate & interval \\" in table
    one = found["brier_score"]
    assert rf"brier\_score & {one.estimate:.3f} & {one.low:.3f} to {one.high:.3f} \\" in table
    one = found["expected_calibration_error"]  # it has no interval
    assert rf"expected\_calibration\_error & {one.estimate:.3f} & -- \\" in table


def test_names_are_text_in_latex(tables):
    assert r"50\% \& more\_or\_less" in tables["effects"].to_latex()
