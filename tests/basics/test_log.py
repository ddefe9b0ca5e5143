"""The library logs what it does, and is silent unless asked."""

import logging
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import trueodds


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    return p, (rng.random(300) < p).astype(int)


def test_what_auto_chose_and_how_long_it_took_is_logged(sample, caplog):
    with caplog.at_level(logging.INFO, logger="trueodds"):
        trueodds.AutoCalibrator().fit(*sample)
    assert "auto chose bayesian_smooth: Used bayesian_smooth" in caplog.text
    assert "AutoCalibrator fitted a log_odds_curve map in 0." in caplog.text


def test_rows_left_out_and_scores_pooled_are_logged(sample, caplog):
    p, y = sample
    with caplog.at_level(logging.INFO, logger="trueodds"):
        trueodds.BetaCalibrator().fit(p, y, np.r_[np.zeros(7), np.ones(293)])
        trueodds.ScoreTable.from_arrays(p, y).coarsen(100)
    assert "left out 7 rows of weight zero" in caplog.text
    assert "pooled 300 distinct scores in 100" in caplog.text


@pytest.mark.filterwarnings("ignore:there are more than 50 distinct scores")
def test_the_engine_is_logged(sample, caplog):
    frame = pd.DataFrame({"p": sample[0], "y": sample[1]})
    with caplog.at_level(logging.INFO, logger="trueodds"):
        trueodds.ScoreTable.from_frame(frame, score="p", label="y", max_rows=50)
    assert "grouping scores on pandas" in caplog.text
    assert "grouped 300 rows into" in caplog.text
    assert ", rounded in 0." in caplog.text


def test_nothing_is_printed_unless_asked_for():
    fit = "BetaCalibrator().fit([0.1, 0.9, 0.3, 0.5], [0, 0, 1, 1])"
    code = f"from trueodds import BetaCalibrator; {fit}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    asked = f"import logging; logging.basicConfig(level='INFO'); {code}"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True)
    assert b"INFO:trueodds:BetaCalibrator fitted a log_odds map" in done.stderr
