"""The command line measures rows that belong together as Python does."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri

from trueodds.metrics import (
    brier_score,
    calibration_test,
    confidence_interval,
    group_test,
    log_loss,
)


def test_the_command_line_counts_clusters_as_python_does(run, tmp_path):
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(150), 6)
    p = expit(rng.normal(-1, 1, 150)[cluster] + 0.7 * rng.normal(size=900)).round(4)
    luck = np.sqrt(0.5) * (rng.normal(size=150)[cluster] + rng.normal(size=900))
    y = (luck < ndtri(p)).astype(int)
    label = np.tile(list("abcdef"), 150)
    path = tmp_path / "labels.csv"
    pd.DataFrame({"post": cluster, "label": label, "p": p, "y": y}).to_csv(path, index=False)
    words = ["-s", "p", "-l", "y", "--cluster", "post"]
    found = json.loads(run("evaluate", path, *words, "-g", "label", "--json").out)
    evaluation = found["evaluation"]
    exact = calibration_test(y, p, method="exact", clusters=cluster)
    assert evaluation["p_value"] == pytest.approx(exact.p_value)
    assert evaluation["test"]["p_value"] == pytest.approx(
        calibration_test(y, p, clusters=cluster).p_value
    )
    for name, metric in (("log_loss", log_loss), ("brier_score", brier_score)):
        interval = confidence_interval(
            metric, y, p, clusters=cluster, n_resamples=200, random_state=0
        )
        assert evaluation["metrics"][name]["low"] == pytest.approx(interval.low)
        plain = confidence_interval(metric, y, p, n_resamples=200, random_state=0)
        assert plain.high - plain.low < interval.high - interval.low
    in_python = group_test(y, p, {"label": label}, clusters=cluster)
    for one, other in zip(found["groups"]["groups"], in_python, strict=True):
        assert (one["value"], one["rows"]) == (other.value, other.rows)
        assert one["p_value"] == pytest.approx(other.p_value)
        assert one["whole"]["ratio_high"] == pytest.approx(other.whole.ratio_high)
    assert found["notes"] == ["Intervals and tests take the 150 values of post as independent."]


def test_clusters_that_are_missing_or_have_no_version_are_refused(run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("post,p,y\na,0.2,0\n,0.6,1\nb,0.7,1\nb,0.4,0\n")
    words = ["evaluate", path, "-s", "p", "-l", "y", "--cluster", "post"]
    assert "'post' of --cluster has 1 missing values" in run(*words).err
    refused = run(*words, "--threshold", "0.2")
    assert refused.code == 2
    assert "net benefit has no interval for clusters" in refused.err


def test_copies_of_a_row_are_validated_as_one(run, tmp_path):
    """Ten copies of each row, as clusters, have the intervals of the rows alone."""
    rng = np.random.default_rng(3)
    p = expit(rng.normal(-0.5, 1.5, 300))
    y = (rng.random(300) < p**1.2).astype(int)
    frame = pd.DataFrame({"patient": np.arange(300), "p": p, "y": y, "s": np.arange(300) % 2})
    frame.to_csv(tmp_path / "once.csv", index=False)
    frame.loc[np.repeat(np.arange(300), 10)].to_csv(tmp_path / "copies.csv", index=False)
    words = ["-s", "p", "-l", "y", "--validation", "-g", "s", "--json"]
    alone = run("evaluate", tmp_path / "once.csv", *words).json["validation"]
    together = run("evaluate", tmp_path / "copies.csv", *words, "--cluster", "patient").json
    for name in ("observed_expected", "brier_score", "scaled_brier", "c_statistic", "slope"):
        one, other = alone[name], together["validation"][name]
        assert other["estimate"] == pytest.approx(one["estimate"])
        width = (other["high"] - other["low"]) / (one["high"] - one["low"])
        assert 0.85 < width < 1.2, name  # as rows, they would be 0.32 as wide
    for one, other in zip(alone["groups"], together["validation"]["groups"], strict=True):
        ratio = one["observed_expected"], other["observed_expected"]
        assert ratio[0]["low"] == pytest.approx(ratio[1]["low"], rel=0.02)
