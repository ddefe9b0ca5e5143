"""The answers of least-squares trees to new rows."""

import numpy as np
import pytest
from regression_data import coded, grown, sample

from trueodds_studies.kernels.learners import RegressionForest


@pytest.mark.parametrize("depth", [1, 3])
def test_new_rows_get_what_training_rows_with_the_same_values_got(depth):
    X, z, w, n_values = sample(3)
    _, _, values = coded(X, n_values)
    tree = grown(X, z, w, n_values, depth)
    cuts = [
        0.0 if f < 0
        else low if n_values[f]
        else (values[f][low] + values[f][high]) / 2
        for f, low, high in zip(tree.attribute, tree.low, tree.high, strict=True)
    ]  # fmt: skip
    whole = np.int32
    forest = RegressionForest(
        nominal=(n_values > 0).astype(np.int8),
        roots=np.zeros(2, whole),
        column=np.array([1, 1], whole),
        attribute=np.array(tree.attribute, whole),
        cut=np.array(cuts, float),
        first=np.array(tree.first, whole),
        n_children=np.array(tree.n_children, whole),
        value=np.array(tree.value),
        share=np.array(tree.share),
        stump=depth == 1,
    )
    found = forest.sums(X)
    np.testing.assert_allclose(found[:, 1], 2 * tree.fitted, atol=1e-9)
    assert not found[:, 0].any()
