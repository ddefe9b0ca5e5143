import numpy as np
import pytest
from report_samples import over_confident
from sklearn.metrics import log_loss

from support.services import library
from trueodds import compare_calibrators
from trueodds.inputs import read_groups
from trueodds.metrics import validation_report
from trueodds.report import build_report
from trueodds.report._rows import read_report_rows
from trueodds.report._sections import group_table


def table_of(p, y, groups, weight=None):
    rows = read_report_rows(p, y, weight, None, "probability")
    return group_table(read_groups(groups, len(p)), rows, rows, rows.prob, level=0.9)


def test_the_group_that_is_off_comes_first_and_is_proven():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 4000)
    group = rng.choice(["a", "b", "c", "d"], 4000)
    y = rng.random(4000) < np.where(group == "c", p * 0.7, p)
    table = table_of(p, y, {"g": group})
    assert table["worst"][0]["value"] == "c"
    assert table["significant_before"] == 1
    assert table["worst"][0]["before"]["gap"] == pytest.approx(0.15, abs=0.03)


def test_calibrated_groups_raise_an_alarm_in_few_samples():
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(100):
        p = rng.beta(1, 4, 1500)
        groups = {"g": rng.integers(0, 8, 1500), "h": rng.choice(["x", "y"], 1500)}
        alarms += table_of(p, rng.random(1500) < p, groups)["significant_before"] > 0
    assert alarms <= 10


def test_a_group_that_errs_both_ways_is_found_though_its_mean_is_right():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.05, 0.95, 3000)
    y = rng.random(3000) < np.where(p > 0.5, p - 0.15, p + 0.15)
    side = table_of(p, y, {"g": np.zeros(3000, int)})["worst"][0]["before"]
    assert abs(side["gap"]) < 0.03
    assert side["p_adjusted"] < 0.001
    assert side["flagged"]


def test_groups_too_small_to_be_found_are_listed_as_such():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    group = np.array(["big"] * 297 + ["small"] * 3)
    table = table_of(p, rng.random(300) < p, {"g": group})
    assert (table["tested"], table["too_small"]) == (1, 1)
    assert [g["before"]["too_small"] for g in table["worst"]] == [False, True]
    assert table["worst"][1]["before"]["p_adjusted"] is None


def test_rare_values_beyond_a_hundred_are_counted():
    rng = np.random.default_rng(4)
    p = rng.random(6000)
    group = rng.integers(0, 130, 6000).astype(str)
    table = table_of(p, rng.random(6000) < p, {"g": group})
    assert (table["tested"], table["too_many_values"]) == (100, 30)


def test_values_without_weight_are_no_values():
    rng = np.random.default_rng(4)
    p = rng.random(6000)
    group = rng.integers(0, 130, 6000)
    weight = np.where(group < 10, 0.0, 1.0)
    table = table_of(p, rng.random(6000) < p, {"g": group.astype(str)}, weight)
    assert (table["tested"], table["too_many_values"]) == (100, 20)


def test_missing_values_are_a_group_and_numbers_of_many_values_are_bands():
    rng = np.random.default_rng(5)
    age = rng.normal(40, 10, 1000)
    age[:100] = np.nan
    kind = np.array(["x", None] * 500, dtype=object)
    columns = read_groups({"age": age, "kind": kind}, 1000)
    assert len(columns[0].names) == 6
    assert columns[0].names[-1] == "(missing)"
    assert (columns[0].codes == 5).sum() == 100
    assert sorted(columns[1].names) == ["(missing)", "x"]


def test_columns_of_frames_are_understood():
    polars = library("polars")
    pandas = library("pandas")
    columns = read_groups(
        {"a": polars.Series(["x", None]), "b": pandas.Series([1.0, float("nan")])}, 2
    )
    assert [sorted(column.names) for column in columns] == [["(missing)", "x"], ["(missing)", "1"]]


def test_weights_change_what_a_group_is_compared_with():
    p = np.full(400, 0.5)
    y = np.arange(400) % 2 == 0
    weight = np.where(y, 3.0, 1.0)
    side = table_of(p, y, {"g": np.zeros(400, int)}, weight)["worst"][0]["before"]
    assert side["observed"] == pytest.approx(0.75)
    assert side["p_adjusted"] < 0.001


def test_a_calibrated_group_is_rejected_no_more_often_than_said_though_it_has_six_tests():
    rng = np.random.default_rng(6)
    rejected = 0
    for _ in range(300):
        p = rng.uniform(0.3, 0.7, 600)
        table = table_of(p, rng.random(600) < p, {"g": np.zeros(600, int)})
        rejected += table["worst"][0]["before"]["p_value"] < 0.05
    assert rejected <= 300 * 0.05 + 2.6 * np.sqrt(300 * 0.05 * 0.95)


def test_sampled_rows_keep_the_group_they_are_in():
    p, y, _ = over_confident(n=4000)
    groups = {"side": np.where(p > 0.5, "high", "low")}
    report = build_report(p, y, groups=groups, calibrators=["temperature"], max_rows=500)
    after = {g["value"]: g["after"] for g in report.to_json()["groups"]["worst"]}
    assert after["high"]["rows"] + after["low"]["rows"] == 500
    assert after["low"]["predicted"] < 0.5 < after["high"]["predicted"]
    assert after["high"]["gap"] == pytest.approx(0, abs=0.1)


def test_a_group_that_is_the_only_finding_heads_the_page():
    rng = np.random.default_rng(1)
    region = rng.choice(["north", "east", "west"], 4000, p=[0.6, 0.05, 0.35])
    p = rng.beta(2, 2, 4000)
    y = rng.random(4000) < np.where(region == "east", 0.7 * p, p)
    report = build_report(p, y, groups={"region": region}, calibrators=["identity", "logistic"])
    assert report.verdict.startswith("Not calibrated in 1 of 3 groups. In region = east")
    page = report.to_html()
    assert '<section id="verdict" class="verdict groups"' in page
    assert "Check the groups" in page
    assert "1 of 3 groups (region) is not calibrated" in page


def test_counts_give_the_report_of_the_rows():
    rng = np.random.default_rng(2)
    p, counts = np.round(rng.random(300), 2), rng.integers(1, 4, 300)
    y, group = rng.random(300) < p**1.3, rng.choice(["a", "b"], 300)
    options = {"calibrators": ["identity", "logistic"]}
    short = build_report(p, y, counts=counts, groups={"g": group}, **options).to_json()
    p, y, group = (np.repeat(column, counts) for column in (p, y, group))
    long = build_report(p, y, groups={"g": group}, **options).to_json()
    assert short["diagnosis"] == long["diagnosis"]
    assert short["data"] | {"fingerprint": None} == long["data"] | {"fingerprint": None}
    # Folds are drawn anew, so methods are compared to the digits that these leave.
    assert short["methods"][0]["log_loss"] == long["methods"][0]["log_loss"]
    assert short["methods"][1]["log_loss"] == pytest.approx(
        long["methods"][1]["log_loss"], rel=0.02
    )
    for one, other in zip(short["groups"]["worst"], long["groups"]["worst"], strict=True):
        assert one["before"] == other["before"]
    curves = (report["diagrams"][0]["before"] for report in (short, long))
    one, other = ({key: curve[key] for key in curve if key != "smooth"} for curve in curves)
    assert one == other


def test_pooled_effects_of_the_groups_are_counted_next_to_one_map():
    rng = np.random.default_rng(0)
    n = 4000
    group, z = rng.choice(["north", "south", "west"], n), rng.normal(size=n)
    shift = np.select([group == "north", group == "west"], [1.0, -1.0], 0.0)
    y = rng.random(n) < 1 / (1 + np.exp(-z - shift))
    p = 1 / (1 + np.exp(-z))
    report = build_report(p, y, groups={"region": group}, calibrators=["identity", "logistic"])
    table = report.to_json()["groups"]
    assert table["significant_before"] == table["significant_after"] == 2
    assert table["significant_pooled"] == 0
    page = report.to_html()
    assert "effects of these groups (method group), no miscalibration is found" in page
    assert page.count('data-label="Gap after pooling"') == len(table["worst"])
    # The same rows, folds and seed by hand.
    found = compare_calibrators(p, y, calibrators=["group"], features=group[:, None])
    q = found.out_of_fold["group"]
    for entry in table["worst"]:
        own = group == entry["value"]
        assert entry["pooled"]["gap"] == pytest.approx(q[own].mean() - y[own].mean(), abs=1e-8)
    losses = {"identity": log_loss(y, p), "group": log_loss(y, q)}
    gain = 1 - losses["group"] / losses["identity"]
    assert table["pooled_gain"]["gain"] == pytest.approx(gain, rel=1e-5)
    assert "pooled effects of region (method group) reduce log-loss by" in report.verdict
    # What is recommended is listed, drawn and weighed in every section that has methods.
    content = report.to_json()
    assert content["verdict"]["method"] == content["shown_method"] == "group"
    assert [row["method"] for row in content["methods"] if row["recommended"]] == ["group"]
    own = content["methods"][-1]
    assert own["log_loss"] == pytest.approx(losses["group"], rel=1e-5)
    assert own["gain"] == pytest.approx(gain, rel=1e-5)
    curve = content["diagrams"][0]["methods"]["group"]
    means = np.average(curve["predicted"], weights=curve["weight"])
    assert means == pytest.approx(q.mean(), rel=1e-4)
    assert "group" in content["costs"]["methods"]
    assert "group" in content["validation"]["methods"]
    assert content["figures"][0]["after"]["estimate"] == pytest.approx(own["log_loss"], rel=1e-12)
    assert content["explanation"].startswith("Pooled effects of region (method group) reduce")
    assert "Calibrate with groups" in page
    days = np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[D]")[(group == "north") * 1]
    other = build_report(p, y, groups={"day": days}, calibrators=["identity", "logistic"])
    assert other.to_json()["groups"]["significant_before"] > 0


def test_each_listed_group_has_the_validation_figures_of_python():
    rng = np.random.default_rng(0)
    z = rng.normal(size=900)
    p = 1 / (1 + np.exp(-z))
    site = rng.choice(["a", "(missing)", "few"], 900, p=[0.6, 0.39, 0.01])
    y = rng.random(900) < 1 / (1 + np.exp(-z - 0.5 * (site == "a")))
    age = np.where(np.arange(900) % 20, rng.normal(50, 10, 900), np.nan)
    groups = {"site": site, "age": age}
    report = build_report(p, y, groups=groups, calibrators=["identity", "logistic"])
    found = {(e["column"], e["value"]): e for e in report.to_json()["groups"]["worst"]}
    expected = validation_report(y, p, groups=groups)
    assert len(found) == len(expected.groups) == 9
    for group in expected.groups:
        entry = found[group.column, group.value]["validation"]
        for name in ("observed_expected", "intercept", "slope", "ici", "c_statistic"):
            figure = getattr(group, name)
            for key in ("estimate", "low", "high"):
                value = getattr(figure, key)
                wanted = pytest.approx(value, rel=1e-5) if np.isfinite(value) else None
                assert entry[name][key] == wanted
    assert "Validation figures of each group" in report.to_html()
    plain = build_report(p, y, calibrators=["identity", "logistic"])
    assert "Validation figures of each group" not in plain.to_html()
