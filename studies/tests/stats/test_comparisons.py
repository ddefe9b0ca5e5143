"""Comparisons over data sets, against scipy and by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from trueodds.exceptions import InputError
from trueodds_studies.stats import (
    average_ranks,
    friedman_test,
    holm,
    nemenyi,
    relative_gain_interval,
    sign_test,
    wilcoxon_signed_rank,
)


@pytest.fixture
def losses():
    rng = np.random.default_rng(0)
    return rng.random((25, 5)) + [0.0, 0.2, 0.3, 0.3, 0.8]


def test_friedman_equals_scipy_without_ties(losses):
    theirs = stats.friedmanchisquare(*losses.T)
    ours = friedman_test(losses)
    assert ours.chi_square == pytest.approx(theirs.statistic)
    assert ours.chi_square_p_value == pytest.approx(theirs.pvalue)


def test_friedman_with_tie_correction_equals_scipy(losses):
    tied = np.round(losses, 1)
    theirs = stats.friedmanchisquare(*tied.T)
    assert friedman_test(tied, correct_ties=True).chi_square == pytest.approx(theirs.statistic)
    assert friedman_test(tied).chi_square < theirs.statistic


def test_friedman_of_perfect_agreement_and_of_none_is_finite_or_infinite_but_never_nan():
    perfect = friedman_test(np.tile([1.0, 2.0, 3.0], (6, 1)))
    assert perfect.f_statistic == np.inf
    assert perfect.f_p_value == 0
    equal = friedman_test(np.ones((6, 3)), correct_ties=True)
    assert (equal.chi_square, equal.f_p_value) == (0, 1)


def test_nemenyi_equals_scipy_studentized_range(losses):
    result = nemenyi(losses, alpha=0.05)
    q = stats.studentized_range.ppf(0.95, 5, np.inf)
    assert result.critical_difference == pytest.approx(q * np.sqrt(5 * 6 / (12 * 25)))
    gaps = np.abs(result.ranks.ranks[:, None] - result.ranks.ranks)
    np.testing.assert_array_equal(result.p_values < 0.05, gaps > result.critical_difference)


def test_nemenyi_cliques_are_the_largest_groups_within_the_critical_difference(losses):
    result = nemenyi(losses)
    rank = dict(zip(result.ranks.methods, result.ranks.ranks, strict=True))
    for clique in result.cliques:
        spread = [rank[name] for name in clique]
        assert max(spread) - min(spread) < result.critical_difference
    pairs = {
        frozenset((a, b))
        for a in rank
        for b in rank
        if a != b and abs(rank[a] - rank[b]) < result.critical_difference
    }
    covered = {frozenset((a, b)) for c in result.cliques for a in c for b in c if a != b}
    assert covered == pairs
    assert not any(set(a) < set(b) for a in result.cliques for b in result.cliques)


def test_holm_of_all_pairs_has_all_pairs_and_is_never_less_strict_than_single_tests(losses):
    result = holm(losses)
    assert len(result.comparisons) == 10
    for c in result.comparisons:
        assert c.p_value <= c.adjusted_p_value <= 1
    adjusted = [c.adjusted_p_value for c in result.comparisons]
    assert adjusted == sorted(adjusted)


def test_holm_against_a_control_has_the_normal_p_values_of_rank_differences(losses):
    ranks = stats.rankdata(losses, axis=1).mean(axis=0)
    error = np.sqrt(5 * 6 / (6 * 25))
    found = {one.second: one for one in holm(losses, control="method 1").comparisons}
    for j in range(1, 5):
        one = found[f"method {j + 1}"]
        assert one.z == pytest.approx((ranks[0] - ranks[j]) / error)
        assert one.p_value == pytest.approx(2 * stats.norm.sf(abs(one.z)))
    smallest = next(iter(found.values()))
    assert smallest.adjusted_p_value == pytest.approx(min(1, 4 * smallest.p_value))


def test_wilcoxon_equals_scipy():
    rng = np.random.default_rng(1)
    a, b = rng.random(20), rng.random(20) + 0.2
    ours = wilcoxon_signed_rank(a, b)
    theirs = stats.wilcoxon(a, b)
    assert ours.statistic == theirs.statistic
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.first_sum > ours.second_sum


def test_wilcoxon_sees_equal_differences_of_decimal_fractions_as_ties():
    # 0.3 - 0.2 and 0.2 - 0.1 are not the same float.
    result = wilcoxon_signed_rank([0.3, 0.2, 0.5], [0.2, 0.1, 0.6])
    assert (result.first_sum, result.second_sum) == (2, 4)


def test_wilcoxon_takes_infinite_losses_and_equal_results():
    result = wilcoxon_signed_rank([np.inf, np.inf, 0.2, 0.3], [0.5, np.inf, 0.1, 0.1])
    assert (result.first_sum, result.second_sum) == (0.5, 9.5)
    assert wilcoxon_signed_rank([1, 2], [1, 2]).p_value == 1


def test_sign_test_equals_scipy_and_counts_draws():
    a, b = np.arange(12.0), np.arange(12.0)
    b[:8] += 1
    b[8] -= 1
    result = sign_test(a, b)
    assert (result.wins, result.draws, result.losses) == (8, 3, 1)
    assert result.p_value == pytest.approx(stats.binomtest(9, 11).pvalue)
    dropped = sign_test(a, b, draws="drop")
    assert dropped.p_value == pytest.approx(stats.binomtest(8, 9).pvalue)
    assert sign_test(a, b, tolerance=1.5).draws == 12


def test_relative_gain_by_hand():
    # X = -0.5, 0, 0.25: mean -1/12.
    result = relative_gain_interval([1, 2, 5], [2, 2, 4])
    assert result.mean == pytest.approx(-1 / 12)
    half = stats.t.ppf(0.95, 2) * np.std([-0.5, 0, 0.25], ddof=1) / np.sqrt(3)
    assert (result.low, result.high) == (
        pytest.approx(-1 / 12 - half),
        pytest.approx(-1 / 12 + half),
    )


def test_infinite_losses_share_the_last_ranks():
    ranks = average_ranks([[np.inf, 0.2, np.inf], [0.1, 0.2, 0.3]])
    np.testing.assert_allclose(ranks.ranks, [1.75, 1.5, 2.75])


def test_frames_of_pandas_and_polars_equal_arrays(losses):
    columns = {name: losses[:, j] for j, name in enumerate("abcde")}
    names = [f"s{i}" for i in range(25)]
    expected = average_ranks(losses, methods="abcde")
    for frame in (
        pd.DataFrame(columns, index=names),
        pd.DataFrame({"data set": names, **columns}),
        pl.DataFrame({"data set": names, **columns}),
    ):
        found = average_ranks(frame)
        assert found.methods == tuple("abcde")
        np.testing.assert_array_equal(found.ranks, expected.ranks)


def test_higher_is_better_reverses_the_ranks(losses):
    lower, higher = average_ranks(losses), average_ranks(losses, greater_is_better=True)
    np.testing.assert_allclose(lower.ranks + higher.ranks, 6)


def test_a_missing_result_is_named():
    frame = pd.DataFrame({"beta": [0.1, np.nan], "enir": [0.2, 0.3]}, index=["iris", "zoo"])
    with pytest.raises(InputError, match="'beta' on 'zoo'"):
        average_ranks(frame)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_ranks([1.0, 2.0]), "at least two columns"),
        (lambda: average_ranks([["a", "b"]]), "numbers"),
        (lambda: average_ranks("abc"), "array or a frame"),
        (lambda: average_ranks([[1, 2]], methods=["a", "a"]), "different names"),
        (lambda: average_ranks([[1, 2]], greater_is_better="bigger"), "greater_is_better must be"),
        (lambda: friedman_test([[1, 2], [1, 2]]), "three methods"),
        (lambda: nemenyi([[1, 2], [1, 2]], alpha=5), "alpha must be"),
        (lambda: holm([[1, 2], [1, 2]], control="c"), "control must be one of"),
        (lambda: sign_test([1, 2], [1]), "differ in length"),
        (lambda: sign_test([1, 2], [1, 2], tolerance=-1), "tolerance"),
        (lambda: wilcoxon_signed_rank([np.nan], [1]), "NaN at index 0"),
        (lambda: wilcoxon_signed_rank([], []), "not empty"),
        (lambda: relative_gain_interval([1, 2], [1, 0]), "0 at index 1"),
        (lambda: relative_gain_interval([1, 2], [1, np.inf]), "finite"),
        (lambda: relative_gain_interval([1, 2], [1, 2], level=95), "level must be"),
    ],
)
def test_bad_input_is_refused_with_a_reason(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_every_outcome_can_be_read(losses):
    assert "F_F(4, 96)" in str(friedman_test(losses))
    assert "critical difference" in str(nemenyi(losses))
    assert "adjusted" in str(holm(losses, control="method 1"))
    assert "rank sums" in str(wilcoxon_signed_rank(losses[:, 0], losses[:, 1]))
