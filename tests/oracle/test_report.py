"""``trueodds report --json``: every number of the page, and the page itself."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from oracle import oracles, samples
from oracle.figures import Near, Such, chance, is_figure, leaves
from oracle.test_compare import METHODS, WORDS, folds_of, out_of_fold, row
from oracle.test_evaluate import validation
from oracle.test_maps import forecast, log_odds_map
from trueodds import compare_calibrators
from trueodds.report import build_report

LEVEL = 0.9
SOURCE = "report"
DIGITS = 2e-5  # the document has six digits
LISTED = {
    "methods.*.seconds": "a time",
    "diagrams.*.smooth.*": "a spline with some prior evidence; compared roughly below",
    "diagrams.*.histogram.log_odds_limit": "where an axis ends",
    "uncertainty.low.*": "intervals of Bayesian curves; their coverage is measured, not their ends",
    "uncertainty.high.*": "the same",
    "uncertainty.rows.*.low": "the same",
    "uncertainty.rows.*.high": "the same",
    "costs.start": "where a slider starts",
}


def report_of(command, folder, one, *words):
    path = one.write(folder)
    output = folder / f"{path.name}.html"
    return command("report", path, *one.options(), *words, "-o", output, "--force")["report"]


def figures_at_top(y, w, forecasts, before, after):
    rows = {name: row(y, forecasts[name], w, forecasts["identity"]) for name in (before, after)}

    def cell(name, measure):
        found = rows[name]
        return {
            "estimate": found[measure],
            "low": found[f"{measure}_low"],
            "high": found[f"{measure}_high"],
        }

    return [
        {side: cell(name, measure) for side, name in (("before", before), ("after", after))}
        for measure in ("log_loss", "brier_score")
    ]


def bins_of(n):
    """Of at least 30 rows, at most 20."""
    return int(np.clip(n // 30, 2, 20))


def diagram(y, p, w, n_bins):
    """Bins of equal mass with consistency bands, and two histograms for each outcome."""
    place = oracles.bins_between(p, oracles.quantile_edges(p, w, n_bins))
    predicted, observed, weight = oracles.bin_table(y, p, w, place)
    low, high = [], []
    for b in np.unique(place[w > 0]):
        here = place == b
        share = np.cumsum(oracles.poisson_binomial(p[here], w[here]))
        n, spread = w[here].sum(), np.sqrt(np.sum((w * p * (1 - p))[here]))
        room = (1.3 + 0.3 * spread) / n
        low.append(Near(np.searchsorted(share, 0.05) / n, room))
        high.append(Near(np.searchsorted(share, 0.95) / n, room))
    even = oracles.uniform_bins(p, 100)
    z = np.log(p) - np.log1p(-p)
    odds = np.clip(np.floor((z + 9) / 18 * 48), 0, 47).astype(int)

    def shares(bins, n, outcome):
        held = w * (y == outcome)
        return np.bincount(bins, held, n) / max(held.sum(), 1e-300)

    return {
        "rows": len(y),
        "predicted": predicted,
        "observed": observed,
        "weight": weight,
        "band_low": low,
        "band_high": high,
        "histogram": {
            "linear": {
                "events": [Near(v, 1e-5) for v in shares(even, 100, 1)],
                "others": [Near(v, 1e-5) for v in shares(even, 100, 0)],
            },
            "log_odds": {
                "events": [Near(v, 1e-5) for v in shares(odds, 48, 1)],
                "others": [Near(v, 1e-5) for v in shares(odds, 48, 0)],
            },
        },
    }


def costs(y, forecasts, ratios):
    """False alarms and misses where one acts from 1/(1 + r) on; the saving is paired by row."""
    z = stats.norm.ppf(0.5 + LEVEL / 2) / np.sqrt(len(y))
    wanted = {}
    for name, p in forecasts.items():
        parts = {key: [] for key in ("cheap", "dear", "saving_low", "saving_high")}
        for r in ratios:
            t = 1 / (1 + r)
            cheap, dear = (p >= t) & (y == 0), (p < t) & (y == 1)
            start = forecasts["identity"]
            before = ((start >= t) & (y == 0)) + r * ((start < t) & (y == 1))
            saving = before - (cheap + r * dear)
            # Half a row of each kind of change, where the forecasts may differ.
            added = 0 if name == "identity" else (1 + r**2) / len(y)
            half = z * np.sqrt(saving.var() + added)
            room = 0.01 * half + 1e-6 * max(r, 1)
            parts["cheap"].append(cheap.mean())
            parts["dear"].append(dear.mean())
            parts["saving_low"].append(Near(saving.mean() - half, room))
            parts["saving_high"].append(Near(saving.mean() + half, room))
        wanted[name] = parts
    share = y.mean()
    return {
        "ratios": ratios,
        "thresholds": [1 / (1 + r) for r in ratios],
        "default": [min(1 - share, r * share) for r in ratios],
        "rows": len(y),
        "methods": wanted,
    }


def uncertainty(one, found, method):
    """The map of all rows at the scores of the picture; intervals hold its probability."""
    y, p, w = one.rows
    abc = log_odds_map(method, y, p, w)

    def probability(scores):
        return [Near(v, 1e-4) for v in forecast(abc, np.array(scores))]

    rows = [one["score"] for one in found["rows"]]
    inside = Such(lambda v: p.min() <= v <= p.max(), "within the range of scores")
    return {
        "score": [inside for _ in found["score"]],
        "probability": probability(found["score"]),
        "rows": [{"score": inside, "probability": v} for v in probability(rows)],
    }


def regions(y, p, found):
    """What is said of a stretch of scores, given where it begins and ends."""
    wanted = []
    for one in found:
        here = (p >= one["from"] - 1e-6) & (p <= one["to"] + 1e-6)
        wanted.append(
            {
                "from": Such(lambda v: 0 <= v <= 1, "a score"),
                "to": Such(lambda v, low=one["from"]: low <= v <= 1, "a score above"),
                "share": here.mean(),
                "predicted": p[here].mean(),
                "observed": y[here].mean(),
            }
        )
    return wanted


def document(one, found, forecasts, best):
    """The report of two classes without groups and weights."""
    y, p, w = one.rows
    rows = [row(y, forecasts[method], w, p) for method in METHODS]
    for method, wanted in zip(METHODS, rows, strict=True):
        wanted["recommended"] = method == best
    gain = rows[METHODS.index(best)]
    p_value = oracles.exact_test(y, p, w)["p_value"]
    table = validation(one)
    curve = {
        t: {m: oracles.benefit(y, forecasts[m], t, LEVEL) for m in METHODS}
        for t in np.arange(1, 100) / 100
    }
    shown = found["shown_method"]
    n_bins = bins_of(len(y))
    drawn = oracles.Resamples(y, p, w, 1000)
    equal = oracles.bins_between(p, oracles.quantile_edges(p, w, 15))
    after = forecasts[shown]
    equal_after = oracles.bins_between(after, oracles.quantile_edges(after, w, 15))
    own = oracles.debiased(y, p, w, equal)
    width = drawn.width(LEVEL, own)
    debiased = {
        "before": {
            "estimate": own,
            "low": Such(lambda v: own - 2 * width <= v <= own, "a lower end"),
            "high": Such(lambda v: own <= v <= own + 2 * width, "an upper end"),
        },
        "after": {
            "estimate": oracles.debiased(y, after, w, equal_after),
            "low": Such(lambda v: v >= 0, "a lower end"),
            "high": Such(lambda v: v >= 0, "an upper end"),
        },
    }
    ranking = {
        side: {end: found_[end] for end in ("estimate", "low", "high")}
        for side, found_ in (
            ("before", oracles.c_interval(y, p, LEVEL)),
            ("after", oracles.c_interval(y, after, LEVEL)),
        )
    }
    return {
        "version": 1,
        "level": LEVEL,
        "data": {
            "rows": len(y),
            "compared_rows": len(y),
            "weighted": False,
            "binary": True,
            "classes": [{"rows": n, "share": n / len(y)} for n in (np.sum(y == 0), np.sum(y == 1))],
        },
        "verdict": {
            "gain": gain["gain"],
            "gain_low": gain["gain_low"],
            "gain_high": gain["gain_high"],
            "level": LEVEL,
        },
        "diagnosis": {
            "p_value": chance(p_value),
            "miscalibrated": p_value < 0.05,
            "mean_predicted": p.mean(),
            "observed": y.mean(),
            "regions": regions(y, p, found["diagnosis"]["regions"]),
        },
        "figures": [*figures_at_top(y, w, forecasts, "identity", shown), debiased, ranking],
        "methods": rows,
        "folds": 5,
        "diagrams": [
            {
                "before": diagram(y, p, w, n_bins),
                "methods": {m: diagram(y, forecasts[m], w, n_bins) for m in METHODS},
            }
        ],
        "groups": dict.fromkeys(
            ("tested", "too_small", "too_many_values", "significant_before", "significant_after"), 0
        ),
        "uncertainty": uncertainty(one, found["uncertainty"], shown),
        "costs": costs(y, forecasts, found["costs"]["ratios"]),
        "validation": {
            "rows": len(y),
            "events": y.sum(),
            "figures": [
                {key: table[one["figure"]][key] for key in ("estimate", "low", "high")}
                for one in found["validation"]["figures"]
            ],
            "cox_p_value": table["cox_test"]["p_value"],
            "hosmer_lemeshow_p_value": table["hosmer_lemeshow"]["p_value"],
            "thresholds": list(curve),
            "prevalence": y.mean(),
            "treat_all": [oracles.benefit_rows(y, np.ones(len(y)), t).mean() for t in curve],
            "methods": {
                m: {
                    key: [curve[t][m][key] for t in curve] for key in ("net_benefit", "low", "high")
                }
                for m in METHODS
            },
        },
    }


@pytest.mark.parametrize(("negative", "positive"), samples.SPELLINGS)
def test_every_number_whatever_the_labels_are_called(negative, positive, figures, command, folder):
    one = samples.spelled(negative, positive)
    y, p, _ = one.rows
    found = report_of(command, folder, one, *WORDS)
    same = compare_calibrators(p, y, calibrators=METHODS, select="one_se")
    forecasts = out_of_fold(y, p, folds_of(p, same.out_of_fold["temperature"]))
    expected = document(one, found, forecasts, same.best_method)
    figures.document(SOURCE, found, expected, LISTED, rel=DIGITS)
    assert found["data"]["positive"] == positive


def numbers(value):
    """Numeric leaves, but for times and versions of programs."""
    skipped = ("seconds", "provenance", "reproduce", "version")
    return {
        path: leaf
        for path, leaf in leaves(value)
        if is_figure(leaf) and not any(word in path for word in skipped)
    }


def test_the_page_shows_the_document_and_python_gives_the_same(figures, command, folder):
    one = samples.spelled("0", "1")
    found = report_of(command, folder, one, *WORDS)
    same = build_report(one.p, one.y.astype(int), calibrators=METHODS)
    figures.compare(f"{SOURCE} = Python", numbers(found), numbers(same.to_json()), rel=1e-9)
    html = same.to_html()
    (inside,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    figures.compare("report, page", numbers(json.loads(inside)), numbers(found), rel=1e-9)
    text = re.sub(r"<script.*?</script>|<style.*?</style>", " ", html, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text).replace("−", "-"))
    y, p, w = one.rows
    ratio, slope = oracles.observed_expected(y, p, LEVEL), oracles.slope(y, p, w)
    for shown in (
        f"lower is better {oracles.log_loss(y, p, w):.3f}",
        f"lower is better {oracles.brier(y, p, w):.3f}",
        f"calibration hardly changes it {oracles.auc(y, p, w):.3f}",
        f"O:E ratio {ratio['estimate']:.2f} [{ratio['low']:.2f},&nbsp;{ratio['high']:.2f}]",
        f"Calibration intercept {oracles.intercept(y, p, w)[0]:.2f}",
        f"Calibration slope {slope[0]:.2f}",
        f"intercept and slope: p = {oracles.cox(y, p, w)[1]:.4f}",
        f"of {len(y)} rows with {int(y.sum())} events",
    ):
        figures.counts["report, page"] += 1
        assert shown in text


def test_scores_of_evaluate_and_report_are_the_same(figures, command, folder):
    """Whatever both show of the same file: tests, estimates, the sentence."""
    for one in (samples.percent(), samples.distinct(600), samples.tiny()):
        first = command("evaluate", one.write(folder), *one.options())
        second = report_of(command, folder, one, "-m", "identity", "-m", "temperature")
        estimates = {k: v["estimate"] for k, v in first["evaluation"]["metrics"].items()}
        top = {one["measure"]: one["before"]["estimate"] for one in second["figures"]}
        names = {"log_loss", "brier_score", "debiased_calibration_error"}
        assert names <= set(top)
        figures.compare(
            "report = evaluate",
            {
                "top": {name: top[name] for name in names},
                "mean": second["diagnosis"]["mean_predicted"],
                "observed": second["diagnosis"]["observed"],
                "p": second["diagnosis"]["p_value"],
            },
            {
                "top": {name: estimates[name] for name in names},
                "mean": first["evaluation"]["mean_score"],
                "observed": first["evaluation"]["prevalence"],
                "p": first["evaluation"]["p_value"],
            },
            rel=DIGITS,
        )
        assert first["finding"] == second["diagnosis"]["finding"]


def test_rows_written_out_equal_a_column_of_counts(figures, command, folder):
    """Every number of the page that no draw and no fold moves."""
    one = samples.counts()
    y, p, _ = one.expanded
    written = samples.Sample("counts-written-out", p, y)
    methods = ["-m", "identity", "-m", "temperature"]
    first, second = (numbers(report_of(command, folder, each, *methods)) for each in (one, written))
    kept = [path for path in second if path.startswith(("diagnosis.", "diagrams.0.before."))]
    kept = [path for path in kept if "band_" not in path and ".smooth." not in path]
    assert len(kept) > 100
    figures.compare(
        f"{SOURCE}: rows = counts",
        {path: first.get(path) for path in kept},
        {path: second[path] for path in kept},
        rel=DIGITS,
    )


def test_smooth_curve_is_near_a_spline_of_all_rows(figures, command, folder):
    """One row's worth of prior evidence moves 2,500 rows by less than 0.01 between the ends."""
    one = samples.distinct(2500)
    found = report_of(command, folder, one, "-m", "identity", "-m", "temperature")
    smooth = found["diagrams"][0]["before"]["smooth"]
    y, p, w = one.rows
    at = np.array(smooth["predicted"])
    z = np.log(p / (1 - p))
    knots = np.quantile(z, oracles.HARRELL[5])
    beta, covariance, _ = oracles.logistic(oracles.spline_basis(z, knots), y, w)
    X = oracles.spline_basis(np.log(at / (1 - at)), knots)
    eta, error = X @ beta, np.sqrt(np.einsum("ij,jk,ik->i", X, covariance, X))
    inner = (at > 0.03) & (at < 0.97)
    for key, shift in (("observed", 0), ("band_low", -1.645), ("band_high", 1.645)):
        expected = samples.sigmoid(eta + shift * error)
        figures.compare(
            SOURCE,
            np.array(smooth[key])[inner],
            [Near(v, 0.01) for v in expected[inner]],
        )


@pytest.mark.parametrize("names", [("ant", "cat", "zebra"), ("zebra", "ant", "cat")])
def test_several_classes(names, figures, command, folder):
    """Also where the columns are not in the order of the labels."""
    rows = samples.classes(names)
    q = np.clip(rows.q, 0.01, None)
    q /= q.sum(1, keepdims=True)
    inner = samples.Classes(q, rows.codes, rows.w, names)
    place = folder / "report" / names[0]
    place.mkdir(parents=True)
    words = ["-m", "identity", "-m", "temperature", "-o", place / "r.html"]
    found = command("report", inner.write(place), *inner.options(), *words)["report"]
    same = compare_calibrators(
        q, rows.labels, calibrators=["identity", "temperature"], classes=rows.names
    )
    both = {"identity": q, "temperature": same.out_of_fold["temperature"]}
    w = np.ones(len(q))
    top, right = q.max(1), 1.0 * (q.argmax(1) == rows.codes)
    each = {m: oracles.class_losses(rows.codes, f) for m, f in both.items()}
    figures.compare(
        f"{SOURCE}, several classes",
        {
            "p": found["diagnosis"]["p_value"],
            "mean": [found["diagnosis"]["mean_predicted"], found["diagnosis"]["observed"]],
            "rows": {one["label"]: [one["rows"], one["share"]] for one in found["data"]["classes"]},
            "log_loss": [one["log_loss"] for one in found["methods"]],
            "brier": [one["brier_score"] for one in found["methods"]],
        },
        {
            "p": oracles.spiegelhalter_classes(rows.codes, q, w)[1],
            "mean": [top.mean(), right.mean()],
            "rows": {
                name: [np.sum(rows.codes == k), np.mean(rows.codes == k)]
                for k, name in enumerate(names)
            },
            "log_loss": [each[m]["log_loss"].mean() for m in both],
            "brier": [each[m]["brier_score"].mean() for m in both],
        },
        rel=DIGITS,
    )
    costs = found["costs"]
    for m, f in both.items():
        sure, hit = f.max(1), f.argmax(1) == rows.codes
        cheap = [np.mean(sure < 1 - 1 / r) for r in costs["ratios"]]
        dear = [np.mean((sure >= 1 - 1 / r) & ~hit) for r in costs["ratios"]]
        shown = costs["methods"][m]
        figures.compare(
            f"{SOURCE}, several classes", [shown["cheap"], shown["dear"]], [cheap, dear], rel=DIGITS
        )
    events = [one["event"] for one in found["diagrams"]]
    for event, one in zip(events, found["diagrams"], strict=True):
        k = list(rows.names).index(event) if event in rows.names else None
        p, y = (top, right) if k is None else (q[:, k], 1.0 * (rows.codes == k))
        before = one["before"]
        edges = oracles.quantile_edges(p, w, bins_of(len(p)))
        table = oracles.bin_table(y, p, w, oracles.bins_between(p, edges))
        figures.compare(
            f"{SOURCE}, several classes",
            [before["predicted"], before["observed"], before["weight"]],
            list(table),
            rel=DIGITS,
        )
