"""Checks of input: bad input raises a clear error; unusual but legal input does not."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from trueodds.testing._sample import Sample, binary_sample, fit, fresh, multiclass_sample, predict

__all__: list[str] = []


def _refused(calibrator: Any, sample: Sample, *words: str) -> None:
    """Check that ``fit`` raises a ValueError whose message contains one of the words."""
    try:
        fit(calibrator, sample)
    except ValueError as error:
        message = str(error).lower()
        assert any(word in message for word in words), (
            f"the error should contain one of {words}; got: {error}"
        )
    else:
        raise AssertionError(f"bad input was accepted; an error about {words} is expected.")


def check_predict_before_fit_is_refused(calibrator: Any) -> None:
    sample = binary_sample()
    try:
        predict(fresh(calibrator), sample)
    except NotFittedError:
        return
    raise AssertionError("predict_proba before fit must raise NotFittedError.")


def _spoilt(value: float) -> Sample:
    sample = binary_sample()
    scores = sample.scores.copy()
    scores[3] = value
    return sample.with_(scores=scores)


def check_nan_score_is_refused(calibrator: Any) -> None:
    _refused(calibrator, _spoilt(np.nan), "nan", "missing")


def check_nan_score_is_refused_in_prediction(calibrator: Any) -> None:
    fitted = fit(calibrator, binary_sample())
    try:
        predict(fitted, _spoilt(np.nan))
    except ValueError as error:
        assert "nan" in str(error).lower(), f"the error should mention NaN; got: {error}"
    else:
        raise AssertionError("a NaN score was accepted in predict_proba.")


def check_probability_above_one_is_refused(calibrator: Any) -> None:
    _refused(calibrator, _spoilt(1.4), "[0, 1]")


def check_infinite_probability_is_refused(calibrator: Any) -> None:
    _refused(calibrator, _spoilt(np.inf), "[0, 1]", "inf")


def check_one_class_is_refused(calibrator: Any) -> None:
    sample = binary_sample()
    _refused(calibrator, sample.with_(y=np.ones_like(sample.y)), "class")


def check_one_class_in_weight_is_refused(calibrator: Any) -> None:
    sample = binary_sample()
    _refused(calibrator, sample.with_(weight=sample.y.astype(float)), "class")


def check_empty_input_is_refused(calibrator: Any) -> None:
    sample = binary_sample().take(np.arange(0))
    _refused(calibrator, sample, "empty", "minimum", "at least")


def check_sparse_scores_are_refused(calibrator: Any) -> None:
    sample = binary_sample()
    sparse = csr_array(np.stack([1 - sample.scores, sample.scores], axis=1))
    _refused(calibrator, sample.with_(scores=sparse), "sparse", "dense")


def check_wrong_shape_is_refused(calibrator: Any) -> None:
    sample = binary_sample()
    _refused(calibrator, sample.with_(scores=sample.scores.reshape(10, 10, 2)), "shape")
    _refused(calibrator, sample.with_(scores=sample.scores[:-1]), "inconsistent", "rows", "length")


def check_bad_weights_are_refused(calibrator: Any) -> None:
    sample = binary_sample()
    weight = np.ones(len(sample.y))
    _refused(calibrator, sample.with_(weight=-weight), "negative")
    _refused(calibrator, sample.with_(weight=0 * weight), "zero")
    _refused(calibrator, sample.with_(weight=weight[:-1]), "shape", "length", "inconsistent")
    _refused(calibrator, sample.with_(weight=weight * np.nan), "finite", "nan")


def check_missing_labels_are_refused(calibrator: Any) -> None:
    sample = binary_sample()
    y = sample.y.astype(float)
    y[2] = np.nan
    _refused(calibrator, sample.with_(y=y), "nan", "missing")


def check_real_valued_labels_are_refused(calibrator: Any) -> None:
    sample = binary_sample()
    _refused(calibrator, sample.with_(y=sample.scores), "label", "class")


def check_another_number_of_columns_is_refused_in_prediction(calibrator: Any) -> None:
    fitted = fit(calibrator, multiclass_sample())
    wider = multiclass_sample(n_classes=4)
    try:
        predict(fitted, wider)
    except ValueError as error:
        assert "column" in str(error), f"the error should mention columns; got: {error}"
    else:
        raise AssertionError("four columns were accepted after a fit on three.")


def check_infinite_log_odds_are_legal(calibrator: Any) -> None:
    if "scale" not in calibrator.get_params():
        return
    sample = binary_sample()
    logits = np.log(sample.scores / (1 - sample.scores))
    logits[:10], logits[10:20] = -np.inf, np.inf
    sample = sample.with_(scores=logits)
    p = predict(fit(calibrator, sample, scale="logit"), sample)
    assert np.isfinite(p).all()


def check_margins_of_any_size_are_legal(calibrator: Any) -> None:
    if "scale" not in calibrator.get_params():
        return
    sample = binary_sample()
    margins = 40 * np.log(sample.scores / (1 - sample.scores)) + 3
    sample = sample.with_(scores=margins)
    p = predict(fit(calibrator, sample, scale="raw"), sample)
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert (p <= 1).all()
