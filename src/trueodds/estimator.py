"""scikit-learn's estimator contract without importing scikit-learn.

scikit-learn requires no base class: ``clone``, ``Pipeline``, grid search and the rest look for
``get_params``, ``set_params`` and ``__sklearn_tags__``. Importing it takes ten times as long as
everything that a calibrator needs, and loads pandas where that is installed. Calibrators therefore
implement the contract here, and import scikit-learn only when a call needs it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

from trueodds.exceptions import InputError

__all__ = ["Estimator", "fact", "unfitted"]

AnyEstimator = TypeVar("AnyEstimator")


def unfitted(estimator: AnyEstimator) -> AnyEstimator:
    """Return an unfitted copy with the same options, as ``sklearn.base.clone`` does."""
    options = estimator.get_params(deep=False)  # type: ignore[attr-defined]  # duck-typed
    return type(estimator)(**{name: _copied(value) for name, value in options.items()})


def _copied(value: Any) -> Any:
    nested = hasattr(value, "get_params") and not isinstance(value, type)
    return unfitted(value) if nested else copy.deepcopy(value)


class Estimator:
    """Base of estimators: parameters from the signature, tags of a classifier of scores."""

    moved: ClassVar[dict[str, str]] = {}
    """Former options, and the class of trueodds-studies that has them."""

    # Here and not in a class with an __init__, which inspect.signature would no longer find.
    def __new__(cls, *_options: Any, **named: Any) -> Self:
        """Refuse an option that another class has, and name it."""
        for name in cls.moved.keys() & named.keys():
            raise InputError(
                f"{name} of {cls.__name__} is in trueodds-studies: see {cls.moved[name]}."
            )
        return super().__new__(cls)

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options, with those of nested estimators as ``name__option``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the options of nested estimators.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = {}
        for name in sorted(self._parameters()):
            value = getattr(self, name)
            params[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                nested = value.get_params()
                params.update({f"{name}__{option}": v for option, v in nested.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set options, those of nested estimators as ``name__option``.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        known = self._parameters()
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, option = key.partition("__")
            if name not in known:
                raise InputError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: "
                    f"{sorted(known)}."
                )
            if option:
                nested.setdefault(name, {})[option] = value
            else:
                setattr(self, name, value)
        for name, options in nested.items():
            getattr(self, name).set_params(**options)
        return self

    def __repr__(self) -> str:
        """Return the call that creates it, without options at their defaults."""
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in self._parameters().items()
            if repr(getattr(self, name, None)) != repr(parameter.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _check_fitted(self, attribute: str) -> None:
        if not hasattr(self, attribute):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first."
            )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the estimator is fitted."""
        names = list(vars(self))  # another thread may add what it computes
        return any(name.endswith("_") and not name.startswith("_") for name in names)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a classifier whose input is one or more columns of scores."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False),
        )


class _Fact:
    """A property that also has a value on the class: that of the default options."""

    def __init__(self, ask: Callable[[Any], bool]) -> None:
        self._ask, self.__doc__ = ask, ask.__doc__

    def __get__(self, instance: Any, owner: type[Any]) -> bool:
        return self._ask(owner() if instance is None else instance)


def fact(ask: Callable[[Any], bool]) -> Any:
    """Make a method a property of the class, too; it overrides a plain class variable.

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> BetaCalibrator.is_monotone, BetaCalibrator("ab").is_monotone
    (True, False)
    """
    return _Fact(ask)
