"""Every way to fit hands a method the same rows, smoothed in one way."""

import pickle

import numpy as np
import pandas as pd
import pytest

from trueodds import (
    BBQCalibrator,
    CharcoalGrillCalibrator,
    IsotonicCalibrator,
    MatrixCalibrator,
    OneVsRestCalibrator,
    ScoreTable,
    TemperatureCalibrator,
    VectorCalibrator,
    compare_calibrators,
)
from trueodds.calibrators import all_calibrators
from trueodds.exceptions import InputError
from trueodds.inputs import Weights
from trueodds.rows import Rows


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 40, n) / 40
    return p, (rng.random(n) < p).astype(int)


def test_rows_and_their_table_hold_the_same():
    p, y = rows()
    counts = np.random.default_rng(1).integers(0, 4, len(p)) + 1.0
    of_rows = Rows(p, y, Weights(None, counts)).smoothed("platt")
    of_table = Rows.of_table(ScoreTable.from_arrays(p, y, counts=counts)).smoothed("platt")
    assert of_rows.total_pos == of_table.total_pos
    assert of_rows.total_neg == of_table.total_neg
    assert of_rows.targets == of_table.targets
    for name in ("score", "n_neg", "n_pos"):
        np.testing.assert_array_equal(
            getattr(of_rows.table, name), getattr(of_table.table, name), name
        )
    np.testing.assert_allclose(of_rows.smoothed_counts()[1].sum(), of_table.table.total_pos)


def test_smoothing_replaces_and_does_not_add_up():
    given = Rows(*rows())
    once = given.smoothed(0.2)
    again = given.smoothed("platt").smoothed(0.2)
    np.testing.assert_array_equal(once.table.n_pos, again.table.n_pos)
    np.testing.assert_array_equal(given.smoothed(0.2).smoothed(None).table.n_pos, given.table.n_pos)


def test_one_class_against_the_rest_keeps_the_smoothing():
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], 50)
    given = Rows(scores, np.arange(50) % 2, None).smoothed("platt")
    problems = list(given.one_vs_rest("probability"))
    assert problems[2] is None  # no instance of the third class
    assert problems[0].label_smoothing == "platt"
    np.testing.assert_array_equal(problems[1].scores, scores[:, 1])


@pytest.mark.parametrize("smoothing", ["platt", 0.1])
def test_a_comparison_smooths_what_fitting_smooths(smoothing):
    """Isotonic forecasts of exactly 0 or 1 would make the log-loss infinite."""
    p, y = rows(60, seed=3)
    plain = IsotonicCalibrator(label_smoothing=smoothing)
    found = compare_calibrators(
        p, y, calibrators={"wrapped": OneVsRestCalibrator(plain), "plain": plain}
    )
    by_method = {row["method"]: row for row in found.rows()}
    assert np.isfinite(by_method["wrapped"]["log_loss"])
    assert by_method["wrapped"]["log_loss"] == by_method["plain"]["log_loss"]
    raw = compare_calibrators(p, y, calibrators={"raw": IsotonicCalibrator()})
    assert np.isinf(raw.rows()[1]["log_loss"])


def test_bbq_by_input_order_is_compared_as_such():
    """Tied rows that come sorted by label are cut by label, which shares them out unfairly."""
    rng = np.random.default_rng(0)
    p = np.repeat([0.3, 0.7], 200)
    y = np.sort(rng.random((2, 200)) < [[0.4], [0.6]], axis=1).ravel().astype(int)
    found = compare_calibrators(
        p, y, calibrators={"share": BBQCalibrator(), "input": BBQCalibrator(ties="input")}
    )
    fold = found.out_of_fold
    assert not np.array_equal(fold["share"], fold["input"])


def test_counts_have_no_order_for_bbq_to_go_by():
    p, y = rows()
    calibrator = BBQCalibrator(ties="input")
    with pytest.raises(InputError, match="depends on row order"):
        calibrator.fit_table(ScoreTable.from_arrays(p, y))
    with pytest.raises(InputError, match="depends on row order"):
        calibrator.fit_frame(pd.DataFrame({"p": p, "y": y}), score="p", label="y")


@pytest.mark.parametrize("smoothing", [5.0, 1.0, -0.1, "plat", True, np.nan])
@pytest.mark.parametrize(
    "kind", [TemperatureCalibrator, VectorCalibrator, MatrixCalibrator, CharcoalGrillCalibrator]
)
def test_senseless_smoothing_is_refused_with_several_classes(kind, smoothing):
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    with pytest.raises(InputError, match="label_smoothing must be"):
        kind(label_smoothing=smoothing).fit(scores, np.arange(60) % 3)


@pytest.mark.parametrize(
    "name", [n for n, c in all_calibrators().items() if not c().needs_features]
)
def test_a_refit_that_fails_keeps_the_earlier_fit(name, monkeypatch):
    p, y = rows(100)
    kind = all_calibrators()[name]
    fitted = kind().fit(p, y)
    before = dict(vars(fitted))

    def fail(self, given):
        self.half_way_ = True
        raise RuntimeError("half-way")

    monkeypatch.setattr(kind, "_fit", fail)
    with pytest.raises(RuntimeError, match="half-way"):
        fitted.fit(p, 1 - y)
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[key] is value for key, value in before.items())


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")
def test_several_classes_leave_no_attributes_of_the_last_one():
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], 90)
    for name, kind in all_calibrators().items():
        if kind().needs_features:
            continue
        fitted = kind().fit(scores, np.arange(90) % 3)
        left = {key for key in vars(fitted) if key.endswith("_")} - {"map_", "classes_"}
        allowed = {"effective_sample_size_", "r_hat_"} if name == "bayesian_isotonic" else set()
        assert left <= allowed, name


def test_ordinary_rows_are_not_touched_by_their_bounds():
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=50), rng.random(50) < 0.5
    for weight in (None, rng.uniform(1e-6, 1e6, 50)):
        given = Rows(scores, positive, Weights.counted(weight))
        assert given.bounded("score") is given
    table = Rows.of_table(given.table)
    assert table.bounded("logit") is table
    classes = Rows(rng.normal(size=(50, 3)), np.arange(50) % 3, given.weight)
    assert classes.bounded("score") is classes


def test_numbers_at_the_ends_of_float64_are_brought_to_where_one_can_calculate():
    scores = np.array([-np.inf, -1.7e308, -1e-320, 0.0, 5e-324, 2.0, 1e300, 1e308])
    bounded = Rows(scores, scores > 0, Weights(None, np.full(8, 3e-310))).bounded("logit")
    assert bounded.scores.tolist() == [-np.inf, -(2.0**1020), 0, 0, 0, 2.0, 1e300, 2.0**1020]
    assert (bounded.mass == bounded.mass[0]).all()
    assert 1e-61 < bounded.mass[0] < 1e-59
    assert Rows(scores, scores > 0).bounded("probability").scores is scores
    light = Rows(scores, scores > 0, Weights(None, np.array([1e-300, 1.0] * 4)))
    assert set(light.bounded("probability").mass.tolist()) == {1.0, 2.0**-400}
    table = ScoreTable([0.1, 0.2], [1e-310, 0.0], [0.0, 2e-310])
    found = Rows.of_table(table).bounded("probability")
    assert found.total_pos / found.total_neg == pytest.approx(2, rel=1e-3)
    assert found.counted.n_pos[0] == 0


def test_counted_rows_have_no_labels_until_they_are_written_out():
    p, y = rows(50)
    counted = Rows.of_table(ScoreTable.from_arrays(p, y), np.array(["no", "yes"]))
    with pytest.raises(AttributeError, match="uncounted"):
        _ = counted.codes
    written = counted.uncounted()
    np.testing.assert_array_equal(written.classes, ["no", "yes"])
    assert written.mass[written.codes].sum() == y.sum()
    assert written.total == len(y)


def test_pickled_rows_do_not_carry_what_was_computed_from_them():
    p, y = rows(300)
    given = Rows(p, y)
    size = len(pickle.dumps(given))
    assert given.table.total_pos == given.total_pos == y.sum()
    assert len(pickle.dumps(given)) == size
    again = pickle.loads(pickle.dumps(given))  # noqa: S301
    np.testing.assert_array_equal(again.table.n_pos, given.table.n_pos)
