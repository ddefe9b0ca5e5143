"""Structured matrix and structured vector scaling."""

import numpy as np
import pytest

import trueodds
from support.rival_samples import mixed_up_classes, normalized
from trueodds import StructuredMatrixCalibrator, StructuredVectorCalibrator, TemperatureCalibrator
from trueodds.exceptions import MissingClassWarning, SeparableScoresWarning
from trueodds.metrics import log_loss

both = pytest.mark.parametrize("kind", [StructuredMatrixCalibrator, StructuredVectorCalibrator])

# Inverse temperature and first row, by probmetrics 1.3.0 in double precision with its solver run
# to the end, as benchmarks/rivals/rival_methods.py does it. In sample 4 some probabilities are 0.
MATRIX = [
    (0, 500, 3, 0.41932756, [0.347512501, 0.223395535, 0.429091964]),
    (
        *(1, 1500, 5, 0.37729488),
        [0.142239567, 0.310815042, 0.169808716, 0.022201467, 0.354935209],
    ),
    (2, 800, 2, 0.48899269, [0.703233747, 0.296766253]),
    (4, 600, 4, 0.02163000, [0.129026605, 0.113148565, 0.64473857, 0.11308626]),
]
VECTOR = [
    (0, 500, 3, 0.41932756, [0.342673421, 0.216156793, 0.441169786]),
    (
        *(1, 1500, 5, 0.37729488),
        [0.117322264, 0.382389228, 0.179693854, 0.024345981, 0.296248673],
    ),
    (2, 800, 2, 0.48899269, [0.703031102, 0.296968898]),
    (4, 600, 4, 0.02163000, [0.136182695, 0.10943062, 0.64629681, 0.108089874]),
]


def sample(seed, n, k):
    """With exact zeros if the seed is 4."""
    p, y = mixed_up_classes(seed, n, k)
    return (normalized(np.where(p < 0.05, 0, p)) if seed == 4 else p), y


@pytest.mark.parametrize(
    ("kind", "reference"),
    [(StructuredMatrixCalibrator, row) for row in MATRIX]
    + [(StructuredVectorCalibrator, row) for row in VECTOR],
)
def test_the_fit_equals_that_of_the_reference(kind, reference):
    seed, n, k, tau, row = reference
    p, y = sample(seed, n, k)
    calibrator = kind().fit(p, y)
    assert calibrator.map_.tau == pytest.approx(tau, rel=1e-6)
    np.testing.assert_allclose(calibrator.predict_proba(p[:1]), [row], atol=1e-7)


@both
def test_the_same_rows_change_more_if_they_occurred_more_often(kind):
    p, y = sample(5, 200, 8)
    light, heavy = (kind().fit(p, y, counts=np.full(200, k)).map_ for k in (1, 50))
    assert light.tau == pytest.approx(heavy.tau)
    assert 3 * np.linalg.norm(light.on_logs) < np.linalg.norm(heavy.on_logs)
    assert 3 * np.linalg.norm(light.bias) < np.linalg.norm(heavy.bias)


@both
def test_many_rows_are_fitted_better_than_by_a_temperature(kind):
    p, y = sample(6, 4000, 3)
    found = kind().fit(p[:2000], y[:2000]).predict_proba(p[2000:])
    cooled = TemperatureCalibrator().fit(p[:2000], y[:2000]).predict_proba(p[2000:])
    assert log_loss(y[2000:], found) < log_loss(y[2000:], cooled) - 0.01


@both
def test_logits_and_their_probabilities_give_the_same(kind):
    p, y = sample(7, 500, 4)
    shifted = np.log(p) + np.arange(500)[:, None] % 7
    found = kind(scale="logit").fit(shifted, y).predict_proba(shifted)
    np.testing.assert_allclose(found, kind().fit(p, y).predict_proba(p), atol=1e-6)


@both
def test_margins_of_any_size_give_the_same(kind):
    p, y = sample(8, 500, 3)
    z = 16 * np.log(p)
    ordinary, large = (
        kind(scale="raw").fit(size * z, y).predict_proba(size * z) for size in (1.0, 1e200)
    )
    np.testing.assert_allclose(large, ordinary, atol=1e-6)


@both
def test_scores_that_go_the_wrong_way_are_not_believed(kind):
    p, y = sample(9, 1000, 3)
    calibrator = kind().fit(normalized(1 - p), y)
    assert calibrator.map_.tau == 0
    assert log_loss(y, calibrator.predict_proba(normalized(1 - p))) <= np.log(3) + 1e-9


@both
def test_scores_that_separate_the_classes_are_smoothed_with_a_warning(kind):
    p = normalized(np.eye(3)[np.arange(60) % 3] + 0.1)
    with pytest.warns(SeparableScoresWarning):
        found = kind().fit(p, np.arange(60) % 3).predict_proba(p)
    assert 0.9 < found.max() < 1


@both
def test_a_fit_of_nearly_perfect_scores_runs_to_its_end(kind):
    rng = np.random.default_rng(12)
    p = normalized(np.eye(3)[np.arange(60) % 3] + rng.uniform(0, 0.1, size=(60, 3)))
    with pytest.warns(SeparableScoresWarning) as caught:  # and none of an early stop
        kind().fit(p, np.arange(60) % 3)
    assert len(caught) == 1
    kind(label_smoothing=0.01).fit(p, np.arange(60) % 3)  # without any


@both
def test_a_class_without_rows_stays_neutral_with_a_warning(kind):
    p, y = sample(10, 500, 4)
    seen = y != 2
    with pytest.warns(MissingClassWarning, match=r"\[2\]"):
        calibrator = kind(classes=range(4)).fit(p[seen], y[seen])
    assert calibrator.map_.bias[2] == 0
    assert not calibrator.map_.on_logs[2].any()


@both
def test_the_map_is_saved_and_loaded(kind, tmp_path):
    p, y = sample(11, 300, 3)
    calibrator = kind().fit(p, y)
    calibrator.map_.save(tmp_path / "map.json")
    loaded = trueodds.load(tmp_path / "map.json")
    np.testing.assert_array_equal(loaded(p), calibrator.map_(p))
