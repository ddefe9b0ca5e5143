"""Options that several functions share, written once and shown with each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["with_options_of"]

Function = TypeVar("Function", bound=Callable[..., Any])


def with_options_of(template: Callable[..., Any]) -> Callable[[Function], Function]:
    """A function whose ``**options`` are shown as what they are: those of ``template``.

    Examples
    --------
    >>> def draw(*, width=3, height=2): ...
    >>> @with_options_of(draw)
    ... def save(path, **options): ...
    >>> inspect.signature(save)
    <Signature (path, *, width=3, height=2)>
    """
    shared = [
        option
        for option in inspect.signature(template).parameters.values()
        if option.kind is inspect.Parameter.KEYWORD_ONLY
    ]

    def shown(function: Function) -> Function:
        own = inspect.signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        function.__signature__ = own.replace(parameters=[*kept, *shared])  # type: ignore[attr-defined]
        return function

    return shown
