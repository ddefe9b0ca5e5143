"""Options: a choice, a whole number, a number in a range, a seed, a way to smooth labels."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError

__all__ = [
    "LabelSmoothing",
    "as_generator",
    "as_names",
    "as_number",
    "as_seed",
    "as_tuple",
    "check_choice",
    "check_flag",
    "check_instance",
    "check_integer",
    "check_jobs",
    "check_level",
    "check_number",
    "check_smoothing",
    "check_text",
    "is_choice",
]

LARGEST_OPTION = 2**31 - 1
"""The largest integer that an option may be."""

LabelSmoothing = Literal["platt"] | float | None


def is_choice(value: Any, *choices: str) -> bool:
    """Whether an option is one of these texts; an array compared with them would be an array."""
    return isinstance(value, str) and value in choices


def check_choice(value: Any, choices: tuple[Any, ...], name: str) -> None:
    """Refuse an option that is not one of ``choices``."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        allowed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {allowed}; got {shown(value)}.")


def check_integer(
    value: Any, name: str, least: int, otherwise: str = "", *, most: int = LARGEST_OPTION
) -> int:
    """Refuse anything but a whole number from ``least`` to ``most``.

    ``otherwise`` names what else the option may be, such as ``"None or "``.
    """
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or not least <= value <= most:
        bound = f"of at least {least}"
        if is_integer and value > most:
            bound += f" and at most {most:,}"
        raise InputError(f"{name} must be {otherwise}an integer {bound}; got {shown(value)}.")
    return int(value)


def check_number(
    value: Any,
    name: str,
    least: float = 0.0,
    most: float = np.inf,
    *,
    above: bool = False,
    otherwise: str = "",
) -> float:
    """Refuse anything but a finite number from (or ``above``) ``least`` to ``most``."""
    number = as_number(value)
    if not least <= number <= most or np.isinf(number) or (above and number == least):
        bound = f"above {float(least):g}" if above else f"of at least {float(least):g}"
        if np.isfinite(most):
            bound += f" and at most {most:g}"
        raise InputError(f"{name} must be {otherwise}a number {bound}; got {shown(value)}.")
    return number


def check_level(value: Any, name: str = "level") -> float:
    """Refuse a share that is not strictly between 0 and 1."""
    number = as_number(value)
    if not 0 < number < 1:
        raise InputError(f"{name} must be a number strictly between 0 and 1; got {shown(value)}.")
    return number


def check_jobs(n_jobs: Any) -> None:
    """Refuse a number of processes that joblib would refuse in its own words."""
    if n_jobs is not None:
        check_integer(n_jobs, "n_jobs", -LARGEST_OPTION, "None or ")
        if n_jobs == 0:
            raise InputError("n_jobs must be None or an integer other than 0; got 0.")


def check_flag(value: Any, name: str) -> None:
    """Refuse anything but True and False; NumPy's are as good."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be True or False; got {shown(value)}.")


def check_instance(value: Any, kind: type[Any], name: str) -> None:
    """Refuse an object of another class."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be a {kind.__name__}; got {_kind_of(value)}.")


def check_text(value: Any, name: str, otherwise: str = "") -> str:
    """Refuse anything but a text that can be encoded."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be {otherwise}a text; got {_kind_of(value)}.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"{name} must be a text in Unicode; got {shown(value)}.")
    return value


def as_names(values: Any, name: str) -> list[str]:
    """One or more names of columns or methods; a single text is one name."""
    names = [values] if isinstance(values, str) else values
    if not isinstance(names, (Sequence, np.ndarray)) or isinstance(names, (bytes, bytearray)):
        raise InputError(f"{name} must be a name or a list of names; got {_kind_of(values)}.")
    return [check_text(each, f"each of {name}") for each in as_tuple(names, name)]


def as_tuple(values: Any, name: str) -> tuple[Any, ...]:
    """Whatever can be iterated over, once."""
    try:
        return tuple(values)
    except TypeError:
        raise InputError(f"{name} must be a list; got {_kind_of(values)}.") from None


def _kind_of(value: Any) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a random generator; a NumPy generator is used unchanged."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(as_seed(random_state))


def as_seed(random_state: Any, *, below: int = 2**63, draw: bool = True) -> int:
    """A whole number to seed with, from whatever scikit-learn takes as a random state.

    A seed is drawn from generators; without ``draw`` they are only checked and not changed.
    """
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if 0 <= random_state < 2**64:
            return int(random_state)
    elif random_state is None:
        return int(np.random.default_rng().integers(below))
    elif isinstance(random_state, np.random.Generator):
        return int(random_state.integers(below)) if draw else 0
    elif isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1)) if draw else 0
    raise InputError(
        "random_state must be None, an integer of 0 or more, or a NumPy generator; got "
        f"{shown(random_state)}."
    )


def as_number(value: Any) -> float:
    """A real number as a float, infinite beyond float64; NaN of all else, booleans among it."""
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        with np.errstate(over="ignore"):
            return float(value) if is_real else np.nan
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def check_smoothing(label_smoothing: Any) -> None:
    """Check that labels can be smoothed in this way."""
    if label_smoothing is None or (isinstance(label_smoothing, str) and label_smoothing == "platt"):
        return
    if not 0 <= as_number(label_smoothing) < 1:
        raise InputError(
            f'label_smoothing must be None, "platt" or a number in [0, 1); got '
            f"{shown(label_smoothing)}."
        )
