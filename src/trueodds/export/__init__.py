"""Formulas written in other languages: SQL, ONNX, plain Python.

This package knows no map. It has a small tree of typed expressions and one renderer for each
language; every family of maps says its formula once, as such a tree.
"""

from trueodds.export._onnx import render_onnx
from trueodds.export._python import render_python
from trueodds.export._sql import SqlDialect, render_sql
from trueodds.export._walk import features_in
from trueodds.export.expressions import Expression, Feature, Formula, Score

__all__ = [
    "Expression",
    "Feature",
    "Formula",
    "Score",
    "SqlDialect",
    "features_in",
    "render_onnx",
    "render_python",
    "render_sql",
]
