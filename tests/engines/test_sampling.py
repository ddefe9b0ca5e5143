"""Samples of rows: even, without repetition, the same every time, in the order of the rows."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from trueodds.engines.checks import WeightColumns
from trueodds.engines.sample import sample_class_rows, sample_positions, take_positions


def test_samples_are_even_and_without_repetition():
    rows = sample_positions(3_000_000, 30_000, seed=0)
    assert len(np.unique(rows)) == 30_000
    assert (np.diff(rows) > 0).all()
    shares = np.histogram(rows, bins=10, range=(0, 3_000_000))[0]
    assert abs(shares - 3000).max() < 5 * np.sqrt(3000)
    np.testing.assert_array_equal(rows, sample_positions(3_000_000, 30_000, seed=0))
    np.testing.assert_array_equal(sample_positions(10, 10, seed=5), np.arange(10))


def test_batches_give_the_rows_at_the_positions():
    table = pa.table({"x": np.arange(1000)})
    positions = np.union1d(sample_positions(1000, 57, seed=3), [0, 89, 90, 179, 180, 999])
    batches = list(take_positions(table.to_batches(max_chunksize=90), positions))
    np.testing.assert_array_equal(pa.Table.from_batches(batches)["x"].to_numpy(), positions)


@pytest.mark.parametrize("n_rows", [10**9, 4 * 10**12, 10**15])
def test_positions_among_billions_of_rows_differ_and_are_spread_evenly(n_rows):
    drawn = sample_positions(n_rows, 10_000, seed=0)
    assert (np.diff(drawn) > 0).all()
    assert len(drawn) == 10_000
    quarters = np.bincount(drawn // (n_rows // 4), minlength=4)
    assert np.abs(quarters - 2500).max() < 200


def test_a_sample_with_a_rare_class_weighs_what_the_frame_weighs():
    rng = np.random.default_rng(0)
    n = 40_000
    label = np.where(rng.random(n) < 0.001, "rare", np.where(rng.random(n) < 0.6, "a", "b"))
    weight = rng.choice([1.0, 3.0], n)
    p = rng.dirichlet(np.ones(3), n)
    columns = {f"p{k}": p[:, k] for k in range(3)}
    frame = duckdb.from_arrow(pa.table({**columns, "label": label, "w": weight}))
    for given in (None, "w"):
        found = sample_class_rows(
            frame, ["p0", "p1", "p2"], "label", WeightColumns(given), 4000, "probability"
        )
        assert found.is_sample
        assert abs(len(found.labels) - 4000) < 400
        assert (found.labels == "rare").sum() == (label == "rare").sum()  # taken whole
        drawn = np.asarray(found.weight.values)
        true = weight if given else np.ones(n)
        for name in ("a", "b", "rare"):
            share = drawn[found.labels == name].sum() / drawn.sum()
            expected = true[label == name].sum() / true.sum()
            assert share == pytest.approx(expected, rel=0.06 if name != "rare" else 0.05), (
                given,
                name,
            )
