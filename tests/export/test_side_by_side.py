"""Formulas of several models as one: the same numbers, or none if their shapes differ."""

import numpy as np
import onnxruntime

from trueodds.export import render_onnx
from trueodds.export.onnx.side_by_side import side_by_side
from trueodds.maps import LogOddsCurveMap, LogOddsMap, PiecewiseLinearMap, StepMap

P = np.concatenate([[0.0, 1.0, 1e-20, 0.5], np.random.default_rng(0).random(500)])


def together(*maps):
    return side_by_side([m.formula() for m in maps])


def test_models_side_by_side_give_what_each_gives():
    x = np.linspace(0, 1, 1200)
    for maps in (
        (LogOddsMap(a=0.5, b=0.9, c=0.1), LogOddsMap(a=0.7, b=1.9, c=-0.1)),
        (StepMap(edges=[0.2, 0.5], values=[0.1, 0.3, 0.7]), StepMap(edges=x[1:-1], values=x[1:])),
        (PiecewiseLinearMap(x=x, y=x**2), PiecewiseLinearMap(x=[0.2, 0.7, 0.9], y=[0, 0.5, 1])),
        tuple(LogOddsCurveMap(x=np.arange(n) - 2.0, y=np.arange(n) * 0.3) for n in (5, 40, 7)),
    ):
        graph = render_onnx(together(*maps), {}, n_models=len(maps))
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        scores = np.stack([np.roll(P, k) for k in range(len(maps))], axis=1)
        (found,) = session.run(None, {"scores": scores})
        expected = np.stack([m(scores[:, k]) for k, m in enumerate(maps)], axis=1)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_formulas_of_different_shapes_are_not_joined():
    beta = LogOddsMap(a=0.5, b=0.9, c=0.1)
    assert together(beta, StepMap(edges=[0.5], values=[0.2, 0.7])) is None
    assert together(beta, LogOddsMap(a=0.5, b=0.9, c=0.1, scale="logit")) is None
    assert (
        together(StepMap(edges=[], values=[0.2]), StepMap(edges=[0.5], values=[0.2, 0.7])) is None
    )
