"""Comparing methods over many data sets, or on the folds of one.

Results are a table of data sets × methods: an array, or a frame of pandas, polars or Arrow whose
numeric columns are the methods. Losses by default; ``better="higher"`` for scores.
"""

from trueodds.compare._friedman import FriedmanTest, friedman_test
from trueodds.compare._holm import HolmTest, RankComparison, holm, holm_adjust
from trueodds.compare._nemenyi import NemenyiTest, nemenyi
from trueodds.compare._pairs import SignTest, WilcoxonTest, sign_test, wilcoxon_signed_rank
from trueodds.compare._resampled import (
    RelativeGain,
    ResampledTTest,
    corrected_resampled_t_test,
    relative_gain_interval,
)
from trueodds.compare._results import AverageRanks, average_ranks

__all__ = [
    "AverageRanks",
    "FriedmanTest",
    "HolmTest",
    "NemenyiTest",
    "RankComparison",
    "RelativeGain",
    "ResampledTTest",
    "SignTest",
    "WilcoxonTest",
    "average_ranks",
    "corrected_resampled_t_test",
    "friedman_test",
    "holm",
    "holm_adjust",
    "nemenyi",
    "relative_gain_interval",
    "sign_test",
    "wilcoxon_signed_rank",
]
