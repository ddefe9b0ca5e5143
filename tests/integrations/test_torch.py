"""Maps as torch modules, and tensors in place of arrays."""

import copy
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy import special

from support.map_examples import example_of_some_rows, examples
from trueodds import BetaCalibrator, TemperatureCalibrator
from trueodds.exceptions import InputError, TrueoddsWarning
from trueodds.maps import LogOddsMap, PiecewiseLinearMap, SoftmaxMap, StepMap, TreeMap
from trueodds.metrics import expected_calibration_error, log_loss

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:The TorchScript type system"
)


def some_examples():
    """Every map, on the rows where formulas go wrong."""
    for example in examples():
        if not example.map.features:
            yield example_of_some_rows(example.map, example.n_scores, example.name)


def numeric_tree() -> TreeMap:
    leaves = tuple(LogOddsMap(a=a, b=1.0, c=0.3) for a in (0.2, 0.5, 1.5))
    return TreeMap(
        maps=leaves, parent=[-1, 0, 0], attribute=[0, -1, -1], cut=[40.0, 0, 0],
        weight=np.ones(3), names=("age",), categories=(None,), fill=[45.0],
    )  # fmt: skip


def test_a_module_gives_what_numpy_gives_for_every_family():
    families = set()
    for example in some_examples():
        m = example.map
        if m.takes_one_score and example.n_scores > 1:
            continue  # the module takes one score
        if example.n_scores != m._n_scores:
            continue
        families.add(m.family)
        found = m.to_torch()(torch.tensor(example.scores)).detach().numpy()
        np.testing.assert_allclose(found, example.expected, rtol=0, atol=1e-9, err_msg=example.name)
    scores, age = np.linspace(0.01, 0.99, 50), np.where(np.arange(50) % 3, 20.0, 50.0)
    age[::7] = np.nan
    tree = numeric_tree()
    found = tree.to_torch()(torch.tensor(scores), torch.tensor(age[:, None])).numpy()
    np.testing.assert_allclose(found, tree(scores, features=age[:, None]), atol=1e-12)
    known = {e.map.family for e in examples()} - {"group", "tree"}
    assert families == known


def test_scores_out_of_range_are_nan():
    found = LogOddsMap(a=0.5, b=0.9, c=0.1).to_torch()(torch.tensor([-0.1, 0.5, 1.1, float("nan")]))
    assert found.isnan().tolist() == [True, False, True, True]


def test_gradients_are_those_of_finite_differences():
    scores = torch.tensor([0.05, 0.3, 0.7, 0.95], dtype=torch.float64, requires_grad=True)
    for m in (LogOddsMap(a=0.5, b=0.9, c=0.1), LogOddsMap(a=0.5, b=0.5, c=0.1)):
        assert torch.autograd.gradcheck(m.to_torch(), (scores,))
    margins = torch.tensor([[0.3, -1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    softmax = SoftmaxMap(weights=[0.5, 1.5, 0.7], bias=[0.1, -0.2, 0.3], scale="logit")
    assert torch.autograd.gradcheck(softmax.to_torch(), (margins,))


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_parameters_can_be_trained_further(scale):
    """From a wrong start, gradient descent finds what the calibrator finds."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, 3000)
    y = (rng.random(3000) < 1 / (1 + np.exp(-0.5 * z))).astype(float)
    scores = z if scale == "logit" else 1 / (1 + np.exp(-z))
    scores[:2] = (-800.0, 800.0) if scale == "logit" else (0.0, 1.0)  # branches that are not taken
    target = BetaCalibrator(scale=scale).fit(scores[2:], y[2:]).map_
    module = LogOddsMap(a=1.0, b=1.0 + 1e-9, c=0.0, scale=scale).to_torch(trainable=True)
    assert sorted(name for name, _ in module.named_parameters()) == ["a", "b", "c"]
    optimizer = torch.optim.LBFGS(module.parameters(), line_search_fn="strong_wolfe", max_iter=200)
    x, t = torch.tensor(scores), torch.tensor(y)

    def loss():
        optimizer.zero_grad()
        value = torch.nn.functional.binary_cross_entropy(module(x)[2:], t[2:])
        value.backward()
        return value

    optimizer.step(loss)
    found = [parameter.item() for _, parameter in sorted(module.named_parameters())]
    np.testing.assert_allclose(found, [target.a, target.b, target.c], atol=2e-3)


def test_one_temperature_stays_one_parameter():
    for scale, columns in (("probability", 1), ("logit", 10)):
        rng = np.random.default_rng(0)
        scores = rng.random(500) if columns == 1 else 3 * rng.normal(size=(500, columns))
        y = rng.random(500) < scores if columns == 1 else scores.argmax(axis=1)
        y[:100] = ~y[:100] if columns == 1 else rng.integers(0, columns, 100)
        fitted = TemperatureCalibrator(scale=scale).fit(scores, y.astype(int))
        for trainable in (True, False):
            module = fitted.map_.to_torch(trainable=trainable)
            value = module.state_dict()["temperature"]
            value = value if trainable else value.view(torch.float64)
            assert value.item() == pytest.approx(fitted.temperature_, rel=1e-12)
            assert value.shape == ()
        module = fitted.map_.to_torch(trainable=True)
        assert [name for name, _ in module.named_parameters()] == ["temperature"]
        with torch.no_grad():
            module.temperature.mul_(2)
        z = scores if scale == "logit" else np.log(scores / (1 - scores))
        halved = z / (2 * fitted.temperature_)
        expected = special.softmax(halved, axis=1) if columns > 1 else special.expit(halved)
        found = module(torch.tensor(scores)).detach().numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    softmax = SoftmaxMap(weights=np.eye(3), bias=[0.0, 0.1, 0.0]).to_torch(trainable=True)
    p = softmax(torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64))
    p[0, 0].backward()
    assert softmax.weights.grad.abs().sum() > 0
    assert softmax.bias.grad.shape == (3,)
    with pytest.raises(InputError, match="nothing to train further"):
        numeric_tree().to_torch(trainable=True)


@pytest.mark.parametrize(
    ("drawn", "names"),
    [
        (LogOddsMap(a=0.5, b=0.5, c=0.0), {"temperature": 2.0}),
        (LogOddsMap(a=0.5, b=0.5, c=0.1), {"slope": 0.5, "intercept": 0.1}),
        (LogOddsMap(a=0.5, b=0.7, c=0.1), {"a": 0.5, "b": 0.7, "c": 0.1}),
        (SoftmaxMap(weights=[0.5] * 3, bias=[0.0] * 3), {"temperature": 2.0}),
        (SoftmaxMap(weights=[0.5] * 3, bias=[0.0, 0.1, 0.0]), {"weights": [0.5] * 3}),
        (SoftmaxMap(weights=2 * np.eye(3), bias=[0.0] * 3), {"weights": 2 * np.eye(3)}),
    ],
)
def test_keys_of_the_state_are_names_of_parameters(drawn, names):
    states = [drawn.to_torch(trainable=trainable).state_dict() for trainable in (True, False)]
    for name, value in names.items():
        assert states[0][name].numpy() == pytest.approx(np.array(value))
        assert states[1][name].view(torch.float64).numpy() == pytest.approx(np.array(value))
    assert states[0].keys() == states[1].keys()
    others = set(states[0]) - set(names) - {"bias"}
    assert all(re.fullmatch(r"constant_\d+", name) for name in others)


def test_tables_in_the_state_have_names():
    drawn = PiecewiseLinearMap(x=[0.1, 0.5, 0.9], y=[0.2, 0.3, 0.8])
    state = drawn.to_torch().state_dict()
    assert state["knots_1"].view(torch.float64).tolist() == [0.1, 0.5, 0.9]
    assert state["levels_1"].view(torch.float64).tolist() == [0.2, 0.3, 0.8]


def test_logits_come_out_on_request_for_every_family():
    """Their sigmoid or softmax is the probability, and they are not saturated where it is."""
    for example in some_examples():
        m = example.map
        if example.n_scores != m._n_scores:
            continue
        found = m.to_torch(output="logits")(torch.tensor(example.scores))
        if example.n_scores == 1:
            p = torch.sigmoid(found)
        else:
            p = torch.softmax(found, -1)
            if m.family == "one_vs_rest":
                assert found.max() <= 1e-12  # logarithms of probabilities
        np.testing.assert_allclose(p.numpy(), example.expected, atol=1e-9, err_msg=example.name)
    z = torch.tensor([60.0, -800.0, 3.0], dtype=torch.float64)
    halved = LogOddsMap(a=0.9, b=0.9, c=1.0, scale="logit").to_torch(output="logits")
    np.testing.assert_allclose(halved(z).numpy(), 0.9 * z.numpy() + 1, rtol=1e-12)
    softmax = SoftmaxMap(weights=[0.5] * 3, bias=[0.0] * 3, scale="logit").to_torch(output="logits")
    np.testing.assert_allclose(softmax(z).numpy(), z.numpy() / 2, rtol=1e-12)
    steps = StepMap(edges=[0.2, 0.8], values=[0.0, 0.5, 1.0]).to_torch(output="logits")
    assert steps(torch.tensor([0.1, 0.5, 0.9])).tolist() == [-np.inf, 0.0, np.inf]
    with pytest.raises(InputError, match="output must be"):
        StepMap(edges=[], values=[0.5]).to_torch(output="logit")


@pytest.mark.parametrize("columns", [1, 4])
def test_training_with_losses_on_logits_finds_the_temperature(columns):
    rng = np.random.default_rng(1)
    scores = 3 * rng.normal(size=(2000, columns))
    p = special.softmax(scores / 2.5, axis=1) if columns > 1 else special.expit(scores / 2.5)
    p = p if columns > 1 else np.hstack([1 - p, p])
    y = (p.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    scores = scores if columns > 1 else scores[:, 0]
    target = TemperatureCalibrator(scale="logit").fit(scores, y)
    zeros = np.zeros(4)
    start = (
        LogOddsMap(a=0.9, b=0.9, c=0.0, scale="logit")
        if columns == 1
        else SoftmaxMap(weights=zeros + 0.9, bias=zeros, scale="logit")
    )
    module = start.to_torch(trainable=True, output="logits")
    losses = torch.nn.functional
    loss_of = (
        losses.cross_entropy
        if columns > 1
        else lambda z, t: losses.binary_cross_entropy_with_logits(z, t.double())
    )
    optimizer = torch.optim.LBFGS(module.parameters(), line_search_fn="strong_wolfe", max_iter=100)
    x, t = torch.tensor(scores), torch.tensor(y)

    def loss():
        optimizer.zero_grad()
        value = loss_of(module(x), t)
        value.backward()
        return value

    optimizer.step(loss)
    assert module.temperature.item() == pytest.approx(target.temperature_, abs=1e-3)


@pytest.mark.slow
def test_modules_of_every_family_are_scripted_exported_and_saved(tmp_path):
    seen = set()
    for example in some_examples():
        m = example.map
        if example.n_scores != m._n_scores or m.family in seen:
            continue
        seen.add(m.family)
        module, scores = m.to_torch(), torch.tensor(example.scores[:80])
        expected = module(scores)
        for travelled in (
            torch.export.export(module, (scores,)).module(),
            torch.jit.script(module),
        ):
            torch.testing.assert_close(travelled(scores), expected, equal_nan=True)
        torch.save(module.state_dict(), tmp_path / "map.pt")
        other = m.to_torch()
        other.load_state_dict(torch.load(tmp_path / "map.pt", weights_only=True))
        torch.testing.assert_close(other(scores), expected, equal_nan=True)
    assert seen == {e.map.family for e in examples()} - {"group", "tree"}


def test_torch_is_imported_only_if_tensors_come_in():
    script = (
        "import sys, numpy as np, trueodds\n"
        "from trueodds.metrics import expected_calibration_error\n"
        "p, y = np.linspace(0.1, 0.9, 40), np.arange(40) % 2\n"
        "fitted = trueodds.BetaCalibrator().fit(p, y)\n"
        "fitted.predict_proba(p), fitted.map_(p), expected_calibration_error(y, p)\n"
        "fitted.map_.to_sql('p'), fitted.map_.to_javascript(), fitted.map_.to_python()\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_come_back_as_they_went_in(dtype):
    p, y = torch.rand(200, generator=torch.Generator().manual_seed(0)), torch.arange(200) % 2
    p = p.to(dtype)
    calibrator = BetaCalibrator().fit(p, y)
    twin = BetaCalibrator().fit(p.double().numpy(), y.numpy())
    assert calibrator.map_ == twin.map_
    for found, expected in (
        (calibrator.map_(p), twin.map_(p.double().numpy())),
        (calibrator.predict_proba(p), twin.predict_proba(p.double().numpy())),
        (calibrator.map_.to_torch()(p), twin.map_(p.double().numpy())),
    ):
        assert found.dtype == dtype
        torch.testing.assert_close(found, torch.tensor(expected).to(dtype), atol=1e-7, rtol=1e-6)
    assert expected_calibration_error(y, p) == expected_calibration_error(
        y.numpy(), p.double().numpy()
    )


def test_a_tensor_with_gradients_is_cut_from_them_with_a_note():
    p = torch.tensor([0.2, 0.6], requires_grad=True)
    with pytest.warns(TrueoddsWarning, match="to_torch"):
        found = LogOddsMap(a=0.5, b=0.5, c=0.0)(p)
    assert not found.requires_grad
    assert log_loss([0, 1], p) == pytest.approx(log_loss([0, 1], p.detach().numpy()))


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_integers_and_booleans_give_probabilities_of_the_default_dtype(scale):
    m = LogOddsMap(a=0.7, b=0.7, c=0.2, scale=scale)
    for given in (torch.tensor([0, 1, 2]), torch.tensor([0, 1], dtype=torch.uint8),
                  torch.tensor([True, False])):  # fmt: skip
        numbers = given.double().numpy()
        usable = numbers <= (1 if scale == "probability" else np.inf)
        expected = np.where(usable, m(np.where(usable, numbers, 0.0)), np.nan)
        module = m.to_torch()
        for travelled in (module, torch.jit.script(module)):
            found = travelled(given)
            assert found.dtype == torch.get_default_dtype()
            np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("method", ["half", "bfloat16", "float", "double"])
def test_a_network_of_another_dtype_does_not_round_the_tables(method):
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.random(2000) ** 2, [0.0, 1.0]])
    edges = np.unique(rng.random(300))
    for m in (
        StepMap(edges=edges, values=np.linspace(0, 1, 301)),
        PiecewiseLinearMap(x=edges, y=np.sqrt(edges)),
        LogOddsMap(a=0.4, b=0.9, c=0.1),
    ):
        network = torch.nn.Sequential(torch.nn.Identity(), m.to_torch())
        networks = [network]
        if method != "bfloat16":  # which scripted modules do not have
            networks.append(torch.jit.script(network))
        for changed in [getattr(one, method)() for one in networks]:
            found = changed(torch.tensor(scores)).numpy()
            np.testing.assert_allclose(found, m(scores), rtol=0, atol=1e-15)
            assert next(changed.buffers()).device == torch.device("cpu")
    finite = LogOddsMap(a=0.7, b=0.7, c=0.2, scale="raw").to_torch()
    given = torch.tensor([np.inf, -np.inf, np.nan, 2.0])
    assert getattr(finite, method)()(given).isnan().tolist() == [True, True, True, False]


def test_a_module_moves_to_another_device_and_is_copied_whole():
    module = StepMap(edges=[0.1, 0.5], values=[0.2, 0.3, 0.9]).to_torch()
    assert {buffer.device.type for buffer in copy.deepcopy(module).to("meta").buffers()} == {"meta"}
    again = copy.deepcopy(module).half()
    given = torch.tensor([0.1, float(np.nextafter(0.1, 0))], dtype=torch.float64)
    assert again(given).tolist() == [0.3, 0.2]
