"""The verdict by hand: where probabilities are off, and what is advised."""

import numpy as np
import pytest

from trueodds.report._rows import ReportRows
from trueodds.report._sections import evaluated
from trueodds.report._verdict import diagnose, verdict


def row(method, gain=0.0, low=0.0, high=0.0, of="log_loss"):
    return {
        "method": method,
        "gain": gain,
        "gain_low": low,
        "gain_high": high,
        "gain_of": of,
    }


def said(best, *others, off=True, group=None, **options):
    diagnosis = {"finding": "It is off.", "miscalibrated": off, "worst_group": group}
    return verdict(diagnosis, [row("identity"), *others], best, level=0.9, **options)


def test_a_gain_is_promised_with_its_interval():
    found = said("beta", row("beta", 0.1234, 0.05, 0.2))
    assert found["sentence"] == (
        "It is off. Recommendation: calibrate; beta calibration reduces log-loss by 12% "
        "(90% CI 5.0–20%)."
    )
    assert (found["status"], found["method"], found["level"]) == ("calibrate", "beta", 0.9)
    assert (found["gain"], found["gain_low"], found["gain_high"]) == (0.1234, 0.05, 0.2)
    plain = said("beta", row("beta", 0.1234, None, None))
    assert plain["recommendation"] == "calibrate; beta calibration reduces log-loss by 12%"
    assert said("beta", row("beta", 0.1, 0.05, None))["recommendation"].endswith("by 10%")


@pytest.mark.parametrize(
    ("low", "status"), [(-0.01, "unclear"), (0.0, "unclear"), (0.01, "calibrate")]
)
def test_a_gain_that_may_be_nothing_is_no_advice(low, status):
    found = said("beta", row("beta", 0.1, low, 0.2))
    assert found["status"] == status
    assert found["recommendation"].endswith("which may be chance") == (status == "unclear")
    assert found["method"] == ("beta" if status == "calibrate" else "identity")
    assert ("−1" in found["recommendation"]) == (low < 0)


@pytest.mark.parametrize("gain", [0.0, 0.0004, -0.01])
def test_a_gain_of_nothing_is_never_shown_as_advice(gain):
    found = said("beta", row("beta", gain, gain - 1e-5, gain + 1e-5))
    assert found["status"] == "unclear"
    assert (
        found["recommendation"]
        == "leave the scores unchanged; beta calibration does not reduce log-loss"
    )
    assert "0.0%" not in found["sentence"]


def test_an_infinite_loss_is_compared_by_the_brier_score():
    found = said("beta", row("beta", 0.25, 0.2, 0.3, of="brier_score"))
    assert found["status"] == "calibrate"
    assert found["recommendation"] == (
        "calibrate; beta calibration reduces the Brier score by 25% (90% CI 20–30%); "
        "log-loss is infinite because an event with predicted probability 0 occurred"
    )


@pytest.mark.parametrize("best", ["identity", "beta"])
def test_what_is_right_is_left_alone_whatever_the_comparison_chose(best):
    found = said(best, row("beta", 0.1, 0.05, 0.2), off=False)
    assert (found["status"], found["method"]) == ("fine", "identity")
    assert found["recommendation"] == "leave the scores unchanged"


def pooled(gain=0.066, low=0.054, high=0.078, before=3, left=0):
    row = {"gain": gain, "gain_low": low, "gain_high": high, "gain_of": "log_loss"}
    return {
        "columns": ["region", "age"],
        "significant_after": before,
        "significant_pooled": left,
        "pooled_gain": row,
    }


def test_a_group_that_is_the_only_finding_is_what_is_advised_on():
    found = said("beta", row("beta", 0.1, 0.05, 0.2), off=False, group="Region = Ost")
    assert found["status"] == "groups"
    assert found["recommendation"] == (
        "calibrate with the groups as features (method group); one map for all rows cannot "
        "correct Region = Ost"
    )
    found = said("beta", row("beta", 0.0), off=False, group="Region = Ost", groups=pooled())
    assert found["status"] == "groups"
    assert found["recommendation"] == (
        "calibrate; pooled effects of region and age (method group) reduce log-loss by 6.6% "
        "(90% CI 5.4–7.8%), which one map for all rows cannot do"
    )


def test_pooled_effects_are_named_next_to_one_map_and_instead_of_one_that_does_not_help():
    found = said("beta", row("beta", 0.1, 0.05, 0.2), groups=pooled())
    assert found["status"] == "calibrate"
    assert found["recommendation"].startswith("calibrate; beta calibration reduces")
    assert "; pooled effects of region and age (method group) reduce" in found["recommendation"]
    found = said("beta", row("beta", 0.1, -0.05, 0.2), groups=pooled())
    assert (found["status"], found["method"]) == ("groups", "group")
    assert found["recommendation"].startswith("calibrate; pooled effects")


@pytest.mark.parametrize(
    "table", [pooled(low=-0.01), pooled(left=3), pooled(gain=None), pooled(gain=0.0001, low=0.0)]
)
def test_pooled_effects_that_may_not_help_are_not_advised(table):
    found = said("beta", row("beta", 0.1, 0.05, 0.2), groups=table)
    assert "pooled" not in found["recommendation"]


def test_what_is_off_and_not_helped_is_left_alone_with_the_reason():
    assert "no method could be compared" in said("beta", row("beta", None))["recommendation"]
    assert "no method could be compared" in said("identity")["recommendation"]
    little = said("logistic", row("logistic", 0.002, -0.02, 0.03))
    assert little["recommendation"] == (
        "leave the scores unchanged; logistic calibration reduces log-loss by 0.2% "
        "(90% CI −2.0% to 3.0%), which may be chance"
    )
    assert little["status"] == "unclear"


def test_the_default_is_called_so_and_a_formula_is_named_only_with_it():
    found = said("bayesian_smooth", row("bayesian_smooth", 0.82, 0.78, 0.85), default=True)
    assert found["sentence"] == (
        "It is off. Recommendation: calibrate; the default reduces log-loss by 82% (90% CI 78–85%)."
    )
    options = {"default": True, "formula": "beta"}
    found = said("bayesian_smooth", row("bayesian_smooth", 0.82, 0.78, 0.85), **options)
    assert found["recommendation"].endswith(
        "(90% CI 78–85%); beta calibration is a formula that does as well here"
    )
    assert (found["method"], found["formula"]) == ("bayesian_smooth", "beta")
    options["formula_verdict"] = "is slightly better here; the default is safer"
    found = said("bayesian_smooth", row("bayesian_smooth", 0.82, 0.78, 0.85), **options)
    assert found["recommendation"].endswith(
        "beta calibration is a formula that is slightly better here; the default is safer"
    )
    calm = said("bayesian_smooth", row("bayesian_smooth", 0.1, 0.05, 0.2), off=False, **options)
    assert (calm["formula"], calm["recommendation"]) == (None, "leave the scores unchanged")


NO_GROUPS = {"significant_before": 0, "worst": [], "tested": 0}


@pytest.mark.parametrize("off", [True, False])
def test_regions_are_named_only_where_something_is_off(off):
    prob = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 200)
    happened = np.tile(np.arange(200) / 200, 5) < (prob**2 if off else prob)
    rows = ReportRows(prob, prob, happened.astype(np.intp), None, np.array([0, 1]), np.arange(1000))
    found = diagnose(rows, NO_GROUPS, evaluated(rows, rows.prob, level=0.9, seed=0))
    assert found["miscalibrated"] == off
    assert [part["direction"] for part in found["regions"]] == (["too high"] if off else [])
    assert found["mean_predicted"] == pytest.approx(0.5)
    assert found["observed"] == pytest.approx(happened.mean())
