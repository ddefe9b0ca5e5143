"""``fit``, ``show`` and ``diff``: losses, parameters and forecasts of maps."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special

from oracle import oracles, samples
from oracle.figures import Maybe, Near
from trueodds import BetaCalibrator, TemperatureCalibrator
from trueodds.model_selection import fit_metadata

SOURCE = "fit, show, diff"


def fitted(command, folder, one, method):
    path = folder / f"{one.name}-{method}.json"
    words = ["--method", method, "-o", path, "--force"]
    return path, command("fit", one.write(folder), *one.options(), *words)


def log_odds_map(method, y, p, w):
    if method == "temperature":
        factor = oracles.temperature(y, p, w)
        return np.array([factor, factor, 0.0])
    return oracles.beta_map(y, p, w)


def forecast(abc, p):
    return special.expit(abc[0] * np.log(p) - abc[1] * np.log1p(-p) + abc[2])


def cross_validated(method, y, p, w, n_repeats=12):
    """Log-loss and Brier score out of fold, with other folds each time; mean and spread."""
    rng, found = np.random.default_rng(0), []
    for _ in range(n_repeats):
        fold, q = rng.permutation(len(y)) % 5, p.copy()
        for k in range(5):
            rest, here = fold != k, fold == k
            q[here] = forecast(log_odds_map(method, y[rest], p[rest], w[rest]), p[here])
        found.append([oracles.log_loss(y, q, w), oracles.brier(y, q, w)])
    return np.mean(found, 0), np.std(found, 0)


def events_over_expected(abc, y, p):
    """O:E of the scores and of the map's forecasts on the same rows."""
    before = oracles.observed_expected(y, p, 0.9)
    after = oracles.observed_expected(y, forecast(abc, p), 0.9)
    names = ("estimate", "low", "high")
    return {
        "before": {name: before[name] for name in names},
        "after": {name: Near(after[name], 2e-4) for name in names},
    }


@pytest.mark.parametrize("method", ["temperature", "beta"])
@pytest.mark.parametrize(
    "one",
    [samples.spelled("nein", "ja"), samples.spelled("good", "bad"), samples.counts()],
    ids=lambda one: one.name,
)
def test_fit_and_show(one, method, figures, command, folder):
    y, p, w = one.rows
    path, found = fitted(command, folder, one, method)
    middle, spread = cross_validated(method, *one.expanded)
    losses = {
        "folds": 5,
        "log_loss": {
            "before": oracles.log_loss(y, p, w),
            "after": Near(middle[0], 5 * spread[0] + 1e-6),
        },
        "brier_score": {
            "before": oracles.brier(y, p, w),
            "after": Near(middle[1], 5 * spread[1] + 1e-6),
        },
        "rows": Near(w.sum(), 0.5),
    }
    n_rows, n_pos = (len(p), y.sum()) if one.w is None else (w.sum(), w @ y)
    used = {"version": 1, "rows": len(p), "rows_used": len(p), "rows_fitted": n_rows}
    used["rows_repeated"] = Maybe(0)
    numbers = {"classes": [0, 1]} if one.labels == ("0", "1") else {}
    abc = log_odds_map(method, y, p, w)
    ratio = {"level": 0.9, **events_over_expected(abc, *one.expanded[:2])}
    both = {"losses": losses, "observed_expected": ratio}
    figures.document(SOURCE, found, used | numbers | both, rel=1e-6)

    shown = command("show", path)
    (curve,) = shown["curves"]
    low, high = p[w > 0].min(), p[w > 0].max()
    score = np.array(curve["score"])
    expected = {
        "version": 1,
        "parameters": dict(zip("abc", (Near(v, 2e-4) for v in abc), strict=True)),
        "metadata": {
            "rows": n_rows,
            "positives": n_pos,
            "score_range": [low, high],
            **both,
        },
        "curves": [
            {
                "score": np.linspace(low, high, len(score)),
                "probability": [Near(v, 1e-4) for v in forecast(abc, score)],
            }
        ],
    }
    expected |= numbers
    listed = {
        "parameters.lower": "where a clip begins: no score of the file is beyond it",
        "parameters.upper": "where a clip begins: no score of the file is beyond it",
    }
    figures.document(SOURCE, shown, expected, listed, rel=1e-6)


def test_fit_and_python_agree(figures, command, folder):
    one = samples.spelled("bad", "good")
    for method, calibrator in (
        ("temperature", TemperatureCalibrator()),
        ("beta", BetaCalibrator()),
    ):
        path, found = fitted(command, folder, one, method)
        same = calibrator.fit(one.p, one.y)
        metadata = fit_metadata(same, one.p, one.y)
        saved = json.loads(path.read_text())
        wanted = same.map_.to_dict()["parameters"]
        figures.compare(
            f"{SOURCE} = Python",
            [found["losses"], saved["parameters"]["a"], saved["parameters"]["c"]],
            [metadata["losses"], wanted["a"], wanted["c"]],
            rel=1e-9,
        )


@pytest.mark.parametrize("method", ["identity", "beta"])
def test_losses_before_are_those_of_the_whole_file(method, figures, command, folder):
    """Of 12,000 rows, more than the sample on which ``after`` is measured."""
    rng = np.random.default_rng(2)
    z = rng.normal(-1, 1.5, 12_000)
    one = samples.Sample("many", samples.sigmoid(1.5 * z), samples.drawn(rng, samples.sigmoid(z)))
    _, found = fitted(command, folder, one, method)
    shown = [found["losses"][name]["before"] for name in ("log_loss", "brier_score")]
    y, p, w = one.rows
    figures.compare(SOURCE, shown, [oracles.log_loss(y, p, w), oracles.brier(y, p, w)], rel=1e-6)


def test_diff_is_the_distance_over_an_even_grid(figures, command, folder):
    one = samples.spelled("no claim", "claim")
    y, p, w = one.rows
    first, _ = fitted(command, folder, one, "temperature")
    second, _ = fitted(command, folder, one, "beta")
    found = command("diff", first, second)["forecasts"]
    grid = np.linspace(p.min(), p.max(), 100_001)
    a, b = (forecast(log_odds_map(m, y, p, w), grid) for m in ("temperature", "beta"))
    worst = np.argmax(np.abs(b - a))
    expected = {
        "largest": Near(np.abs(b - a)[worst], 3e-4),
        "mean": Near(np.abs(b - a).mean(), 3e-4),
        "at_score": Near(grid[worst], 0.01),
        "first": Near(a[worst], 5e-3),
        "second": Near(b[worst], 5e-3),
        "score_range": [p.min(), p.max()],
    }
    figures.document(SOURCE, found, expected, rel=1e-6)


def test_diff_of_parameters_repeats_both_maps(figures, command, folder):
    one = samples.spelled("no claim", "claim")
    first, _ = fitted(command, folder, one, "temperature")
    second, _ = fitted(command, folder, one, "beta")
    found = command("diff", first, second)
    both = [command("show", path) for path in (first, second)]
    for difference in found["differences"]:
        keys = difference["what"].split(".")
        values = both
        if keys[0] in ("parameters", "metadata"):
            for key in keys:
                values = [value.get(key) if isinstance(value, dict) else None for value in values]
            if all(isinstance(value, int | float) for value in values):
                figures.compare(SOURCE, [difference["first"], difference["second"]], values)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "xlsx"])
def test_apply_writes_the_formula_of_the_map(kind, figures, command, folder):
    """In every format: the column has the forecasts, and comes back as it was written."""
    one = samples.spelled("nein", "ja")
    path, _ = fitted(command, folder, one, "beta")
    output = folder / f"applied.{kind}"
    command("apply", path, one.write(folder), "--score", "p", "-o", output, "--force")
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}
    frame = pd.read_json(output, lines=True) if kind == "jsonl" else read[kind](output)
    expected = forecast(oracles.beta_map(*one.rows), one.p)
    figures.compare("apply", frame["probability"].to_numpy(), [Near(v, 1e-5) for v in expected])
    figures.compare("apply", frame["p"].to_numpy(), one.p)


@pytest.mark.parametrize("names", [("ant", "cat", "zebra"), ("zebra", "ant", "cat")])
def test_a_map_of_several_classes(names, figures, command, folder):
    """The temperature with the lowest log-loss; forecasts under the names of their classes."""
    rows = samples.classes(names)
    q = np.clip(rows.q, 0.01, None)
    q /= q.sum(1, keepdims=True)
    place = folder / "maps" / names[0]
    place.mkdir(parents=True)
    data = samples.Classes(q, rows.codes, rows.w, names)
    path, output = data.write(place), place / "map.json"
    command("fit", path, *data.options(), "-m", "temperature", "-o", output)

    def scaled(t):
        return special.softmax(t * np.log(q), axis=1)

    def loss(t):
        return oracles.class_losses(rows.codes, scaled(t))["log_loss"].mean()

    best = optimize.minimize_scalar(loss, bounds=(0.05, 5), method="bounded").x
    scores = [word for name in names for word in ("--score", f"p_{name}")]
    applied = place / "applied.parquet"
    command("apply", output, path, *scores, "-o", applied)
    frame = pd.read_parquet(applied)
    new = [[one for one in frame if one not in ("y", "w") and one.endswith(name)] for name in names]
    found = frame[[columns[-1] for columns in new]].to_numpy()
    figures.compare("apply", found, [[Near(v, 1e-4) for v in row] for row in scaled(best)])
