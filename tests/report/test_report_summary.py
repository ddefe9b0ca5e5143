import json
import re

import numpy as np
import pytest
from report_samples import METHODS, calibrated, expit, method, over_confident, several_classes

from trueodds.basics.wording import interval_percent_text, probability_text, share_percent_text
from trueodds.decisions import guaranteed_threshold, net_benefit, realized_cost
from trueodds.exceptions import InputError
from trueodds.metrics import calibration_slope, evaluate_counts, reliability_curve
from trueodds.model_selection import compare_calibrators
from trueodds.report import Report, build_report
from trueodds.table import ScoreTable

NUMBER = (int, float)
OPTIONAL = (int, float, type(None))
CURVE = {
    "rows": int,
    "predicted": [NUMBER],
    "observed": [NUMBER],
    "weight": [NUMBER],
    "band_low": [NUMBER],
    "band_high": [NUMBER],
    "smooth": {
        "predicted": [NUMBER],
        "observed": [NUMBER],
        "band_low": [NUMBER],
        "band_high": [NUMBER],
    },
    "histogram": {
        "linear": {"events": [NUMBER], "others": [NUMBER]},
        "log_odds": {"events": [NUMBER], "others": [NUMBER]},
        "log_odds_limit": NUMBER,
    },
}
EXCESS = {
    "between": (list, type(None)),
    "predicted": NUMBER,
    "observed": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "level": NUMBER,
    "ratio": OPTIONAL,
    "ratio_low": OPTIONAL,
    "ratio_high": OPTIONAL,
    "odds_at_least": OPTIONAL,
}
SIDE = {
    "event": str,
    "whole": EXCESS,
    "worst": EXCESS,
    "gap_low": NUMBER,
    "gap_high": NUMBER,
    "rows": int,
    "predicted": NUMBER,
    "observed": NUMBER,
    "observed_low": NUMBER,
    "observed_high": NUMBER,
    "gap": NUMBER,
    "gap_at_least": NUMBER,
    "p_value": NUMBER,
    "p_adjusted": OPTIONAL,
    "too_small": bool,
    "flagged": bool,
}
INTERVAL = {"estimate": OPTIONAL, "low": OPTIONAL, "high": OPTIONAL}
MEASURES = ("log_loss", "brier_score", "expected_calibration_error", "gain")
SCHEMA = {
    "format": str,
    "version": int,
    "title": str,
    "level": NUMBER,
    "data": {
        "rows": int,
        "compared_rows": int,
        "weighted": bool,
        "score": str,
        "label": str,
        "scale": str,
        "binary": bool,
        "positive": (str, type(None)),
        "classes": [{"label": str, "rows": int, "share": NUMBER}],
        "fingerprint": str,
    },
    "verdict": {
        "sentence": str,
        "finding": str,
        "recommendation": str,
        "formula": (str, type(None)),
        "pooled": (str, type(None)),
        "status": str,
        "method": str,
        "gain": OPTIONAL,
        "gain_low": OPTIONAL,
        "gain_high": OPTIONAL,
        "level": NUMBER,
    },
    "diagnosis": {
        "p_value": NUMBER,
        "miscalibrated": bool,
        "worst_group": (str, type(None)),
        "test": str,
        "mean_predicted": NUMBER,
        "observed": NUMBER,
        "regions": [
            {
                "direction": str,
                "from": NUMBER,
                "to": NUMBER,
                "share": NUMBER,
                "predicted": NUMBER,
                "observed": NUMBER,
            }
        ],
        "finding": str,
    },
    "figures": [{"measure": str, "title": str, "before": INTERVAL, "after": INTERVAL}],
    "baseline": str,
    "shown_method": str,
    "one_map": str,
    "methods": [
        {
            "method": str,
            "shown": str,
            "seconds": OPTIONAL,
            "recommended": bool,
            "gain_of": str,
            **{m + end: OPTIONAL for m in MEASURES for end in ("", "_low", "_high")},
        }
    ],
    "explanation": str,
    "folds": int,
    "diagrams": [{"kind": str, "event": str, "before": CURVE, "methods": {...: CURVE}}],
    "uncertainty": {
        "score": [NUMBER],
        "probability": [NUMBER],
        "low": [NUMBER],
        "high": [NUMBER],
        "rows": [{"score": NUMBER, "probability": NUMBER, "low": NUMBER, "high": NUMBER}],
    },
    "costs": {
        "kind": str,
        "ratios": [NUMBER],
        "thresholds": [NUMBER],
        "start": int,
        "rows": int,
        "default": [NUMBER],
        "methods": {
            ...: {
                "cheap": [NUMBER],
                "dear": [NUMBER],
                "saving_low": [NUMBER],
                "saving_high": [NUMBER],
            }
        },
    },
    "validation": (dict, type(None)),
    "groups": {
        "columns": [str],
        "tested": int,
        "too_small": int,
        "too_many_values": int,
        "correction": str,
        "significant_before": int,
        "significant_after": int,
        "significant_pooled": (int, type(None)),
        "pooled_gain": (dict, type(None)),
        "worst": [
            {
                "column": str,
                "value": str,
                "band": (list, type(None)),
                "before": SIDE,
                "after": (dict, type(None)),
                "pooled": (dict, type(None)),
                "validation": (dict, type(None)),
            }
        ],
    },
    "guarantee": (dict, type(None)),
    "provenance": {"given": {...: str}, "made_by": {...: str}, "created": str},
    "reproduce": {"command": (str, type(None)), "python": str},
    "notes": [str],
    "warnings": [{"category": str, "message": str, "count": int}],
    "labels": {...: str},
}


def check(value, schema, path="report"):
    """A value has exactly the keys and types of the schema; ``...`` stands for any key."""
    if isinstance(schema, dict):
        assert isinstance(value, dict), path
        if ... not in schema:
            assert set(value) == set(schema), path
        for key, part in value.items():
            check(part, schema.get(key, schema.get(...)), f"{path}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list), path
        for i, part in enumerate(value):
            check(part, schema[0], f"{path}[{i}]")
    else:
        assert isinstance(value, schema), f"{path} is {value!r}"


@pytest.mark.parametrize("name", ["binary_report", "several_report", "hostile_report"])
def test_the_summary_follows_its_schema_and_is_plain_json(name, request):
    content = request.getfixturevalue(name).to_json()
    several = name == "several_report"
    assert (content["uncertainty"] is None) == several
    check(content, SCHEMA | ({"uncertainty": type(None)} if several else {}))
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert (content["format"], content["version"]) == ("trueodds-report", 1)


def test_the_summary_cannot_be_changed_from_outside(binary_report):
    binary_report.to_json()["verdict"]["sentence"] = "all is well"
    assert binary_report.verdict != "all is well"


def test_the_verdict_names_over_confidence_where_it_is_and_what_helps(binary_report):
    content = binary_report.to_json()
    assert re.search(
        r"[Ww]hen it predicts \d+(\.\d)?%, \d+% are positive; when it predicts 9\S+%, 8\d% are",
        content["verdict"]["finding"],
    )
    assert content["verdict"]["status"] == "calibrate"
    row = next(r for r in content["methods"] if r["recommended"])
    ends = interval_percent_text(row["gain_low"], row["gain_high"])
    expected = f"{share_percent_text(row['gain'])} (90% CI {ends})"
    assert row["method"] == content["shown_method"] == "group"
    assert (
        f"Recommendation: calibrate; pooled effects of region (method group) reduce log-loss by "
        f"{expected}; without groups, beta calibration reduces log-loss by "
    ) in binary_report.verdict
    assert content["verdict"]["gain"] == row["gain"]
    assert "In the worst, region = west, when the model predicts 99.4%" in binary_report.verdict


def test_the_gain_in_the_verdict_is_that_of_the_comparison(binary_report):
    p, y, _ = over_confident()
    rows = compare_calibrators(p, y, calibrators=METHODS, select="one_se").rows()
    *listed, group = binary_report.to_json()["methods"]
    assert group["method"] == "group"
    for ours, theirs in zip(listed, rows, strict=True):
        assert ours["method"] == theirs["method"]
        assert ours["gain"] == pytest.approx(theirs["gain"], rel=1e-5)


def test_evaluate_and_report_say_the_same_with_the_same_p():
    p, y, _ = over_confident()
    diagnosis = build_report(p, y, calibrators=["identity"]).to_json()["diagnosis"]
    found = evaluate_counts(ScoreTable.from_arrays(p, y))
    assert diagnosis["p_value"] == pytest.approx(found.p_value, rel=1e-5)
    assert diagnosis["finding"] == found.finding()


def test_calibrated_probabilities_are_left_alone():
    p, y = calibrated()
    content = build_report(p, y, calibrators=METHODS).to_json()
    assert content["verdict"]["method"] == "identity"
    assert content["verdict"]["sentence"].startswith(
        "No miscalibration beyond chance was found (p = "
    )
    assert content["verdict"]["status"] == "fine"
    # There is still something to draw beside it.
    assert content["shown_method"] != "identity"


def test_scores_that_are_too_high_everywhere_are_called_so():
    rng = np.random.default_rng(3)
    truth = rng.normal(-3, 1, 20000)
    y = rng.random(20000) < expit(truth)
    report = build_report(expit(truth + 1.5), y, calibrators=["identity", "logistic"])
    words = "Not calibrated. The model predicts 4,439 positives; "
    assert report.verdict.startswith(f"{words}{y.sum():,} occurred (3 times too many).")


def test_one_odd_bin_in_twenty_is_chance_and_not_a_finding():
    # Twenty bins of 50 rows. The lowest is far off; that at 0.625 has 22 events where 31.25 are
    # expected, which one test alone would call proven (p = 0.012) and twenty tests must not.
    p = np.repeat((np.arange(20) + 0.5) / 20, 50)
    hits = np.round(50 * np.unique(p)).astype(int)
    hits[0], hits[12] = 20, 22
    y = np.concatenate([np.arange(50) < k for k in hits])
    diagnosis = build_report(p, y, calibrators=["identity", "logistic"]).to_json()["diagnosis"]
    assert diagnosis["miscalibrated"]
    assert [(region["from"], region["direction"]) for region in diagnosis["regions"]] == [
        (0, "too low")
    ]
    assert "0.6" not in diagnosis["finding"]


def test_a_gain_that_may_be_nothing_is_not_promised(binary_report):
    from trueodds.report._verdict import verdict

    content = binary_report.to_json()
    table = content["methods"]
    for row in table[1:]:
        row["gain_low"] = -0.01
    best = content["verdict"]["method"]
    found = verdict(content["diagnosis"], table, best, level=0.9)
    assert found["status"] == "unclear"
    assert "leave the scores unchanged; " in found["sentence"]
    assert found["sentence"].endswith(", which may be chance.")
    assert found["method"] == "identity"


def test_miscalibration_that_no_method_repairs_is_said_as_such(binary_report):
    from trueodds.report._verdict import verdict

    content = binary_report.to_json()
    found = verdict(content["diagnosis"], content["methods"], "identity", level=0.9)
    assert found["status"] == "unclear"
    assert "leave the scores unchanged; " in found["sentence"]


def test_an_infinite_log_loss_is_said_and_not_hidden():
    p, y, _ = over_confident(n=1000)
    p[:5], y[:5] = 0.0, True
    report = build_report(p, y, calibrators=METHODS)
    content = report.to_json()
    assert content["methods"][0]["log_loss"] is None
    assert re.search(
        r"reduces the Brier score by \d+% \(90% CI [\d.]+–\d+%\); log-loss is inf",
        report.verdict,
    )
    assert {row["gain_of"] for row in content["methods"]} == {"brier_score"}
    beta = next(row for row in content["methods"] if row["method"] == "beta")
    gain = 1 - beta["brier_score"] / content["methods"][0]["brier_score"]
    assert beta["gain"] == pytest.approx(gain, rel=1e-4)
    assert "Brier score reduction" in report.to_html()
    assert "+100" not in report.to_html()
    assert "∞" in report.to_html()
    json.dumps(content, allow_nan=False)


def test_costs_are_those_of_the_decisions_module(binary_report):
    p, y, _ = over_confident()
    costs = binary_report.to_json()["costs"]
    after = compare_calibrators(p, y, calibrators=METHODS, select="one_se").out_of_fold["beta"]
    for i in (0, 37, 60, 110):
        ratio = costs["ratios"][i]
        for name, prob in (("identity", p), ("beta", after)):
            part = costs["methods"][name]
            expected = realized_cost(y, prob, [[0, 1], [ratio, 0]])
            assert part["cheap"][i] + ratio * part["dear"][i] == pytest.approx(expected, rel=1e-3)


def test_the_saving_lies_within_its_interval_and_that_covers_a_bootstrap(binary_report):
    p, y, _ = over_confident()
    content = binary_report.to_json()
    costs, i = content["costs"], 85
    after = compare_calibrators(p, y, calibrators=METHODS, select="one_se").out_of_fold[
        content["one_map"]
    ]
    ratio, t = costs["ratios"][i], costs["thresholds"][i]
    rows = [np.where(y, ratio * (q < t), q >= t).astype(float) for q in (p, after)]
    rng = np.random.default_rng(0)
    difference = rows[0] - rows[1]
    draws = [difference[rng.integers(0, len(y), len(y))].mean() for _ in range(2000)]
    part = costs["methods"][content["one_map"]]
    assert part["saving_low"][i] < difference.mean() < part["saving_high"][i]
    width = part["saving_high"][i] - part["saving_low"][i]
    assert width == pytest.approx(np.subtract(*np.quantile(draws, [0.95, 0.05])), rel=0.1)


def test_the_smooth_curve_is_a_spline_with_its_confidence_band(binary_report):
    p, y, _ = over_confident()
    smooth = binary_report.to_json()["diagrams"][0]["before"]["smooth"]
    whole = reliability_curve(y, p, strategy="splines", band="confidence", level=0.9)
    seen = np.interp(smooth["predicted"], whole.prob_pred, whole.prob_true)
    assert np.allclose(smooth["observed"], seen, atol=5e-3)
    low, high = np.array(smooth["band_low"]), np.array(smooth["band_high"])
    assert ((low < smooth["observed"]) & (smooth["observed"] < high)).all()


def test_diagrams_count_every_row_and_bands_hold_the_diagonal(binary_report):
    diagram = binary_report.to_json()["diagrams"][0]
    for curve in [diagram["before"], *diagram["methods"].values()]:
        assert sum(curve["weight"]) == 3000
        assert all(
            low <= p <= high
            for low, p, high in zip(
                curve["band_low"], curve["predicted"], curve["band_high"], strict=True
            )
        )
        for axis in ("linear", "log_odds"):
            assert sum(curve["histogram"][axis]["events"]) == pytest.approx(1, abs=1e-3)


def test_several_classes_have_a_diagram_of_confidence_and_one_for_each(several_report):
    content = several_report.to_json()
    kinds = [diagram["kind"] for diagram in content["diagrams"]]
    assert kinds == ["top"] + 4 * ["class"]
    assert content["costs"]["kind"] == "ask"
    assert content["verdict"]["finding"].startswith("Not calibrated. The model is overconfident")
    assert content["verdict"]["method"] == "temperature"


def test_many_rows_are_compared_on_a_sample_that_is_owned_up_to():
    p, y, groups = over_confident(n=6000)
    report = build_report(p, y, groups=groups, calibrators=METHODS, max_rows=1000)
    data = report.to_json()["data"]
    assert (data["rows"], data["compared_rows"]) == (6000, 1000)
    first = report.to_html().partition('class="sentence"')[0]
    assert "validation use all 6,000 rows." in first
    assert "uses a random sample of 1,000 of them" in first
    assert report.to_json()["validation"]["rows"] == 6000
    assert report.to_json()["diagrams"][0]["before"]["rows"] == 6000


def test_the_same_input_gives_the_same_numbers(binary_report):
    p, y, groups = over_confident()
    again = build_report(p, y, groups=groups, calibrators=METHODS).to_json()
    first = binary_report.to_json()
    for key in ("verdict", "diagnosis", "figures", "diagrams", "costs", "groups", "data"):
        assert again[key] == first[key], key


def test_rows_of_weight_zero_are_as_if_absent():
    p, y, groups = over_confident(n=1200)
    weight = np.ones(1200)
    weight[800:] = 0
    dropped = {k: v[:800] for k, v in groups.items()}
    some = build_report(
        p[:800], y[:800], sample_weight=weight[:800], groups=dropped, calibrators=METHODS
    )
    same = build_report(p, y, sample_weight=weight, groups=groups, calibrators=METHODS)
    for key in ("verdict", "diagrams", "groups", "costs", "data"):
        assert some.to_json()[key] == same.to_json()[key], key


def test_log_odds_give_the_report_of_the_probabilities():
    p, y, _ = over_confident(n=1000)
    of_logits = build_report(np.log(p / (1 - p)), y, scale="logit", calibrators=METHODS)
    of_probabilities = build_report(p, y, calibrators=METHODS)
    a, b = of_logits.to_json(), of_probabilities.to_json()
    assert a["verdict"]["sentence"] == b["verdict"]["sentence"]
    assert a["data"]["scale"] == "logit"


def test_warnings_and_failures_of_methods_are_in_the_report_and_nowhere_else():
    class Broken:
        def fit(self, *args, **options):
            raise ValueError("this method is broken")

        def get_params(self, deep=False):
            return {}

    y = np.arange(400) % 2
    p = np.where(y == 1, 0.9, 0.1)  # separated: parametric methods have no optimum
    logistic = method("logistic", label_smoothing=None)
    methods = {"identity": method("identity"), "logistic": logistic, "broken": Broken()}
    report = build_report(p, y, calibrators=methods)
    found = report.to_json()["warnings"]
    assert any("separate" in warning["message"] for warning in found)
    assert any("this method is broken" in warning["message"] for warning in found)
    page = report.to_html()
    assert "this method is broken" in page
    assert 'href="#warnings"' in page
    report = build_report(p[::7], y[::7] ^ (np.arange(58) % 9 == 0), calibrators=["identity"])
    assert report.to_json()["warnings"] == []
    assert "#warnings" not in report.to_html()


def test_a_renamed_identity_is_still_the_baseline():
    p, y, _ = over_confident(n=800)
    methods = {"raw": method("identity"), "mine": method("temperature")}
    report = build_report(p, y, calibrators=methods)
    assert report.to_json()["baseline"] == "raw"
    assert "mine calibration" in report.verdict
    report.to_html()


def test_constant_scores_make_a_report():
    y = np.arange(300) % 3 == 0
    report = build_report(np.full(300, 0.7), y, calibrators=METHODS)
    assert report.to_json()["diagnosis"]["miscalibrated"]
    assert report.to_json()["diagrams"][0]["before"]["smooth"] is None
    report.to_html()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [0.2, 1.4, 0.3]}, r"scores must lie in \[0, 1\]; got 1.4"),
        ({"y": [0, 1]}, "differ in length: 3 and 2"),
        ({"y": [0, 0, 0]}, "a report needs rows of every class"),
        ({"groups": {"g": [1, 2]}}, r"groups\['g'\] must have shape \(3,\); got \(2,\)"),
        ({"max_rows": 3}, "max_rows must be an integer of at least 100; got 3"),
        ({"random_state": None}, "random_state must be an integer"),
        ({"scale": "odds"}, "scale must be one of"),
        ({"sample_weight": [1, 0, 0]}, "class 1 has no row of positive weight"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    given = {"scores": [0.2, 0.4, 0.3], "y": [0, 1, 1], **change}
    scores, y = given.pop("scores"), given.pop("y")
    with pytest.raises(InputError, match=message):
        build_report(scores, y, **given)


def test_a_report_is_saved_whole_or_not_at_all(tmp_path, binary_report, monkeypatch):
    path = binary_report.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == binary_report.to_html()
    monkeypatch.setattr("os.fsync", _fail)
    with pytest.raises(OSError, match="disk full"):
        Report(binary_report.to_json()).save(tmp_path / "other.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def _fail(handle):
    raise OSError("disk full")


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "0"), (1.0, "1"), (0.8, "0.8"), (0.354, "0.35"), (0.0042, "0.004"), (0.9987, "0.999")],
)
def test_probabilities_are_written_in_the_digits_that_count(p, text):
    assert probability_text(p) == text


def test_groups_of_several_classes_ask_whether_the_named_class_was_right(several_report):
    p, _ = several_classes()
    group = several_report.to_json()["groups"]["worst"][0]
    assert group["before"]["predicted"] == pytest.approx(p.max(axis=1).mean(), abs=0.03)


def test_the_map_is_shown_with_intervals_that_hold_it(binary_report):
    shown = binary_report.to_json()["uncertainty"]
    assert all(
        low <= p <= high
        for low, p, high in zip(shown["low"], shown["probability"], shown["high"], strict=True)
    )
    assert shown["score"] == sorted(shown["score"])
    page = binary_report.to_html()
    assert "Uncertainty of a calibrated probability" in page
    assert '<polygon class="band"' in page


def test_validation_is_that_of_the_scores_as_they_are(binary_report, several_report):
    p, y, _ = over_confident()
    section = binary_report.to_json()["validation"]
    found = {row["figure"]: row for row in section["figures"]}
    assert found["slope"]["estimate"] == pytest.approx(calibration_slope(y, p), rel=1e-5)
    assert found["slope"]["high"] < 1
    assert section["rows"] == len(y)
    at = section["thresholds"].index(0.3)
    baseline = binary_report.to_json()["baseline"]
    assert section["methods"][baseline]["net_benefit"][at] == pytest.approx(
        net_benefit(y, p, 0.3), rel=1e-4
    )
    assert section["treat_all"][at] == pytest.approx(y.mean() - (1 - y.mean()) * 3 / 7, rel=1e-4)
    assert several_report.to_json()["validation"] is None
    assert 'id="plot-decisions"' in binary_report.to_html()
    assert 'id="plot-decisions"' not in several_report.to_html()


def test_the_default_is_recommended_and_a_formula_is_named_where_it_does_as_well():
    p, y, _ = over_confident()
    report = build_report(p, y)
    content, found = report.to_json(), compare_calibrators(p, y, random_state=0)
    assert content["verdict"]["method"] == found.recommended == content["shown_method"]
    assert content["verdict"]["formula"] == found.formula_as_good is not None
    assert "Recommendation: calibrate; the default reduces log-loss by" in report.verdict
    assert report.verdict.endswith("is a formula that does as well here.")
    assert [row["method"] for row in content["methods"] if row["recommended"]] == [
        found.recommended
    ]
    assert "formula, as good here" in report.to_html()


def test_a_limit_adds_the_guaranteed_threshold_of_the_scores():
    rng = np.random.default_rng(1)
    p = rng.beta(3, 1, 600)
    y = np.where(rng.random(600) < p, "right", "wrong")
    options = {"classes": ["wrong", "right"], "calibrators": ["identity", "beta"]}
    made = build_report(p, y, at_most=0.2, risk="misses", confidence=0.8, **options)
    found = guaranteed_threshold(
        y == "right", p, at_most=0.2, risk="misses", confidence=0.8, classes=[False, True]
    )
    assert made.to_json()["guarantee"] == {**found.to_dict(), "finding": str(found)}
    assert str(found) in made.to_html()
    assert "at_most=0.2" in made.to_json()["reproduce"]["python"]
    plain = build_report(p, y, **options)
    assert plain.to_json()["guarantee"] is None
    assert "Guaranteed threshold" not in plain.to_html()
    older = {key: value for key, value in plain.to_json().items() if key != "guarantee"}
    assert Report(older).to_html().startswith("<!doctype html>")
    with pytest.raises(InputError, match="pass counts, not sample_weight"):
        build_report(p, y, at_most=0.2, sample_weight=np.arange(1, 601), **options)


@pytest.mark.parametrize(("events", "last"), [(300, 0.99), (100, 0.99), (40, 0.198), (10, 0.0495)])
def test_the_thresholds_of_net_benefit_suit_rare_events(events, last):
    p = np.linspace(0.002, 2 * events / 1000, 1000).clip(0, 0.99)
    y = np.arange(1000) % (1000 // events) == 0
    y = y & (np.cumsum(y) <= events)
    section = build_report(p, y, calibrators=["identity"]).to_json()["validation"]
    assert section["thresholds"] == pytest.approx(np.linspace(last / 99, last, 99))
