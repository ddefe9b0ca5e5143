"""The program: its commands, its global options, and one run from arguments to an exit code."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from trueodds.basics.shown import printable
from trueodds.basics.signals import STOPPING
from trueodds.cli import errors
from trueodds.cli.streams import STANDARD_OUTPUT, print_error, silence
from trueodds.exceptions import TrueoddsWarning

__all__ = ["COMMANDS", "app", "run"]

COMMANDS = {
    name: f"trueodds.cli.commands.{name}"
    for name in (
        *("evaluate", "compare", "report"),
        *("fit", "apply", "threshold", "update", "monitor", "stream", "show", "diff", "export"),
        *("methods", "demo"),
    )
}
"""The module of each command, which has a function of that name; in the order of the help."""
ROW_BY_ROW = "each row is calibrated separately; leave it out"
COUNTED = "each row counts once, or --counts times"
NOT_USED = {
    **{("apply", name): ROW_BY_ROW for name in ("--label", "-l", "--positive", "--counts")},
    **{("apply", name): ROW_BY_ROW for name in ("--weight", "--group", "-g", "--feature")},
    ("monitor", "--weight"): COUNTED,
    ("stream", "--weight"): COUNTED,
    ("stream", "--group"): "run it for the rows of each group, with a map and a state for each",
    ("update", "--group"): "'fit --group' learns effects of groups",
}
"""Options of other commands that have no meaning for one, and what to do instead."""
FLAGS = {"--debug", "--verbose"}
"""Global options, which may also follow the command."""


# ----- commands ------------------------------------------------------------------------------


class _PlainFlags:
    """Show flags without a type, because they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All options, including ``--help``."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of a typer class
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class _Command(_PlainFlags, TyperCommand):
    """A command that refuses a second value of an option that takes one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as typer does, which would take the last value without a word."""
        given: list[Any]
        *_, given = self.make_parser(ctx).parse_args(args=list(args))
        single: list[Any] = [
            one for one in given if one.param_type_name == "option" and not one.multiple
        ]
        for option in single:
            if single.count(option) > 1 and not (option.is_flag or ctx.resilient_parsing):
                raise errors.UsageError(_twice(self.name, max(option.opts, key=len)))
        return super().parse_args(ctx, args)


class Commands(_PlainFlags, TyperGroup):
    """All commands; each is imported when it is called or listed."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name; None if there is none."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            try:
                self.add_command(_load(cmd_name))
            except ImportError:
                if ctx.resilient_parsing:  # completion in a shell
                    return None
                raise
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, which are imported."""
        for name in COMMANDS:
            self.get_command(ctx, name)
        return list(COMMANDS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve a command as typer does, but look for similar names among all commands."""
        if args and args[0] not in COMMANDS:
            self.list_commands(ctx)
        return super().resolve_command(ctx, args)


def _twice(command: str | None, option: str) -> str:
    """Return the message for an option that was passed twice."""
    advice = {
        "--label": "; for several labels of one row, run the command once for each",
        "--method": "; to compare methods, run 'trueodds compare'",
    }
    return f"'{command}' takes one {option}{advice.get(option, '')}."


def _load(name: str) -> Any:
    return _command_of(name, getattr(import_module(COMMANDS[name]), name))


def _command_of(name: str, function: Callable[..., None]) -> Any:
    from trueodds.cli.files.own_input import keeps_its_input
    from trueodds.cli.options import with_option_sets

    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )
    command = alone.command(name=name, help=_help_text(function), cls=_Command)
    command(keeps_its_input(with_option_sets(function)))
    return typer.main.get_command(alone)


def _help_text(function: Callable[..., None]) -> str:
    """Format a docstring for the terminal: prose is rewrapped, examples keep their lines."""
    prose, _, examples = (inspect.getdoc(function) or "").partition("Examples\n--------\n")
    paragraphs = [" ".join(part.split()) for part in prose.strip().split("\n\n")]
    lines = "\n".join(f"  {line}" for line in examples.splitlines())
    # \b is typer's mark for lines that must not be joined.
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{lines}"])


# ----- the program ---------------------------------------------------------------------------


def _version(wanted: bool) -> None:
    if wanted:
        import trueodds

        typer.echo(f"trueodds {trueodds.__version__}")
        raise typer.Exit


def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show full tracebacks. Can be given before or after the command."
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Log each step. Can be given before or after the command."),
    ] = False,
) -> None:
    """Calibrate the probabilities of any classifier.

    All you need is a file with scores and labels.

    Examples
    --------
    trueodds evaluate scores.csv --score p --label y     # is the model calibrated?
    trueodds compare  scores.csv --score p --label y     # which method helps?
    trueodds fit      scores.csv --score p --label y -o map.json
    trueodds apply    map.json new.parquet --score p -o calibrated.parquet
    trueodds report   scores.csv --score p --label y -o report.html
    trueodds demo                                        # all of it on a real model
    """


app = typer.Typer(
    name="trueodds",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="Exit codes: 0 success. 1 unusable data or file. 2 wrong options. 3 missing library. "
    "4 monitor, stream: alarm. 5 monitor: delivery that --fail-on names. 70 bug. 130 interrupted. "
    "141 output closed. 143 terminated.",
)
app.callback(help=_help_text(_program))(_program)


# ----- one run -------------------------------------------------------------------------------


def run(
    arguments: Sequence[str],
    program: str = "trueodds",
    function: Callable[..., None] | None = None,
) -> int:
    """Run a command line (without the program's name) and return the exit code.

    With ``function``, the program is that single command.
    """
    words, flags = _without_flags(list(arguments))
    debug = "--debug" in flags or bool(os.environ.get("TRUEODDS_DEBUG"))
    try:
        command: Any = (
            typer.main.get_command(app) if function is None else _command_of(program, function)
        )
        with _warnings(debug), _messages("--verbose" in flags):
            result = command.main(
                args=words, prog_name=program, standalone_mode=False, obj={"words": words}
            )
            sys.stdout.flush()
    except SystemExit as leave:  # typer: 0 after shell completion, 1 if the reader has gone
        if STOPPING.received is not None:
            return _report(leave, program, words, debug)
        return errors.BROKEN_PIPE if leave.code else errors.OK
    except BaseException as error:  # every exit must print one sentence and return a code
        return _report(error, program, words, debug)
    if result == errors.INTERRUPTED:  # typer turns Ctrl-C into a code
        return _report(KeyboardInterrupt(), program, words, debug)
    return result if isinstance(result, int) else errors.OK


def _without_flags(words: list[str]) -> tuple[list[str], set[str]]:
    """Remove ``--debug`` and ``--verbose``, which may be anywhere before ``--``."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word not in FLAGS] + words[end:]
    return kept, FLAGS.intersection(words[:end])


def _report(error: BaseException, program: str, words: list[str], debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    if STOPPING.received is not None:  # even if a library has replaced the exception
        error = STOPPING.received()
    output_failed = isinstance(error, OSError) and error.filename == STANDARD_OUTPUT
    if output_failed or isinstance(error, BrokenPipeError):
        silence(sys.stdout)
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
        sentence = f"{sentence} Try: {shlex.join([program, *words, *options])}"
    reason = NOT_USED.get((words[0] if words else "", getattr(error, "option_name", "")))
    if reason is not None:
        sentence = f"'{words[0]}' has no {getattr(error, 'option_name', '')}: {reason}."
    if sentence:
        if code == errors.USAGE:
            path = shlex.join([program, *(word for word in words[:1] if word in COMMANDS)])
            sentence = sentence.rstrip(" .")
            stop = "" if sentence.endswith("?") else "."
            sentence = f"{sentence}{stop} See '{path} --help'."
        print_error(f"trueodds: {printable(' '.join(sentence.split()))}\n")
    return int(code)


@contextmanager
def _warnings(debug: bool) -> Iterator[None]:
    """Print our warnings as one line each; those of other libraries only with ``--debug``."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        text = printable(" ".join(str(message).split()))
        if text not in seen and (debug or issubclass(category, TrueoddsWarning)):
            seen.add(text)
            print_error(f"trueodds: warning: {text}\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always" if debug else "ignore")
        warnings.simplefilter("always", TrueoddsWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


@contextmanager
def _messages(wanted: bool) -> Iterator[None]:
    """Print the library's log on standard error."""
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
