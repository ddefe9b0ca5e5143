"""The parts of a comparison by hand: cells, folds, losses, the choice."""

import inspect
import warnings

import numpy as np
import pytest

from trueodds import IdentityCalibrator, compare_calibrators
from trueodds.exceptions import TooFewRowsError
from trueodds.inputs import Weights
from trueodds.model_selection._comparison import choose
from trueodds.model_selection._folds import (
    HeldOut,
    LossTable,
    cell_losses,
    deal_folds,
    whole_rows,
)
from trueodds.numerics.losses import row_losses
from trueodds.numerics.standard_errors import Spread
from trueodds.rows import Rows


def rows_of(scores, codes, sample_weight=None, counts=None):
    weight = Weights.read(sample_weight, counts, len(scores))
    return Rows(np.asarray(scores, dtype=float), np.asarray(codes), weight)


def distinct(*columns, **weights):
    return rows_of(*columns, **weights).distinct()


def test_rows_of_one_class_and_score_share_a_cell():
    cells, cell_of_row = distinct([0.3, 0.1, 0.3, 0.3], [1, 0, 1, 0], counts=[2, 3, 1, 0])
    assert cells.scores.tolist() == [0.1, 0.3, 0.3]
    assert cells.codes.tolist() == [0, 0, 1]
    assert cells.row_weight.tolist() == [3, 0, 3]
    assert whole_rows(cells).tolist() == [3, 0, 3]
    assert cell_of_row.tolist() == [2, 0, 2, 1]
    assert cells.total == 6


def test_rows_of_one_class_score_and_importance_share_a_cell():
    scores, codes = [0.3, 0.1, 0.3, 0.3, 0.3], [1, 0, 1, 0, 1]
    cells, cell_of_row = distinct(scores, codes, [2.0, 1.0, 4.0, 0.0, 2.0], [1, 1, 1, 1, 3])
    assert cells.scores.tolist() == [0.1, 0.3, 0.3, 0.3]
    assert cells.codes.tolist() == [0, 0, 1, 1]
    assert cell_of_row.tolist() == [2, 0, 3, 1, 2]
    assert whole_rows(cells).tolist() == [1, 0, 4, 1]
    ratios = cells.row_weight / cells.row_weight[0]
    np.testing.assert_allclose(ratios, [1, 0, 8, 4])
    assert cells.effective == pytest.approx(13**2 / (1 + 4 * 4 + 16))


def test_rows_of_several_classes_are_ordered_by_class_then_by_first_column():
    cells, cell_of_row = distinct([[0.1, 0.9], [0.5, 0.2], [0.1, 0.3], [0.5, 0.2]], [0, 0, 0, 0])
    assert cells.scores.tolist() == [[0.1, 0.3], [0.1, 0.9], [0.5, 0.2]]
    assert cell_of_row.tolist() == [1, 2, 0, 2]


def test_folds_share_out_every_instance_once_and_classes_evenly():
    folds = deal_folds(rows_of(np.arange(20) % 7 / 7, np.arange(20) % 2), 4, seed=3)
    cells, cell_of_row = folds.cells, folds.cell_of_row
    assert folds.n_folds == 4
    assert (folds.counts.sum(axis=1) == whole_rows(cells)).all()
    of_class = [folds.counts[cells.codes == k].sum(axis=0) for k in (0, 1)]
    assert all(np.ptp(counts) <= 1 for counts in of_class)
    assert np.ptp(folds.counts.sum(axis=0)) <= 1  # a class begins where the one before ended
    for fold in range(4):
        both = folds.train_weight(fold).values + folds.test_weight(fold)
        np.testing.assert_allclose(both, cells.row_weight)
        rows = np.bincount(cell_of_row[folds.fold_of_row == fold], minlength=len(both))
        np.testing.assert_array_equal(rows, folds.counts[:, fold])
        table = folds.train_rows(fold).table
        assert table.total == pytest.approx(folds.train_weight(fold).values.sum())
        positive = folds.train_weight(fold).values[cells.codes == 1]
        assert table.total_pos == pytest.approx(positive.sum())


def test_cells_without_weight_are_held_out_once():
    rows = rows_of([0.1, 0.2, 0.3, 0.4, 0.5], [0, 1, 0, 1, 0], counts=[1, 1, 1, 1, 0])
    folds = deal_folds(rows, 2, seed=0)
    idle = int(np.flatnonzero(folds.cells.row_weight == 0)[0])
    assert [idle in folds.test_cells(fold) for fold in (0, 1)] == [True, False]
    assert folds.fold_of_row[4] == 0
    np.testing.assert_array_equal(
        np.sort(np.concatenate([folds.test_cells(0), folds.test_cells(1)])), np.arange(5)
    )


def test_an_important_row_is_dealt_whole_and_a_count_is_shared_out():
    scores, codes = np.arange(8) / 8, np.arange(8) % 2
    many = [100, 100, 1, 1, 1, 1, 1, 1]
    folds = deal_folds(rows_of(scores, codes, many), 4, seed=0)
    assert folds.counts.sum(axis=0).tolist() == [2] * 4
    assert folds.counts.max() == 1
    largest = [folds.test_weight(fold).max() for fold in range(4)]
    assert sorted(np.round(np.array(largest) / min(largest), 9)) in (
        [1, 1, 1, 100],
        [1, 1, 100, 100],
    )
    shared = deal_folds(rows_of(scores, codes, counts=many), 4, seed=0)
    np.testing.assert_allclose(shared.counts[[0, 4]], 25, atol=2)


def test_the_repetitions_of_a_row_are_in_the_folds_of_its_cell():
    rng = np.random.default_rng(3)
    scores, codes = rng.integers(0, 4, 60) / 4, rng.integers(0, 2, 60)
    counts = rng.integers(0, 9, 60)
    folds = deal_folds(rows_of(scores, codes, counts=counts), 5, seed=1)
    dealt = folds.row_counts
    np.testing.assert_array_equal(dealt.sum(axis=1), counts)
    of_cells = np.zeros_like(folds.counts)
    np.add.at(of_cells, folds.cell_of_row, dealt)
    np.testing.assert_array_equal(of_cells, folds.counts)
    assert (dealt[np.arange(60), folds.fold_of_row] > 0)[counts > 0].all()  # that of its middle
    assert deal_folds(rows_of(scores, codes, counts=counts > 0), 5, seed=1).row_counts is None
    assert deal_folds(rows_of(scores, codes, counts + 1.5), 5, seed=1).row_counts is None


def test_very_many_instances_are_dealt_by_draws(monkeypatch):
    monkeypatch.setattr("trueodds.model_selection._folds.MOST_CARDS", 99)
    folds = deal_folds(rows_of([0.2, 0.8], [0, 1], counts=[1_000, 1_000]), 5, seed=0)
    assert (folds.counts.sum(axis=1) == 1_000).all()
    assert (np.abs(folds.counts - 200) < 60).all()


def test_two_classes_must_be_left_whatever_is_held_out():
    with pytest.raises(TooFewRowsError, match="found 3, 1 of each class"):
        deal_folds(rows_of([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 1]), 2, seed=0)
    deal_folds(rows_of([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1]), 2, seed=0)


def test_losses_of_rows_by_hand():
    codes = np.array([0, 1])
    np.testing.assert_allclose(
        row_losses("log_loss", codes, np.array([0.2, 0.2])), -np.log([0.8, 0.2])
    )
    np.testing.assert_allclose(row_losses("brier_score", codes, np.array([0.2, 0.2])), [0.04, 0.64])
    prob = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    np.testing.assert_allclose(row_losses("log_loss", codes, prob), -np.log([0.5, 0.3]))
    np.testing.assert_allclose(
        row_losses("brier_score", codes, prob), [0.25 + 0.09 + 0.04, 0.49 + 0.25 + 0.04]
    )
    assert row_losses("log_loss", np.array([1]), np.array([0.0])).tolist() == [np.inf]


def test_a_cell_has_the_mean_of_its_repeats_and_idle_ones_cost_nothing():
    cells, _ = distinct([0.0, 0.5], [1, 1], counts=[0, 2])
    parts = [
        HeldOut(np.array([0, 1]), np.array([0.0, 2.0]), np.array([0.0, 0.5])),
        HeldOut(np.array([1]), np.array([2.0]), np.array([0.1])),
    ]
    losses, folds = cell_losses("brier_score", cells, parts)
    np.testing.assert_allclose(losses, [0.0, (0.25 + 0.81) / 2])
    np.testing.assert_allclose(folds, [0.25, 0.81])


@pytest.fixture
def table():
    infinite = np.array([np.inf, 1.0, np.inf])
    losses = {"a": [0.1, 0.4, 9.0], "b": [0.4, 0.7, np.inf], "c": infinite, "d": infinite + 1}
    losses["zero"] = [0.0, 0.0, 0.0]
    weight = Weights(np.array([1.0, 2.0, 0.0]))
    return LossTable(weight, {name: np.asarray(loss) for name, loss in losses.items()})


def test_means_and_paired_differences_by_hand(table):
    assert table.mean("a") == pytest.approx(0.9 / 3)
    # Σ w²·(x − mean)² = 1·0.04 + 4·0.01
    # Two rows of weights 1 and 2 are worth 1.8, and n/(n − 1) is 2.25.
    assert table.standard_error("a") == pytest.approx(np.sqrt(0.08 * 2.25) / 3)
    counted = LossTable(Weights(None, np.array([1.0, 2.0, 0.0])), table.losses)
    assert counted.mean("a") == table.mean("a")
    # Σ k·(x − mean)² = 1·0.04 + 2·0.01
    assert counted.standard_error("a") == pytest.approx(np.sqrt(0.06 * 3 / 2) / 3)
    assert table.difference("b", "a") == (pytest.approx(0.3), pytest.approx(0.0))
    assert table.difference("a", "b")[0] == pytest.approx(-0.3)
    assert table.mean("c") == table.standard_error("c") == np.inf
    assert table.difference("c", "a") == (np.inf, np.inf)
    assert table.difference("a", "c") == (-np.inf, np.inf)
    assert table.difference("c", "d") == (0.0, np.inf)
    assert table.difference("c", "c") == (0.0, np.inf)


def test_relative_gains_by_hand(table):
    gain, low, high = table.relative_gain("a", "b", 0.9)
    assert gain == pytest.approx(1 - 0.3 / 0.6)
    residual = (np.array([0.1, 0.4]) - 0.5 * np.array([0.4, 0.7])) / 0.6
    spread = Spread.of(-residual, Weights(np.array([1.0, 2.0])))
    assert spread.error == pytest.approx(np.sqrt((residual**2) @ [1, 4] * 2.25) / 3)
    assert (low, high) == pytest.approx(spread.interval(gain, 0.9))
    assert table.relative_gain("c", "a", 0.9) == (-np.inf, -np.inf, -np.inf)
    assert table.relative_gain("a", "c", 0.9) == (1.0, 1.0, 1.0)
    assert table.relative_gain("c", "d", 0.9) is None
    assert table.relative_gain("c", "c", 0.9) == (0.0, 0.0, 0.0)
    assert table.relative_gain("a", "zero", 0.9) is None
    assert table.relative_gain("zero", "zero", 0.9) == (0.0, 0.0, 0.0)
    assert table.relative_gain("zero", "a", 0.9) == pytest.approx((1.0, 1.0, 1.0), abs=1e-9)


def chosen(select="one_se", certain=(), scoring="log_loss", **losses):
    one = Weights(None, np.ones(4))
    table = LossTable(one, {name: np.asarray(loss, dtype=float) for name, loss in losses.items()})
    brier = LossTable(one, {name: np.zeros(4) for name in losses})
    return choose({"log_loss": table, "brier_score": brier}, scoring, select, certain)


def test_the_simplest_within_one_standard_error_is_taken():
    simple, best = [1.0, 0.0, 1.0, 0.2], [0.5, 0.4, 0.5, 0.5]
    found = chosen(simple=simple, best=best)
    assert found.method == "simple"
    assert "the simplest of 2 methods within one standard error of the lowest" in found.explanation
    assert "(best, 0.47500; difference 0.07500 ± " in found.explanation
    assert found.explanation.endswith("Calibration does not help; use the scores unchanged.")
    assert chosen("best", simple=simple, best=best).method == "best"
    far = chosen(simple=[2.0, 2.0, 2.0, 2.1], best=best)
    assert far.method == "best"
    assert (
        "0.47500, the lowest of 2 methods; that of the uncalibrated scores is 2.02500 (difference "
        "1.55000 ± " in far.explanation
    )


def test_certain_methods_are_out_unless_no_other_is_left():
    sure, other = [0.0] * 4, [0.5] * 4
    found = chosen(certain=["sure"], sure=sure, other=other)
    assert found.method == "other"
    assert "1 methods (not counting 1 with forecasts of 0 or 1)" in found.explanation
    assert chosen(certain=["sure"], sure=sure).method == "sure"
    assert chosen(certain=["sure"], scoring="brier_score", sure=sure, other=other).method == "sure"
    nobody = chosen(sure=[np.inf] * 4, other=[np.inf] * 4)
    assert nobody.explanation.startswith("every method gave probability 0")
    only = chosen(sure=[np.inf] * 4, other=other)
    assert only.explanation.endswith("; that of the uncalibrated scores is infinite.")


class Foreign(IdentityCalibrator):
    def _fit(self, evidence):
        warnings.warn("from elsewhere", RuntimeWarning, stacklevel=2)
        return super()._fit(evidence)


def test_warnings_of_other_libraries_are_passed_on():
    p, y = np.tile([0.2, 0.4, 0.6, 0.8], 10), np.tile([0, 0, 1, 1], 10)
    with pytest.warns(RuntimeWarning, match="from elsewhere"):
        compare_calibrators(p, y, calibrators=[Foreign()], cv=2)


def test_five_folds_and_no_bar_unless_asked_for(capfd):
    parameters = inspect.signature(compare_calibrators).parameters
    assert parameters["cv"].default == 5
    p, y = np.tile([0.2, 0.4, 0.6, 0.8], 10), np.tile([0, 0, 1, 1], 10)
    found = compare_calibrators(p, y, calibrators=["identity"])
    assert found.n_folds == 5
    assert capfd.readouterr() == ("", "")


# loky's own thread may look for a task that was just canceled.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_ends_the_work_without_a_warning_of_joblib(monkeypatch, n_jobs):
    class StopError(Exception):
        pass

    def stop(self):
        raise StopError

    monkeypatch.setattr("trueodds.model_selection._comparison.Progress.step", stop)
    p = np.random.default_rng(0).random(200)
    with pytest.raises(StopError):
        compare_calibrators(p, p > 0.4, n_jobs=n_jobs)


@pytest.mark.parametrize(
    ("lead", "verdict"),
    [
        (-1.0, "does as well here"),
        (1.9, "does as well here"),
        (3.4, "is slightly better here; the default"),
    ],
)
def test_a_formula_several_standard_errors_better_is_not_called_as_good(lead, verdict):
    gaps = np.random.default_rng(0).normal(size=400)
    gaps = (gaps - gaps.mean()) / gaps.std() + lead / 20  # a standard error is 1/20
    table = LossTable(Weights(None, np.ones(400)), {"formula": np.ones(400), "curve": 1 + gaps})
    assert table.is_close("formula", "curve")
    assert table.verdict("formula", "curve").startswith(verdict)
