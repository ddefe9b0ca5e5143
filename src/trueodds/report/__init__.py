"""Calibration reports: one self-contained HTML page with a verdict and a recommendation.

:func:`build_report` computes a plain, versioned dict; :meth:`Report.to_html` renders it. The page
needs no network. Rendering needs jinja2: ``pip install "trueodds[report]"``.
"""

from trueodds.basics.imports import import_lazily

# They compare methods and so need scikit-learn, which takes a second to import.
_HOMES = {
    "Report": "._content",
    "build_report": "._content",
    "render_timeline": "._timeline",
}
__getattr__, __dir__ = import_lazily(__name__, _HOMES)
