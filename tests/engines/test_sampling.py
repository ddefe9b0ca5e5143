"""Samples of rows: even, without repetition, the same every time, in the order of the rows."""

import numpy as np
import pyarrow as pa
import pytest

from trueodds.engines.sample import sample_positions, take_positions


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
