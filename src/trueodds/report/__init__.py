"""One self-contained HTML file that says whether probabilities can be trusted, and what to do.

:func:`build_report` computes a plain, versioned dict; :meth:`Report.to_html` shows it. The page
needs no network. Rendering needs jinja2: ``pip install "trueodds[report]"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueodds.report._content import Report, build_report
    from trueodds.report._timeline import render_timeline

__all__ = ["Report", "build_report", "render_timeline"]


def __getattr__(name: str) -> Any:
    # They compare methods and so need scikit-learn, which takes a second to import.
    if name == "build_report":
        from trueodds.report._content import build_report

        return build_report
    if name == "Report":
        from trueodds.report._content import Report

        return Report
    if name == "render_timeline":
        from trueodds.report._timeline import render_timeline

        return render_timeline
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
