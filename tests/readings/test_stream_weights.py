"""A stream takes counts, or importances of at most 1, which are not rescaled."""

import json

import numpy as np
import pytest

from trueodds import CalibrationMonitor, OnlineCalibrator
from trueodds.exceptions import InputError

RNG = np.random.default_rng(7)
P = RNG.uniform(0.05, 0.95, 400)
Y = (RNG.random(400) < 0.8 * P).astype(int)
W = RNG.uniform(0, 1, 400)
KINDS = [OnlineCalibrator, CalibrationMonitor]


def state(learner):
    return json.dumps(learner.to_dict())


@pytest.mark.parametrize("kind", KINDS)
def test_importances_above_1_are_refused_with_the_way_out(kind):
    learner = kind().update(P, Y)
    before = state(learner)
    with pytest.raises(InputError, match=r"at most 1 in a stream; got 3 .*pass them as counts"):
        learner.update([0.2, 0.4], [0, 1], sample_weight=[1, 3])
    assert state(learner) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [[1.5, 1], [-1, 1], [np.nan, 1]])
def test_counts_are_whole_numbers(kind, bad):
    with pytest.raises(InputError, match="counts must be"):
        kind().update([0.2, 0.4], [0, 1], counts=bad)


@pytest.mark.parametrize("kind", KINDS)
def test_one_each_is_the_same_as_nothing(kind):
    plain = state(kind().update(P, Y))
    assert state(kind().update(P, Y, sample_weight=np.ones(400))) == plain
    assert state(kind().update(P, Y, counts=np.ones(400, dtype=int))) == plain


@pytest.mark.parametrize("kind", KINDS)
def test_importances_are_not_rescaled(kind):
    whole, half = kind().update(P, Y, sample_weight=W), kind().update(P, Y, sample_weight=W / 2)
    assert state(whole) != state(half)


@pytest.mark.parametrize("kind", KINDS)
def test_an_importance_times_a_count_is_their_product(kind):
    counts = RNG.integers(0, 2, 400)
    both = state(kind().update(P, Y, sample_weight=W, counts=counts))
    assert both == state(kind().update(P, Y, sample_weight=W * counts))


def test_a_count_is_one_answer_of_several_rows():
    """Rows of one count are learned together: closer to repetition than to one row."""
    online = OnlineCalibrator().update([0.3], [1], counts=[5])
    once, five = OnlineCalibrator().update([0.3], [1]), OnlineCalibrator()
    for _ in range(5):
        five.update([0.3], [1])
    p, one, repeated = (o.predict_proba([0.3])[0, 1] for o in (online, once, five))
    assert one < p
    assert abs(p - repeated) < abs(p - one)


def test_late_labels_take_counts():
    online, plain = OnlineCalibrator(), OnlineCalibrator()
    for each in (online, plain):
        each.ask([0.3, 0.6], ids=["a", "b"])
    online.answer(["a", "b"], [1, 0], counts=[1, 1])
    plain.answer(["a", "b"], [1, 0])
    assert state(online) == state(plain)
