"""Groups given as counts: measured, corrected for their number, the worst first."""

import json

import numpy as np
import pytest

from trueodds import ScoreTable
from trueodds.metrics import evaluate_table
from trueodds.report import GroupCounts, evaluate_groups


def counts(value, share, n=1000, seed=0):
    """A group in which events happen ``share`` times as often as the probabilities say."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return GroupCounts("g", value, n, ScoreTable.from_arrays(p, rng.random(n) < share * p))


def test_groups_that_are_off_come_first_and_false_alarms_are_corrected():
    groups = [counts(f"g{k}", 0.5 if k == 7 else 1.0, seed=k) for k in range(10)]
    found = evaluate_groups(iter(groups), n_resamples=20)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    entries = found["groups"]
    assert [entry["value"] for entry in entries if entry["flagged"]] == ["g7"]
    assert entries[0]["value"] == "g7"
    by_p = sorted(entries, key=lambda entry: entry["p_value"])
    for place, entry in enumerate(by_p[:2]):  # Holm: times the hypotheses that are left
        assert entry["p_adjusted"] == pytest.approx(min(1, (10 - place) * entry["p_value"]))


def test_a_group_is_measured_as_its_table_is():
    group = counts("a", 0.8)
    entry = evaluate_groups([group], n_resamples=20)["groups"][0]
    alone = evaluate_table(group.table, n_resamples=20)
    assert entry["p_value"] == entry["p_adjusted"] == alone.p_value
    assert entry["log_loss"] == alone.metrics["log_loss"].estimate
    assert (entry["column"], entry["rows"]) == ("g", 1000)


def test_no_groups():
    assert evaluate_groups([])["groups"] == []
