"""What the calibration trees paper prints: Tables 2 to 6."""

from __future__ import annotations

from typing import Any, NamedTuple

from trueodds_studies._optional import need
from trueodds_studies.datasets import available

__all__ = ["METHODS", "MODELS", "SETS", "SIGN_TESTS", "TreesSource", "paper_table", "sets_at_hand"]

METHODS = ("PCT", "PS", "IR")
MODELS = ("naive-bayes", "stumps", "boosted-trees", "svm")
"""Tables 2, 3, 4 and 5."""

# The paper's name; ours, if another; rows and classes at hand; RMSE of PCT, PS and IR in Tables 2
# to 5, in thousandths. "+" and "-": PCT is significantly better or worse than this method.
_TABLES = """
audiology       =                     226 24 136 152 128 131 122 121 133 131 124 123 126 116
bankruptcy      bankruptcy-5year     5910  2 180 212+ 212+ 174 186+ 186+ 168 182+ 182+ 180 212+ 207+
colposcopy      =                     287  2 426 424 405 410 406 407 402 401 404 400 396 397
credit-rating   =                     690  2 322 369+ 354+ 318 329 328 319 349+ 352+ 328 327 332
cylinder-bands  =                     540  2 400 420+ 416 385 384 387 449 482+ 431 338 344 349
german-credit   =                    1000  2 410 413 410 411 412 412 413 421 423 407 406 408
hand-postures   hand-postures-part  11022  3 120 312+ 259+ 074 090+ 089+ 045 056+ 051+ 062 076+ 063
htru2           =                   17898  2 134 163+ 160+ 131 131 131 131 137+ 137+ 129 133+ 129
kr-vs-kp        =                    3196  2 080 296+ 296+ 085 157+ 153+ 043 043 041 048 050 049
led24           led24-regenerated    5000 10 194 194 194- 195 195 195 208 213+ 218+ 197 198 199
mfeat-factors   =                    2000 10 113 127+ 106 068 066 066 062 060 060 055 059 056
mfeat-fourier   =                    2000 10 164 174+ 173+ 156 156 159 145 144 148 147 148 155+
mfeat-karhunen  =                    2000 10 084 094+ 097+ 083 081 082 073 071 072 069 072 072
mfeat-morph     mfeat-morphological  2000 10 195 224+ 196 181 181 181 178 177 179 187 182 184
mfeat-pixel     =                    2000 10 081 086+ 100+ 080 079 080 080 078 079 059 055 061
mice-protein    =                    1080  8 015 209+ 140+ 000 008+ 004 008 012 002 000 010 000
news-popularity news-popularity-part 14828  2 471 491+ 483+ 461 461 461 465 469+ 468+ 468 474+ 470+
nursery         =                   12960  5 137 152+ 158+ 107 146+ 142+ 005 018+ 006 009 066+ 034
optdigits       =                    5620 10 123 170+ 116- 064 064 065 046 045 045 037 038 038
page-blocks     =                    5473  5 104 152+ 128+ 095 095 095 094 094 095 121 118 102
pendigits       =                   10992 10 076 141+ 143+ 053 057+ 056+ 029 028 029 027 027 026
phishing        =                    1353  3 240 273+ 274+ 235 257+ 256+ 228 239 239 244 244 241
pima-diabetes   diabetes              768  2 410 412 410 404 405 406 410 422 424 396 394 396
segment         =                    2310  7 112 213+ 166+ 122 143 141 055 053 055 085 086 086
shuttle         =                   58000  7 020 108+ 094+ 005 008+ 005 004 005 003 030 083+ 020
sick            =                    3772  2 100 184+ 178+ 102 133+ 132+ 086 083 085 102 167+ 162+
spambase        =                    4601  2 242 337+ 286+ 202 203 203 192 192 192 223 235+ 228
taiwan-credit   =                   30000  2 369 380+ 375+ 368 369+ 368+ 369 380+ 378+ 371 379+ 374+
tic-tac-toe     tic-tac               958  2 359 431+ 413+ 143 176+ 169 025 036 025 162 105 142
vote            =                     435  2 189 254+ 250+ 178 182 184 191 204 202 177 174 178
vowel           vowel-weka            990 11 151 207+ 208+ 115 119 125 093 092 096 054 075 066
yeast           =                    1484 10 239 250+ 236- 234 234 235 240 239 241 239 239 235
"""


class TreesSource(NamedTuple):
    """Where a set of the paper comes from.

    Attributes
    ----------
    name : str
        Of :func:`trueodds_studies.datasets.load`.
    rows, n_classes : int
    """

    name: str
    rows: int
    n_classes: int


_LINES = [line.split() for line in _TABLES.strip().splitlines()]
SETS: dict[str, TreesSource] = {
    line[0]: TreesSource(line[0] if line[1] == "=" else line[1], int(line[2]), int(line[3]))
    for line in _LINES
}

SIGN_TESTS: dict[tuple[str, str], tuple[int, int, int, float]] = {
    ("naive-bayes", "PS"): (27, 5, 0, 0.00001),
    ("stumps", "PS"): (11, 21, 0, 0.00091),
    ("boosted-trees", "PS"): (9, 23, 0, 0.0027),
    ("svm", "PS"): (9, 23, 0, 0.0027),
    ("naive-bayes", "IR"): (23, 6, 3, 0.000088),
    ("stumps", "IR"): (8, 24, 0, 0.004678),
    ("boosted-trees", "IR"): (7, 25, 0, 0.008151),
    ("svm", "IR"): (5, 27, 0, 0.025347),
}
"""Table 6: significant wins, draws and losses of PCT, and p (the first is an upper bound)."""


def sets_at_hand() -> list[str]:
    """Those of the paper's sets that are in the data folder or in an installed package."""
    places = available()
    return [name for name, source in SETS.items() if places.get(source.name, "openml") != "openml"]


def paper_table(model: str) -> tuple[Any, Any]:
    """Table 2, 3, 4 or 5 as two pandas frames: RMSE, and +1, −1 or 0 for its circles."""
    pandas = need("pandas")
    start = 4 + 3 * MODELS.index(model)
    cells = [line[start : start + 3] for line in _LINES]
    signs = {"+": 1, "-": -1}
    numbers = [[int(cell.rstrip("+-")) / 1000 for cell in row] for row in cells]
    marks = [[signs.get(cell[-1], 0) for cell in row] for row in cells]
    names = list(SETS)
    return (
        pandas.DataFrame(numbers, index=names, columns=list(METHODS)),
        pandas.DataFrame(marks, index=names, columns=list(METHODS)),
    )
