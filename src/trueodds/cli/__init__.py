"""The command line: ``trueodds evaluate``, ``fit``, ``apply``, ``compare``, ``report`` and more.

Every command is one small module; it reads files through DuckDB, calls the library, and prints the
result. Heavy libraries are imported when a command needs them, so ``trueodds --help`` is fast. See
``docs/command-line.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

__all__ = ["main"]


def main(
    arguments: Sequence[str] | None = None,
    program: str = "trueodds",
    function: Callable[..., None] | None = None,
) -> None:
    """Run one command and exit with its code; the entry point ``trueodds``.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The arguments after the program's name. Default: those of this process.
    program : str, default="trueodds"
    function : callable, default=None
        The command of a program that has a single one.
    """
    from trueodds.basics.signals import STOPPING
    from trueodds.cli.streams import prepare, print_error

    with STOPPING.watched():  # as early as possible: imports take most of a short run
        try:
            if arguments is None:
                prepare()
            code = _code_of(sys.argv[1:] if arguments is None else arguments, program, function)
        except BaseException:
            if STOPPING.received is None:
                raise
            from trueodds.cli.errors import code_and_sentence

            code, sentence = code_and_sentence(STOPPING.received())
            print_error(f"trueodds: {sentence}\n")
        if arguments is None:
            STOPPING.no_more()
    sys.exit(code)


def _code_of(arguments: Sequence[str], program: str, function: Callable[..., None] | None) -> int:
    from trueodds.cli.streams import print_error

    try:
        from trueodds.cli.app import run
    except ImportError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        print_error(
            f"trueodds: the command line needs {error.name}; "
            'install it with: pip install "trueodds[cli]"\n'
        )
        return 3
    return run(arguments, program, function)
