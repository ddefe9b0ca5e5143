"""Tests that compare methods over many data sets.

Results are a table of data sets × methods: an array, or a frame of pandas, polars or Arrow whose
numeric columns are the methods. Losses by default; ``greater_is_better=True`` for scores.
"""

from trueodds_studies.stats.pairs import (
    RelativeGain,
    SignTest,
    WilcoxonTest,
    relative_gain_interval,
    sign_test,
    wilcoxon_signed_rank,
)
from trueodds_studies.stats.ranks import (
    AverageRanks,
    FriedmanTest,
    HolmTest,
    NemenyiTest,
    RankComparison,
    average_ranks,
    friedman_test,
    holm,
    nemenyi,
)

__all__ = [
    "AverageRanks",
    "FriedmanTest",
    "HolmTest",
    "NemenyiTest",
    "RankComparison",
    "RelativeGain",
    "SignTest",
    "WilcoxonTest",
    "average_ranks",
    "friedman_test",
    "holm",
    "nemenyi",
    "relative_gain_interval",
    "sign_test",
    "wilcoxon_signed_rank",
]
