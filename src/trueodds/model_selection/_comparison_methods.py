"""Which methods take part in a comparison, under which names, and which is simpler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueodds.calibrators import (
    LAST,
    Calibrator,
    all_calibrators,
    calibrator_names,
    find_calibrator,
    method_name,
)
from trueodds.exceptions import InputError

__all__ = ["resolve_calibrators"]


def resolve_calibrators(calibrators: Any, n_classes: int, has_features: bool) -> dict[str, Any]:
    """Names and unfitted calibrators, the simplest first; the identity is always among them.

    Parameters
    ----------
    calibrators : "default", or a list of names and instances, or a dict name → instance
    n_classes : int
    has_features : bool
        Whether a method that needs the attributes can take part.
    """
    named = _named(calibrators, n_classes, has_features)
    identity = find_calibrator("identity")
    if not any(isinstance(method, identity) for method in named.values()):
        named = {_free_name("identity", named): identity(), **named}
    # Python sorts are stable: methods that do not say come last, in the order given.
    return dict(sorted(named.items(), key=lambda item: _complexity(item[1])))


def _complexity(method: Any) -> int:
    return method.complexity if isinstance(method, Calibrator) else LAST


def _named(calibrators: Any, n_classes: int, has_features: bool) -> dict[str, Any]:
    if isinstance(calibrators, str):
        if calibrators != "default":
            raise InputError(
                f'calibrators must be "default", a list of names or instances, or a dict; got '
                f'{calibrators!r}. For one method pass ["{calibrators}"].'
            )
        calibrators = _default_names(n_classes, has_features)
    if isinstance(calibrators, Mapping):
        return {str(name): _instance(method) for name, method in calibrators.items()}
    if not isinstance(calibrators, (list, tuple)):
        raise InputError(
            'calibrators must be "default", a list of names or instances, or a dict; got '
            f"{type(calibrators).__name__}."
        )
    named: dict[str, Any] = {}
    for method in calibrators:
        name = _free_name(_name_of(method), named)
        named[name] = _instance(method)
    return named


def _default_names(n_classes: int, has_features: bool) -> list[str]:
    found = [
        (kind.complexity, name)
        for name, kind in all_calibrators().items()
        if kind.suits(n_classes) and (has_features or not kind().needs_features)
    ]
    return [name for _, name in sorted(found)]


def _name_of(method: Any) -> str:
    if isinstance(method, str):
        return method
    name = method_name(type(method).__name__)
    known = name in calibrator_names() and type(method) is find_calibrator(name)
    return name if known else type(method).__name__


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """``beta``, then ``beta-2``: two instances of one method may be compared."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}-{count}"
    return free


def _instance(method: Any) -> Any:
    if isinstance(method, str):
        return find_calibrator(method)()
    if isinstance(method, type) or not hasattr(method, "fit"):
        raise InputError(f"a calibrator must be a name or an instance with fit; got {method!r}.")
    return method
