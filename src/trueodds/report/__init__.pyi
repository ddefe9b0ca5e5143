# Written by tools/write_stubs.py (make stubs); do not edit.
from trueodds.report._content import Report as Report
from trueodds.report._content import build_report as build_report
from trueodds.report._timeline import render_timeline as render_timeline

__all__: list[str]
