"""Formulas written in other languages: SQL, ONNX, plain Python, JavaScript, torch.

This package does not import maps. It has a small tree of typed expressions and one renderer for
each language; every family of maps defines its formula once, as such a tree.
"""

from trueodds.basics.imports import import_lazily

# Renderers wait until they are used: maps are fitted more often than exported.
_PUBLIC = {
    "Expression": ".expressions",
    "Feature": ".expressions",
    "Formula": ".expressions",
    "Score": ".expressions",
    "SqlDialect": ".sql.render",
    "features_in": ".expressions",
    "register_onnx_converters": ".onnx.model",
    "render_dbt": ".sql.dbt",
    "render_javascript": "._javascript",
    "render_onnx": ".onnx.formula",
    "render_python": "._python",
    "render_sql": ".sql.render",
    "render_torch": "._torch",
    "to_onnx": ".onnx.model",
}
# The last is for other packages of this library.
_HOMES = _PUBLIC | {"quoted": ".sql.render"}
__all__ = sorted(_PUBLIC)
__getattr__, __dir__ = import_lazily(__name__, _HOMES)
