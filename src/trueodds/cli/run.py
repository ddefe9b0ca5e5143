"""One run of the program: signals, warnings, errors and the exit code around a command."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from trueodds.basics.shown import printable
from trueodds.basics.signals import STOPPING
from trueodds.cli import errors
from trueodds.cli.app import app
from trueodds.exceptions import TrueoddsWarning

__all__ = ["run"]

FLAGS = {"--debug", "--verbose"}
"""Options of the program that may stand after its command, too."""


def run(arguments: Sequence[str]) -> int:
    """Run a command line without the program's name; returns the exit code."""
    words, flags = _without_flags(list(arguments))
    debug = "--debug" in flags or bool(os.environ.get("TRUEODDS_DEBUG"))
    command = typer.main.get_command(app)
    try:
        with _warnings(debug), _messages("--verbose" in flags):
            result = command.main(
                args=words, prog_name="trueodds", standalone_mode=False, obj={"words": words}
            )
            sys.stdout.flush()
    except SystemExit as leave:  # typer: 0 after shell completion, 1 if the reader has gone
        if STOPPING.received is not None:
            return _report(leave, words, debug)
        return errors.BROKEN_PIPE if leave.code else errors.OK
    except BaseException as error:  # every way out must end in one sentence and a code
        return _report(error, words, debug)
    if result == errors.INTERRUPTED:  # typer turns Ctrl-C into a code by itself
        return _report(KeyboardInterrupt(), words, debug)
    return result if isinstance(result, int) else errors.OK


def _without_flags(words: list[str]) -> tuple[list[str], set[str]]:
    """``--debug`` and ``--verbose`` may stand anywhere before ``--``."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word not in FLAGS] + words[end:]
    return kept, FLAGS.intersection(words[:end])


def _report(error: BaseException, words: list[str], debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    if STOPPING.received is not None:  # whatever a library has made of it
        error = STOPPING.received()
    if isinstance(error, BrokenPipeError):
        errors.silence_pipe()
    if isinstance(error, typer.Abort):
        error = KeyboardInterrupt()
    if hasattr(error, "format_message"):  # typer's own: wrong or missing options
        code, sentence = getattr(error, "exit_code", errors.USAGE), error.format_message()
        for words_of_a_library, ours in (("Value error, ", ""), ("Input should be", "it must be")):
            sentence = sentence.replace(words_of_a_library, ours)
    else:
        code, sentence = errors.code_and_sentence(error)
    options = getattr(error, "options", ())
    if options:
        sentence = f"{sentence} Try: {shlex.join(['trueodds', *words, *options])}"
    if sentence:
        if code == errors.USAGE:
            path = getattr(getattr(error, "ctx", None), "command_path", "trueodds")
            sentence = sentence.rstrip(" .")
            stop = "" if sentence.endswith("?") else "."
            sentence = f"{sentence}{stop} See '{path} --help'."
        sys.stderr.write(f"trueodds: {printable(' '.join(sentence.split()))}\n")
    return int(code)


@contextmanager
def _warnings(debug: bool) -> Iterator[None]:
    """Our warnings as one line each; those of other libraries only for debugging."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        text = printable(" ".join(str(message).split()))
        if text not in seen and (debug or issubclass(category, TrueoddsWarning)):
            seen.add(text)
            sys.stderr.write(f"trueodds: warning: {text}\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always" if debug else "ignore")
        warnings.simplefilter("always", TrueoddsWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


@contextmanager
def _messages(wanted: bool) -> Iterator[None]:
    """What the library logs, on standard error, one line each."""
    if not wanted:
        yield
        return
    import logging

    from trueodds.basics.log import logger

    class Printable(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return printable(super().format(record))

    handler = logging.StreamHandler()
    handler.setFormatter(Printable("trueodds: %(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
