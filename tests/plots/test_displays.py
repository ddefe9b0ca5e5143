from __future__ import annotations

import json
import sys

import matplotlib as mpl
import numpy as np
import pytest
from scipy.special import expit

mpl.use("Agg")

from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression

from trueodds import BetaCalibrator, IsotonicCalibrator, LogisticCalibrator
from trueodds.exceptions import InputError
from trueodds.maps import CharcoalGrillMap, LogOddsMap, SoftmaxMap, StepMap
from trueodds.metrics import reliability_curve
from trueodds.plots import CalibrationMapDisplay, CostCurveDisplay, ReliabilityDisplay


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, 600)
    return (rng.random(600) < expit(z)).astype(int), expit(2 * z)


@pytest.fixture(autouse=True)
def same_settings_before_and_after():
    before = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == before


def texts(ax):
    return [t.get_text().replace("\n", " ") for t in ax.get_legend().get_texts()]


def drawn_texts(figure):
    """Every text of the figure but the tick labels beyond the ends of their axis."""
    hidden = set()
    for ax in figure.findobj(mpl.axes.Axes):
        for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high or not ax.get_visible():
                    hidden |= {tick.label1, tick.label2}
        if not ax.get_visible():
            hidden |= set(ax.findobj(mpl.text.Text))
    every = figure.findobj(mpl.text.Text)
    return [t for t in every if t.get_visible() and t.get_text().strip() and t not in hidden]


def overlapping(figure):
    """Pairs of texts whose boxes overlap; none may leave the figure."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in drawn_texts(figure)]
    within = figure.bbox
    for text, box in boxes:
        assert box.x0 >= within.x0 - 1, text
        assert box.x1 <= within.x1 + 1, text
        assert box.y0 >= within.y0 - 1, text
        assert box.y1 <= within.y1 + 1, text
    return [
        (a, b)
        for i, (a, one) in enumerate(boxes)
        for b, two in boxes[i + 1 :]
        if one.x0 < two.x1 - 1
        and two.x0 < one.x1 - 1
        and one.y0 < two.y1 - 1
        and two.y0 < one.y1 - 1
    ]


def test_the_picture_shows_the_numbers_of_the_curve(sample):
    y, p = sample
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=5, random_state=0).plot()
    curve = display.curves[0]
    line = next(a for a in display.ax_.get_lines() if a.get_label() == "observed frequency")
    assert np.array_equal(line.get_xdata(), curve.prob_pred)
    assert np.array_equal(line.get_ydata(), curve.prob_true)
    stairs = display.hist_ax_.patches[0]
    assert np.allclose(stairs.get_data().values, curve.hist_weight / 600)


@pytest.mark.parametrize(
    ("band", "words"),
    [
        ("consistency", "90% consistency band: where a calibrated model would lie"),
        ("confidence", "90% confidence band: where this curve may lie"),
    ],
)
def test_the_legend_says_what_the_band_means(sample, band, words):
    y, p = sample
    display = ReliabilityDisplay.from_predictions(y, {"a": p, "b": p**2}, band=band).plot()
    assert texts(display.ax_) == ["a", "b", words]
    alone = ReliabilityDisplay.from_predictions(y, p, band=None).plot()
    assert texts(alone.ax_) == ["observed frequency"]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["uniform", "quantile", "corp", "smooth"])
def test_nothing_overlaps_or_leaves_the_figure(sample, strategy):
    y, p = sample
    models = {f"model {i}": p ** (1 + i / 3) for i in range(4)}
    options = {"strategy": strategy, "n_resamples": 50, "random_state": 0}
    display = ReliabilityDisplay.from_predictions(y, models, **options)
    assert overlapping(display.plot().figure_) == []
    assert overlapping(display.plot_grid().figure_) == []
    assert display.ax_.shape == (2, 3)


def test_gaps_reach_from_the_frequency_to_the_mean_probability(sample):
    y, p = sample
    display = ReliabilityDisplay.from_predictions(y, p, strategy="uniform", random_state=0)
    display.plot(style="gaps")
    curve = display.curves[0]
    gaps = next(c for c in display.ax_.containers if c.get_label().startswith("gap to"))
    heights = [bar.get_height() for bar in gaps]
    assert np.allclose(heights, np.abs(curve.prob_pred - curve.prob_true))
    assert np.allclose([bar.get_x() for bar in gaps], np.arange(10) / 10)
    assert overlapping(display.figure_) == []


def test_rare_events_can_be_drawn_on_logarithmic_axes(sample):
    y, p = sample
    display = ReliabilityDisplay.from_predictions(y, p**8, n_bins=10, random_state=0)
    display.plot(scale="log")
    low = display.ax_.get_xlim()[0]
    assert low <= display.curves[0].prob_pred.min() < 10 * low
    assert display.hist_ax_ is None
    assert overlapping(display.figure_) == []


def test_gaps_refuse_what_has_no_bins(sample):
    y, p = sample
    with pytest.raises(InputError, match="draws one curve made of bins"):
        ReliabilityDisplay.from_predictions(y, p, strategy="corp", band=None).plot(style="gaps")
    with pytest.raises(InputError, match="style must be one of"):
        ReliabilityDisplay.from_predictions(y, p, band=None).plot(style="bars")
    with pytest.raises(InputError, match="one or more ReliabilityCurve"):
        ReliabilityDisplay.from_curves()


def test_a_new_figure_is_landscape_has_a_title_and_clips_nothing(sample):
    y, p = sample
    display = ReliabilityDisplay.from_predictions(y, p, name="network", random_state=0).plot()
    width, height = display.figure_.get_size_inches()
    assert width > 1.3 * height
    assert display.ax_.get_title() == "Reliability of network"
    assert overlapping(display.figure_) == []
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.x1 <= display.figure_.bbox.x1
    assert legend.x0 >= display.ax_.get_window_extent().x1  # beside the diagram, not on it


def test_given_axes_without_a_layout_keep_the_histogram_inside_the_figure(sample):
    y, p = sample
    figure, (ax, _) = plt.subplots(1, 2, figsize=(10, 4.5))
    ax.set_title("mine")
    display = ReliabilityDisplay.from_predictions(y, p, ax=ax, random_state=0)
    assert ax.get_title() == "mine"
    assert overlapping(figure) == []
    assert display.hist_ax_.get_window_extent().y0 > 0


def test_axes_end_where_the_data_do(sample):
    y, p = sample
    low = ReliabilityDisplay.from_predictions(y, p / 10, strategy="corp", random_state=0).plot()
    assert low.ax_.get_xlim()[1] == pytest.approx(1.01)  # half of them happen
    rng = np.random.default_rng(0)
    rare = rng.random(600) < p / 10
    shown = ReliabilityDisplay.from_predictions(rare, p / 10, n_bins=5, random_state=0).plot()
    assert shown.ax_.get_xlim()[1] < 0.2
    assert shown.hist_ax_ is None
    sure = ReliabilityDisplay.from_predictions(~rare, 1 - p / 10, n_bins=5, random_state=0).plot()
    assert sure.ax_.get_xlim()[0] > 0.8


def test_classes_have_a_curve_each():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    y = np.array(["ant", "bee", "cat"])[(p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)]
    display = ReliabilityDisplay.from_predictions(y, p, multiclass="classwise", random_state=0)
    assert [curve.name for curve in display.curves] == ["class ant", "class bee", "class cat"]
    alone = reliability_curve(y, p, pos_label="bee", random_state=0)
    assert np.array_equal(display.curves[1].prob_true, alone.prob_true)
    assert display.plot_grid().ax_.shape == (1, 3)


def test_a_cost_curve_shows_both_thresholds(sample):
    y, p = sample
    display = CostCurveDisplay.from_predictions(y, {"a": p, "b": p**2}, cost_fp=1, cost_fn=9)
    ax = display.plot().ax_
    curve = display.curves["a"]
    dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
    assert dots[0].get_xdata()[0] == curve.empirical_threshold
    assert dots[0].get_ydata()[0] == curve.empirical_cost
    assert texts(ax) == ["a", "b", "best if calibrated: 0.1"]
    assert overlapping(display.figure_) == []
    line = ax.get_lines()[0]
    at = np.searchsorted(line.get_xdata(), curve.theoretical_threshold)  # a step to the left of x
    assert line.get_ydata()[at] == pytest.approx(curve.theoretical_cost)
    with pytest.raises(InputError, match="must be a CostCurve"):
        CostCurveDisplay({"a": 1})


def test_it_draws_on_given_axes_and_opens_no_figure(sample):
    y, p = sample
    figure, ax = plt.subplots()
    display = ReliabilityDisplay.from_predictions(y, p, band=None).plot(ax, histogram=False)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.hist_ax_ is None
    assert plt.get_fignums() == [figure.number]


def test_estimators_and_ready_curves_are_drawn(sample):
    y, p = sample
    X = np.log(p / (1 - p))[:, None]
    model = LogisticRegression().fit(X, y)
    one = ReliabilityDisplay.from_estimator(model, X, y, band=None)
    assert one.curves[0].name == "LogisticRegression"
    direct = reliability_curve(y, model.predict_proba(X)[:, 1], band=None)
    assert np.allclose(one.curves[0].prob_true, direct.prob_true)
    two = ReliabilityDisplay.from_estimator({"a": model, "b": model}, X, y, band=None)
    assert [c.name for c in two.curves] == ["a", "b"]
    assert ReliabilityDisplay.from_curves(direct).curves == (direct,)
    json.dumps(direct.to_dict())


def test_a_map_is_drawn_with_its_steps_and_data(sample):
    y, p = sample
    display = CalibrationMapDisplay.from_map(
        StepMap(edges=[0.25], values=[0.2, 0.7]), scores=p, y=y, n_bins=5
    )
    before = np.flatnonzero(display.x < 0.25)[-1]
    assert display.x[before] == np.nextafter(0.25, 0)
    assert list(display.y[before : before + 2]) == [0.2, 0.7]
    assert len(display.data_x) == 5
    display.plot()
    assert overlapping(display.figure_) == []
    assert "frequency of positives, in bins of equal mass" in texts(display.ax_)


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_a_map_of_rare_positives_fills_its_picture(scale):
    p = np.linspace(0.0005, 0.04, 2000)
    y = np.diff(np.floor(np.cumsum(p)), prepend=0.0) > 0  # as often as predicted
    scores = p if scale == "probability" else np.log(p / (1 - p))
    calibrator = LogisticCalibrator(scale=scale).fit(scores, y)
    display = CalibrationMapDisplay.from_calibrator(calibrator, scores=scores, level=None).plot()
    top = max(display.y.max(), 0.04)
    assert display.ax_.get_ylim() == pytest.approx((-0.06 * top, 1.03 * top))
    assert display.x[-1] == scores.max()
    (marks,) = [line for line in display.ax_.lines if line.get_label() == "scores"]
    assert -0.06 * top < marks.get_ydata()[0] < 0
    plt.close("all")
    whole = CalibrationMapDisplay.from_calibrator(calibrator, level=None).plot()
    if scale == "probability":  # without scores, the whole axis
        assert (whole.x[-1], whole.ax_.get_ylim()) == (1.0, pytest.approx((-0.06, 1.03)))


def test_maps_of_log_odds_have_their_own_axis(sample):
    y, p = sample
    z = np.log(p / (1 - p))
    calibrator = BetaCalibrator(scale="logit").fit(z, y)
    display = CalibrationMapDisplay.from_calibrator(calibrator, scores=z, y=y).plot()
    assert (display.x[0], display.x[-1]) == (z.min(), z.max())
    assert display.ax_.get_xlabel() == "log-odds"
    assert display.name == "Beta"
    free = CalibrationMapDisplay.from_map(LogOddsMap(a=1.0, b=1.0, c=0.0, scale="logit"))
    assert (free.x[0], free.x[-1]) == (-6, 6)


def test_a_calibrators_own_band_is_drawn(sample):
    y, p = sample

    class WithBand(IsotonicCalibrator):
        def predict_interval(self, scores, *, level):
            middle = self.predict_proba(scores)[:, 1]
            return np.clip(middle - level / 10, 0, 1), np.clip(middle + level / 10, 0, 1)

    display = CalibrationMapDisplay.from_calibrator(WithBand().fit(p, y), level=0.8).plot()
    inner = (display.y > 0.1) & (display.y < 0.9)
    assert np.allclose((display.high - display.low)[inner], 0.16)
    assert "80% band of the calibrated probability" in texts(display.ax_)


def test_a_temperature_field_gets_an_axis_of_its_own():
    grill = CharcoalGrillMap(means=[-2, 2], temperatures=[1, 3], widths=[1, 1], bias=0.0)
    display = CalibrationMapDisplay.from_map(grill).plot()
    assert np.array_equal(display.temperature, grill.temperature(display.x))
    assert "temperature (right)" in texts(display.ax_)


def test_a_map_of_several_classes_is_refused():
    with pytest.raises(InputError, match="a map of two classes can be drawn"):
        CalibrationMapDisplay.from_map(SoftmaxMap(weights=[1.0] * 3, bias=[0.0] * 3))


def test_without_matplotlib_the_error_names_the_install_command(sample, monkeypatch):
    y, p = sample
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = ReliabilityDisplay.from_predictions(y, p, band=None)
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "trueodds\[plot\]"'):
        display.plot()


def test_importing_plots_does_not_load_matplotlib():
    import subprocess

    code = "import sys, trueodds.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_from_predictions_draws_at_once_on_axes_that_are_given():
    from matplotlib import pyplot as plt

    rng = np.random.default_rng(0)
    p = rng.random(300)
    figure, ax = plt.subplots()
    display = ReliabilityDisplay.from_predictions(
        rng.random(300) < p, p, ax=ax, name="mine", ref_line=False, c="red", linewidth=3
    )
    assert display.ax_ is ax
    (line,) = ax.get_lines()
    assert (line.get_label(), line.get_color(), line.get_linewidth()) == ("mine", "red", 3)
    other = ReliabilityDisplay.from_predictions(rng.random(300) < p, p, name="mine")
    assert other.ax_ is None
    plt.close(figure)


def _two_ranges():
    rng = np.random.default_rng(0)
    before, after = 0.3 * rng.random(800), 0.4 * rng.random(800)
    return (rng.random(800) < after).astype(int), {"before": before, "after": after}


def _is_whole(figure):
    """Whether all that is drawn lies within the figure."""
    box, whole = figure.get_tightbbox(), figure.get_size_inches()
    return min(box.x0, box.y0) >= -0.01 and box.x1 <= whole[0] + 0.01 and box.y1 <= whole[1] + 0.01


def test_panels_of_a_grid_have_the_same_axes():
    y, models = _two_ranges()
    display = ReliabilityDisplay.from_predictions(y, models, n_bins=4).plot_grid()
    left, right = display.ax_.flat
    assert left.get_xlim() == left.get_ylim() == right.get_xlim() == right.get_ylim()
    # The axes end where a bar of the histogram ends, so that none is cut.
    assert left.get_xlim()[1] == pytest.approx(1.01 * 0.45)
    below = [ax.child_axes[0] for ax in (left, right)]
    assert below[0].get_ylim() == below[1].get_ylim()
    assert below[0].get_ylim()[1] > 0.15


@pytest.mark.parametrize("style", ["lines", "gaps"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_long_titles_and_legends_of_a_grid_are_not_cut(style, count):
    y, models = _two_ranges()
    name = "the gradient boosting of last year, fitted again in {}"
    models = {name.format(k): models["before"] for k in ("May", "June", "July")[:count]}
    options = {"strategy": "uniform", "n_bins": 8, "band": "consistency", "random_state": 0}
    display = ReliabilityDisplay.from_predictions(y, models, **options).plot_grid(style=style)
    assert _is_whole(display.figure_)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_legend_beside_a_diagram_is_not_cut(scale):
    y, models = _two_ranges()
    curves = ReliabilityDisplay.from_predictions(y, models, band="consistency", random_state=0)
    assert _is_whole(curves.plot(scale=scale).figure_)


def test_logarithmic_axes_show_the_data_and_at_least_a_power_of_ten():
    rng = np.random.default_rng(0)
    p = np.exp(rng.uniform(np.log(1e-4), np.log(2e-2), 50_000))
    y = (rng.random(50_000) < p).astype(int)
    curves = ReliabilityDisplay.from_predictions(y, p, strategy="quantile", n_bins=10)
    low, high = curves.plot(scale="log").ax_.get_xlim()
    shown = np.append(curves.curves[0].prob_pred, curves.curves[0].prob_true)
    assert high == pytest.approx(1.5 * shown.max())
    assert low == pytest.approx(shown[shown > 0].min() / 1.5)
    narrow = ReliabilityDisplay.from_predictions([0, 1] * 50, [0.4, 0.6] * 50, n_bins=2)
    assert narrow.plot(scale="log").ax_.get_xlim() == pytest.approx((0.1, 1.0))


@pytest.mark.parametrize("suffix", ["pdf", "ps"])
def test_saved_fonts_are_those_that_journals_take(tmp_path, suffix):
    y, models = _two_ranges()
    path = tmp_path / f"figure.{suffix}"
    before = dict(mpl.rcParams)
    display = ReliabilityDisplay.from_predictions(y, models)
    display.save(path)
    written = path.read_bytes()
    assert (b"/FontType 42" if suffix == "ps" else b"/CIDFontType2") in written
    assert b"/Type3" not in written
    assert b"/FontType 3" not in written
    assert dict(mpl.rcParams) == before
    display.plot_grid().save(tmp_path / "grid.png", dpi=50)
    assert (tmp_path / "grid.png").stat().st_size > 5000
