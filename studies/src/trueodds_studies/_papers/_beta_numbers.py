"""What the beta calibration paper prints: Tables 1 and 2, and the ranks behind figures 4 to 7."""

from __future__ import annotations

from typing import Any

from trueodds_studies._optional import need
from trueodds_studies.datasets import available

__all__ = [
    "AUTHORS_RANKS",
    "COLUMNS",
    "FRIEDMAN",
    "PAPER_RANKS",
    "PARAMETRIC",
    "SETS",
    "sets_at_hand",
    "table_2",
    "table_2_ranks",
]

# Our name; the first letters in Table 2; rows in Table 1; log-loss of uncalibrated, beta,
# isotonic, logistic with Ada-O in Table 2, and their ranks before rounding (its subscripts). Both
# tables call wpbc "wdbc" a second time (194 × 33).
_TABLES = """
abalone              abalone   4177  0.612 0.612 0.626 0.614  2143
autos                autos      159  0.427 0.283 0.416 0.287  4132
balance-scale        balance    625  0.049 0.037 0.041 0.038  4132
car                  car       1728  0.114 0.109 0.122 0.119  2143
cleveland            cleveland  297  0.496 0.417 0.523 0.429  3142
credit-approval      credit     653  0.360 0.341 0.444 0.338  3241
dermatology          dermato    358  0.036 0.019 0.035 0.021  4132
diabetes             diabete    768  0.506 0.484 0.525 0.495  3142
ecoli                ecoli      336  0.326 0.145 0.224 0.159  4132
flare                flare     1389  0.404 0.404 0.421 0.408  1243
german               german    1000  0.511 0.506 0.538 0.506  3241
glass                glass      214  0.696 0.489 0.560 0.485  4231
heart-statlog        heart-s    270  0.570 0.427 0.557 0.443  4132
hepatitis            hepatit    155  0.805 0.392 0.431 0.411  4132
horse                horse      300  0.642 0.413 0.524 0.418  4132
ionosphere           ionosph    351  0.381 0.203 0.296 0.227  4132
iris                 iris       150  0.127 0.000 0.000 0.000  4213
landsat-satellite    landsat   6435  0.041 0.040 0.043 0.053  2134
letter               letter   35000  0.037 0.035 0.035 0.044  3214
libras-movement      libras-    360  0.589 0.100 0.184 0.112  4132
lung-cancer          lung-ca     96  0.193 0.139 0.189 0.139  4132
mfeat-karhunen       mfeat-k   2000  0.062 0.027 0.048 0.032  4132
mfeat-morphological  mfeat-m   2000  0.040 0.014 0.026 0.014  4132
mfeat-zernike        mfeat-z   2000  0.095 0.032 0.063 0.039  4132
mushroom             mushroo   8124  0.000 0.000 0.000 0.000  4321
optdigits            optdigi   5620  0.035 0.033 0.044 0.040  2143
page-blocks          page-bl   5473  0.093 0.089 0.098 0.109  2134
pendigits            pendigi  10992  0.017 0.017 0.023 0.021  2143
scene-classification scene-c   2407  0.384 0.364 0.376 0.378  4123
segment              segment   2310  0.020 0.010 0.023 0.013  3142
shuttle              shuttle 101500  0.000 0.000 0.001 0.000  2143
sonar                sonar      208  0.941 0.404 0.486 0.440  4132
spambase             spambas   4601  0.162 0.162 0.173 0.167  2143
tic-tac              tic-tac    958  0.379 0.333 0.340 0.339  4132
vehicle              vehicle    846  0.077 0.068 0.131 0.077  2143
vowel                vowel      990  0.076 0.071 0.094 0.085  2143
waveform-5000        wavefor   5000  0.253 0.252 0.264 0.271  2134
wdbc                 wdbc       569  0.256 0.089 0.141 0.107  4132
wpbc                 wdbc       194  1.016 0.500 0.496 0.503  4213
yeast                yeast     1484  0.510 0.509 0.543 0.514  2143
zoo                  zoo        101  0.132 0.013 0.013 0.013  4312
"""
_ROWS = [line.split() for line in _TABLES.strip().splitlines()]
COLUMNS = ("uncalibrated", "beta", "isotonic", "logistic")
PARAMETRIC = ("uncalibrated", "logistic", "beta", "beta-am", "beta-ab")

SETS: dict[str, int] = {row[0]: int(row[2]) for row in _ROWS}
"""The 41 sets with the number of rows in Table 1."""

PAPER_RANKS = {"uncalibrated": 3.20, "beta": 1.27, "isotonic": 3.12, "logistic": 2.41}
"""Average ranks under Table 2, of losses before rounding."""

FRIEDMAN: dict[tuple[str, str, str], float] = {
    ("figure 4", "log_loss", "naive-bayes"): 6.9e-17,
    ("figure 4", "log_loss", "ada-o"): 1.0e-12,
    ("figure 4", "log_loss", "ada-s"): 4.7e-15,
    ("figure 5", "brier_score", "naive-bayes"): 1.0e-14,
    ("figure 5", "brier_score", "ada-o"): 3.7e-06,
    ("figure 5", "brier_score", "ada-s"): 5.8e-13,
    ("figure 6", "log_loss", "naive-bayes"): 1.2e-20,
    ("figure 6", "log_loss", "ada-o"): 1.6e-15,
    ("figure 6", "log_loss", "ada-s"): 2.8e-17,
    ("figure 7", "brier_score", "naive-bayes"): 2.4e-18,
    ("figure 7", "brier_score", "ada-o"): 1.4e-06,
    ("figure 7", "brier_score", "ada-s"): 1.6e-13,
}
"""P-values of the Friedman tests in the captions."""

AUTHORS_RANKS: dict[tuple[str, str], tuple[tuple[float, ...], tuple[float, ...]]] = {
    ("log_loss", "naive-bayes"): ((3.80, 1.32, 2.63, 2.24), (4.80, 3.22, 1.56, 2.20, 3.22)),
    ("log_loss", "ada-o"): ((3.20, 1.27, 3.12, 2.41), (4.46, 3.80, 2.02, 2.24, 2.46)),
    ("log_loss", "ada-s"): ((3.83, 1.51, 2.46, 2.20), (4.76, 2.98, 1.96, 3.24, 2.06)),
    ("brier_score", "naive-bayes"): ((3.80, 1.68, 1.88, 2.63), (4.68, 3.24, 1.68, 2.15, 3.24)),
    ("brier_score", "ada-o"): ((2.85, 1.85, 2.12, 3.17), (3.61, 3.90, 2.34, 2.51, 2.63)),
    ("brier_score", "ada-s"): ((3.73, 1.90, 1.76, 2.61), (4.61, 3.02, 2.06, 3.05, 2.26)),
    ("accuracy", "naive-bayes"): ((3.24, 2.27, 2.01, 2.48), (4.10, 2.73, 2.48, 2.32, 3.38)),
    ("accuracy", "ada-o"): ((2.34, 2.55, 2.52, 2.59), (2.88, 3.35, 3.28, 3.05, 2.44)),
    ("accuracy", "ada-s"): ((2.46, 2.55, 2.34, 2.65), (3.01, 3.17, 2.99, 3.28, 2.55)),
}
"""Average ranks of COLUMNS and of PARAMETRIC that the diagrams show, computed from the authors'
published results before rounding (their Friedman tests have the captions' p-values)."""


def sets_at_hand() -> list[str]:
    """Those of the paper's sets that are in the data folder or in an installed package."""
    places = available()
    return [name for name in SETS if places.get(name, "openml") != "openml"]


def table_2() -> Any:
    """Table 2 as a pandas frame."""
    return _frame([[float(cell) for cell in row[3:7]] for row in _ROWS])


def table_2_ranks() -> Any:
    """The subscripts of Table 2 as a pandas frame."""
    return _frame([[float(digit) for digit in row[7]] for row in _ROWS])


def _frame(values: list[list[float]]) -> Any:
    return need("pandas").DataFrame(values, index=list(SETS), columns=list(COLUMNS))
