"""Scheduled jobs: which files and rows are new, and what a job remembers between two runs.

``trueodds monitor`` and ``trueodds stream`` are built from these parts. From Python, :class:`Watch`
and :class:`StreamWatch` read the state files of the two commands.
"""

from trueodds.watch.state import StreamWatch, Watch

__all__ = ["StreamWatch", "Watch"]
