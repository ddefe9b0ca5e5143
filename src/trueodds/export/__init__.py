"""Formulas written in other languages: SQL, ONNX, plain Python, JavaScript, torch.

This package knows no map. It has a small tree of typed expressions and one renderer for each
language; every family of maps says its formula once, as such a tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueodds.basics.lazy import import_lazily
from trueodds.export.expressions import Expression, Feature, Formula, Score

if TYPE_CHECKING:
    from trueodds.export._dbt import render_dbt
    from trueodds.export._javascript import render_javascript
    from trueodds.export._model_onnx import register_onnx_converters, to_onnx
    from trueodds.export._onnx import render_onnx
    from trueodds.export._python import render_python
    from trueodds.export._sql import SqlDialect, render_sql
    from trueodds.export._torch import render_torch
    from trueodds.export._walk import features_in

__all__ = [
    "Expression",
    "Feature",
    "Formula",
    "Score",
    "SqlDialect",
    "features_in",
    "register_onnx_converters",
    "render_dbt",
    "render_javascript",
    "render_onnx",
    "render_python",
    "render_sql",
    "render_torch",
    "to_onnx",
]

_HOMES = {
    "SqlDialect": "_sql",
    "features_in": "_walk",
    "register_onnx_converters": "_model_onnx",
    "render_dbt": "_dbt",
    "render_javascript": "_javascript",
    "render_onnx": "_onnx",
    "render_python": "_python",
    "render_sql": "_sql",
    "render_torch": "_torch",
    "to_onnx": "_model_onnx",
}
"""Renderers, each imported when it is asked for: maps are fitted more often than exported."""


__getattr__, __dir__ = import_lazily(__name__, _HOMES)
