"""One figure, one interval: the same from every entry point, to the last digit."""

import math

import pyarrow as pa
import pytest
from score_files import write_table
from test_layouts import COLUMNS, LAYOUTS

from trueodds import ScoreTable
from trueodds.cli.output import interval, number
from trueodds.metrics import evaluate_classes, evaluate_counts


def test_the_level_of_a_report_is_chosen_on_the_command_line(run, data):
    words = ["-s", "p", "-l", "y", "-m", "identity", "-m", "temperature"]
    levels = {}
    for level in ("0.9", "0.99"):
        result = run("report", data / "scores.csv", *words, "--level", level, "--json")
        assert result.code == 0, result.err
        report = result.json["report"]
        assert report["level"] == float(level)
        before = report["figures"][0]["before"]
        levels[level] = before["high"] - before["low"]
    assert levels["0.99"] > 1.3 * levels["0.9"]


def _ends(entry):
    """Estimate and interval."""
    values = [entry[end] for end in ("estimate", "low", "high")]
    return [math.nan if value is None else value for value in values]


def _near(values):
    """Equal but for the order of sums."""
    return pytest.approx(values, rel=1e-9, abs=1e-12, nan_ok=True)


def _written(value, low, high):
    """How a figure with its interval is written by `evaluate`."""
    return number(value), interval(low, high)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_figure_is_the_same_from_every_entry_point(run, tmp_path, layout):
    """Python, evaluate, report and compare: the same value and ends, to the last digit printed."""
    file, found = tmp_path / "scores.csv", LAYOUTS[layout]
    write_table(pa.table(COLUMNS), file)
    two = found.prob.ndim == 1
    methods = ["-m", "identity", "-m", "temperature", "--cv", "2"]
    measured = run("evaluate", file, *found.words, *(["--validation"] if two else []), "--json")
    assert measured.code == 0, measured.err
    shown = run("evaluate", file, *found.words, *(["--validation"] if two else [])).out
    report = run("report", file, *found.words, *methods, "--json").json["report"]
    compared = run("compare", file, *found.words, *methods, "--json").json["methods"][0]
    weights = {"sample_weight": found.weight, "counts": found.counts}
    if two:
        table = ScoreTable.from_arrays(found.prob, found.code, **weights)
        direct = evaluate_counts(table)
    else:
        direct = evaluate_classes(found.code, found.prob, **weights)
    metrics = measured.json["evaluation"]["metrics"]
    others = {name: [entry] for name, entry in metrics.items()}
    for name, entry in direct.metrics.items():
        others[name].append({"estimate": entry.estimate, "low": entry.low, "high": entry.high})
    for entry in report["figures"]:
        others[entry["measure"]].append(entry["before"])
    identity = report["methods"][0]
    for name in ("log_loss", "brier_score"):
        for row in (identity, compared):
            ends = {"low": row[f"{name}_low"], "high": row[f"{name}_high"]}
            others[name].append({"estimate": row[name], **ends})
    for name, (first, *rest) in others.items():
        for other in rest:
            assert _ends(other) == _near(_ends(first)), name
    if two:
        validation = measured.json["validation"]
        for entry in report["validation"]["figures"]:
            assert _ends(entry) == _near(_ends(validation[entry["figure"]])), entry
        assert _ends(validation["c_statistic"]) == _near(_ends(metrics["roc_auc"]))
    for text in _written(*(metrics["log_loss"][end] for end in ("estimate", "low", "high"))):
        assert text in shown
