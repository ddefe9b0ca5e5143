"""Exit codes and the sentence that a failed command prints."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from trueodds.basics import imports
from trueodds.basics.signals import Terminated
from trueodds.exceptions import InputError, MapFormatError

__all__ = [
    "ALARM",
    "BAD_INPUT",
    "BROKEN_PIPE",
    "DELIVERY",
    "INTERNAL",
    "INTERRUPTED",
    "MISSING_LIBRARY",
    "OK",
    "TERMINATED",
    "USAGE",
    "AdvisedError",
    "Terminated",
    "UsageError",
    "code_and_sentence",
    "require",
]

OK = 0
BAD_INPUT = 1
USAGE = 2
MISSING_LIBRARY = 3
ALARM = 4
"""'trueodds monitor' completed and found that predictions are miscalibrated."""
DELIVERY = 5
"""'trueodds monitor' completed and found a delivery that ``--fail-on`` names."""
INTERNAL = 70
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143


class UsageError(Exception):
    """Options that contradict each other or are incomplete.

    ``options`` are those to add to the command, if they would help.
    """

    def __init__(self, message: str, options: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.options = tuple(options)


class AdvisedError(InputError):
    """Data that cannot be used, with the options that would make it usable.

    ``hint`` is the part of the message that explains the options.
    """

    def __init__(self, message: str, options: Sequence[str], hint: str = "") -> None:
        super().__init__(message)
        self.options, self.hint = tuple(options), hint


require = partial(imports.require, purpose="this", install="trueodds[cli]")
"""Import an optional library, or raise with the command that installs it."""


def code_and_sentence(error: BaseException) -> tuple[int, str]:
    """Return the exit code of an error and one sentence about it."""
    if isinstance(error, UsageError):
        return USAGE, str(error)
    if isinstance(error, ImportError):
        return MISSING_LIBRARY, str(error)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted; no partial output was written."
    if isinstance(error, Terminated):
        return TERMINATED, "terminated; no partial output was written."
    if isinstance(error, (InputError, MapFormatError)):
        return BAD_INPUT, str(error)
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE, ""
    if isinstance(error, MemoryError):
        return BAD_INPUT, "out of memory; pass a smaller --max-rows."
    origin = type(error).__module__.partition(".")[0]
    if origin in ("duckdb", "_duckdb", "pyarrow"):
        return BAD_INPUT, engine_sentence(str(error))
    if isinstance(error, OSError):
        return BAD_INPUT, _of_os(error)
    kind = type(error).__name__
    return INTERNAL, f"internal error ({kind}: {error}); run again with --debug and report it."


def _of_os(error: OSError) -> str:
    is_missing = isinstance(error, FileNotFoundError)
    reason = "file not found" if is_missing else (error.strerror or str(error)).lower()
    # The name of a temporary file means nothing to the user; its folder does.
    name = str(error.filename) if error.filename is not None else ""
    if name.endswith(".tmp"):
        name = os.path.dirname(name) or "."  # noqa: PTH120
        return f"cannot write to the folder {name}: {reason}."
    return f"{name}: {reason}." if name else f"{reason}."


def engine_sentence(message: str) -> str:
    """Return the first line of the engine's message, with the file's line number if it has one."""
    if message.startswith("Out of Memory"):
        return "DuckDB reached its memory limit; pass a larger --memory."
    message = re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", message.strip())
    if "exceeds maximum recursion depth" in message:
        return "a line of JSON is nested too deeply."
    wrong = r'Malformed JSON in|JSON transform error in|"maximum_object_size" .* reading'
    json_lines = re.match(rf'(?:{wrong}) file "(.*?)"', message)
    if json_lines:
        from trueodds.cli.files.json_lines import what_is_wrong

        return what_is_wrong(Path(json_lines.group(1))) or message.splitlines()[0]
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    found = re.search(r"^CSV Error on Line: (\d+)", message)
    if found:
        what = next((line for line in lines if line.startswith("Expected Number")), lines[-1])
        if "unicode" in message:
            what = "it is not UTF-8 text (try --encoding latin-1)"
        elif too_long := re.search(r"Maximum line size of (\d+) bytes exceeded", message):
            what = f"it is longer than {int(too_long.group(1)):,} bytes"
        elif "quote" in message.lower().partition("possible")[0]:
            what = "a quoted value is not closed"
        what = what.replace("Expected Number of Columns", "expected columns").replace(
            " Found:", ", found:"
        )
        file = re.search(r"^\s*file = (.*)$", message, re.MULTILINE)
        where = f"{os.path.basename(file.group(1))}: " if file else ""  # noqa: PTH119
        return (
            f"{where}line {found.group(1)} is malformed: {what}; "
            "pass --on-bad-rows skip to leave such lines out."
        )
    first = lines[0] if lines else "the data could not be read"
    return first if first.endswith((".", "!", "?")) else f"{first}."
