"""Commands of other distributions, found by their entry points in ``trueodds.commands``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from trueodds.exceptions import MissingLibraryError

__all__ = ["Commands", "help_text"]

GROUP = "trueodds.commands"
BROUGHT_BY = {"study": "trueodds-studies"}
"""Commands of this project that are distributed by themselves."""


class Commands(TyperGroup):
    """The commands of this library, then those that are installed beside it.

    Entry points are looked up only for a name that is not ours and for lists of all commands, and
    only the command that is called is imported.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None if there is none."""
        if cmd_name not in self.commands:
            for found in entry_points(group=GROUP, name=cmd_name):
                self.add_command(_command(found))
            missing = cmd_name in BROUGHT_BY and cmd_name not in self.commands
            if missing and not ctx.resilient_parsing:  # which is completion in a shell
                raise MissingLibraryError(
                    f"{cmd_name} is a command of {BROUGHT_BY[cmd_name]}, which is not installed; "
                    f"run: pip install {BROUGHT_BY[cmd_name]}"
                )
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """All names; a command that cannot be imported says why when it is called."""
        for found in entry_points(group=GROUP):
            if found.name not in self.commands:
                try:
                    self.add_command(_command(found))
                except MissingLibraryError:
                    continue
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As typer does, but near misses are sought among installed commands too."""
        if args and self.get_command(ctx, args[0]) is None:
            self.list_commands(ctx)
        return super().resolve_command(ctx, args)


def _command(found: EntryPoint) -> Any:
    try:
        function = found.load()
    except Exception as error:  # whatever it is, it is not ours
        raise MissingLibraryError(
            f"{found.name} is a command of {found.module}, which cannot be imported: {error}"
        ) from error
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )
    alone.command(name=found.name, help=help_text(function))(function)
    return typer.main.get_command(alone)


def help_text(function: Callable[..., None]) -> str:
    """A docstring for the terminal: prose flows, examples keep their lines."""
    prose, _, examples = (inspect.getdoc(function) or "").partition("Examples\n--------\n")
    paragraphs = [" ".join(part.split()) for part in prose.strip().split("\n\n")]
    lines = "\n".join(f"  {line}" for line in examples.splitlines())
    # \b is typer's mark for lines that must stay as they are.
    return "\n\n".join([*paragraphs, f"\b\nExamples:\n{lines}"])
