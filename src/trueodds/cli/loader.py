"""The program's commands, each imported when it is called: ours, then those of other packages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from trueodds.exceptions import MissingLibraryError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["OWN", "Commands", "help_text"]

OWN = (
    *("evaluate", "compare", "report"),
    *("fit", "apply", "monitor", "show", "diff", "export"),
    *("methods", "demo"),
)
"""Each is the function of that name in the module ``commands.<name>``; in the order of the help."""
GROUP = "trueodds.commands"
BROUGHT_BY = {"study": "trueodds-studies"}
"""Commands of this project that are distributed by themselves."""


class _PlainFlags:
    """Shows flags without a type: they take no value, and <bool> looks as if they did."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All options, ``--help`` among them."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of a typer class
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class _Command(_PlainFlags, TyperCommand):
    pass


class Commands(_PlainFlags, TyperGroup):
    """The commands of this library, then those that are installed beside it.

    Entry points are looked up only for a name that is not ours and for lists of all commands, and
    only the command that is called is imported.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None if there is none."""
        if cmd_name in OWN and cmd_name not in self.commands:
            self.add_command(_own_command(cmd_name))
        if cmd_name not in self.commands:
            found = _installed().get(cmd_name)
            if found is not None:
                self.add_command(_installed_command(found))
            missing = cmd_name in BROUGHT_BY and cmd_name not in self.commands
            if missing and not ctx.resilient_parsing:  # which is completion in a shell
                raise MissingLibraryError(
                    f"{cmd_name} is a command of {BROUGHT_BY[cmd_name]}, which is not installed; "
                    f"run: pip install {BROUGHT_BY[cmd_name]}"
                )
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """All names; a command that cannot be imported says why when it is called."""
        for name in OWN:
            self.get_command(ctx, name)
        for name, found in _installed().items():
            if name not in self.commands:
                try:
                    self.add_command(_installed_command(found))
                except MissingLibraryError:
                    continue
        return [*OWN, *(name for name in self.commands if name not in OWN)]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As typer does, but near misses are sought among all commands."""
        if args and self.get_command(ctx, args[0]) is None:
            self.list_commands(ctx)
        return super().resolve_command(ctx, args)


def _own_command(name: str) -> Any:
    from trueodds.cli.files.own_input import keeps_its_input
    from trueodds.cli.option_sets import with_option_sets

    function = getattr(import_module(f"trueodds.cli.commands.{name}"), name)
    return _as_command(name, help_text(function), keeps_its_input(with_option_sets(function)))


def _installed() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {found.name: found for found in entry_points(group=GROUP)}


def _installed_command(found: EntryPoint) -> Any:
    try:
        function = found.load()
    except Exception as error:  # whatever it is, it is not ours
        raise MissingLibraryError(
            f"{found.name} is a command of {found.module}, which cannot be imported: {error}"
        ) from error
    return _as_command(found.name, help_text(function), function)


def _as_command(name: str, text: str, function: Callable[..., None]) -> Any:
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )
    alone.command(name=name, help=text, cls=_Command)(function)
    return typer.main.get_command(alone)


def help_text(function: Callable[..., None]) -> str:
    """A docstring for the terminal: prose flows, examples keep their lines."""
    prose, _, examples = (inspect.getdoc(function) or "").partition("Examples\n--------\n")
    paragraphs = [" ".join(part.split()) for part in prose.strip().split("\n\n")]
    lines = "\n".join(f"  {line}" for line in examples.splitlines())
    # \b is typer's mark for lines that must stay as they are.
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{lines}"])
