"""The drawing of a tree: its numbers first, then what is on the page."""

import matplotlib as mpl
import numpy as np
import pytest

from support.map_examples import small_tree
from trueodds.exceptions import InputError
from trueodds.maps import LogOddsMap, SoftmaxMap
from trueodds.plots import TreeDisplay

mpl.use("agg")


def test_the_display_holds_layout_conditions_and_curves():
    display = TreeDisplay.from_map(small_tree(), decimals=0)
    assert display.position == {0: (0.75, 0), 1: (0.0, 1), 2: (1.5, 1), 3: (1.0, 2), 4: (2.0, 2)}
    assert display.edges == [
        (0, 1, "age <= 40"),
        (0, 2, "age > 40"),
        (2, 3, "color = blue"),
        (2, 4, "color = red"),
    ]
    assert display.labels == {0: "age", 1: "n = 60", 2: "color", 3: "n = 10", 4: "n = 30"}
    assert sorted(display.curves) == [1, 3, 4]
    expected = small_tree().maps[3](display.x)
    np.testing.assert_allclose(display.curves[3][:, 0], expected, rtol=1e-12)


def test_a_limit_on_depth_draws_inner_nodes_by_their_own_maps():
    display = TreeDisplay.from_map(small_tree(), max_depth=1)
    assert sorted(display.curves) == [1, 2]
    assert display.labels[2] == "n = 40"
    np.testing.assert_allclose(display.curves[2][:, 0], small_tree().maps[2](display.x), rtol=1e-12)


def test_each_class_of_several_has_a_curve():
    same = SoftmaxMap(weights=np.eye(3), bias=np.zeros(3))
    display = TreeDisplay.from_map(small_tree(maps=(same,) * 5, classes=("a", "b", "c")))
    np.testing.assert_allclose(display.curves[1], np.tile(display.x[:, None], 3), atol=1e-9)
    figure = display.plot().figure_
    first = next(ax for ax in display.ax_.child_axes if ax.get_legend())
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["a", "b", "c"]
    mpl.pyplot.close(figure)


@pytest.mark.parametrize("scale", ["probability", "logit", "raw"])
def test_every_leaf_is_drawn_on_every_scale(scale):
    maps = tuple(LogOddsMap(a=a, b=a, c=0.0, scale=scale) for a in (1.0, 0.5, 2.0, 3.0, 4.0))
    display = TreeDisplay.from_map(small_tree(maps=maps, scale=scale)).plot()
    assert [ax.get_title() for ax in display.ax_.child_axes] == ["n = 60", "n = 10", "n = 30"]
    words = {text.get_text() for text in display.ax_.texts}
    assert words == {"age", "color", "<= 40.00", "> 40.00", "= blue", "= red"}
    mpl.pyplot.close(display.figure_)


def test_curves_cover_the_scores_that_are_given():
    maps = tuple(LogOddsMap(a=1.0, b=1.0, c=0.0, scale="raw") for _ in range(5))
    display = TreeDisplay.from_map(small_tree(maps=maps, scale="raw"), scores=np.arange(1001) / 10)
    np.testing.assert_allclose(display.x[[0, -1]], [0.5, 99.5])


def test_other_maps_are_refused():
    with pytest.raises(InputError, match="TreeMap is needed"):
        TreeDisplay.from_map(LogOddsMap(a=1.0, b=1.0, c=0.0))
    with pytest.raises(InputError, match="node must be an integer of at least 0 and at most 4"):
        small_tree().at_node(5, [0.5])
