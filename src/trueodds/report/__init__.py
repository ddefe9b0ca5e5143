"""One self-contained HTML file that says whether probabilities can be trusted, and what to do.

:func:`build_report` computes a plain, versioned dict; :meth:`Report.to_html` shows it. The page
needs no network. Rendering needs jinja2: ``pip install "trueodds[report]"``.
"""

from trueodds.report._build import build_report
from trueodds.report._report import Report

__all__ = ["Report", "build_report"]
