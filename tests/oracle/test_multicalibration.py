"""Multicalibration error and worst-group error: against brute force over segments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta

from oracle import oracles
from trueodds.exceptions import InputError
from trueodds.metrics import group_test, multicalibration_error, worst_group_error


def hostile_rows(seed, n=300, ties=True):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.05, 0.3, 0.31, 0.5, 0.8, 0.97, 1.0], n) if ties else rng.random(n)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 10, n).round())
    town = rng.choice(np.array(["a", "b", "c", "d", "it's", None], dtype=object), n)
    flag = rng.choice(["yes", "no"], n)
    y = (rng.random(n) < np.clip(p * np.where(town == "b", 0.6, 1.0), 0, 1)).astype(int)
    return y, p, {"age": age, "town": town, "flag": flag}


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_largest_of_all_segments(seed):
    y, p, columns = hostile_rows(seed, ties=seed % 2 == 0)
    found = multicalibration_error(y, p, columns, n_resamples=5)
    largest, scale, every = oracles.multicalibration(y, p, columns)
    assert found.deviations == pytest.approx(largest, rel=1e-9)
    assert found.error == pytest.approx(largest * scale, rel=1e-9)
    assert found.n_segments == len(every)
    assert found.worst.deviations == found.deviations


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_importance_and_counts_are_rows(seed):
    y, p, columns = hostile_rows(seed)
    rng = np.random.default_rng(100 + seed)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(y))
    found = multicalibration_error(y, p, columns, sample_weight=weight, n_resamples=5)
    kept = weight > 0
    of_kept = {name: values[kept] for name, values in columns.items()}
    expected, scale, _ = oracles.multicalibration(y[kept], p[kept], of_kept, weight[kept])
    assert found.deviations == pytest.approx(expected, rel=1e-9)
    assert found.error == pytest.approx(expected * scale, rel=1e-9)
    counts = rng.integers(0, 4, len(y))
    repeated = {name: np.repeat(values, counts) for name, values in columns.items()}
    assert multicalibration_error(y, p, columns, counts=counts) == multicalibration_error(
        np.repeat(y, counts), np.repeat(p, counts), repeated
    )


def test_the_order_of_rows_does_not_matter():
    y, p, columns = hostile_rows(3)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = {name: values[order] for name, values in columns.items()}
    a, b = (
        multicalibration_error(*rows) for rows in ((y, p, columns), (y[order], p[order], shuffled))
    )
    assert a.deviations == pytest.approx(b.deviations, rel=1e-12)
    assert a.worst.values == b.worst.values
    assert a.p_value == b.p_value


def test_the_worst_segment_is_described():
    y, p, columns = hostile_rows(1, n=2000, ties=False)
    found = multicalibration_error(y, p, columns)
    assert found.worst.values == {"town": "b"}
    own = columns["town"] == "b"
    assert found.worst.rows == own.sum()
    assert found.worst.predicted == pytest.approx(p[own].mean())
    assert found.worst.observed == pytest.approx(y[own].mean())
    low, high = found.worst.between
    within = own & (p >= low) & (p <= high)
    assert found.worst.error == pytest.approx(abs((y - p)[within].sum()) / own.sum(), rel=1e-9)
    assert str(found).startswith("Multicalibration error ")
    assert found.worst.too_high == ((p - y)[within].sum() > 0)
    assert f"town = b, {own.sum():,} rows, where probabilities from" in str(found)
    assert str(found).endswith(f"are too {'high' if found.worst.too_high else 'low'}.")


def test_text_labels_in_both_orders_and_frames():
    y, p, columns = hostile_rows(2)
    plain = multicalibration_error(y, p, columns)
    words = np.array(["no", "yes"])[y]
    assert multicalibration_error(words, p, columns) == plain
    swapped = multicalibration_error(words, p, columns, classes=["yes", "no"])
    assert swapped == multicalibration_error(1 - y, p, columns)
    assert multicalibration_error(y, p, pd.DataFrame(columns)) == plain
    frame = pl.DataFrame({name: list(values) for name, values in columns.items()})
    assert multicalibration_error(y, p, frame).deviations == pytest.approx(plain.deviations)
    p3 = np.column_stack([p / 2, p / 2, 1 - p])
    right = p3.argmax(axis=1) == y
    several = multicalibration_error(y, p3, columns, classes=[0, 1, 2])
    assert several == multicalibration_error(right, p3.max(axis=1), columns)


def test_what_had_probability_0_and_happened_is_proof():
    y, p, columns = hostile_rows(0)
    assert not ((p == 0) & (y == 1)).any()
    y[np.flatnonzero(p == 0)[0]] = 1
    assert multicalibration_error(y, p, columns, n_resamples=5).p_value == 0
    found = multicalibration_error([1] * 12, [0.0] * 12, ["a"] * 12)
    assert found.deviations == np.inf
    assert found.to_dict()["deviations"] is None
    sure = multicalibration_error([1, 0] * 6, [1.0, 0.0] * 6, ["a"] * 12)
    assert (sure.deviations, sure.p_value) == (0, 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_p_value_has_its_size(weighted):
    """P-values of calibrated rows are uniform, whatever the number of segments."""
    rng = np.random.default_rng(8)
    samples, found = 200, []
    for seed in range(samples):
        p = rng.beta(1, 3, 150).round(1 + weighted)
        columns = {name: rng.choice(list("abc"), 150) for name in ("x", "y", "z")}
        y = rng.random(150) < p
        weight = rng.exponential(size=150) if weighted else None
        found.append(
            multicalibration_error(
                y,
                p,
                columns,
                sample_weight=weight,
                classes=[False, True],
                n_resamples=39,
                random_state=seed,
            ).p_value
        )
    for level in (0.1, 0.25, 0.5):
        share = np.mean(np.array(found) <= level)
        assert abs(share - level) <= 3 * np.sqrt(level * (1 - level) / samples), level


def test_worst_group_has_intervals_for_all_groups_together():
    y, p, columns = hostile_rows(5, n=700)
    found = worst_group_error(y, p, {"town": columns["town"]}, min_rows=115, level=0.8)
    town = np.array(["(missing)" if v is None else v for v in columns["town"]])
    expected = oracles.group_gaps(y, p, town, 0.8, n_joint=6)
    large = [one for one in expected.values() if one["rows"] >= 115]
    assert found.left_out == 6 - len(large) > 0
    assert [group.value for group in found.groups] == [
        group.value for group in group_test(y, p, {"town": columns["town"]}, level=0.8)
    ]
    for group in found.groups:
        own = expected[group.value]
        for name in ("gap", "gap_low", "gap_high", "gap_at_least"):
            assert getattr(group, name) == pytest.approx(own[name])
        for name in ("ratio", "ratio_low", "ratio_high"):
            assert getattr(group.whole, name) == pytest.approx(own[name])
    assert found.error == pytest.approx(max(abs(one["gap"]) for one in large))
    assert found.worst == found.groups[0]
    assert abs(found.largest.gap) == found.error
    assert found.low == pytest.approx(max(one["gap_at_least"] for one in large))
    ends = [max(-one["gap_low"], one["gap_high"]) for one in large]
    assert found.high == pytest.approx(max(ends))
    assert found.low <= found.error <= found.high


def test_worst_group_takes_counts_and_weights():
    y, p, columns = hostile_rows(7)
    counts = np.random.default_rng(1).integers(0, 5, len(y))
    repeated = {name: np.repeat(values, counts) for name, values in columns.items()}
    assert worst_group_error(y, p, columns, counts=counts) == worst_group_error(
        np.repeat(y, counts), np.repeat(p, counts), repeated
    )
    weight = np.random.default_rng(1).exponential(size=len(y))
    found = worst_group_error(y, p, columns["flag"], sample_weight=weight)
    for group in found.groups:
        own = columns["flag"] == group.value
        assert group.predicted == pytest.approx(np.average(p[own], weights=weight[own]))
        n = weight[own].sum() ** 2 / np.sum(weight[own] ** 2)
        k = n * np.average(y[own], weights=weight[own])
        assert group.whole.high == pytest.approx(beta.ppf(1 - 0.025, k + 1, n - k))


def test_groups_that_are_all_small_are_measured():
    found = worst_group_error([0, 1, 1], [0.1, 0.9, 0.5], ["a", "b", "b"])
    assert sorted(group.rows for group in found.groups) == [1, 2]
    assert found.left_out == 0


@pytest.mark.slow
def test_the_worst_gap_is_in_its_interval():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(8), [30, 30, 40, 50, 80, 100, 200, 400]).astype(str)
    shift = rng.normal(0, 0.1, 8)
    p = rng.beta(2, 2, len(groups))
    true = np.clip(p + shift[groups.astype(int)], 0, 1)
    gaps = np.array([np.mean((p - true)[groups == g]) for g in np.unique(groups)])
    held = worst = 0
    for _ in range(400):
        found = worst_group_error(rng.random(len(p)) < true, p, groups)
        ends = {g.value: (g.gap_low, g.gap_high) for g in found.groups}
        held += all(ends[str(i)][0] <= gap <= ends[str(i)][1] for i, gap in enumerate(gaps))
        worst += found.low <= np.abs(gaps).max() <= found.high
    assert held >= 0.9 * 400
    assert worst >= held


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: multicalibration_error([0, 1], [0.1, 0.9], {}), "at least one column; got none"),
        (
            lambda: multicalibration_error([0, 1], [0.1, 0.9], {"a": [1]}),
            r"groups\['a'\] must have shape \(2,\); got \(1,\)",
        ),
        (lambda: multicalibration_error([0, 1], [0.1, np.nan], ["a", "b"]), "NaN"),
        (
            lambda: multicalibration_error([0, 1], [0.1, 0.9], ["a", "b"], max_values=0),
            "max_values",
        ),
        (lambda: worst_group_error([0, 1], [0.1, 0.9], ["a", "b", "c"]), "must have shape"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
