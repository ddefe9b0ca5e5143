"""What pages without a script share with the report: style, policy, filters."""

from __future__ import annotations

from typing import Any

from trueodds.report._html import _asset, _environment, _policy

__all__ = ["page_environment", "page_policy", "page_style"]


def page_style() -> str:
    """The style sheet of the report and what is added for a timeline."""
    return _asset("report.css") + _asset("timeline.css")


def page_policy(style: str) -> str:
    """A policy that lets this style apply and nothing run."""
    return _policy(style, "")


def page_environment() -> Any:
    """Templates, with everything from the data escaped."""
    return _environment()
