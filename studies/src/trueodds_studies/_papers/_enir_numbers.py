"""What the ENIR paper prints: its 40 sets, Tables I, II and IV to VI."""

from __future__ import annotations

from typing import Any, NamedTuple

from trueodds_studies._optional import need
from trueodds_studies.datasets import available

__all__ = [
    "ALL_FOLDS",
    "INTERVALS",
    "MEASURES",
    "METHODS",
    "MODELS",
    "RANKS",
    "SETS",
    "SIMULATED",
    "SIZES",
    "SUPERIOR",
    "VIEWS",
    "EnirSource",
    "column_of",
    "interval_table",
    "rank_table",
    "sets_at_hand",
    "simulated_table",
]

MEASURES = ("AUC", "ACC", "RMSE", "ECE", "MCE")
VIEWS = {
    "text": {},
    "program": {"AUC": "AUC program", "ECE": "ECE program", "MCE": "MCE program"},
    "shared": {"ECE": "ECE shared", "MCE": "MCE shared"},
}
"""Readings of the measures, and under which names results keep those that differ."""
ALL_FOLDS = -1
"""The number of the fold that is all folds of a run together."""
METHODS = ("IsoRegC", "BBQ", "ENIR")
MODELS = ("LR", "SVM", "NB")


class EnirSource(NamedTuple):
    """Where a set of the paper comes from.

    Attributes
    ----------
    name : str
        Of :func:`trueodds_studies.datasets.load`.
    rows : int
    positive : tuple of str
        Classes that count as positive; empty for the second of two in sorted order.
    """

    name: str
    rows: int
    positive: tuple[str, ...] = ()


# The paper's name (footnote 7), ours, rows, positive classes. The paper does not say how it made
# two classes of many; the rules are those of the collections that carry sets of these names.
_SETS = """
spect spect 267
adult adult 48842
breast wdbc 569
pageblocks page-blocks 5473 1
pendigits pendigits 10992 5
ad internet-ads-part 1966
mamography mammography 11183
satimage landsat-satellite 6435 4
australian australian 690
code-rna cod-rna 59535
colon-cancer colon-cancer 62
covtype covtype-20k 20000 2
letter-unbalanced letter 20000 O
letter-balanced letter 20000 A B C D E F G H I J K L M
diabetes diabetes 768
duke duke 49
fourclass fourclass 862
german-numer german-numer 1000
gisette-scale gisette 6000
heart heart-statlog 270
ijcnn1 ijcnn1 49990
ionosphere-scale ionosphere 351
liver-disorders liver-disorders 345
mushrooms mushroom 8124
sonar-scale sonar 208
splice splice-libsvm 1000
svmguide1 svmguide1 7089
svmguide3 svmguide3 1243
coil2000 coil2000 9822
balance balance-scale 625 B
breast-cancer breast-cancer 683
leu leu 72
w1a w1a 2477
thyroid-sick sick 3772
scene scene-labels 2407
uscrime us-crime 1994
solar solar-flare-m0 1389
car34 car 1728 good vgood
car4 car 1728 vgood
protein-homology protein-homology 145751
"""
SETS: dict[str, EnirSource] = {
    line[0]: EnirSource(line[1], int(line[2]), tuple(line[3:]))
    for line in (text.split() for text in _SETS.strip().splitlines())
}

SIMULATED: dict[str, dict[str, tuple[float, ...]]] = {
    "linear": {
        "AUC": (0.52, 0.65, 0.85, 0.85),
        "ACC": (0.64, 0.64, 0.78, 0.79),
        "RMSE": (0.52, 0.46, 0.39, 0.38),
        "ECE": (0.28, 0.35, 0.05, 0.05),
        "MCE": (0.78, 0.60, 0.13, 0.12),
    },
    "quadratic": {
        "AUC": (1.00, 1.00, 1.00, 1.00),
        "ACC": (0.99, 0.99, 0.99, 0.99),
        "RMSE": (0.21, 0.09, 0.10, 0.09),
        "ECE": (0.14, 0.01, 0.01, 0.00),
        "MCE": (0.36, 0.04, 0.05, 0.03),
    },
}
"""Table I: the base SVM, IsoRegC, BBQ, ENIR."""

INTERVALS: dict[str, dict[str, tuple[float, float]]] = {
    "LR": {
        "AUC": (-0.008, 0.003),
        "ACC": (0.002, 0.016),
        "RMSE": (-0.124, -0.016),
        "ECE": (-0.389, -0.153),
        "MCE": (-0.313, -0.064),
    },
    "SVM": {
        "AUC": (-0.010, 0.003),
        "ACC": (-0.001, 0.010),
        "RMSE": (-0.310, -0.176),
        "ECE": (-0.768, -0.591),
        "MCE": (-0.591, -0.340),
    },
    "NB": {
        "AUC": (-0.010, 0.000),
        "ACC": (0.012, 0.068),
        "RMSE": (-0.196, -0.100),
        "ECE": (-0.514, -0.274),
        "MCE": (-0.552, -0.305),
    },
}
"""Table II: 95 % intervals of the relative gain of ENIR over the base classifier (equation 10)."""

RANKS: dict[str, dict[str, tuple[float, float, float]]] = {
    "LR": {
        "AUC": (1.963, 2.225, 1.813),
        "ACC": (1.675, 2.663, 1.663),
        "RMSE": (1.925, 2.625, 1.450),
        "ECE": (2.125, 1.975, 1.900),
        "MCE": (2.475, 1.750, 1.775),
    },
    "SVM": {
        "AUC": (1.988, 2.025, 1.988),
        "ACC": (2.000, 2.150, 1.850),
        "RMSE": (1.850, 2.475, 1.675),
        "ECE": (2.075, 2.025, 1.900),
        "MCE": (2.550, 1.625, 1.825),
    },
    "NB": {
        "AUC": (2.150, 1.925, 1.925),
        "ACC": (1.963, 2.375, 1.663),
        "RMSE": (2.200, 2.375, 1.425),
        "ECE": (2.475, 2.075, 1.450),
        "MCE": (2.563, 1.850, 1.588),
    },
}
"""Tables IV to VI: average ranks of IsoRegC, BBQ, ENIR."""

SUPERIOR: dict[str, list[tuple[str, str]]] = {
    "LR": [("ACC", "BBQ"), ("RMSE", "IsoRegC"), ("RMSE", "BBQ"), ("MCE", "IsoRegC")],
    "SVM": [("RMSE", "BBQ"), ("MCE", "IsoRegC")],
    "NB": [
        ("ACC", "BBQ"),
        ("RMSE", "IsoRegC"),
        ("RMSE", "BBQ"),
        ("ECE", "IsoRegC"),
        ("ECE", "BBQ"),
        ("MCE", "IsoRegC"),
    ],
}
"""The stars of Tables IV to VI: where ENIR is significantly better, and than which method."""


SIZES = {
    "rows": (42.0, 683.0, 1861.0, 8973.0, 581012.0),
    "share of the rarer class": (0.009, 0.076, 0.340, 0.443, 0.500),
}
"""Table III: least, quartiles and greatest over the 40 sets."""


def column_of(measure: str, view: str) -> str:
    """The column of the results that holds a measure as one reads it."""
    return VIEWS[view].get(measure, measure)


def sets_at_hand() -> list[str]:
    """Those of the paper's sets that are in the data folder or in an installed package."""
    places = available()
    return [name for name, source in SETS.items() if places.get(source.name, "openml") != "openml"]


def simulated_table(kernel: str) -> Any:
    """Table I (a) or (b) as a pandas frame."""
    return _frame(SIMULATED[kernel], ("base", *METHODS))


def rank_table(model: str) -> Any:
    """Table IV, V or VI as a pandas frame."""
    return _frame(RANKS[model], METHODS)


def interval_table(model: str) -> Any:
    """A column of Table II as a pandas frame."""
    return _frame(INTERVALS[model], ("low", "high"))


def _frame(rows: dict[str, Any], columns: tuple[str, ...]) -> Any:
    pandas = need("pandas")
    return pandas.DataFrame(list(rows.values()), index=list(rows), columns=list(columns))
