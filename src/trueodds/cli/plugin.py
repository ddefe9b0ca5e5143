"""What a command of another distribution needs, so that it speaks like ours.

A distribution adds a command to ``trueodds`` by an entry point that names a function, which is
written as those of :mod:`trueodds.cli` are: options as annotations of typer, one paragraph on what
it does, examples below ``Examples``::

    [project.entry-points."trueodds.commands"]
    study = "trueodds_studies.cli:study"
"""

from __future__ import annotations

from trueodds.cli.errors import UsageError
from trueodds.cli.options import RESULT, Json
from trueodds.cli.output import emit_json, note

__all__ = ["RESULT", "Json", "UsageError", "emit_json", "note"]
