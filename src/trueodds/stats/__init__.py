"""Tests that compare methods over many data sets, or on the folds of one.

Results are a table of data sets × methods: an array, or a frame of pandas, polars or Arrow whose
numeric columns are the methods. Losses by default; ``greater_is_better=True`` for scores.
"""

from trueodds.stats._pairs import (
    RelativeGain,
    ResampledTTest,
    SignTest,
    WilcoxonTest,
    corrected_resampled_t_test,
    relative_gain_interval,
    sign_test,
    wilcoxon_signed_rank,
)
from trueodds.stats._ranks import (
    AverageRanks,
    FriedmanTest,
    HolmTest,
    NemenyiTest,
    RankComparison,
    average_ranks,
    friedman_test,
    holm,
    holm_adjust,
    nemenyi,
)

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
