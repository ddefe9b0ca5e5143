"""Calibration as a stage of a Spark ML pipeline.

:class:`SparkCalibrator` learns from a column of probabilities by one group-by on the cluster;
:class:`SparkCalibratedModel` adds a column by a native expression, on tables and on streams. Both
are saved with the pipeline: options and the map as JSON, never pickle.
"""

from __future__ import annotations

import json
from typing import Any, Self

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import vector_to_array
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasOutputCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import functions

from trueodds.calibrators import Calibrator, find_calibrator
from trueodds.engines import apply_map
from trueodds.engines.group import MAX_ROWS
from trueodds.exceptions import InputError
from trueodds.maps import CalibrationMap
from trueodds.model_selection import AutoCalibrator

__all__ = ["SparkCalibratedModel", "SparkCalibrator"]

SCORE = "trueodds_score_"
LABEL = "trueodds_label_"


def _column(name: str) -> Any:
    """A column by its whole name: a dot in it is no field of a structure."""
    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")


class _Columns(HasOutputCol, HasLabelCol):
    """What both stages say about columns."""

    scoreCol: Param[str] = Param(  # noqa: N815  # as Spark spells it
        Params._dummy(),
        "scoreCol",
        "probabilities of a Spark classifier (a vector of two), or scores of the positive class",
        TypeConverters.toString,
    )

    def setScoreCol(self, value: str) -> Self:  # noqa: N802
        """Choose the column of probabilities or scores.

        Parameters
        ----------
        value : str
        """
        return self._set(scoreCol=value)

    def setOutputCol(self, value: str) -> Self:  # noqa: N802
        """Choose the name of the column that is added.

        Parameters
        ----------
        value : str
        """
        return self._set(outputCol=value)

    def _with_score(self, frame: Any) -> Any:
        """The frame with the score of the positive class as a number."""
        column = self.getOrDefault(self.scoreCol)
        if column not in frame.columns:
            raise InputError(f"the frame has no column {column!r}; it has {frame.columns}.")
        score = _column(column)
        if frame.schema[column].dataType.typeName() in ("vectorudt", "udt", "vector"):
            entries = vector_to_array(score)
            problem = functions.raise_error(
                functions.concat(
                    functions.lit(
                        f"the column {column!r} must hold vectors of two probabilities, "
                    ),
                    functions.lit("one for each class; got "),
                    functions.size(entries).cast("string"),
                    functions.lit(". A stage calibrates two classes; for several, use a map and "),
                    functions.lit("trueodds.engines.apply_map on a column for each."),
                )
            )
            is_pair = functions.size(entries) == 2
            score = (
                functions.when(score.isNull(), None).when(is_pair, entries[1]).otherwise(problem)
            )
        return frame.withColumn(SCORE, score.cast("double"))


class SparkCalibrator(Estimator[Any], _Columns, DefaultParamsReadable[Any], DefaultParamsWritable):
    """Learns to correct the probabilities of a Spark classifier with two classes.

    Put it after the classifier in a pipeline, and fit the pipeline's calibrator on rows that the
    classifier has not seen.

    Parameters
    ----------
    method : str, default="auto"
        A method by its name, as ``trueodds methods`` lists them. ``"auto"`` is the library's
        default, :class:`~trueodds.AutoCalibrator`.
    options : dict, default=None
        Options of the method, as plain values. ``{"classes": [negative, positive]}`` names the
        labels; by default they are sorted.
    scoreCol : str, default="probability"
        A vector of two probabilities, as Spark's classifiers give, or a number.
    labelCol : str, default="label"
    outputCol : str, default="calibrated"
        The column that the fitted model adds: the probability of the positive class.
    maxRows : int, default=1000000
        Largest number of distinct scores that the driver receives. If there are more, Spark rounds
        them first, and a warning gives the size of the change.

    Notes
    -----
    Fitting groups by score on the cluster and brings back the distinct scores with their counts;
    see :meth:`trueodds.ScoreTable.from_frame`.

    Examples
    --------
    >>> from trueodds.spark import SparkCalibrator  # doctest: +SKIP
    >>> stage = SparkCalibrator(scoreCol="probability")  # doctest: +SKIP
    >>> fitted = stage.fit(frame)  # doctest: +SKIP
    """

    method: Param[str] = Param(
        Params._dummy(), "method", "name of the method", TypeConverters.toString
    )
    options: Param[str] = Param(
        Params._dummy(), "options", "options of the method, as JSON", TypeConverters.toString
    )
    maxRows: Param[int] = Param(  # noqa: N815
        Params._dummy(), "maxRows", "largest number of distinct scores", TypeConverters.toInt
    )

    @keyword_only
    def __init__(
        self,
        *,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        scoreCol: str = "probability",
        labelCol: str = "label",
        outputCol: str = "calibrated",
        maxRows: int = MAX_ROWS,
    ) -> None:
        super().__init__()
        self._setDefault(
            method="auto", options="{}", scoreCol="probability", labelCol="label",
            outputCol="calibrated", maxRows=MAX_ROWS,
        )  # fmt: skip
        self._set_given(self._input_kwargs)  # type: ignore[attr-defined]  # of keyword_only

    @keyword_only
    def setParams(  # noqa: N802
        self,
        *,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        scoreCol: str = "probability",
        labelCol: str = "label",
        outputCol: str = "calibrated",
        maxRows: int = MAX_ROWS,
    ) -> Self:
        """Change some parameters; the others keep their values.

        Parameters
        ----------
        method, options, scoreCol, labelCol, outputCol, maxRows
            As for the class.
        """
        return self._set_given(self._input_kwargs)  # type: ignore[attr-defined]  # of keyword_only

    def setLabelCol(self, value: str) -> Self:  # noqa: N802
        """Choose the column of labels.

        Parameters
        ----------
        value : str
        """
        return self._set(labelCol=value)

    def _set_given(self, given: dict[str, Any]) -> Self:
        if "options" in given:
            given = {**given, "options": json.dumps(given["options"] or {})}
        return self._set(**given)

    def calibrator(self) -> Calibrator:
        """The method with its options, as it is without Spark.

        Returns
        -------
        Calibrator
        """
        name = self.getOrDefault(self.method)
        kind: Any = AutoCalibrator if name == "auto" else find_calibrator(name)
        calibrator: Calibrator = kind(**json.loads(self.getOrDefault(self.options)))
        return calibrator

    def _fit(self, dataset: Any) -> SparkCalibratedModel:
        calibrator = self.calibrator()
        label = _column(self.getOrDefault(self.labelCol)).alias(LABEL)
        columns = self._with_score(dataset).select(SCORE, label)
        try:
            fitted = calibrator.fit_frame(
                columns, score=SCORE, label=LABEL, max_rows=self.getOrDefault(self.maxRows)
            )
        except InputError as error:
            raise InputError(self._in_own_words(str(error))) from None
        return self._copyValues(SparkCalibratedModel.from_map(fitted.map_))

    def _in_own_words(self, message: str) -> str:
        """A message about the frame that is grouped, with the columns and options of the stage."""
        message = message.replace(SCORE, self.getOrDefault(self.scoreCol))
        message = message.replace(LABEL, self.getOrDefault(self.labelCol))
        advice = "make a column of two values first: a stage calibrates two classes."
        return message.replace("pass pos_label= to compare one with all others.", advice)


class SparkCalibratedModel(Model, _Columns, DefaultParamsReadable[Any], DefaultParamsWritable):
    """Adds the calibrated probability of the positive class to a frame or a stream.

    Made by :class:`SparkCalibrator`, or from any binary map by :meth:`from_map`.

    Examples
    --------
    >>> import trueodds
    >>> from trueodds.spark import SparkCalibratedModel  # doctest: +SKIP
    >>> learned = trueodds.load("map.json")  # doctest: +SKIP
    >>> stage = SparkCalibratedModel.from_map(learned, scoreCol="p")  # doctest: +SKIP
    >>> stage.transform(frame)  # doctest: +SKIP
    """

    map: Param[str] = Param(Params._dummy(), "map", "the map as JSON", TypeConverters.toString)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(scoreCol="probability", labelCol="label", outputCol="calibrated")

    @classmethod
    def from_map(
        cls,
        learned: CalibrationMap,
        *,
        scoreCol: str = "probability",
        outputCol: str = "calibrated",
    ) -> Self:
        """A stage that applies a map.

        Parameters
        ----------
        learned : CalibrationMap
            A map of two classes, without features.
        scoreCol, outputCol : str
            As for :class:`SparkCalibrator`.

        Returns
        -------
        SparkCalibratedModel
        """
        if learned.features or not learned.takes_one_score:
            raise InputError("a stage of Spark needs a map of one score, without features.")
        stage = cls()
        stage._set(map=json.dumps(learned.to_dict()), scoreCol=scoreCol, outputCol=outputCol)
        return stage

    def calibration_map(self) -> CalibrationMap:
        """The map, as it is without Spark.

        Returns
        -------
        CalibrationMap
        """
        return CalibrationMap.from_dict(json.loads(self.getOrDefault(self.map)))

    def _transform(self, dataset: Any) -> Any:
        column = self.getOrDefault(self.outputCol)
        scored = self._with_score(dataset)
        return apply_map(self.calibration_map(), scored, score=SCORE, output_column=column).drop(
            SCORE
        )
