"""Options that several commands share, with one meaning everywhere.

Options about rows are dataclasses in :mod:`trueodds.cli.rows.options`. A command declares the set,
and :func:`with_option_sets` makes one option of each field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter
from typing import Annotated, Any, get_type_hints

import typer

from trueodds.cli.files.find import refuse_idle_pipe
from trueodds.exceptions import MapFormatError

__all__ = [
    "RESULT",
    "Force",
    "Group",
    "Json",
    "MapFile",
    "data_option",
    "load_map",
    "result_option",
    "rows_option",
    "with_option_sets",
]

DATA, ROWS, RESULT = "Data", "Rows", "Result"
data_option = partial(typer.Option, rich_help_panel=DATA)
rows_option = partial(typer.Option, rich_help_panel=ROWS)
result_option = partial(typer.Option, rich_help_panel=RESULT)

Group = Annotated[
    list[str] | None,
    data_option(
        "--group",
        "-g",
        metavar="COLUMN",
        help="Column of groups to evaluate separately; repeatable.",
    ),
]
Json = Annotated[
    bool,
    result_option("--json", help="Print a JSON document instead of text."),
]
Force = Annotated[
    bool,
    result_option("--force", help="Replace an existing output file."),
]
MapFile = Annotated[str, typer.Argument(metavar="MAP.JSON", help="Map saved by 'trueodds fit'.")]


def load_map(file: str) -> Any:
    """Read a map; errors name the file."""
    import trueodds

    refuse_idle_pipe(file)
    try:
        return trueodds.load(file)
    except MapFormatError as error:
        raise MapFormatError(f"{file} is not a valid map: {error}") from None


def with_option_sets(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with one option for each field of its dataclass parameters."""
    signature = inspect.signature(command, eval_str=True)
    sets: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def called(**values: Any) -> None:
        for name, kind in sets.items():
            given = {one.name: values.pop(one.name) for one in fields(kind)}
            values[name] = kind(**given)
        command(**values)

    flat = [
        option.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
        for option in (_options_of(sets[parameter.name]) if parameter.name in sets else [parameter])
    ]
    called.__signature__ = signature.replace(parameters=flat)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in flat}
    return called


def _options_of(kind: Any) -> Iterator[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        yield Parameter(
            one.name,
            Parameter.KEYWORD_ONLY,
            default=_default_of(one),
            annotation=hints[one.name],
        )


def _default_of(one: Field[Any]) -> Any:
    if one.default_factory is not MISSING:
        return one.default_factory()
    return Parameter.empty if one.default is MISSING else one.default
