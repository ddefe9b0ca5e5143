"""Bets row by row, against the sum over all starts."""

import numpy as np
import pytest

from support.naive_monitor import evidence, stream
from trueodds import CalibrationMonitor
from trueodds.kernels.monitor import update_bets
from trueodds.monitoring._bets import EDGES, SLOPES, TILTS, Bets


@pytest.mark.parametrize("tolerance", [0.0, 0.03])
def test_evidence_is_the_sum_over_all_starts_and_bets(tolerance):
    p, y = stream(60, seed=3, shift=1.0)
    monitor = CalibrationMonitor(tolerance=tolerance).update(p, y)
    assert monitor.e_value == pytest.approx(evidence(p, y, tolerance), rel=1e-10)


def test_groups_and_classes_have_their_own_sums():
    bets = Bets.new(3, 2)
    bets.history.open(0, None)
    table = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    update_bets(
        np.array([0.5, 0.6]),
        np.array([1, 0]),
        *bets.arrays(),
        TILTS,
        SLOPES,
        EDGES,
        0.0,
        20.0,
        group=np.array([1, -1]),
        class_prob=table,
        codes=np.array([2, 1]),
    )
    assert bets.sums[:3, 2].tolist() == [0.0, 1.0, 1.0]
    assert bets.sums[:3, 1] == pytest.approx(table.sum(axis=0))
    assert bets.sums[3:].tolist() == [[0.0, 0.0, 0.0], [1.0, 0.5, 1.0]]
    assert bets.history.cells[0][:, 0].sum() == 2
    assert bets.rows == 2
