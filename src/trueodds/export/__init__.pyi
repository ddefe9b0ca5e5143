# Written by tools/write_stubs.py (make stubs); do not edit.
from trueodds.export._javascript import render_javascript as render_javascript
from trueodds.export._python import render_python as render_python
from trueodds.export._torch import render_torch as render_torch
from trueodds.export.expressions import Expression as Expression
from trueodds.export.expressions import Feature as Feature
from trueodds.export.expressions import Formula as Formula
from trueodds.export.expressions import Score as Score
from trueodds.export.expressions import features_in as features_in
from trueodds.export.onnx.formula import render_onnx as render_onnx
from trueodds.export.onnx.model import register_onnx_converters as register_onnx_converters
from trueodds.export.onnx.model import to_onnx as to_onnx
from trueodds.export.sql.dbt import render_dbt as render_dbt
from trueodds.export.sql.render import SqlDialect as SqlDialect
from trueodds.export.sql.render import quoted as quoted
from trueodds.export.sql.render import render_sql as render_sql

__all__: list[str]
