"""Every calibrator learns from counts what it learns from the rows."""

import numpy as np
import pandas as pd
import pytest

from trueodds import (
    BBQCalibrator,
    BetaCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    ScoreTable,
    TreeCalibrator,
)
from trueodds.calibrators import all_calibrators
from trueodds.exceptions import InputError

GRID = np.linspace(0, 1, 201)


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 100, n) / 100
    y = (rng.random(n) < p**1.5).astype(int)
    return p, y


def names():
    return [n for n, c in all_calibrators().items() if not c().needs_features]


@pytest.mark.parametrize("name", names())
def test_counts_give_what_their_rows_give(name):
    p, y = rows()
    calibrator = all_calibrators()[name]
    from_rows = calibrator().fit(p, y)
    from_counts = calibrator().fit_table(ScoreTable.from_arrays(p, y))
    np.testing.assert_allclose(
        from_counts.predict_proba(GRID), from_rows.predict_proba(GRID), rtol=0, atol=1e-9
    )
    assert from_counts.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("calibrator", [BetaCalibrator, LogisticCalibrator])
@pytest.mark.parametrize("share_at_0", [None, 0.0, 0.05])
def test_more_rows_than_are_kept_apart_give_the_same(calibrator, share_at_0):
    """From 65,536 rows on the log-odds are compressed, though the table is shorter.

    Scores of exactly 0 go beyond all others if they are pure, and among them if they are not.
    """
    rng = np.random.default_rng(5)
    p = rng.integers(1, 30_000, 70_000) / 30_000
    y = (rng.random(len(p)) < p**1.3).astype(int)
    if share_at_0 is not None:
        p[:3000], y[:3000] = 0.0, rng.random(3000) < share_at_0
    from_rows = calibrator().fit(p, y)
    from_counts = calibrator().fit_table(ScoreTable.from_arrays(p, y))
    np.testing.assert_allclose(
        from_counts.predict_proba(GRID), from_rows.predict_proba(GRID), rtol=0, atol=1e-9
    )


def test_declared_classes_name_the_counts():
    table = ScoreTable.from_arrays(*rows())
    fitted = IsotonicCalibrator(classes=["no", "yes"]).fit_table(table)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.map_.classes == ("no", "yes")


def test_declared_classes_say_which_is_positive_in_a_frame():
    p, y = rows()
    frame = pd.DataFrame({"p": 1 - p, "y": np.where(y == 1, "bad", "good")})
    fitted = IsotonicCalibrator(classes=["bad", "good"]).fit_frame(frame, score="p", label="y")
    assert fitted.classes_.tolist() == ["bad", "good"]
    turned = IsotonicCalibrator(classes=["good", "bad"]).fit_frame(
        frame.assign(p=p), score="p", label="y"
    )
    assert turned.classes_.tolist() == ["good", "bad"]
    assert turned.predict([0.99]).tolist() == ["bad"]


def test_labels_other_than_declared_are_refused():
    frame = pd.DataFrame({"p": [0.1, 0.9, 0.5], "y": ["a", "b", "b"]})
    with pytest.raises(InputError, match=r"differ from classes=\['x', 'b'\]"):
        IsotonicCalibrator(classes=["x", "b"]).fit_frame(frame, score="p", label="y")


def test_three_declared_classes_are_not_counts_of_two():
    table = ScoreTable.from_arrays(*rows())
    with pytest.raises(InputError, match="a ScoreTable has two classes"):
        IsotonicCalibrator(classes=[0, 1, 2]).fit_table(table)


def test_one_class_is_refused():
    with pytest.raises(InputError, match="the table has only one class"):
        BetaCalibrator().fit_table(ScoreTable([0.2, 0.5], [3, 4], [0, 0]))


def test_scores_of_another_scale_are_refused():
    table = ScoreTable([-2.0, 0.5, 3.0], [3, 4, 1], [1, 2, 2])
    with pytest.raises(InputError, match=r"scores must lie in \[0, 1\]"):
        BetaCalibrator().fit_table(table)
    assert BetaCalibrator(scale="logit").fit_table(table).map_.scale == "logit"


def test_methods_with_features_are_refused():
    table = ScoreTable.from_arrays(*rows())
    with pytest.raises(InputError, match="needs features, which a ScoreTable"):
        TreeCalibrator().fit_table(table)


def test_arrays_are_refused():
    with pytest.raises(InputError, match="needs a ScoreTable; got ndarray"):
        BBQCalibrator().fit_table(np.zeros(3))


def test_several_columns_take_no_positive_class():
    frame = pd.DataFrame({"a": [0.5, 0.4], "b": [0.5, 0.6], "y": [0, 1]})
    with pytest.raises(InputError, match="pos_label needs one score column"):
        BetaCalibrator().fit_frame(frame, score=["a", "b"], label="y", pos_label=1)
    with pytest.raises(InputError, match="at least one column"):
        BetaCalibrator().fit_frame(frame, score=[], label="y")
    with pytest.raises(InputError, match="no column 'bb'; did you mean 'b'"):
        BetaCalibrator().fit_frame(frame, score=["a", "bb"], label="y")


def test_nulls_among_several_columns_are_refused():
    frame = pd.DataFrame({"a": [0.5, np.nan], "b": [0.5, 0.6], "y": [0, 1]})
    with pytest.raises(InputError, match="scores must not contain NaN"):
        BetaCalibrator().fit_frame(frame, score=["a", "b"], label="y")
