"""CharcoalGrillCalibrator: its limits are known methods, its map never falls, more coals help."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, logit

from trueodds import CharcoalGrillCalibrator, LogisticCalibrator, TemperatureCalibrator
from trueodds.exceptions import (
    ConvergenceWarning,
    InputError,
    MissingClassWarning,
    NotIncreasingWarning,
    SeparableScoresWarning,
)
from trueodds.maps import CharcoalGrillMap, CharcoalSoftmaxMap
from trueodds.numerics.charcoal_grill import fit as charcoal_grill_fit
from trueodds.numerics.charcoal_grill.classes import (
    ClassCoals,
    CoalRows,
    loss_and_gradient,
)
from trueodds.numerics.charcoal_grill.field import Coals, Layout
from trueodds.numerics.charcoal_grill.fit import GrillEvidence, _CoalProblem, fit_coal_path
from trueodds.numerics.charcoal_grill.folds import fold_shares, one_standard_error
from trueodds.numerics.charcoal_grill.paper import _objective
from trueodds.plots import CalibrationMapDisplay

GRID = np.linspace(0.001, 0.999, 999)


def distorted(n=1000, seed=0, temperature=5.0):
    """Equation 5 of the paper: right below one half, too sure above."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    z = logit(p)
    true = expit(np.where(z > 0, z / temperature, z))
    return p, (rng.uniform(size=n) < true).astype(int)


def log_loss(calibrator, p, y):
    q = calibrator.predict_proba(p)[np.arange(len(y)), y]
    return -np.log(q).sum()


def evidence(n=60, seed=0):
    p, y = distorted(n, seed)
    return GrillEvidence(np.sort(logit(p)), 1.0 - y, y.astype(float), 0.5, -0.3)


@pytest.mark.parametrize("layout", [Layout(3, True, True), Layout(2, False, False)])
@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_derivatives_agree_with_finite_differences(layout, penalty):
    problem = _CoalProblem(evidence(), layout, 0.003)
    theta = 0.2 * np.random.default_rng(3).normal(size=layout.size)
    theta[layout.n_coals - 1] += 4.0
    theta[2 * layout.n_coals - 1] += 2.5  # a hot coal, so that some slopes are negative
    cells = np.arange(0, 9999, 400)
    h = 1e-5

    def at(t):
        loss, derivatives = problem.objective(t, penalty, cells)
        return loss, *derivatives()

    up = [at(theta + d) for d in h * np.eye(layout.size)]
    down = [at(theta - d) for d in h * np.eye(layout.size)]
    loss, gradient, hessian = at(theta)
    if penalty:
        assert loss > problem.objective(theta, 0.0, cells)[0] + 1e-4
    numeric = np.array([(a[0] - b[0]) / (2 * h) for a, b in zip(up, down, strict=True)])
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)
    if not penalty:  # the penalty's curvature is approximated on purpose
        numeric = np.array([(a[1] - b[1]) / (2 * h) for a, b in zip(up, down, strict=True)])
        np.testing.assert_allclose(hessian, numeric, atol=1e-6)


@pytest.mark.parametrize("layout", [Layout(3, True, True), Layout(2, False, False)])
def test_the_papers_objective_has_the_right_gradient(layout):
    theta = np.abs(np.random.default_rng(1).normal(size=layout.size)) + 0.3
    data = evidence()
    gradient = _objective(theta, data, layout, 0.1)[1]
    h = 1e-6
    numeric = [
        (_objective(theta + d, data, layout, 0.1)[0] - _objective(theta - d, data, layout, 0.1)[0])
        / (2 * h)
        for d in h * np.eye(layout.size)
    ]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


@pytest.mark.parametrize("solver", ["joint", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_one_coal_without_bias_is_temperature_scaling(seed, solver):
    p, y = distorted(seed=seed)
    grill = CharcoalGrillCalibrator(n_coals=1, bias=False, lam=1e-9, solver=solver).fit(p, y)
    expected = TemperatureCalibrator().fit(p, y).predict_proba(GRID)
    np.testing.assert_allclose(grill.predict_proba(GRID), expected, atol=1e-5)


@pytest.mark.parametrize("solver", ["joint", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_one_coal_with_bias_is_logistic_calibration(seed, solver):
    p, y = distorted(seed=seed)
    grill = CharcoalGrillCalibrator(n_coals=1, lam=1e-9, solver=solver).fit(p, y)
    expected = LogisticCalibrator(label_smoothing=None).fit(p, y).predict_proba(GRID)
    np.testing.assert_allclose(grill.predict_proba(GRID), expected, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_loss_never_grows_with_the_number_of_coals(seed, bias):
    p, y = distorted(seed=seed)
    losses = [
        log_loss(CharcoalGrillCalibrator(n_coals=n, bias=bias).fit(p, y), p, y) for n in range(1, 6)
    ]
    assert (np.diff(losses) <= 1e-6).all()
    assert losses[1] < losses[0] - 5  # and two coals see the distortion, as one cannot


@pytest.mark.parametrize("bias", [True, False])
def test_the_distortion_of_the_paper_is_undone(bias):
    p, y = distorted(20_000)
    q = CharcoalGrillCalibrator(bias=bias).fit(p, y).predict_proba(GRID)[:, 1]
    z = logit(GRID)
    assert np.abs(q - expit(np.where(z > 0, z / 5, z))).mean() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"fit_width": True}, {"n_coals": 5, "bias": False}])
@pytest.mark.parametrize("seed", range(4))
def test_the_map_never_falls_anywhere(seed, options):
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=4, size=150)
    y = (rng.uniform(size=150) < expit(np.sin(z) + z / 3)).astype(int)
    grill = CharcoalGrillCalibrator(input="logit", **options).fit(z, y)
    q = grill.predict_proba(np.linspace(-60, 60, 20_001))[:, 1]
    assert (np.diff(q) >= 0).all()


def test_without_the_penalty_this_data_would_give_a_falling_map(monkeypatch):
    rng = np.random.default_rng(0)
    z = np.sort(rng.normal(scale=4, size=150))
    y = (rng.uniform(size=150) < expit(np.sin(z) + z / 3)).astype(float)
    data = GrillEvidence(z, 1 - y, y, 0.4, 0.0)
    free = _CoalProblem(data, Layout(3, True, False), 1e-2)
    low, high = data.checked
    monkeypatch.setattr(
        charcoal_grill_fit, "_falling", lambda coals, grid: np.zeros(len(grid) - 1, bool)
    )
    start = next(charcoal_grill_fit._starts(data, data.one_coal, 3))
    coals = free.solve(charcoal_grill_fit._Optimum(start)).coals
    assert (np.diff(coals.calibrated(np.linspace(low, high, 10_000))) < 0).any()


def test_a_thousand_rows_and_their_summary_give_the_same_map(monkeypatch):
    p, y = distorted(5000)
    summary = CharcoalGrillCalibrator().fit(p, y)
    monkeypatch.setattr("trueodds.calibrators._charcoal_grill.calibrator.FINE_CELLS", 10**6)
    whole = CharcoalGrillCalibrator().fit(p, y)
    np.testing.assert_allclose(whole.predict_proba(GRID), summary.predict_proba(GRID), atol=2e-6)


def test_margins_of_any_scale_give_the_same_probabilities():
    p, y = distorted()
    z = logit(p)
    small = CharcoalGrillCalibrator(input="score").fit(1e-3 * z, y)
    large = CharcoalGrillCalibrator(input="score").fit(1e3 * z, y)
    np.testing.assert_allclose(
        small.predict_proba(1e-3 * z), large.predict_proba(1e3 * z), atol=1e-6
    )


def test_inverted_scores_give_a_constant_and_a_warning():
    p, y = distorted()
    with pytest.warns(NotIncreasingWarning, match="fewer positives"):
        grill = CharcoalGrillCalibrator().fit(p, 1 - y)
    np.testing.assert_allclose(grill.predict_proba(GRID)[:, 1], 1 - y.mean(), atol=1e-6)


def test_separable_scores_are_smoothed_with_a_warning():
    p = np.linspace(0.05, 0.95, 40)
    with pytest.warns(SeparableScoresWarning, match="separate the classes"):
        grill = CharcoalGrillCalibrator().fit(p, p > 0.5)
    q = grill.predict_proba(p)[:, 1]
    assert q[0] > 1e-4
    assert q[-1] < 1 - 1e-4


def test_if_no_start_gives_an_increasing_map_the_one_coal_fit_is_used(monkeypatch):
    monkeypatch.setattr(
        charcoal_grill_fit, "_falling", lambda coals, grid: np.ones(len(grid) - 1, bool)
    )
    p, y = distorted()
    with pytest.warns(ConvergenceWarning, match="logistic calibration is used"):
        grill = CharcoalGrillCalibrator().fit(p, y)
    expected = LogisticCalibrator(label_smoothing=None).fit(p, y).predict_proba(GRID)
    np.testing.assert_allclose(grill.predict_proba(GRID), expected, atol=1e-9)


def test_the_papers_solver_is_no_better_than_the_joint_one():
    p, y = distorted(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        paper = CharcoalGrillCalibrator(n_coals=2, solver="paper").fit(p, y)
    assert isinstance(paper.map_, CharcoalGrillMap)
    assert (np.diff(paper.predict_proba(GRID)[:, 1]) >= 0).all()
    joint = CharcoalGrillCalibrator(n_coals=2, lam=1e-6).fit(p, y)
    assert log_loss(joint, p, y) <= log_loss(paper, p, y) + 1e-6


@pytest.mark.slow
def test_auto_takes_one_coal_where_one_is_enough_and_more_where_it_is_not():
    p, y = distorted(2000)
    assert len(CharcoalGrillCalibrator(n_coals="auto").fit(p, y).map_.means) > 1
    p, y = distorted(2000, seed=1, temperature=1.0)
    assert len(CharcoalGrillCalibrator(n_coals="auto").fit(p, y).map_.means) == 1


def test_the_rule_of_one_standard_error_takes_the_smallest_within_it():
    losses = np.array([[0.7, 0.51, 0.50], [0.9, 0.61, 0.62], [0.8, 0.56, 0.53]])
    assert one_standard_error(losses) == 1
    assert one_standard_error(losses - [0, 0, 0.1]) == 2


def test_folds_share_out_all_weight_and_keep_single_instances_whole():
    single = fold_shares(np.ones(400), 5, 1.0, 0)
    assert set(np.unique(single)) == {0.0, 1.0}
    assert (single.sum(axis=1) > 50).all()
    counts = np.array([0.5, 700.0, 1.5])
    shares = fold_shares(counts, 3, 1.0, 0)
    np.testing.assert_allclose(shares.sum(axis=0), counts)
    assert (shares[:, 1] > 150).all()


def test_splitting_a_coal_adds_one_next_to_it():
    coals = Coals(np.array([-1.0, 2.0]), np.array([1.0, 4.0]), np.ones(2), 0.0)
    split = coals.split(1, apart=1.0, ratio=4.0)
    np.testing.assert_allclose(split.means, [-1, 1.5, 2.5])
    np.testing.assert_allclose(split.temperatures, [1, 2, 8])


def test_the_display_shows_the_temperature_field():
    p, y = distorted()
    grill = CharcoalGrillCalibrator(n_coals=2).fit(p, y)
    display = CalibrationMapDisplay.from_calibrator(grill, scores=p, y=y)
    np.testing.assert_allclose(display.temperature, grill.map_.temperature(display.x))


def test_a_path_of_fits_has_one_entry_for_each_number_of_coals():
    path = fit_coal_path(evidence(), 3, bias=True, fit_width=False, lam=1e-2)
    assert len(path) == 3
    assert len(path[0].coals.means) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_coals": 0}, "n_coals must be"),
        ({"n_coals": True}, "n_coals must be"),
        ({"n_coals": "many"}, "n_coals must be"),
        ({"bias": 1}, "bias must be"),
        ({"fit_width": None}, "fit_width must be"),
        ({"lam": -1.0}, "lam must be"),
        ({"lam": np.nan}, "lam must be"),
        ({"solver": "adam"}, "solver must be"),
        ({"solver": "paper", "n_coals": "auto"}, 'needs solver="joint"'),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        CharcoalGrillCalibrator(**options).fit([0.1, 0.9], [0, 1])


def classes(n=1500, k=4, seed=0):
    """Networks that are too sure, and more so where they are surest."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=2.5, size=(n, k))
    true = logits / np.where(logits.max(axis=1) > 3, 3.0, 1.2)[:, None]
    p = np.exp(true)
    p /= p.sum(axis=1, keepdims=True)
    return logits, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


@pytest.mark.parametrize("name", ["means", "temperatures", "widths", "bias"])
def test_the_gradient_of_several_classes_agrees_with_finite_differences(name, monkeypatch):
    monkeypatch.setattr("trueodds.numerics.charcoal_grill.classes.BLOCK", 60)  # several blocks
    rng = np.random.default_rng(0)
    n, k = 40, 4
    data = CoalRows(
        np.log(rng.dirichlet(np.ones(k), n)),
        rng.integers(0, k, n),
        np.full(n, 0.9),
        np.full(n, 0.1 / 3),
        rng.uniform(0.5, 2, n),
        np.ones(k, bool),
    )
    values = {
        "means": rng.normal(size=(3, k)),
        "temperatures": rng.uniform(0.5, 2, 3),
        "widths": rng.uniform(0.7, 2, 3),
        "bias": rng.normal(size=k),
    }
    gradient = getattr(loss_and_gradient(data, ClassCoals(**values))[1], name)
    h = 1e-6
    for index in np.ndindex(values[name].shape):
        losses = []
        for sign in (1, -1):
            moved = values[name].copy()
            moved[index] += sign * h
            losses.append(loss_and_gradient(data, ClassCoals(**(values | {name: moved})))[0])
        assert (losses[0] - losses[1]) / (2 * h) == pytest.approx(gradient[index], abs=1e-6)


def test_one_coal_of_several_classes_is_temperature_scaling():
    logits, y = classes()
    grill = CharcoalGrillCalibrator(n_coals=1, bias=False, input="logit").fit(logits, y)
    expected = TemperatureCalibrator(input="logit").fit(logits, y)
    np.testing.assert_allclose(
        grill.predict_proba(logits), expected.predict_proba(logits), atol=1e-7
    )


@pytest.mark.parametrize("bias", [True, False])
def test_the_loss_of_several_classes_never_grows_with_the_number_of_coals(bias):
    logits, y = classes()
    fits = [
        CharcoalGrillCalibrator(n_coals=n, bias=bias, input="logit").fit(logits, y)
        for n in (1, 2, 3)
    ]
    losses = [log_loss(fit, logits, y) for fit in fits]
    assert (np.diff(losses) <= 1e-6).all()
    assert losses[1] < losses[0] - 5
    temperature = TemperatureCalibrator(input="logit").fit(logits, y)
    assert losses[0] <= log_loss(temperature, logits, y) + 1e-6


def test_more_coals_help_on_new_rows_of_several_classes():
    logits, y = classes(4000)
    new, labels = classes(4000, seed=1)
    grill = CharcoalGrillCalibrator(n_coals=2, input="logit").fit(logits, y)
    assert isinstance(grill.map_, CharcoalSoftmaxMap)
    temperature = TemperatureCalibrator(input="logit").fit(logits, y)
    assert log_loss(grill, new, labels) < log_loss(temperature, new, labels) - 10


def test_weights_of_several_classes_act_like_repetition():
    logits, y = classes(300)
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    grill = CharcoalGrillCalibrator(n_coals=2, input="logit")
    a = grill.fit(logits, y, sample_weight=counts).predict_proba(logits)
    b = grill.fit(logits[rows], y[rows]).predict_proba(logits)
    np.testing.assert_allclose(a, b, atol=1e-3)


@pytest.mark.parametrize("options", [{"solver": "paper"}, {"fit_width": True}, {"n_coals": "auto"}])
def test_every_option_works_for_several_classes(options):
    logits, y = classes(300)
    grill = CharcoalGrillCalibrator(input="logit", **options).fit(logits, y)
    p = grill.predict_proba(logits)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert log_loss(grill, logits, y) < -np.log(expit(0) ** 2) * len(y)


def test_a_class_without_instances_keeps_a_bias_of_zero():
    logits, y = classes(300)
    seen = y != 2
    grill = CharcoalGrillCalibrator(input="logit", classes=[0, 1, 2, 3])
    with pytest.warns(MissingClassWarning, match=r"classes \[2\] have no instance"):
        grill.fit(logits[seen], y[seen])
    assert grill.map_.bias[2] == 0


def test_classes_ranked_the_wrong_way_round_give_even_probabilities():
    logits, y = classes(300)
    with pytest.warns(NotIncreasingWarning, match="wrong way round"):
        grill = CharcoalGrillCalibrator(input="logit").fit(-5 * logits, y)
    np.testing.assert_allclose(grill.predict_proba(logits), 0.25, atol=1e-4)
