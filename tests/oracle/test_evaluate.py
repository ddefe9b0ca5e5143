"""``trueodds evaluate --json``: every number against an oracle, and against the Python API."""

import dataclasses
import functools
import re

import numpy as np
import pytest
from scipy import stats

from oracle import oracles, samples
from oracle.figures import Maybe, Near, Such, chance, is_figure, leaves
from trueodds import ScoreTable, metrics

SAMPLES = samples.all_samples()
NAMES = [one.name for one in SAMPLES]
LEVEL = 0.9
SOURCE = "evaluate"
pytestmark = pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")


def header(rows, kind="csv"):
    """What every document that reads rows begins with; text of a CSV file becomes numbers."""
    start = {"version": 1, "rows": rows, "rows_used": rows, "rows_repeated": Maybe(0)}
    return start | ({"classes": [0, 1]} if kind == "csv" else {})


def ends(interval, rounding=1e-6):
    """Ends by formula; importances of one score are counted together, which skewness sees."""
    error = interval["standard_error"]
    near = {name: Near(interval[name], rounding * error + 1e-9) for name in ("low", "high")}
    return {**interval, "level": LEVEL, **near}


def squares(estimate, width):
    """An interval of a sum of squares: as wide as that of a bootstrap, and around the estimate."""
    return {
        "estimate": estimate,
        "level": LEVEL,
        "low": Such(lambda v: -1e-12 <= v <= estimate + 1e-12, "a lower end"),
        "high": Such(
            lambda v: estimate - 1e-12 <= v <= estimate + 2 * width + 0.02, "an upper end"
        ),
        "standard_error": Such(
            lambda v: v is None or 0 <= v <= 2 * width + 0.05, "a standard error"
        ),
    }


def nothing(estimate):
    return dict.fromkeys(("low", "high", "standard_error")) | {
        "estimate": estimate,
        "level": LEVEL,
    }


@functools.cache
def evaluation(one):
    """The key ``evaluation`` of two classes."""
    y, p, w = one.rows
    whole = one.name != "fractions"
    estimates = oracles.metrics(y, p, w, one.squares)
    drawn = oracles.Resamples(y, p, w, 500, effective(one))
    measured = {name: nothing(value) for name, value in estimates.items()}
    kind = {"importances": not whole}
    for name in ("log_loss", "brier_score"):
        if np.isfinite(estimates[name]):
            values = oracles.losses(y, p, name.split("_")[0])
            found = oracles.mean_interval(values, LEVEL, w, **kind)
            measured[name] = ends(found, 1e-6 if whole else 0.02)
    if whole:
        measured["roc_auc"] = ends(oracles.c_interval(y, p, LEVEL, w))
    else:
        error = Such(lambda v: 0 < v < 0.2, "a standard error")
        low = Such(lambda v: v < estimates["roc_auc"], "a lower end")
        high = Such(lambda v: v > estimates["roc_auc"], "an upper end")
        measured["roc_auc"] |= {"low": low, "high": high, "standard_error": error}
    name = "debiased_calibration_error"
    measured[name] = squares(estimates[name], drawn.width(LEVEL, estimates[name]))
    z, p_value = oracles.spiegelhalter(y, p, w, one.squares)
    if whole:
        tests = oracles.exact_test(y, p, w)
        del tests["least"]
    else:
        tests = oracles.importance_test(y, p, w)
    wanted = {
        "metrics": measured,
        "test": {"statistic": z, "p_value": p_value, "expected": 0.0},
        "exact_test": _with_chances(tests),
        "mean_test": {"p_value": chance(tests["mean"])},
        "p_value": chance(tests["p_value"]),
        "curve": curve(one),
        "n": effective(one),
        "prevalence": oracles.mean(y, w),
        "mean_score": oracles.mean(p, w),
    }
    if one.name != "constant":
        chi = oracles.cox(y, p, w)[0] * (1.0 if whole else w.sum() / np.sum(w**2))
        wanted["slope_test"] = {"p_value": stats.chi2.sf(chi, 2)}
    return wanted


def _with_chances(tests):
    bins = tests["bins"]
    found = {key: chance(tests[key]) for key in ("mean", "slope", "p_value")}
    if bins is not None:
        found["bins"] = [one | {"p_value": chance(one["p_value"])} for one in bins]
    return found if bins is not None else found | {"bins": None}


def effective(one):
    """Rows that importance weights are worth; counts are rows."""
    w = one.weight
    return w.sum() ** 2 / np.sum(w**2) if one.name == "fractions" else w.sum()


def curve(one):
    y, p, w = one.rows
    w = w * effective(one) / w.sum()
    n_bins = int(np.clip(effective(one) // 20, 1, 30))
    edges = oracles.quantile_edges(p, w, n_bins)
    place = oracles.bins_between(p, edges)
    predicted, observed, weight = oracles.bin_table(y, p, w, place)
    below = np.array([p[p < edge].max() for edge in edges])
    band = [consistency(p, w, place == b) for b in np.unique(place[w > 0])]
    return {
        "prob_pred": predicted,
        "prob_true": observed,
        "weight": weight,
        "edges": [(a + b) / 2 for a, b in zip(below, edges, strict=True)],
        "filled": np.arange(len(weight)),
        "level": LEVEL,
        "band_x": predicted,
        "band_low": [low for low, _ in band],
        "band_high": [high for _, high in band],
        "hist_edges": np.linspace(0, 1, 21),
        "hist_weight": np.bincount(oracles.uniform_bins(p, 20), w, 20),
        "n_rows": Near(w.sum(), 0.5),
    }


def consistency(p, w, here):
    """Ends of the frequency of a calibrated bin: exact quantiles, with room for one row."""
    n = w[here].sum()
    mean, spread = np.sum((w * p)[here]), np.sqrt(np.sum((w * p * (1 - p))[here]))
    room = 1.2 / n + 0.25 * spread / n
    if one_by_one(w[here]):
        share = np.cumsum(oracles.poisson_binomial(p[here], w[here]))
        quantiles = [np.searchsorted(share, q) for q in (0.05, 0.95)]
    else:
        quantiles = [mean - 1.645 * spread, mean + 1.645 * spread]
        room += 0.35 * spread / n
    return [Near(np.clip(q / n, 0, 1), room) for q in quantiles]


def one_by_one(w):
    return np.all(w == np.round(w))


SLOW = {"distinct": pytest.mark.slow}  # the exact distribution of 5,000 distinct scores


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "one", [pytest.param(one, marks=SLOW.get(one.name, ()), id=one.name) for one in SAMPLES]
)
def test_every_number_of_two_classes(one, kind, figures, command, folder):
    path = one.write(folder, kind)
    found = command("evaluate", path, *one.options(), "--resamples", 2000)
    expected = header(len(one.p), kind) | {"level": LEVEL, "evaluation": evaluation(one)}
    figures.document(f"{SOURCE} ({kind})", found, expected, rel=1e-6)


@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_command_and_python_agree_to_the_last_digit(one, figures, command, folder):
    found = command("evaluate", one.write(folder), *one.options(), "--resamples", 2000)
    table = ScoreTable.from_arrays(one.p, one.y, **one.given)
    same = metrics.evaluate_counts(table, n_resamples=2000)
    expected = {
        name: {
            key: getattr(value, key)
            for key in ("estimate", "low", "high", "standard_error", "level")
        }
        for name, value in same.metrics.items()
    }
    shown = found["evaluation"]["metrics"]
    shown = {name: {key: shown[name][key] for key in one} for name, one in expected.items()}
    figures.compare(f"{SOURCE} = Python", shown, expected, rel=1e-12)
    tests = {
        name: getattr(same, name).p_value if getattr(same, name) else None
        for name in ("test", "mean_test", "slope_test")
    }
    shown = {
        name: (found["evaluation"].get(name) or {"p_value": None})["p_value"] for name in tests
    }
    figures.compare(
        f"{SOURCE} = Python",
        [shown, found["evaluation"]["p_value"]],
        [tests, same.p_value],
        rel=1e-12,
    )


def test_rows_written_out_equal_a_column_of_counts(figures, command, folder):
    """Also intervals, band and tests: the same table gives the same draws."""
    one = samples.counts()
    y, p, _ = one.expanded
    rows = samples.Sample("counts-written-out", p, y)
    first = command("evaluate", one.write(folder), *one.options(), "--resamples", 2000)
    second = command("evaluate", rows.write(folder), *rows.options(), "--resamples", 2000)
    numbers = [_numbers(one["evaluation"]) for one in (first, second)]
    figures.compare(f"{SOURCE}: rows = counts", *numbers, rel=1e-9)


def _numbers(document):
    return {path: value for path, value in leaves(document) if is_figure(value)}


@pytest.mark.parametrize(("negative", "positive"), samples.SPELLINGS)
def test_labels_in_words(negative, positive, figures, command, folder):
    """The positive label is the one that is named, whatever the order of the words."""
    one = samples.spelled(negative, positive)
    found = command("evaluate", one.write(folder), *one.options())
    y, p, w = one.rows
    estimates = {k: m["estimate"] for k, m in found["evaluation"]["metrics"].items()}
    figures.compare(f"{SOURCE}: labels", estimates, oracles.metrics(y, p, w))
    assert [str(label) for label in found["classes"]] == [negative, positive]


@pytest.mark.parametrize("name", ["400", "percent", "distinct"])
def test_validation_and_net_benefit(name, figures, command, folder):
    one = {
        "400": samples.spelled("0", "1"),
        "percent": samples.percent(),
        "distinct": samples.distinct(),
    }[name]
    y, p, _ = one.rows
    words = ["--validation", "--threshold", "0.1", "--threshold", "0.35", "--resamples", 50]
    found = command("evaluate", one.write(folder), *one.options(), *words)
    expected = {"validation": validation(one), "net_benefit": benefits(y, p)}
    shown = {key: found[key] for key in expected}
    figures.document(f"{SOURCE} --validation", shown, expected, rel=1e-6)


def validation(one):
    """Formulas for what has one; estimates for all."""
    y, p, w = one.rows
    places = np.unique(p)
    some = places if len(places) < 1000 else np.quantile(places, np.linspace(0, 1, 200))
    at = oracles.loess(y, p, w, some, 0.75, "epanechnikov")
    fitted = np.interp(p, some, at)
    room = 0.0 if len(places) < 1000 else 2e-3  # beyond 4,096 values loess is interpolated
    rest = oracles.curve_errors(p, fitted, y)
    wanted = {
        "observed_expected": oracles.observed_expected(y, p, LEVEL),
        "intercept": oracles.intercept_interval(y, p, LEVEL),
        "slope": _wald(oracles.slope(y, p, w)),
        "c_statistic": oracles.c_interval(y, p, LEVEL),
        "brier_score": oracles.mean_interval(oracles.losses(y, p, "brier"), LEVEL),
        "scaled_brier": oracles.scaled_brier(y, p, LEVEL),
    }
    inside = "an end of a bootstrap interval"
    for name, value in rest.items():
        estimate = Near(value, room) if room else value
        if name in ("e50", "e90", "emax"):
            wanted[name] = nothing(value) | {"estimate": estimate}
            continue
        wanted[name] = {
            "estimate": estimate,
            "low": Such(lambda end, v=value: end <= v + 2e-3 and v - end < 0.4, inside),
            "high": Such(lambda end, v=value: end >= v - 2e-3 and end - v < 0.6, inside),
            "standard_error": Such(lambda error: 0 < error < 0.25, "a standard error"),
        }
    cox, hosmer = oracles.cox(y, p, w), oracles.hosmer_lemeshow(y, p, w)
    groups = len(np.unique(oracles.bins_between(p, oracles.quantile_edges(p, w, 10))))
    return {
        "n": len(y),
        "events": y.sum(),
        "level": LEVEL,
        **{name: value | {"level": LEVEL} for name, value in wanted.items()},
        "cox_test": {"statistic": cox[0], "p_value": cox[1], "expected": 2},
        "hosmer_lemeshow": {"statistic": hosmer[0], "p_value": hosmer[1], "expected": groups},
    }


def _wald(pair):
    return oracles.wald(*pair, LEVEL) | {"standard_error": pair[1]}


def benefits(y, p):
    """By the model and by treating everybody, at each threshold."""
    return [
        {"threshold": t} | oracles.benefit(y, score, t, LEVEL)
        for score in (p, np.ones(len(y)))
        for t in (0.1, 0.35)
    ]


def test_counts_in_a_validation_are_rows(figures, command, folder):
    """``--counts`` counts rows, in the section of papers as everywhere else."""
    one = samples.counts()
    y, p, _ = one.expanded
    words = ["--validation", "--threshold", "0.1", "--threshold", "0.35", "--resamples", 50]
    found = command("evaluate", one.write(folder), *one.options(), *words)
    written = samples.Sample("counts-written-out", p, y)
    expected = {"validation": validation(written), "net_benefit": benefits(y, p)}
    shown = {key: found[key] for key in expected}
    figures.document(f"{SOURCE} --validation --counts", shown, expected, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_number_of_several_classes(weighted, figures, command, folder):
    rows = samples.classes()
    words = ["--weight", "w"] if weighted else []
    found = command("evaluate", rows.write(folder), *rows.options(), *words, "--resamples", 2000)
    w = rows.w if weighted else np.ones(len(rows.w))
    top = rows.q.max(1)
    right = 1.0 * (rows.q.argmax(1) == rows.codes)
    each = oracles.class_losses(rows.codes, rows.q)
    estimates = {name: oracles.mean(values, w) for name, values in each.items()}
    even = oracles.uniform_bins(top, 10)
    equal = oracles.bins_between(top, oracles.quantile_edges(top, w, 15))
    estimates["expected_calibration_error"] = oracles.calibration_error(right, top, w, even)
    estimates["debiased_calibration_error"] = oracles.debiased(right, top, w, equal, w**2)
    z, p_value = oracles.spiegelhalter_classes(rows.codes, rows.q, w)
    measured = {}
    for name, value in estimates.items():
        if name in each:  # a mean over rows, each one observation whatever its weight
            found_ = oracles.mean_interval(each[name], LEVEL, w, importances=weighted)
            if name == "accuracy":
                n = w.sum() ** 2 / np.sum(w**2)
                low, high = oracles.wilson(each[name], w * n / w.sum(), LEVEL)
                found_ |= {"low": low, "high": high}
            measured[name] = ends(found_)
        elif name == "expected_calibration_error":
            measured[name] = nothing(value)
        else:
            low = Such(lambda end, v=value: 0 <= end <= v, "below the estimate")
            high = Such(lambda end, v=value: v <= end <= v + 0.15, "above the estimate")
            error = Such(lambda error: 0 < error < 0.05, "a standard error")
            measured[name] = {
                "estimate": value,
                "level": LEVEL,
                "low": low,
                "high": high,
                "standard_error": error,
            }
    expected = header(600, "words") | {
        "level": LEVEL,
        "evaluation": {
            "metrics": measured,
            "n": 600,
            "mean_confidence": oracles.mean(top, w),
            "test": {"statistic": z, "p_value": p_value, "expected": 0.0},
            "p_value": p_value,
        },
    }
    figures.document(f"{SOURCE}, several classes", found, expected, rel=1e-6)
    same = metrics.evaluate_classes(
        rows.labels,
        rows.q,
        classes=rows.names,
        sample_weight=w if weighted else None,
    )
    both = {name: [value.estimate, value.low, value.high] for name, value in same.metrics.items()}
    shown = found["evaluation"]["metrics"]
    figures.compare(
        f"{SOURCE} = Python",
        {name: [one[key] for key in ("estimate", "low", "high")] for name, one in shown.items()},
        both,
    )


def test_the_sentence_has_the_numbers_of_the_document(command, folder):
    one = samples.distinct()
    found = command("evaluate", one.write(folder), *one.options(), "--resamples", 2000)
    y, p, _ = one.rows
    numbers = re.search(r"([\d,]+) (?:positives|expected)[;,] ([\d,]+)", found["finding"])
    if numbers:
        assert numbers.groups() == (f"{round(p.sum()):,}", f"{round(y.sum()):,}")
    assert "p < 0.0001" in found["finding"]


@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_the_printed_table_has_the_numbers_of_the_document(one, figures, command, printed, folder):
    words = ["evaluate", one.write(folder), *one.options(), "--resamples", 2000]
    found, text = command(*words)["evaluation"], printed(*words)
    for name, metric in oracles.metrics(*one.rows, one.squares).items():
        (line,) = (
            line for line in text.splitlines() if line.split("  ")[0].strip() == TITLES[name]
        )
        shown = re.findall(r"[-\d.]+|inf|∞", line)
        if np.isfinite(metric):
            ends = found["metrics"][name]
            wanted = [metric, ends["low"], ends["high"]][: len(shown)]
            if f"< {shown[0]}" in line:  # an estimate that is cut off at 0
                wanted[0] = ends["high"]
            near = [Near(value, 0.5e-4 + 1e-9) for value in wanted]
            figures.compare("evaluate, printed", [float(word) for word in shown], near)
    means = re.search(r"Mean score ([\d.]+), observed rate ([\d.]+)", text)
    y, p, w = one.rows
    near = [Near(oracles.mean(values, w), 1e-4) for values in (p, y)]
    figures.compare("evaluate, printed", [float(word.strip(".")) for word in means.groups()], near)


TITLES = {
    "log_loss": "log loss",
    "brier_score": "Brier score",
    "roc_auc": "ROC AUC",
    "expected_calibration_error": "expected calibration error",
    "debiased_calibration_error": "debiased calibration error",
    "maximum_calibration_error": "maximum calibration error",
}


def test_percent_log_odds_and_bad_rows_are_the_same_rows(figures, command, folder):
    """Three other files of the same rows: 0 to 100, log-odds, and with rows that cannot be used."""
    one = samples.percent()
    y, p, _ = one.rows
    plain = command("evaluate", one.write(folder), *one.options())["evaluation"]
    lines = [f"{100 * a:.0f}%,{b:.0f}" for a, b in zip(p, y, strict=True)]
    percent = folder / "percents.csv"
    percent.write_text("\n".join(["p,y", *lines]))
    logit = samples.Sample("logits", np.log(p / (1 - p)), y).write(folder)
    bad = folder / "bad.csv"
    good = [f"{a},{b:.0f}" for a, b in zip(p, y, strict=True)]
    bad.write_text("\n".join(["p,y", "1.5,1", *good[:900], ",1", "abc,0", *good[900:], "0.5,"]))
    for path, words, rel in (
        (percent, ["--unit", "percent"], 1e-12),
        (logit, ["--scale", "logit"], 1e-6),
        (bad, ["--on-bad-rows", "skip"], 1e-12),
    ):
        found = command("evaluate", path, *one.options(), *words)
        same = {k: v["estimate"] for k, v in found["evaluation"]["metrics"].items()}
        wanted = {k: v["estimate"] for k, v in plain["metrics"].items()}
        tests = [found["evaluation"][k]["p_value"] for k in ("test", "mean_test", "slope_test")]
        figures.compare(
            "evaluate: other scales",
            [same, tests, found["rows_used"]],
            [wanted, [plain[k]["p_value"] for k in ("test", "mean_test", "slope_test")], 2000],
            rel=rel,
        )
    skipped = found["rows_skipped"]
    figures.compare("evaluate: other scales", [found["rows"], sum(skipped.values())], [2004, 4])


@pytest.mark.parametrize("name", ["evaluate", "compare", "fit", "report"])
def test_words_for_no_and_yes_need_no_option(name, figures, command, folder):
    """``ja`` is positive though ``nein`` is the greater text; all commands agree."""
    one = samples.spelled("nein", "ja")
    words = [name, one.write(folder), "--score", "p", "--label", "y"]
    words += [] if name == "evaluate" else ["-m", "identity"]
    if name in ("fit", "report"):
        words += ["-o", folder / f"default.{name}", "--force"]
    found = command(*words)
    place = {
        "evaluate": lambda: found["evaluation"]["metrics"]["log_loss"]["estimate"],
        "compare": lambda: found["methods"][0]["log_loss"],
        "fit": lambda: found["losses"]["log_loss"]["before"],
        "report": lambda: found["report"]["methods"][0]["log_loss"],
    }
    figures.compare(f"{SOURCE}: labels", place[name](), oracles.log_loss(*one.rows), rel=2e-5)


@pytest.mark.parametrize("name", ["evaluate", "compare", "fit", "report"])
def test_other_words_are_not_guessed(name, command, folder):
    one = samples.spelled("good", "bad")
    words = [name, one.write(folder), "--score", "p", "--label", "y"]
    words += ["-o", folder / f"guess.{name}"] if name in ("fit", "report") else []
    with pytest.raises(AssertionError, match="--positive"):
        command(*words)


def test_fields_of_results_have_an_oracle():
    """A new metric of ``evaluate_counts`` must be added here first."""
    table = ScoreTable.from_arrays([0.2, 0.7, 0.4, 0.9], [0, 1, 0, 1])
    found = metrics.evaluate_counts(table, n_resamples=20)
    assert set(found.metrics) == set(oracles.metrics(*samples.tiny().rows))
    assert {field.name for field in dataclasses.fields(found)} >= {
        "test",
        "mean_test",
        "slope_test",
    }
