"""The one door through which scores, labels, weights and options enter.

Whatever comes in (lists, NumPy arrays, columns of pandas, polars or Arrow), plain contiguous
NumPy arrays come out, or an :class:`~trueodds.exceptions.InputError` that says what was expected,
what was found, where, and what to do.
"""

from trueodds.validation._arrays import (
    Floats,
    Labels,
    as_codes,
    as_dense,
    as_floats,
    check_increasing,
    check_length,
    check_unit_interval,
    where,
)
from trueodds.validation._labels import dense_labels, encode_labels, label_column
from trueodds.validation._options import (
    LabelSmoothing,
    as_seed,
    check_choice,
    check_integer,
    check_level,
    check_number,
    check_smoothing,
)
from trueodds.validation._rows import LabelledScores, read_rows
from trueodds.validation._scores import (
    METRIC_WORDS,
    ROW_SUM_TOLERANCE,
    InputScale,
    Words,
    check_scale,
    positive_column,
    validate_scores,
)
from trueodds.validation._tensors import answers_in_kind
from trueodds.validation._weights import (
    MOST_WEIGHT,
    check_weight_size,
    repeat_rows,
    validate_weights,
)

__all__ = [
    "METRIC_WORDS",
    "MOST_WEIGHT",
    "ROW_SUM_TOLERANCE",
    "Floats",
    "InputScale",
    "LabelSmoothing",
    "LabelledScores",
    "Labels",
    "Words",
    "answers_in_kind",
    "as_codes",
    "as_dense",
    "as_floats",
    "as_seed",
    "check_choice",
    "check_increasing",
    "check_integer",
    "check_length",
    "check_level",
    "check_number",
    "check_scale",
    "check_smoothing",
    "check_unit_interval",
    "check_weight_size",
    "dense_labels",
    "encode_labels",
    "label_column",
    "positive_column",
    "read_rows",
    "repeat_rows",
    "validate_scores",
    "validate_weights",
    "where",
]
