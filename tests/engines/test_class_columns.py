"""Several classes on an engine: the same map as in memory, or within the error that is said."""

import re
import warnings

import dask.dataframe
import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest

from trueodds import BetaCalibrator, TemperatureCalibrator, VectorCalibrator
from trueodds.engines.checks import WeightColumns
from trueodds.engines.sample import sample_class_rows
from trueodds.exceptions import InputError, SampledRowsWarning

CLASSES = ["ant", "bee", "cat"]
SCORES = ["p_ant", "p_bee", "p_cat"]
NONE = WeightColumns()


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Forecasts that are too sure; one class is rare."""
    rng = np.random.default_rng(0)
    z = rng.normal([1.0, 0.5, -5.0], 1.0, (30_000, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
    sure = p**2 / (p**2).sum(axis=1, keepdims=True)
    return pd.DataFrame({**dict(zip(SCORES, sure.T, strict=True)), "y": np.array(CLASSES)[y]})


ENGINES = {
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: duckdb.connect().from_df(frame),
    "dask": lambda frame: dask.dataframe.from_pandas(frame, npartitions=2),
    "ibis": lambda frame: ibis.memtable(frame),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_one_class_against_the_rest_is_learned_by_grouping_on_the_engine(frame, engine):
    found = BetaCalibrator().fit_frame(ENGINES[engine](frame), score=SCORES, label="y")
    expected = BetaCalibrator().fit(frame[SCORES].to_numpy(), frame["y"])
    assert list(found.classes_) == CLASSES
    p = frame[SCORES].to_numpy()[:500]
    np.testing.assert_allclose(found.predict_proba(p), expected.predict_proba(p), atol=1e-9)
    low, high = found.predict_interval(p[:5])
    assert np.all(low <= high)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", [TemperatureCalibrator, VectorCalibrator])
def test_all_classes_together_are_learned_from_a_sample_whose_error_is_said(frame, engine, method):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SampledRowsWarning)
        found = method().fit_frame(ENGINES[engine](frame), score=SCORES, label="y", max_rows=6000)
    said = str(caught[0].message)
    assert re.search(r"a random sample of [56],\d{3} of 30,000 rows", said)
    expected = method().fit(frame[SCORES].to_numpy(), frame["y"])
    p = frame[SCORES].to_numpy()[:2000]
    gap = np.sqrt(np.mean((found.predict_proba(p) - expected.predict_proba(p)) ** 2))
    assert 0 < gap < 3 * found.sampling_error_
    assert f"{found.sampling_error_:.2g}" in said


def test_rare_classes_are_taken_whole_and_weighted(frame):
    n_rare = int((frame["y"] == "cat").sum())
    rows = sample_class_rows(
        pl.from_pandas(frame).lazy(), SCORES, "y", NONE, 20 * 3 * n_rare, "probability"
    )
    assert 0 < n_rare < 200
    assert (rows.labels == "cat").sum() == n_rare
    weight = rows.weight.values
    share = weight[rows.labels == "cat"].sum() / weight.sum()
    assert share == pytest.approx(n_rare / len(frame), rel=0.05)


def test_bad_rows_are_refused_on_the_engine(frame):
    for column, value, problem in (
        ("p_ant", None, r"'p_ant' is missing in 1"),
        ("p_bee", 1.5, r"'p_bee' is outside \[0, 1\] in 1 \(for example 1.5\)"),
        ("p_cat", 0.0, r"'p_ant \+ p_bee \+ p_cat' is not 1 in 1 \(for example 0.9\)"),
        ("p_cat", 0.9, r"'p_ant \+ p_bee \+ p_cat' is not 1 in 1 \(for example 1.8\)"),
    ):
        bad = frame.copy()
        bad.loc[17, SCORES] = [0.5, 0.4, 0.1]
        bad.loc[17, column] = value
        with pytest.raises(InputError, match=f"1 of {len(bad):,} rows cannot be used: {problem}"):
            BetaCalibrator().fit_frame(pl.from_pandas(bad).lazy(), score=SCORES, label="y")


@pytest.mark.parametrize("kind", ["str", "category"])
def test_long_labels_of_several_classes_are_refused_on_the_engine(frame, kind):
    long = frame.assign(y=frame["y"].where(frame["y"] != "cat", "c" * 1001).astype(kind))
    rare = int((frame["y"] == "cat").sum())
    with pytest.raises(InputError, match=f"'y' is longer than 1,000 characters in {rare:,} "):
        sample_class_rows(long, SCORES, "y", NONE, 1000, "probability")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("second", [0.4, 0.9])
def test_two_score_columns_must_sum_to_one(engine, second):
    rows = pd.DataFrame({"p0": [0.3, 0.8, 0.5], "p1": [0.7, 0.2, second], "y": [1, 0, 1]})
    with pytest.raises(InputError, match=r"1 of 3 rows .* 'p0 \+ p1' is not 1 in 1"):
        BetaCalibrator().fit_frame(ENGINES[engine](rows), score=["p0", "p1"], label="y")
