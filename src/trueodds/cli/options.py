"""Options that several commands share, with one meaning everywhere.

Options about rows are dataclasses in :mod:`trueodds.cli.rows.options`. A command declares the set,
and :func:`with_option_sets` makes one option of each field.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from trueodds.cli.chosen_method import complete_method
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import (
    STANDARD_INPUT,
    as_unicode,
    format_of,
    refuse_idle_pipe,
    scratch_folder,
    standard_input,
)
from trueodds.exceptions import MapFormatError

__all__ = [
    "RESULT",
    "Confidence",
    "Folds",
    "Force",
    "Group",
    "Jobs",
    "Json",
    "Level",
    "MapFile",
    "Methods",
    "OfRisk",
    "check_limit",
    "data_option",
    "group_option",
    "limit_option",
    "load_map",
    "map_name",
    "result_option",
    "rows_option",
    "share",
    "share_option",
    "unusual_option",
    "with_option_sets",
]

FIRST = ("map_file", "file", "files", "score", "label", "group", "feature")
"""Arguments that come before all others, with the options of almost every call."""
DATA, ROWS, RESULT, UNUSUAL = "Data", "Rows", "Result", "Unusual files"
data_option = partial(typer.Option, rich_help_panel=DATA)
rows_option = partial(typer.Option, rich_help_panel=ROWS)
result_option = partial(typer.Option, rich_help_panel=RESULT)
unusual_option = partial(typer.Option, rich_help_panel=UNUSUAL)
"""The last panel of the help: options for files that differ from a plain table."""
group_option = partial(data_option, "--group", "-g", "--feature", metavar="COLUMN")
"""Groups have one name in all commands: those that are evaluated and those that a map reads."""


def share(low: float = 0.0, high: float = 1.0) -> Callable[[Any], float]:
    """Return the parser of a share, which proposes one for a percentage."""

    def parse(text: Any) -> float:
        words = str(text).strip()
        number, percent, _ = words.partition("%")
        try:
            value = float(number)
        except ValueError:
            raise typer.BadParameter(f"{words!r} is not a number.") from None
        is_percentage = bool(percent) or value > high
        if is_percentage and low <= value / 100 <= high:
            raise typer.BadParameter(f"{words!r} is not a share; type {value / 100:g}.")
        if percent or not low <= value <= high:
            raise typer.BadParameter(f"it must lie between {low:g} and {high:g}; got {words!r}.")
        return value

    return parse


share_option = partial(result_option, metavar="SHARE", parser=share())
limit_option = partial(result_option, "--at-most", metavar="LIMIT", parser=share(high=math.inf))

Level = Annotated[
    float,
    result_option(
        "--level",
        metavar="LEVEL",
        parser=share(0.5, 0.999),
        help="Confidence level of all intervals.",
    ),
]
Confidence = Annotated[
    float, share_option("--confidence", help="Probability that the guarantee holds; at least 0.5.")
]
OfRisk = Annotated[
    Literal["errors", "misses", "false_alarms", "cost"],
    result_option(
        "--risk",
        help="Risk to limit: errors among the rows acted on, missed positives, false alarms among "
        "negatives, or the mean cost per row.",
    ),
]
Group = Annotated[
    list[str] | None,
    group_option(help="Column of groups to evaluate separately; repeatable."),
]
Cluster = Annotated[
    str | None,
    rows_option(
        "--cluster",
        metavar="COLUMN",
        help="Column whose equal values mark rows that belong together, such as several labels of "
        "one post; intervals and tests count these instead of rows.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="Compare only this method; repeatable, or several with commas. Default: the default, "
        "what can be better for a reason, and the methods of the papers.",
        autocompletion=complete_method,
    ),
]
Folds = Annotated[int, typer.Option("--cv", min=2, help="Number of folds.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 uses all cores.")]
Json = Annotated[
    bool,
    result_option("--json", help="Print a JSON document instead of text."),
]
Force = Annotated[
    bool,
    result_option("--force", help="Replace an existing output file."),
]
MapFile = Annotated[
    str, typer.Argument(metavar="MAP.JSON", help="Map of 'trueodds fit'; '-' for standard input.")
]


def map_name(file: str) -> str:
    """Return what to call a map in messages."""
    return "standard input" if file == STANDARD_INPUT else as_unicode(file)


def check_limit(limit: float | None, risk: str) -> None:
    """Refuse a limit above 1 of a risk that is a share; it is perhaps a percentage."""
    if limit is not None and limit > 1 and risk != "cost":
        hint = f"; type {limit / 100:g}" if limit <= 100 else ""
        raise UsageError(f"--at-most {limit:g} is not a share{hint}.")


def load_map(file: str, data: str | Sequence[str] = ()) -> Any:
    """Read a map, also from standard input; errors name the file.

    ``data`` are the files that the command reads: one of them may be the map.
    """
    import trueodds

    refuse_idle_pipe(file)
    try:
        if file != STANDARD_INPUT:
            return trueodds.load(file)
        with scratch_folder() as scratch:
            return trueodds.load(standard_input(scratch))
    except MapFormatError as error:
        shown = map_name(file)
        for other in [data] if isinstance(data, str) else data:
            if _is_map(other):
                raise UsageError(
                    f"{shown} is not a map, but {as_unicode(other)} is; did you swap them?"
                ) from None
        kind = format_of(Path(file))
        if kind is not None and not file.endswith(".json"):
            raise MapFormatError(
                f"{shown} is not a map but a file of rows ({kind}); 'trueodds fit' makes a map of "
                "scores and labels."
            ) from None
        # Some errors begin with the name of the file.
        words = str(error)
        for name in (Path(file).name, "standard input"):
            words = f"it{words.removeprefix(name)}" if words.startswith(f"{name} ") else words
        raise MapFormatError(f"{shown} is not a valid map: {words}") from None


def _is_map(file: str) -> bool:
    import trueodds

    try:
        trueodds.load(file)
    except (OSError, ValueError, MapFormatError):
        return False
    return True


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
    flat.sort(key=_place)  # the order of the help
    called.__signature__ = signature.replace(parameters=flat)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in flat}
    return called


def _place(option: Parameter) -> int:
    """Return the place of an option among those of a command: unusual ones are last."""
    said = next(iter(getattr(option.annotation, "__metadata__", ())), None)
    if getattr(said, "rich_help_panel", None) == UNUSUAL:
        return len(FIRST) + 1
    return FIRST.index(option.name) if option.name in FIRST else len(FIRST)


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
