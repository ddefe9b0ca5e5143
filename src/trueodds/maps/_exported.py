"""A map written in other languages: SQL, ONNX, Python, JavaScript, torch."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast, overload

import numpy as np

from trueodds import export
from trueodds.exceptions import InputError
from trueodds.export.expressions import Named
from trueodds.inputs import (
    InputScale,
    check_flag,
    check_number,
)
from trueodds.maps.exporting import feature_columns, formula_of, score_names

if TYPE_CHECKING:
    from trueodds.export import SqlDialect
    from trueodds.maps._base import CalibrationMap

__all__ = ["Exported"]

Columns = list[str] | tuple[str, ...]
Features = Sequence[str] | Mapping[str, str] | None


class Exported:
    """The part of a calibration map that writes its formula for others."""

    input: InputScale
    classes: tuple[Any, ...] | None
    family: ClassVar[str]
    trained_in_torch: ClassVar[tuple[str, ...]] = ()
    """Fields that can be trained further in torch."""

    @property
    def _map(self) -> CalibrationMap:
        return cast("CalibrationMap", self)

    @overload
    def to_sql(
        self, column: str = ..., *, dialect: SqlDialect = ..., features: Features = ...
    ) -> str: ...

    @overload
    def to_sql(
        self, column: Columns, *, dialect: SqlDialect = ..., features: Features = ...
    ) -> list[str]: ...

    def to_sql(
        self,
        column: str | Columns = "score",
        *,
        dialect: SqlDialect = "duckdb",
        features: Features = None,
    ) -> str | list[str]:
        """The map as an SQL expression over a column of scores; see ``docs/export.md``.

        Parameters
        ----------
        column : str or list of str, default="score"
            The column of the positive class's scores, or one column for each class. Names are
            quoted, so they must be spelled as the engine stores them.
        dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite"}, \
                default="duckdb"
        features : list of str, or mapping, default=None
            For a tree: the columns of its attributes, in the order of the fit, or a mapping from
            the names of the fit to columns. None if they have the names of the fit.

        Returns
        -------
        str or list of str
            The probability of the positive class, or of each class if columns are a list. NULL if
            a score is NULL, NaN, or outside the range of its scale.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> print(StepMap(edges=[0.5], values=[0.2, 0.7]).to_sql("p"))
        CAST(CASE WHEN CAST("p" AS DOUBLE) BETWEEN 0.0e0 AND 1.0e0 THEN CASE WHEN
        CAST("p" AS DOUBLE) < 0.5e0 THEN 0.2e0 ELSE 0.7e0 END ELSE NULL END AS DOUBLE)
        """
        names = score_names(column)
        formula = formula_of(self._map, len(names))
        written = export.render_sql(
            formula, names, dialect, feature_columns(self._map, formula, features)
        )
        return written[0] if isinstance(column, str) else written

    def to_dbt(
        self,
        name: str = "calibrate",
        *,
        dialect: SqlDialect = "duckdb",
        features: Features = None,
    ) -> str:
        """The map as a macro for dbt, to be saved as a file in ``macros/``.

        Parameters
        ----------
        name : str, default="calibrate"
            Of the macro. With a column for each class there is a macro for each, numbered from 0.
        dialect : str, default="duckdb"
            As in :meth:`to_sql`.
        features : list of str, or mapping, default=None
            As in :meth:`to_sql`.

        Returns
        -------
        str
            To be used in a model as ``select {{ calibrate("p") }} as probability``; the argument is
            any SQL expression.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> print(StepMap(edges=[0.5], values=[0.2, 0.7]).to_dbt())
        {% macro calibrate(score) %}
        CAST(CASE WHEN CAST({{ score }} AS DOUBLE) BETWEEN 0.0e0 AND 1.0e0 THEN CASE WHEN
        CAST({{ score }} AS DOUBLE) < 0.5e0 THEN 0.2e0 ELSE 0.7e0 END ELSE NULL END AS DOUBLE)
        {% endmacro %}
        """
        formula = formula_of(self._map, self._map._n_scores)
        return export.render_dbt(
            formula, name, dialect, feature_columns(self._map, formula, features)
        )

    def to_onnx(self, *, edges_below: float = 0.0) -> Any:
        """The map as an ONNX graph in float64; see ``docs/export.md``.

        Parameters
        ----------
        edges_below : float, default=0.0
            By which share of themselves the edges of steps are lowered, so that scores that were
            rounded to float32 (2.5e-7) stay on their side.

        Returns
        -------
        onnx.ModelProto
            With the input ``scores`` of shape (N,), or (N, n_classes) if the map needs a column
            for each class, and the output ``probability`` or ``probabilities`` of the same shape;
            NaN where a score is NaN or outside the range of its scale. A tree has one more input
            for each attribute that it asks for, ``feature_<name>`` of shape (N,).
        """
        formula = formula_of(self._map, self._map._n_scores)
        classes = None if self.classes is None else list(self.classes)
        metadata = {"family": self.family, "input": self.input, "classes": classes}
        lowered = check_number(edges_below, "edges_below", 0.0, 1.0)
        return export.render_onnx(formula, metadata, edges_below=lowered)

    def to_python(self, name: str = "calibrate") -> str:
        """The map as the source of a Python function without dependencies; see ``docs/export.md``.

        Parameters
        ----------
        name : str, default="calibrate"
            What the function is called.

        Returns
        -------
        str
            The function takes one score and returns a float, or takes a sequence of one score for
            each class and returns a list. NaN if a score is no number, NaN, or outside the range of
            its scale. That of a tree takes the attributes, too: a mapping by their names, or a
            sequence if it was fitted on an array.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> namespace = {}
        >>> exec(StepMap(edges=[0.5], values=[0.2, 0.7]).to_python(), namespace)
        >>> namespace["calibrate"](0.5)
        0.7
        """
        formula = formula_of(self._map, self._map._n_scores)
        named = any(isinstance(attribute, str) for attribute in self._map.attributes)
        return export.render_python(formula, name, named_features=named)

    def to_javascript(self, name: str = "calibrate") -> str:
        """The map as the source of a JavaScript module without dependencies.

        Parameters
        ----------
        name : str, default="calibrate"
            What the exported function is called.

        Returns
        -------
        str
            An ES module. Its function takes one score and returns a number, or takes an array of
            one score for each class and returns an array. A score is a number or the text of a
            decimal number; NaN if it is anything else, or outside the range of its scale. That of
            a tree takes the attributes, too: an object by their names,
            or an array if it was fitted on an array.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> source = StepMap(edges=[0.5], values=[0.2, 0.7]).to_javascript()
        >>> print(source[source.index("export"):])
        export function calibrate(score) {
            const s0 = number(score);
            if (!((0.0 <= s0 && s0 <= 1.0))) return NaN;
            return _calibrate_values_1[place(_calibrate_edges_0, s0)];
        }
        <BLANKLINE>
        """
        formula = formula_of(self._map, self._map._n_scores)
        named = any(isinstance(attribute, str) for attribute in self._map.attributes)
        return export.render_javascript(formula, name, named_features=named)

    def to_torch(self, *, trainable: bool = False) -> Any:
        """The map as a torch module; see ``docs/export.md``.

        Parameters
        ----------
        trainable : bool, default=False
            Whether the map's numbers are parameters that an optimiser can train further: a, b and c
            of a log-odds map (logistic, temperature, beta), weights and bias of a softmax map.

        Returns
        -------
        torch.nn.Module
            It takes scores of any shape, or with one column for each class last, on any device, and
            returns their dtype, or torch's default for integers and booleans. It computes in
            float64, and ``half()`` of a network around it leaves its tables in float64. NaN where
            a score is NaN or outside the range of its scale. That of a tree takes numeric
            attributes as a second tensor, a column for each in the order of the fit. It can be
            scripted and exported (``torch.export``).

        Examples
        --------
        >>> import torch
        >>> from trueodds.maps import LogOddsMap
        >>> module = LogOddsMap(a=0.5, b=0.5, c=0.0).to_torch()
        >>> module(torch.tensor([0.2, 0.5]))
        tensor([0.3333, 0.5000])
        """
        check_flag(trainable, "trainable")
        drawn, parameters = self._map, {}
        if trainable:
            if not self.trained_in_torch:
                raise InputError(
                    f"a map of the family {self.family!r} has nothing to train further; those of "
                    "log_odds and softmax have."
                )
            drawn = copy.copy(drawn)
            for name in self.trained_in_torch:
                parameters[name] = np.array(getattr(drawn, name), dtype=np.float64)
                object.__setattr__(drawn, name, _named(parameters[name], name))
            if parameters.get("a") is not None and parameters["a"] == parameters["b"]:
                del parameters["b"]  # one slope for both
        return export.render_torch(formula_of(drawn, drawn._n_scores), parameters)


def _named(values: Any, name: str) -> Any:
    """Numbers that know where they came from."""
    if values.ndim == 0:
        return Named(float(values), name)
    named = np.empty(values.shape, dtype=object)
    for index in np.ndindex(values.shape):
        named[index] = Named(float(values[index]), name, index)
    return named
