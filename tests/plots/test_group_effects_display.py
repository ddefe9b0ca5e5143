"""Drawing the effects of groups."""

import numpy as np
import pytest

from trueodds import BetaCalibrator, GroupCalibrator
from trueodds.exceptions import InputError
from trueodds.plots import GroupEffectsDisplay


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    group, p = rng.integers(0, 30, 900), rng.random(900)
    y = rng.random(900) < np.clip(p + (group - 15) / 60, 0.01, 0.99)
    return GroupCalibrator(categorical=[0]).fit(p, y, features=group[:, None])


def test_the_largest_shifts_are_drawn_with_their_intervals(fitted):
    display = GroupEffectsDisplay.from_calibrator(fitted, feature="x0").plot(most=5)
    effects = sorted(fitted.effects_.of("x0"), key=lambda e: -abs(e.shift))[:5]
    effects.sort(key=lambda e: e.shift)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [f"x0 = {e.level}" for e in effects]
    dots, _, bars = display.ax_.containers[0]
    np.testing.assert_allclose(np.array(dots.get_xdata(), dtype=float), [e.shift for e in effects])
    ends = [segment[:, 0] for segment in bars[0].get_segments()]
    np.testing.assert_allclose(ends, [(e.low, e.high) for e in effects])


def test_other_things_are_refused():
    with pytest.raises(InputError, match="GroupEffects"):
        GroupEffectsDisplay([1, 2])
    with pytest.raises(InputError, match="fitted GroupCalibrator"):
        GroupEffectsDisplay.from_calibrator(BetaCalibrator())
