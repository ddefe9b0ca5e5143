"""What a row is worth in a report."""

import numpy as np
import pytest

from trueodds.report import build_report

OPTIONS = {"calibrators": ["identity", "logistic"]}


def lines():
    rng = np.random.default_rng(0)
    p = np.repeat(np.arange(2, 62, 4) / 100, 2)
    y = np.tile([0, 1], 15)
    return p, y, 1 + rng.poisson(40 * np.where(y, p, 1 - p) ** 1.3)


def content(*rows, **options):
    found = build_report(*rows, **OPTIONS, **options).to_json()
    for key in ("provenance", "reproduce"):
        del found[key]
    for method in found["methods"]:
        del method["seconds"]
    return found


def test_a_factor_of_all_importances_changes_nothing():
    p, y, counts = lines()
    weight = np.random.default_rng(1).lognormal(size=len(p))
    group = {"g": np.where(p > 0.3, "high", "low")}
    once = content(p, y, counts=counts, sample_weight=weight, groups=group)
    assert content(p, y, counts=counts, sample_weight=np.ldexp(weight, -30), groups=group) == once
    assert once["data"]["rows"] == counts.sum()
    assert once["data"]["weighted"]


def test_equal_importances_are_none():
    p, y, counts = lines()
    plain = content(p, y, counts=counts)
    assert content(p, y, counts=counts, sample_weight=np.full(len(p), 0.3)) == plain
    assert not plain["data"]["weighted"]


@pytest.mark.parametrize("times", [100, 10**10])
def test_many_counts_are_sampled_and_not_written_out(times):
    p, y, counts = lines()
    group = {"g": np.where(p > 0.3, "high", "low"), "age": np.arange(len(p))}
    found = content(p, y, counts=counts * times, groups=group, at_most=0.9, max_rows=2000)
    assert found["data"]["rows"] == counts.sum() * times
    assert found["data"]["compared_rows"] == pytest.approx(2000, abs=2)
    assert found["guarantee"]["n_rows"] == counts.sum() * times
    rate = counts @ y / counts.sum()
    assert found["validation"]["prevalence"] == pytest.approx(rate, abs=1e-3)
