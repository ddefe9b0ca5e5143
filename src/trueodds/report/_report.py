"""A finished report: numbers first, then a page."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

from trueodds.basics.files import (
    as_path,
    write_text,
)
from trueodds.report._html import render

__all__ = ["FORMAT", "VERSION", "Report"]

FORMAT = "trueodds-report"
VERSION = 1
"""Raised when a key changes its meaning or disappears; new keys may come without."""


class Report:
    """What :func:`build_report` found.

    Parameters
    ----------
    content : dict
        As :meth:`to_json` gives it; ``docs/report.md`` says what each key means.

    Examples
    --------
    >>> import json
    >>> from trueodds.report import Report
    >>> page = Report(json.load(open("summary.json"))).to_html()  # doctest: +SKIP
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def __repr__(self) -> str:
        return f"Report({self.verdict!r})"

    @property
    def verdict(self) -> str:
        """The sentence that the report begins with."""
        return str(self._content["verdict"]["sentence"])

    def to_json(self) -> dict[str, Any]:
        """All numbers as plain JSON values (no NaN, no infinity), with format and version."""
        return copy.deepcopy(self._content)

    def to_html(self) -> str:
        """One page that needs no network and no other file."""
        return render(self._content)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page beside ``path`` and rename, so that no half of it is ever seen.

        Returns
        -------
        Path
        """
        target = as_path(path)
        write_text(self.to_html(), target)
        return target
