"""Numbers that were published: Demšar (2006), and Table 2 of the beta calibration paper."""

import numpy as np
import pytest

from trueodds_studies.stats import (
    average_ranks,
    friedman_test,
    holm,
    nemenyi,
    sign_test,
    wilcoxon_signed_rank,
)

VARIANTS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
# Demšar's table 6: AUC of decision trees with and without two options. On voting the two equal
# figures were ranked 2 and 3 before they were rounded; the digit that was lost is put back.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],  # adult (sample)
        [0.599, 0.591, 0.590, 0.569],  # breast cancer
        [0.954, 0.971, 0.968, 0.967],  # breast cancer wisconsin
        [0.628, 0.661, 0.654, 0.657],  # cmc
        [0.882, 0.888, 0.886, 0.898],  # ionosphere
        [0.936, 0.931, 0.916, 0.931],  # iris
        [0.661, 0.668, 0.609, 0.685],  # liver disorders
        [0.583, 0.583, 0.563, 0.625],  # lung cancer
        [0.775, 0.838, 0.866, 0.875],  # lymphography
        [1.000, 1.000, 1.000, 1.000],  # mushroom
        [0.940, 0.962, 0.965, 0.962],  # primary tumor
        [0.619, 0.666, 0.614, 0.669],  # rheum
        [0.972, 0.981, 0.9751, 0.975],  # voting
        [0.957, 0.978, 0.946, 0.970],  # wine
    ]
)
DEMSAR = {"methods": VARIANTS, "greater_is_better": True}

BETA_METHODS = ("uncalibrated", "beta", "isotonic", "logistic")
# Log-loss of Ada-O on 41 data sets, as printed, each with its printed rank (taken before
# rounding, so that the figures alone would tie).
BETA_TABLE_2 = """
abalone 0.612 2 0.612 1 0.626 4 0.614 3
autos 0.427 4 0.283 1 0.416 3 0.287 2
balance 0.049 4 0.037 1 0.041 3 0.038 2
car 0.114 2 0.109 1 0.122 4 0.119 3
cleveland 0.496 3 0.417 1 0.523 4 0.429 2
credit 0.360 3 0.341 2 0.444 4 0.338 1
dermato 0.036 4 0.019 1 0.035 3 0.021 2
diabete 0.506 3 0.484 1 0.525 4 0.495 2
ecoli 0.326 4 0.145 1 0.224 3 0.159 2
flare 0.404 1 0.404 2 0.421 4 0.408 3
german 0.511 3 0.506 2 0.538 4 0.506 1
glass 0.696 4 0.489 2 0.560 3 0.485 1
heart-s 0.570 4 0.427 1 0.557 3 0.443 2
hepatit 0.805 4 0.392 1 0.431 3 0.411 2
horse 0.642 4 0.413 1 0.524 3 0.418 2
ionosph 0.381 4 0.203 1 0.296 3 0.227 2
iris 0.127 4 0.000 2 0.000 1 0.000 3
landsat 0.041 2 0.040 1 0.043 3 0.053 4
letter 0.037 3 0.035 2 0.035 1 0.044 4
libras- 0.589 4 0.100 1 0.184 3 0.112 2
lung-ca 0.193 4 0.139 1 0.189 3 0.139 2
mfeat-k 0.062 4 0.027 1 0.048 3 0.032 2
mfeat-m 0.040 4 0.014 1 0.026 3 0.014 2
mfeat-z 0.095 4 0.032 1 0.063 3 0.039 2
mushroo 0.000 4 0.000 3 0.000 2 0.000 1
optdigi 0.035 2 0.033 1 0.044 4 0.040 3
page-bl 0.093 2 0.089 1 0.098 3 0.109 4
pendigi 0.017 2 0.017 1 0.023 4 0.021 3
scene-c 0.384 4 0.364 1 0.376 2 0.378 3
segment 0.020 3 0.010 1 0.023 4 0.013 2
shuttle 0.000 2 0.000 1 0.001 4 0.000 3
sonar 0.941 4 0.404 1 0.486 3 0.440 2
spambas 0.162 2 0.162 1 0.173 4 0.167 3
tic-tac 0.379 4 0.333 1 0.340 3 0.339 2
vehicle 0.077 2 0.068 1 0.131 4 0.077 3
vowel 0.076 2 0.071 1 0.094 4 0.085 3
wavefor 0.253 2 0.252 1 0.264 3 0.271 4
wdbc 0.256 4 0.089 1 0.141 3 0.107 2
wpbc 1.016 4 0.500 2 0.496 1 0.503 3
yeast 0.510 2 0.509 1 0.543 4 0.514 3
zoo 0.132 4 0.013 3 0.013 1 0.013 2
"""


@pytest.fixture(scope="module")
def beta_table():
    rows = [line.split() for line in BETA_TABLE_2.split("\n") if line]
    numbers = np.array([row[1:] for row in rows], dtype=float)
    losses, ranks = numbers[:, ::2], numbers[:, 1::2]
    # Where printed losses are equal, the printed rank says which was smaller.
    return losses + 1e-6 * ranks


def test_demsar_average_ranks():
    ranks = average_ranks(AUC, **DEMSAR)
    np.testing.assert_allclose(ranks.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert ranks.n_sets == 14


def test_demsar_friedman_and_its_f_form():
    result = friedman_test(AUC, **DEMSAR)
    assert result.chi_square == pytest.approx(9.28, abs=5e-3)
    assert result.f_statistic == pytest.approx(3.69, abs=5e-3)
    assert result.degrees_of_freedom == (3, 39)
    assert result.f_p_value < 0.05  # the critical value of F(3, 39) is 2.85


@pytest.mark.parametrize(
    ("alpha", "quantile", "difference"), [(0.05, 2.569, 1.25), (0.1, 2.291, 1.12)]
)
def test_demsar_nemenyi_critical_difference(alpha, quantile, difference):
    result = nemenyi(AUC, **DEMSAR, alpha=alpha)
    assert result.critical_difference == pytest.approx(difference, abs=5e-3)
    error = np.sqrt(4 * 5 / (6 * 14))
    assert result.critical_difference / error == pytest.approx(quantile, abs=2e-3)


def test_demsar_nemenyi_groups():
    # At 0.05 even the best and the worst, 3.143 - 1.964 = 1.18 apart, are not told apart; at 0.10
    # plain C4.5 is worse than the two variants with option m, and nothing else is significant.
    assert nemenyi(AUC, **DEMSAR).cliques == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)
    at_ten = nemenyi(AUC, **DEMSAR, alpha=0.10)
    assert at_ten.cliques[0] == ("C4.5+m+cf", "C4.5+m", "C4.5+cf")
    assert at_ten.cliques[1:] == (("C4.5+cf", "C4.5"),)


def test_demsar_holm_against_the_plain_tree():
    result = holm(AUC, **DEMSAR, control="C4.5")
    found = {c.second: (c.z, c.p_value) for c in result.comparisons}
    assert list(found) == ["C4.5+m+cf", "C4.5+m", "C4.5+cf"]
    for name, z, p in [
        ("C4.5+m+cf", 2.416, 0.016),
        ("C4.5+m", 2.342, 0.019),
        ("C4.5+cf", 0.512, 0.607),
    ]:
        assert found[name] == (pytest.approx(z, abs=2e-3), pytest.approx(p, abs=2e-3))
    # Holm's levels are 0.017, 0.025 and 0.05.
    assert [c.rejected for c in result.comparisons] == [True, True, False]


def test_demsar_wilcoxon():
    result = wilcoxon_signed_rank(AUC[:, 0], AUC[:, 1], greater_is_better=True)
    assert (result.second_sum, result.first_sum, result.statistic) == (93, 12, 12)
    assert result.p_value < 0.05


def test_demsar_sign_test():
    result = sign_test(AUC[:, 1], AUC[:, 0], greater_is_better=True)
    assert (result.wins, result.draws, result.losses) == (10, 2, 2)
    # 11 of 14 with the draws shared out: 2 * P(X >= 11) by hand.
    assert result.p_value == pytest.approx(2 * (364 + 91 + 14 + 1) / 2**14)


def test_beta_paper_average_ranks(beta_table):
    ranks = average_ranks(beta_table, methods=BETA_METHODS)
    np.testing.assert_allclose(ranks.ranks, [3.20, 1.27, 3.12, 2.41], atol=5e-3)
    assert ranks.n_sets == 41


def test_beta_paper_friedman_p_value(beta_table):
    result = friedman_test(beta_table, methods=BETA_METHODS)
    assert result.chi_square_p_value == pytest.approx(1.0e-12, rel=0.05)
