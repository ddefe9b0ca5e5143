"""A map that any calibrator has fitted can be exported."""

import warnings

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa
import pytest

from trueodds.calibrators import all_calibrators
from trueodds.testing._sample import binary_sample, features_argument, fit, multiclass_sample


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(all_calibrators()))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fitted_map_exports_to_what_it_predicts(method, n_classes):
    sample = binary_sample() if n_classes == 2 else multiclass_sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit(all_calibrators()[method](), sample)
    scores = np.asarray(sample.scores, dtype=float)
    extra = features_argument(fitted, sample)
    expected = fitted.map_(scores, **extra)
    columns = {f"s{k}": column for k, column in enumerate(scores.reshape(len(scores), -1).T)}
    attributes = np.asarray(extra["features"]) if extra else np.empty((len(scores), 0))
    names = [f"x{k}" for k in range(attributes.shape[1])]
    table = pa.table(columns | dict(zip(names, attributes.T, strict=True)))
    column = "s0" if scores.ndim == 1 else list(columns)
    written = fitted.map_.to_sql(column, features=names or None)
    parts = [written] if isinstance(written, str) else written
    selected = ", ".join(f"{sql} AS p{k}" for k, sql in enumerate(parts))
    found = np.array(duckdb.connect().from_arrow(table).select(selected).fetchall(), dtype=float)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-9)

    model = fitted.map_.to_onnx()
    inputs = {"scores": scores}
    for declared in model.graph.input[1:]:
        place = int(declared.name.removeprefix("feature_x"))
        inputs[declared.name] = attributes[:, place].astype(float)
    graph = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)[0]
    np.testing.assert_allclose(graph, expected, rtol=0, atol=1e-9)

    namespace: dict = {}
    exec(fitted.map_.to_python(), namespace)  # noqa: S102
    rows = [(row,) for row in scores.tolist()]
    if extra and len(model.graph.input) > 1:
        rows = [(row, a) for (row,), a in zip(rows, attributes.tolist(), strict=True)]
    python = np.array([namespace["calibrate"](*row) for row in rows])
    np.testing.assert_allclose(python, expected, rtol=0, atol=1e-9)
