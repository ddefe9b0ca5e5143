from __future__ import annotations
from trueodds.studies._report import ReportContent


def report(results):
    return ReportContent("x", [])
