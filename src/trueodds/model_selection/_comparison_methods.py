"""Which methods take part in a comparison, under which names, and which is simpler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueodds.calibrators import all_calibrators
from trueodds.exceptions import InputError

__all__ = ["resolve_calibrators"]

SIMPLEST_FIRST = (
    "identity",
    "temperature",
    "logistic",
    "beta",
    "vector",
    "charcoal_grill",
    "matrix",
    "isotonic",
    "histogram",
    "acp",
    "bbq",
    "enir",
    "abb",
    "bayesian_isotonic",
    "tree",
)
"""By the number of things learned: none, one to three numbers, a smooth curve, one curve without a
formula, an average of many. A method that is not listed comes after these, in the order given."""

DEFAULT_BINARY = (
    "identity",
    "temperature",
    "logistic",
    "beta",
    "charcoal_grill",
    "isotonic",
    "histogram",
    "acp",
    "bbq",
    "enir",
    "bayesian_isotonic",
)
DEFAULT_FEW_CLASSES = (
    "identity",
    "temperature",
    "logistic",
    "beta",
    "vector",
    "charcoal_grill",
    "matrix",
    "isotonic",
    "enir",
)
DEFAULT_MANY_CLASSES = ("identity", "temperature", "vector", "charcoal_grill", "isotonic")
MANY_CLASSES = 20


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
    ours = all_calibrators()
    if not any(isinstance(method, ours["identity"]) for method in named.values()):
        named = {"identity": ours["identity"](), **named}
    kinds = {kind: name for name, kind in ours.items()}
    place = {name: i for i, name in enumerate(SIMPLEST_FIRST)}

    def simplicity(item: tuple[str, Any]) -> int:
        return place.get(kinds.get(type(item[1]), ""), len(place))

    return dict(sorted(named.items(), key=simplicity))


def _named(calibrators: Any, n_classes: int, has_features: bool) -> dict[str, Any]:
    if isinstance(calibrators, str):
        if calibrators != "default":
            raise InputError(
                f'calibrators must be "default", a list of names or instances, or a dict; got '
                f'{calibrators!r}. For one method pass ["{calibrators}"].'
            )
        calibrators = [*_default_names(n_classes), *(["tree"] if has_features else [])]
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


def _default_names(n_classes: int) -> tuple[str, ...]:
    if n_classes == 2:
        return DEFAULT_BINARY
    return DEFAULT_MANY_CLASSES if n_classes > MANY_CLASSES else DEFAULT_FEW_CLASSES


def _name_of(method: Any) -> str:
    if isinstance(method, str):
        return method
    for name, kind in all_calibrators().items():
        if type(method) is kind:
            return name
    return type(method).__name__


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """``beta``, then ``beta-2``: two instances of one method may be compared."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}-{count}"
    return free


def _instance(method: Any) -> Any:
    if isinstance(method, str):
        known = all_calibrators()
        if method not in known:
            raise InputError(f"no method is called {method!r}; there are: {', '.join(known)}.")
        return known[method]()
    if isinstance(method, type) or not hasattr(method, "fit"):
        raise InputError(f"a calibrator must be a name or an instance with fit; got {method!r}.")
    return method
