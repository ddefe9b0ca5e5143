"""Demšar's diagram: numbers first, then what is on the page."""

from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest

from trueodds.exceptions import InputError
from trueodds_studies import CriticalDifferenceDisplay
from trueodds_studies.stats import nemenyi

mpl.use("agg")

NAMES = [f"a_rather_long_name_{j}" for j in range(12)]


def results(k, n=60, seed=0, spread=2.0):
    return np.random.default_rng(seed).normal(size=(n, k)) + np.linspace(0, spread, k)


def texts_of(display):
    display.figure_.canvas.draw()
    return {text.get_text().strip(): text.get_window_extent() for text in display.ax_.texts}


def bars_of(display):
    return [line for line in display.ax_.lines if line.get_linewidth() > 2]


def test_the_display_holds_the_numbers_of_the_nemenyi_test_best_first():
    table = results(5)
    test = nemenyi(table)
    display = CriticalDifferenceDisplay.from_results(table)
    assert display.ranks == tuple(sorted(test.ranks.ranks))
    assert display.critical_difference == test.critical_difference
    assert display.cliques == test.cliques
    assert display.n_sets == 60


@pytest.mark.parametrize("k", [2, 3, 4, 8, 12])
@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_labels_do_not_collide_and_stay_on_the_page(k, spread):
    table = results(k, spread=spread)
    display = CriticalDifferenceDisplay.from_results(table, methods=NAMES[:k]).plot()
    boxes = texts_of(display)
    assert len([name for name in boxes if name.startswith("a_rather")]) == k
    for (a, one), (b, other) in combinations(boxes.items(), 2):
        assert not one.overlaps(other), f"{a!r} and {b!r} overlap"
    width, height = display.figure_.canvas.get_width_height()
    for name, box in boxes.items():
        assert box.x0 >= 0, name
        assert box.x1 <= width, name
        assert box.y0 >= 0, name
        assert box.y1 <= height, name
    mpl.pyplot.close(display.figure_)


def test_labels_shrink_on_axes_that_are_too_low_for_them():
    figure, ax = mpl.pyplot.subplots(figsize=(9, 1.5))
    display = CriticalDifferenceDisplay.from_results(results(12), methods=NAMES).plot(ax=ax)
    assert display.ax_ is ax
    boxes = texts_of(display)
    names = [box for name, box in boxes.items() if name.startswith("a_rather")]
    assert not any(one.overlaps(other) for one, other in combinations(names, 2))
    mpl.pyplot.close(figure)


def test_each_clique_is_a_bar_over_its_methods_alone():
    display = CriticalDifferenceDisplay.from_results(results(12), methods=NAMES).plot()
    rank = dict(zip(display.methods, display.ranks, strict=True))
    assert len(display.cliques) > 2
    for clique, bar in zip(display.cliques, bars_of(display), strict=True):
        low, high = bar.get_xdata()
        assert {name for name in rank if low <= rank[name] <= high} == set(clique)
    mpl.pyplot.close(display.figure_)


def test_bars_that_overlap_are_at_different_heights():
    display = CriticalDifferenceDisplay.from_results(results(12), methods=NAMES).plot()
    overlapping = 0
    for one, other in combinations(bars_of(display), 2):
        (a, b), (c, d) = one.get_xdata(), other.get_xdata()
        if a <= d and c <= b:
            overlapping += 1
            assert one.get_ydata()[0] != other.get_ydata()[0]
    assert overlapping > 2
    mpl.pyplot.close(display.figure_)


def test_methods_that_all_differ_have_no_bar():
    table = np.tile(np.arange(4.0), (60, 1))
    display = CriticalDifferenceDisplay.from_results(table).plot(title="clear")
    assert bars_of(display) == []
    assert display.ax_.get_title() == "clear"
    mpl.pyplot.close(display.figure_)


def test_something_else_than_a_test_is_refused():
    with pytest.raises(InputError, match="result of nemenyi"):
        CriticalDifferenceDisplay.from_test(3)
