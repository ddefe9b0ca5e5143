"""Checks of scikit-learn's contract, of side effects, and of the map's JSON."""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from trueodds.maps import CalibrationMap
from trueodds.testing._sample import (
    binary_sample,
    features_argument,
    fit,
    fresh,
    multiclass_sample,
    predict,
)

__all__: list[str] = []


def check_fit_returns_self(calibrator: Any) -> None:
    copy = fresh(calibrator)
    sample = binary_sample()
    extra = features_argument(copy, sample)
    assert copy.fit(sample.scores, sample.y, **extra) is copy


def check_fit_leaves_parameters_alone(calibrator: Any) -> None:
    before = fresh(calibrator).get_params(deep=False)
    fitted = fit(calibrator, binary_sample())
    after = fitted.get_params(deep=False)
    assert before.keys() == after.keys()
    for name, value in before.items():
        same = after[name] is value or repr(after[name]) == repr(value)
        assert same, f"fit changed the parameter {name}."


def check_clone_is_unfitted_and_fits_alike(calibrator: Any) -> None:
    sample = binary_sample()
    fitted = fit(calibrator, sample)
    copy = clone(fitted)
    assert not [name for name in vars(copy) if name.endswith("_") and not name.startswith("_")]
    np.testing.assert_array_equal(
        predict(fit(copy, sample), sample), predict(fitted, sample), "a clone fits differently."
    )


def check_refit_forgets_the_first_fit(calibrator: Any) -> None:
    first, second = binary_sample(seed=0), binary_sample(seed=5)
    twice = fit(calibrator, first)
    extra = features_argument(twice, second)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twice.fit(second.scores, second.y, **extra)
    once = fit(calibrator, second)
    np.testing.assert_array_equal(predict(twice, second), predict(once, second))


def check_input_is_not_changed(calibrator: Any) -> None:
    sample = binary_sample()
    scores, y = sample.scores.copy(), sample.y.copy()
    fitted = fit(calibrator, sample)
    p = predict(fitted, sample)
    p[:] = -1
    np.testing.assert_array_equal(sample.scores, scores)
    np.testing.assert_array_equal(sample.y, y)
    assert (predict(fitted, sample) >= 0).all(), "changing the result changed the calibrator."


def check_nothing_global_is_changed(calibrator: Any) -> None:
    copy, sample = fresh(calibrator), binary_sample()
    extra = features_argument(copy, sample)
    errors = np.geterr()
    np.random.seed(3)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filters = list(warnings.filters)
        copy.fit(sample.scores, sample.y, **extra)
        assert list(warnings.filters) == filters, "fit changed the process's warning filters."
    assert np.geterr() == errors, "fit changed NumPy's error state."
    assert np.random.random() == expected, "fit used the global random state."  # noqa: NPY002


def check_survives_joblib(calibrator: Any) -> None:
    sample = binary_sample()
    fitted = fit(calibrator, sample)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibrator.joblib"
        joblib.dump(fitted, path)
        again = joblib.load(path)
    np.testing.assert_array_equal(predict(again, sample), predict(fitted, sample))


def check_predict_is_the_most_probable_class(calibrator: Any) -> None:
    sample = multiclass_sample()
    fitted = fit(calibrator, sample)
    extra = features_argument(fitted, sample)
    expected = fitted.classes_[predict(fitted, sample).argmax(axis=1)]
    np.testing.assert_array_equal(fitted.predict(sample.scores, **extra), expected)


def check_score_is_the_share_of_right_labels(calibrator: Any) -> None:
    sample = binary_sample()
    fitted = fit(calibrator, sample)
    extra = features_argument(fitted, sample)
    right = fitted.predict(sample.scores, **extra) == sample.y
    for labels in (sample.y, sample.y.reshape(-1, 1), sample.y.tolist()):
        assert fitted.score(sample.scores, labels, **extra) == right.mean()
    weight = np.arange(1.0, 1 + len(right))
    weighted = fitted.score(sample.scores, sample.y, weight, **extra)
    np.testing.assert_allclose(weighted, np.average(right, weights=weight))
    try:
        fitted.score(sample.scores, sample.y[:-1], **extra)
    except ValueError:
        return
    raise AssertionError("score accepted fewer labels than scores.")


def check_map_survives_json(calibrator: Any) -> None:
    for sample in (binary_sample(), multiclass_sample()):
        fitted = fit(calibrator, sample)
        if not isinstance(getattr(fitted, "map_", None), CalibrationMap):
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "map.json"
            fitted.map_.save(path)
            again = CalibrationMap.load(path)
        assert again == fitted.map_, "the map changed on its way through JSON."
        if features_argument(fitted, sample):
            continue
        ours = predict(fitted, sample)
        theirs = again(sample.scores)
        np.testing.assert_array_equal(theirs, ours if sample.scores.ndim == 2 else ours[:, 1])


def _frame_check(calibrator: Any, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        return
    frames = importlib.import_module(library)
    sample = binary_sample()
    frame = frames.DataFrame({"score": sample.scores, "label": sample.y})
    columns = sample.with_(scores=frame["score"], y=frame["label"])
    a = predict(fit(calibrator, columns), columns)
    b = predict(fit(calibrator, sample), sample)
    np.testing.assert_array_equal(a, b, f"columns of {library} give another result.")


def check_pandas_columns_are_legal(calibrator: Any) -> None:
    _frame_check(calibrator, "pandas")


def check_polars_columns_are_legal(calibrator: Any) -> None:
    _frame_check(calibrator, "polars")
