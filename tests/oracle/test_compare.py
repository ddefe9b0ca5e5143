"""``trueodds compare --json`` against losses of its own folds, and against the Python API."""

import numpy as np
import pytest
from scipy import special

from oracle import oracles, samples
from oracle.figures import Maybe, Near
from trueodds import compare_calibrators

METHODS = ["identity", "temperature", "beta"]
WORDS = [word for method in METHODS for word in ("--method", method)]
LEVEL = 0.9
SOURCE = "compare"
LISTED = {"methods.*.seconds": "a time"}


def folds_of(p, factor_times_logit):
    """Temperature scaling gives each fold its own factor of the log-odds, which names it."""
    z = special.logit(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(np.abs(z) > 1e-9, special.logit(factor_times_logit) / z, np.nan)
    known = np.unique(np.round(factor[np.isfinite(factor)], 7))
    return np.array([np.nan if np.isnan(f) else np.argmin(np.abs(known - f)) for f in factor])


def out_of_fold(y, p, fold):
    """Each fold forecast by fits on the others; rows of unknown folds have p = 1/2."""
    found = {"identity": p, "temperature": np.full(len(p), 0.5), "beta": np.full(len(p), np.nan)}
    for k in np.unique(fold[np.isfinite(fold)]):
        rest, here = fold != k, fold == k
        one = np.ones(rest.sum())
        factor = oracles.temperature(y[rest], p[rest], one)
        found["temperature"][here] = special.expit(factor * special.logit(p[here]))
        a, b, c = oracles.beta_map(y[rest], p[rest], one)
        found["beta"][here] = special.expit(a * np.log(p[here]) - b * np.log1p(-p[here]) + c)
    return found


def row(y, forecast, w, start):
    """Losses with intervals by the normal distribution; the gain by the delta method."""
    log, square = oracles.losses(y, forecast), oracles.losses(y, forecast, "brier")
    wanted = {}
    for name, values in (("log_loss", log), ("brier_score", square)):
        wanted |= _interval(name, values, w)
    base = oracles.losses(y, start)
    gain = oracles.mean(base - log, w) / oracles.mean(base, w)
    wanted |= {"gain": gain}
    residual = (base - log - gain * base) / oracles.mean(base, w)
    if residual.any():
        ends = oracles.hall(gain, residual, w, LEVEL)
        error = ends["standard_error"]
    else:
        ends, error = {"low": 0.0, "high": 0.0}, 0.0
    wanted |= {f"gain_{end}": Near(ends[end], 0.05 * error + 1e-9) for end in ("low", "high")}
    place = oracles.uniform_bins(forecast, 10)
    wanted["expected_calibration_error"] = oracles.calibration_error(y, forecast, w, place)
    return wanted


def _interval(name, values, w):
    ends = oracles.mean_interval(values, LEVEL, w)
    error = ends["standard_error"]
    near = {f"{name}_{end}": Near(ends[end], 0.02 * error) for end in ("low", "high")}
    return near | {name: ends["estimate"]}


@pytest.mark.parametrize(("negative", "positive"), samples.SPELLINGS)
def test_every_number_whatever_the_labels_are_called(negative, positive, figures, command, folder):
    one = samples.spelled(negative, positive)
    y, p, w = one.rows
    found = command("compare", one.write(folder), *one.options(), *WORDS)
    same = compare_calibrators(p, y, calibrators=METHODS, select="one_se")
    fold = folds_of(p, same.out_of_fold["temperature"])
    sizes = np.unique(fold, return_counts=True)[1]
    assert len(sizes) == 5
    assert sizes.max() - sizes.min() <= 2
    forecasts = out_of_fold(y, p, fold)
    rows = [row(y, forecasts[method], w, p) for method in METHODS]
    for method, wanted in zip(METHODS, rows, strict=True):
        wanted["chosen"] = same.best_method == method
        wanted["recommended"] = same.recommended == method
    expected = {
        "version": 1,
        "rows": 400,
        "rows_used": 400,
        "rows_repeated": Maybe(0),
        "rows_compared": 400,
        "cv": 5,
        "repeats": 1,
        "methods": rows,
    }
    numbers = {"0", "1"} == {negative, positive}
    expected |= {"classes": [int(negative), int(positive)]} if numbers else {}
    figures.document(SOURCE, found, expected, LISTED, rel=1e-6)
    assert [str(label) for label in found["classes"]] == [negative, positive]
    keys = [key for key in same.rows()[0] if key not in ("method", "seconds")]
    figures.compare(
        f"{SOURCE} = Python",
        [{key: one[key] for key in keys} for one in found["methods"]],
        [{key: one[key] for key in keys} for one in same.rows()],
        rel=1e-12,
    )


@pytest.mark.parametrize(
    "one",
    [samples.percent(), samples.rare(), samples.counts(), samples.distinct(2500)],
    ids=lambda one: one.name,
)
def test_scores_as_they_are(one, figures, command, folder):
    """The row of the identity needs no folds; weights are counts."""
    y, p, w = one.rows
    found = command("compare", one.write(folder), *one.options(), *WORDS)
    (identity,) = [m for m in found["methods"] if m["method"] == "identity"]
    wanted = row(y, p, w, p)
    figures.compare(SOURCE, {key: identity[key] for key in wanted}, wanted, rel=1e-6)


def test_the_choice_is_the_simplest_within_one_standard_error(command, folder):
    """Of the paired difference from the lowest log-loss."""
    for one in (samples.percent(), samples.distinct(2500), samples.spelled("0", "1")):
        y, p, _ = one.rows
        found = command("compare", one.write(folder), *one.options(), *WORDS)
        same = compare_calibrators(p, y, calibrators=METHODS, select="one_se")
        each = {m: oracles.losses(y, same.out_of_fold[m]) for m in METHODS}
        best = min(METHODS, key=lambda m: each[m].mean())
        within = [
            m
            for m in METHODS  # simplest first
            if np.mean(each[m] - each[best]) <= np.std(each[m] - each[best]) / np.sqrt(len(y))
        ]
        assert found["best_method"] == within[0]


def test_rows_written_out_equal_a_column_of_counts(figures, command, folder):
    one = samples.counts()
    y, p, _ = one.expanded
    written = samples.Sample("counts-written-out", p, y)
    first = command("compare", one.write(folder), *one.options(), *WORDS)
    second = command("compare", written.write(folder), *written.options(), *WORDS)
    keys = [key for key in first["methods"][0] if key not in ("method", "seconds")]
    figures.compare(
        f"{SOURCE}: rows = counts",
        [{key: m[key] for key in keys} for m in first["methods"]],
        [{key: m[key] for key in keys} for m in second["methods"]],
        rel=1e-9,
    )


@pytest.mark.parametrize("names", [("ant", "cat", "zebra"), ("zebra", "ant", "cat")])
def test_several_classes(names, figures, command, folder):
    """Also where the columns are not in the order of the labels."""
    rows = samples.classes(names)
    q = np.clip(rows.q, 0.01, None)
    q /= q.sum(1, keepdims=True)
    inner = samples.Classes(q, rows.codes, rows.w, names)
    place = folder / "compare" / names[0]
    place.mkdir(parents=True)
    path = inner.write(place)
    found = command("compare", path, *inner.options(), "-m", "identity", "-m", "temperature")
    same = compare_calibrators(
        q, rows.labels, calibrators=["identity", "temperature"], classes=rows.names
    )
    each = oracles.class_losses(rows.codes, q)
    w = np.ones(len(q))
    identity = found["methods"][0]
    wanted = _interval("log_loss", each["log_loss"], w)
    wanted |= _interval("brier_score", each["brier_score"], w)
    figures.compare(SOURCE, {key: identity[key] for key in wanted}, wanted, rel=1e-6)
    forecast = same.out_of_fold["temperature"]
    each = oracles.class_losses(rows.codes, forecast)
    figures.compare(
        SOURCE,
        [found["methods"][1]["log_loss"], found["methods"][1]["brier_score"]],
        [each["log_loss"].mean(), each["brier_score"].mean()],
        rel=1e-6,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(forecast[:, 0] / forecast[:, 1]) / np.log(q[:, 0] / q[:, 1])
    known = np.unique(np.round(ratio[np.isfinite(ratio)], 6))
    assert len(known) == 5  # one temperature for each fold
