"""What every command prints, for people and for machines."""

import json
import os
import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtr
from score_files import make_table, write_table

import trueodds
from trueodds.calibrators import IdentityCalibrator
from trueodds.cli.commands.methods import describe
from trueodds.metrics import (
    brier_score,
    calibration_test,
    confidence_interval,
    log_loss,
    observed_expected_ratio,
)


def columns(*more):
    return ["-s", "p", "-l", "y", *more]


def test_evaluation_equals_the_metrics_of_the_rows(run, data, table):
    found = run("evaluate", data / "scores.parquet", *columns("--json")).json
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    assert found["format"] == "trueodds-evaluation"
    assert found["version"] == 1
    assert found["rows"] == found["rows_used"] == 2000
    assert found["rows_skipped"] == {}
    assert found["classes"] == [0, 1]
    metrics = found["evaluation"]["metrics"]
    assert metrics["log_loss"]["estimate"] == pytest.approx(log_loss(y, p), abs=1e-12)
    assert metrics["brier_score"]["estimate"] == pytest.approx(brier_score(y, p), abs=1e-12)
    for measure in metrics.values():
        assert set(measure) >= {"estimate", "low", "high", "level"}
    for name, method in (("test", "spiegelhalter"), ("exact_test", "exact"), ("slope_test", "cox")):
        alone = calibration_test(y, p, method=method).p_value
        assert found["evaluation"][name]["p_value"] == pytest.approx(alone, rel=1e-6, abs=0), name
    assert found["evaluation"]["p_value"] == found["evaluation"]["exact_test"]["p_value"] < 1e-6


def test_a_shift_that_spiegelhalters_test_does_not_see(run, csv_file):
    path = csv_file("p,y", *(f"0.5,{int(k % 10 < 6)}" for k in range(2000)))
    found = run("evaluate", path, *columns("--json")).json["evaluation"]
    assert found["test"]["p_value"] > 0.05
    z = (1200 - 1000 - 0.5) / np.sqrt(2000 / 4)  # the normal approximation of the count
    assert np.log(found["mean_test"]["p_value"]) == pytest.approx(np.log(2 * ndtr(-z)), rel=0.02)
    assert found["p_value"] < 1e-6
    even = csv_file("p,y", *(f"0.5,{k % 2}" for k in range(2000)))
    assert run("evaluate", even, *columns("--json")).json["evaluation"]["p_value"] == 1.0


def test_counts_are_repetitions_and_weights_are_not(run, data, table, tmp_path):
    file = data / "scores.csv"
    counted = run("evaluate", file, *columns("--counts", "w", "--json")).json["evaluation"]
    weighted = run("evaluate", file, *columns("--weight", "w", "--json")).json["evaluation"]
    repeated = table.take(np.repeat(np.arange(2000), table["w"].to_numpy()))
    path = write_table(repeated, tmp_path / "r.parquet")
    rows = run("evaluate", path, *columns("--json")).json["evaluation"]
    assert counted == rows
    shown = run("evaluate", file, *columns("--counts", "w", "--resamples", "20")).out
    assert f": 2,000 lines, {len(repeated):,} rows" in shown
    for name, measure in weighted["metrics"].items():
        if name != "debiased_calibration_error":  # what it subtracts is the noise of fewer rows
            other = rows["metrics"][name]["estimate"]
            assert measure["estimate"] == pytest.approx(other, abs=1e-9), name
    weight = table["w"].to_numpy()
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    z = (weight @ (p - y) ** 2 - weight @ (p * (1 - p))) / np.sqrt(
        weight**2 @ (p * (1 - p) * (1 - 2 * p) ** 2)
    )
    assert weighted["test"]["statistic"] == pytest.approx(z, rel=0.05)
    assert abs(weighted["test"]["statistic"]) < abs(rows["test"]["statistic"])
    both = run("evaluate", file, *columns("--weight", "p", "--counts", "w", "--json")).json
    each = run("evaluate", path, *columns("--weight", "p", "--json")).json
    for name, measure in both["evaluation"]["metrics"].items():
        other = each["evaluation"]["metrics"][name]
        assert measure["estimate"] == pytest.approx(other["estimate"], rel=1e-9)
    broken = run("evaluate", file, *columns("--counts", "p"))
    assert broken.code == 1
    assert "'p' is not a whole number" in broken.err
    assert "If these are importances, pass them as weight." in broken.err


def test_logits_are_turned_into_probabilities(run, data):
    by_p = run("evaluate", data / "scores.parquet", *columns("--json")).json
    words = ["-s", "z", "-l", "y", "--scale", "logit", "--json"]
    by_z = run("evaluate", data / "scores.parquet", *words).json
    assert "log_loss" in by_p["evaluation"]["metrics"]
    for name, measure in by_p["evaluation"]["metrics"].items():
        other = by_z["evaluation"]["metrics"][name]["estimate"]
        assert other == pytest.approx(measure["estimate"], abs=1e-9)


def test_margins_cannot_be_evaluated(run, data):
    result = run("evaluate", data / "scores.parquet", *columns("--scale", "raw"))
    assert result.code == 2
    assert "raw decision values are not probabilities" in result.err


def test_positive_turns_the_labels_round(run, csv_file):
    lines = [
        f"{p},{label}" for p, label in zip(np.linspace(0.01, 0.99, 40), "ab" * 20, strict=True)
    ]
    path = csv_file("p,y", *lines)
    found = run("evaluate", path, *columns("--positive", "a", "--json")).json
    assert found["classes"] == ["b", "a"]
    shown = run("evaluate", path, *columns("--positive", "a")).out
    assert "positive: 'a', negative: 'b'" in shown


def test_one_label_against_several(run, csv_file, tmp_path):
    lines = [f"{p},{k % 3}" for k, p in enumerate(np.linspace(0.01, 0.99, 60))]
    path, out = csv_file("p,y", *lines), tmp_path / "m.json"
    result = run("fit", path, *columns("--positive", "2", "-m", "logistic", "-o", out))
    assert result.code == 0, result.err
    assert trueodds.load(out).classes == ("not 2", 2)


@pytest.fixture
def grouped(tmp_path):
    """Calibrated in nine groups, far off in the tenth; each of 1000 rows."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 10_000)
    g = np.repeat([f"g{k}" for k in range(10)], 1000)
    truth = np.where(g == "g7", p / 2, p)
    y = (rng.random(10_000) < truth).astype(int)
    return write_table(pa.table({"p": p, "y": y, "g": g}), tmp_path / "g.parquet")


def test_the_group_that_is_off_is_first_and_flagged(run, grouped):
    found = run("evaluate", grouped, *columns("-g", "g", "--json")).json["groups"]
    assert found["correction"] == "Holm"
    entries = found["groups"]
    assert [entry["value"] for entry in entries if entry["flagged"]] == ["g7"]
    assert entries[0]["value"] == "g7"
    assert entries[0]["rows"] == 1000
    by_p = sorted(entries, key=lambda entry: entry["p_value"])
    for place, entry in enumerate(by_p[:2]):  # Holm: times the hypotheses that are left
        assert entry["p_adjusted"] == pytest.approx(min(1, (10 - place) * entry["p_value"]))
    shown = run("evaluate", grouped, *columns("-g", "g", "--max-groups", "4"))
    assert "6 smaller groups were not evaluated" in shown.out


@pytest.mark.parametrize("width", [40, 80, 120])
def test_groups_with_missing_values_and_of_one_class(run, csv_file, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = [f"0.{k % 9 + 1},{k % 2},{'' if k % 4 else 'a'}" for k in range(80)]
    path = csv_file("p,y,g", *lines, "0.5,1,only")
    found = run("evaluate", path, *columns("-g", "g", "--json"))
    assert found.code == 0, found.err
    groups = found.json["groups"]
    assert {entry["value"] for entry in groups["groups"]} == {"(missing)", "a", "only"}
    assert [entry["value"] for entry in groups["groups"] if entry["too_small"]] == ["only"]
    shown = run("evaluate", path, *columns("-g", "g")).out
    row = next(line for line in shown.splitlines() if line.startswith(" g = only"))
    assert row.split()[3:8] == ["1", "0.5000", "1.0000", "2.00", "[0.05,"]  # nothing is cut
    assert row.split()[10] == "too"


@pytest.mark.parametrize("method", ["logistic", "isotonic", "histogram", "bbq", "enir"])
def test_a_fit_on_grouped_rows_equals_the_fit_on_arrays(run, data, table, tmp_path, method):
    out = tmp_path / "m.json"
    assert run("fit", data / "scores.parquet", *columns("-m", method, "-o", out)).code == 0
    direct = trueodds.all_calibrators()[method]().fit(table["p"].to_numpy(), table["y"].to_numpy())
    p = np.linspace(0, 1, 501)
    np.testing.assert_allclose(trueodds.load(out)(p), direct.map_(p), atol=1e-9)


def test_without_a_method_the_best_on_average_is_fitted_and_it_says_what_that_changes(
    run, data, table, tmp_path
):
    out = tmp_path / "m.json"
    result = run("fit", data / "scores.csv", *columns("-o", out))
    assert result.code == 0, result.err
    assert "auto: Used bayesian_smooth" in result.err
    assert "Scores changed by" in result.err
    fitted = trueodds.BayesianSmoothCalibrator().fit(table["p"].to_numpy(), table["y"].to_numpy())
    p = np.linspace(0, 1, 501)
    np.testing.assert_allclose(trueodds.load(out)(p), fitted.map_(p), atol=1e-9)
    assert trueodds.load(out).classes == (0, 1)


@pytest.fixture
def rare(tmp_path):
    """Clicks: 0.33% of the rows, and scores 15% too high on average."""
    rng = np.random.default_rng(1)
    z = rng.normal(-5.9, 0.6, 30_000)
    y = (rng.random(len(z)) < 1 / (1 + np.exp(-z))).astype(int)
    p = 1 / (1 + np.exp(-z - 0.16))
    groups = rng.choice(["a", "b"], len(z))
    path = write_table(pa.table({"p": p, "y": y, "g": groups}), tmp_path / "rare.parquet")
    return path, p, y


def _losses(text):
    """The log-loss before and after."""
    return [float(part) for part in text.split("Log-loss ")[1].split(",")[0].split(" → ")]


def test_fit_shows_what_the_map_does_to_rare_events(run, rare, tmp_path):
    path, p, y = rare
    out = tmp_path / "m.json"
    result = run("fit", path, *columns("-o", out))
    assert result.code == 0, result.err
    found = trueodds.load(out)(p)
    before, after = y.sum() / p.sum(), y.sum() / found.sum()
    for prob in (p, found):
        ratio = confidence_interval(observed_expected_ratio, y, prob)
        assert f"{ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]" in result.err
    size = np.abs(found - p).mean()
    assert f"by {size:.2g} on average" in result.err
    assert f"of the base rate of {100 * y.mean():.2f}%" in result.err
    pair = _losses(result.err)
    assert pair[0] != pair[1]
    assert pair[0] == pytest.approx(log_loss(y, p), abs=2e-6)
    assert "temperature, a formula, " in result.err
    assert "…" not in result.err
    said = run("show", out).out
    assert "formula            temperature, a formula, " in said
    assert f"O:E {before:.3f} [" in said
    exported = run("export", out, "--to", "sql", "--column", "p")
    assert f"{len(exported.out) / 1000:.0f} kB of SQL; temperature, a formula" in exported.err
    summary = run("fit", path, *columns("-o", out, "--force", "--json")).json
    assert summary["observed_expected"]["after"]["estimate"] == pytest.approx(after, rel=1e-12)
    assert summary["losses"]["formula"]["method"] == "temperature"


def test_fit_with_groups_shows_losses_and_observed_over_expected(run, rare, tmp_path):
    path, p, y = rare
    out = tmp_path / "m.json"
    result = run("fit", path, *columns("-g", "g", "-o", out))
    assert result.code == 0, result.err
    assert _losses(result.err)[0] == pytest.approx(log_loss(y, p), abs=2e-6)
    assert "(after: out of fold, 5 folds, 30,000 rows)" in result.err
    assert f"O:E {y.sum() / p.sum():.3f} [" in result.err


def test_show_zooms_to_the_map(run, rare, tmp_path, data):
    path, p, _ = rare
    out = tmp_path / "m.json"
    run("fit", path, *columns("-m", "logistic", "-o", out))
    drawn = run("show", out).out.partition("calibrated probability\n")[2].splitlines()
    ends = [float(drawn[k].split(" |")[0]) for k in (0, 16)]
    curve = trueodds.load(out)(np.linspace(p.min(), p.max(), 1001))
    assert ends[0] == pytest.approx(max(curve.max(), p.max()), abs=1e-4)
    assert ends[1] == pytest.approx(min(curve.min(), p.min()), abs=1e-4)
    assert sum("*" in line for line in drawn[:17]) == 17
    whole = run("show", data / "map.json").out.partition("calibrated probability\n")[2]
    assert whole.startswith("1.0000 |")


@pytest.mark.parametrize("width", [80, 100, 200])
def test_methods_fit_the_width_and_no_name_is_cut(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("methods", "--all").out.splitlines()
    assert max(map(len, lines)) <= width
    words = set(" ".join(lines).split())
    for name, kind in trueodds.all_calibrators().items():
        assert {name, kind.__name__} <= words


@pytest.mark.slow
def test_a_comparison_on_request_says_what_it_chose(run, data, tmp_path):
    words = columns("--option", "select=one_se", "-o", tmp_path / "m.json")
    result = run("fit", data / "scores.csv", *words)
    assert result.code == 0, result.err
    assert "out-of-fold log-loss" in result.err


def test_options_of_a_method(run, data, tmp_path):
    out = tmp_path / "m.json"
    words = ["-m", "histogram", "--option", "n_bins=3", "--option", "strategy=uniform", "-o", out]
    assert run("fit", data / "scores.csv", *columns(*words)).code == 0
    assert trueodds.load(out).edges.tolist() == pytest.approx([1 / 3, 2 / 3])
    for option, word in [("bins=3", "n_bins"), ("n_bins", "name=value")]:
        result = run("fit", data / "scores.csv", *columns("-m", "histogram", "--option", option))
        assert result.code == 2
        assert word in result.err
    result = run("fit", data / "scores.csv", *columns("-m", "histogram", "--option", "n_bins=-1"))
    assert result.code == 1
    assert "n_bins must be an integer of at least 1" in result.err


def test_a_misspelled_method_is_answered_with_near_ones(run, data):
    for command in ("fit", "compare", "report"):
        result = run(command, data / "scores.csv", *columns("-m", "isotonik"))
        assert result.code == 2
        assert "unknown method 'isotonik'; did you mean 'isotonic" in result.err


def test_a_map_is_printed_unless_it_gets_a_file(run, data, table):
    result = run("fit", data / "scores.csv", *columns("-m", "beta"))
    assert result.json["family"] == "log_odds"
    both = run("fit", data / "scores.csv", *columns("-m", "beta", "--json"))
    assert both.code == 2


def test_fit_summary_for_machines(run, data, tmp_path):
    out = tmp_path / "m.json"
    found = run("fit", data / "scores.csv", *columns("-m", "beta", "-o", out, "--json")).json
    assert found["format"] == "trueodds-fit"
    assert found["method"] == "beta"
    assert found["rows_fitted"] == 2000


def test_comparison(run, data):
    words = columns("-m", "identity", "-m", "beta", "-m", "isotonic")
    found = run("compare", data / "scores.csv", *words, "--json").json
    assert found["best_method"] == "beta"
    assert {row["method"] for row in found["methods"]} == {"identity", "beta", "isotonic"}
    shown = run("compare", data / "scores.csv", *words)
    assert "beta *" in shown.out
    assert found["explanation"] in shown.out


@pytest.mark.slow
def test_a_comparison_of_all_methods_recommends_the_default(run, data, table):
    from trueodds import compare_calibrators

    found = run("compare", data / "scores.csv", *columns("--cv", "2", "--json")).json
    assert found["best_method"] == "bayesian_smooth"
    sentence = found["explanation"]
    assert sentence.startswith("Recommendation: the default (bayesian_smooth); it reduces log-loss")
    (row,) = (row for row in found["methods"] if row["chosen"])
    assert f"by {100 * row['gain']:.0f}%" in sentence
    formula = found["formula_as_good"]
    assert sentence.endswith(f"; {formula}, a formula, does as well here.")
    scores, y = table["p"].to_numpy(), table["y"].to_numpy()
    direct = compare_calibrators(scores, y, cv=2, random_state=0)
    assert (direct.recommended, direct.formula_as_good) == ("bayesian_smooth", formula)


def test_a_large_file_is_sampled_reproducibly_and_that_is_said(run, tmp_path):
    path = write_table(make_table(3000), tmp_path / "x.parquet")
    words = ["compare", path, *columns("-m", "identity", "-m", "beta", "--max-rows", "500")]
    first, second = run(*words, "--json"), run(*words, "--json")
    assert first.json["rows_compared"] == 500
    for row, other in zip(first.json["methods"], second.json["methods"], strict=True):
        assert row["log_loss"] == other["log_loss"]
    assert "a random sample of 500 of 3,000 rows is used" in first.err
    third = run(*words, "--json", "--seed", "1")
    assert third.json["methods"][0]["log_loss"] != first.json["methods"][0]["log_loss"]


def test_report(run, data, tmp_path):
    out = tmp_path / "r.html"
    words = [data / "scores.csv", *columns("-m", "identity", "-m", "beta", "-g", "g")]
    result = run("report", *words, "-o", out, "--title", "A <b>title</b>")
    assert result.code == 0, result.err
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert "trueodds report" in page
    assert "<b>title</b>" not in page
    assert "beta" in result.err
    found = run("report", *words, "--json").json
    assert found["report"]["verdict"]["method"] == "beta"


def test_exports_run(run, data, table, tmp_path):
    import duckdb

    fitted, p = data / "map.json", table["p"].to_numpy()
    expected = trueodds.load(fitted)(p)
    sql = run("export", fitted, "--to", "sql", "--column", "p").out
    relation = duckdb.sql(f"SELECT {sql} AS q FROM '{data}/scores.parquet'")  # noqa: S608
    np.testing.assert_allclose(relation.fetchnumpy()["q"], expected, atol=1e-9)
    code = tmp_path / "calibrate.py"
    assert run("export", fitted, "--to", "python", "-o", code, "--name", "odds").code == 0
    space: dict = {}
    exec(code.read_text(), space)  # noqa: S102
    assert space["odds"](float(p[0])) == pytest.approx(expected[0], abs=1e-9)
    model = tmp_path / "map.onnx"
    assert run("export", fitted, "--to", "onnx", "-o", model).code == 0
    import onnxruntime

    session = onnxruntime.InferenceSession(model)
    given = session.get_inputs()[0]
    scores = p.reshape(-1, 1) if len(given.shape) == 2 else p
    found = session.run(None, {given.name: scores})[0]
    np.testing.assert_allclose(np.ravel(found)[-len(p) :], expected, atol=1e-9)
    assert run("export", fitted, "--to", "onnx").code == 2
    assert run("export", fitted, "--to", "python", "--name", "a b").code == 2


def test_methods_lists_every_calibrator(run):
    shown, advised = run("methods", "--all").out, run("methods").out
    found = run("methods", "--json").json["methods"]
    names = {entry["method"] for entry in found}
    assert names >= set(trueodds.all_calibrators())
    for entry in found:
        assert entry["class"] in shown.split()
        assert (entry["class"] in advised.split()) == (entry["tier"] != "for comparison")
        assert entry["description"]
    assert {e["method"] for e in found if e["tier"] == "papers"} >= {"enir", "tree"}
    hidden = sum(entry["tier"] == "for comparison" for entry in found)
    assert f"{hidden} more are only there for comparison" in advised
    tree = next(entry for entry in found if entry["method"] == "tree")
    assert tree["needs_features"]
    assert tree["native_multiclass"]


def test_the_list_of_methods_has_the_whole_first_paragraph():
    class WordyCalibrator(IdentityCalibrator):
        """Leave ``p`` as it is, which takes
        two lines to say.

        And more.
        """

    assert describe("wordy", WordyCalibrator)["description"] == (
        "Leave p as it is, which takes two lines to say."
    )


def test_version_and_help(run):
    assert run("--version").out == f"trueodds {trueodds.__version__}\n"
    for command in ("evaluate", "fit", "apply", "compare", "report", "export", "demo"):
        result = run(command, "--help")
        assert result.code == 0
        assert "Examples:" in result.out
        assert f"trueodds {command}" in result.out
    assert "Exit codes" in run("--help").out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["evaluat"], "No such command"),
        (["evaluate"], "Missing argument"),
        (["evaluate", "x.csv", "--nonsense"], "No such option"),
        (["evaluate", "x.csv", "--scale", "odds"], "odds"),
        (["evaluate", "x.csv", "--max-rows", "1"], "max-rows"),
        (["fit", "x.csv", "-m", "bta"], "did you mean 'beta'"),
        (["fit", "x.csv", "-m", "tree"], "pass --group COLUMN"),
        (["fit", "x.csv", "-m", "beta", "--feature", "x"], "does not use --group"),
        (["evaluate", __file__, "--memory", "lots", "--format", "csv"], "--memory"),
        (["apply", "map.json", "x.csv", "-o", "out.xyz"], "--output-format"),
    ],
)
def test_wrong_usage_is_code_2_and_one_line(run, words, part):
    result = run(*words)
    assert result.code == 2
    assert part in result.err
    assert result.err.count("\n") == 1
    assert "--help'" in result.err


def test_errors_inside_are_bugs(run, data, monkeypatch):
    monkeypatch.setattr("trueodds.metrics.evaluate_counts", lambda *a, **k: 1 / 0)
    result = run("evaluate", data / "scores.csv", *columns())
    assert result.code == 70
    assert "internal error (ZeroDivisionError" in result.err
    assert "--debug" in result.err


def test_a_missing_library_is_named_with_the_command_that_installs_it(run, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    result = run("evaluate", data / "scores.csv", *columns())
    assert result.code == 3
    assert 'pip install "trueodds[cli]"' in result.err


def test_without_typer_the_program_says_what_to_install():
    script = "import sys; sys.modules['typer'] = None; from trueodds.cli import main; main(['x'])"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 3
    assert 'pip install "trueodds[cli]"' in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["--help"], set()),
        (["methods"], {"numpy"}),
        (
            ["fit", "scores.csv", "-s", "p", "-l", "y", "-m", "beta"],
            {"numpy", "duckdb", "narwhals"},
        ),
    ],
)
def test_the_first_second_loads_no_library_that_is_not_needed(data, words, needed):
    script = (
        "import sys, json\n"
        "from trueodds.cli.app import run\n"
        "run(sys.argv[1:])\n"
        "sys.stderr.write(json.dumps(list(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=data,
    )
    heavy = {"numpy", "scipy", "duckdb", "pyarrow", "pandas", "sklearn", "narwhals"}
    if "duckdb" in needed and duckdb.__version__.startswith("1.3"):
        needed = needed | {"pandas", "pyarrow"}  # that version asks them about its own options
    assert heavy.intersection(json.loads(result.stderr.splitlines()[-1])) <= needed


def test_only_the_command_that_is_called_is_imported(data):
    script = (
        "import sys\n"
        "from trueodds.cli.app import run\n"
        "run(['methods'])\n"
        "assert 'trueodds.cli.commands.methods' in sys.modules\n"
        "assert 'trueodds.cli.commands.fit' not in sys.modules\n"
        "assert 'trueodds.cli.commands.evaluate' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


def test_shell_completion(tmp_path):
    environment = {**os.environ, "_TRUEODDS_COMPLETE": "complete_bash"}
    for words, cword, expected in [
        ("trueodds ev", 1, "evaluate"),
        ("trueodds fit x -m iso", 4, "isotonic"),
    ]:
        result = subprocess.run(
            [sys.executable, "-m", "trueodds"],
            env={**environment, "COMP_WORDS": words, "COMP_CWORD": str(cword)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.stdout.split() == [expected], result


def test_pipes_get_results_on_stdout_and_nothing_else(run_process, data):
    result = run_process("evaluate", data / "scores.csv", *columns("--json"))
    assert json.loads(result.stdout)["rows"] == 2000
    assert result.stderr == b""


def test_validation_is_a_section_of_its_own(run, data, table):
    from trueodds.decisions import net_benefit
    from trueodds.metrics import calibration_slope

    path, options = data / "scores.parquet", ("--validation", "--threshold", "0.2")
    found = run("evaluate", path, *columns(*options, "--resamples", "20", "--json")).json
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    assert found["validation"]["slope"]["estimate"] == pytest.approx(calibration_slope(y, p))
    model, everybody = found["net_benefit"]
    assert model["net_benefit"] == pytest.approx(net_benefit(y, p, 0.2))
    assert everybody["model"] == "treat all"
    printed = run("evaluate", path, *columns("--threshold", "0.2")).out
    assert "net benefit (treat none: 0)" in printed
    assert "Calibration slope" not in printed


def test_update_is_that_of_python(run, data, table, tmp_path):
    from trueodds import load
    from trueodds.model_selection import update_model

    expected = update_model(table["y"].to_numpy(), table["p"].to_numpy(), level=0.95)
    options = columns("--level", "0.95", "-o", tmp_path / "update.json")
    found = run("update", data / "scores.parquet", *options, "--json").json
    assert found["update"] == json.loads(json.dumps(expected.to_dict()))
    saved = load(tmp_path / "update.json")
    assert saved == expected.map_.with_classes(saved.classes)
    assert saved.metadata["method"] == f"update: {expected.method}"
    printed = run("update", data / "scores.parquet", *options, "--force").out
    assert str(expected) in printed
    assert run("update", data / "scores.parquet", *columns("--scale", "logit")).code == 2
    curve = run("update", data / "scores.parquet", *columns("-m", "curve", "--json")).json
    assert curve["update"]["coefficients"] == {}


def test_validation_of_each_group_is_that_of_python(run, data, table):
    from trueodds.metrics import validation_report

    options = columns("--validation", "--group", "g", "--resamples", "50")
    found = run("evaluate", data / "scores.parquet", *options, "--json").json
    given = table["y"], table["p"]
    expected = validation_report(*given, groups={"g": table["g"]}, n_resamples=50)
    expected = [group.to_dict() for group in expected.groups]
    assert len(expected) > 1
    assert found["validation"]["groups"] == json.loads(json.dumps(expected))
    shown = run("evaluate", data / "scores.parquet", *options).out
    assert "validation of each group" in shown


def test_validation_needs_two_classes_and_a_threshold_below_one(run, data):
    path = data / "scores.parquet"
    many = run("evaluate", path, "-s", "p", "-s", "w", "-s", "z", "-l", "g", "--validation")
    assert many.code != 0
    assert run("evaluate", path, *columns("--threshold", "1.5")).code != 0
