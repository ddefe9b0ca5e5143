"""Options that come in sets: a command names the set, the terminal shows each option."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from typing import Any, get_type_hints

__all__ = ["with_option_sets"]


def with_option_sets(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with one option for each field of a dataclass among its parameters."""
    signature = inspect.signature(command, eval_str=True)
    sets: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def called(**values: Any) -> None:
        for name, kind in sets.items():
            given = {field.name: values.pop(field.name) for field in fields(kind)}
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
    for field in fields(kind):
        yield Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=_default_of(field),
            annotation=hints[field.name],
        )


def _default_of(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return Parameter.empty if field.default is MISSING else field.default
