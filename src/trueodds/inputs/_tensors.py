"""Arrays of other libraries: in through the CPU, and back to where they came from.

Torch is never imported here: if a tensor comes in, it is loaded. Other libraries that keep the
array API standard (JAX, CuPy) are known by their namespace.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import TrueoddsWarning, warn_user

__all__ = ["returns_like_input", "tensor_to_numpy"]

P = ParamSpec("P")
Owner = TypeVar("Owner")
Result = TypeVar("Result")


def tensor_to_numpy(values: Any) -> npt.NDArray[Any] | None:
    """A tensor of torch, or an array of another library, as NumPy's; None of anything else."""
    if _is_torch(values):
        plain = values.detach().cpu()
        torch = sys.modules["torch"]
        return cast(
            "npt.NDArray[Any]", (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
        )
    if _namespace(values) is not None:
        try:
            return np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError, ValueError):
            return np.asarray(values)
    return None


def returns_like_input(
    method: Callable[Concatenate[Owner, Any, P], Result],
) -> Callable[Concatenate[Owner, Any, P], Result]:
    """A method of scores whose answer has the library, the device and the dtype of the scores.

    The answer is cut from the graph of gradients; ``map.to_torch()`` is not.
    """
    first = list(inspect.signature(method).parameters)[1]

    @functools.wraps(method)
    def answer(*args: Any, **kwargs: Any) -> Result:
        result = method(*args, **kwargs)
        scores = args[1] if len(args) > 1 else kwargs[first]
        if type(scores) is np.ndarray or not isinstance(result, np.ndarray):
            return result
        return cast("Result", _like(scores, result))

    return cast("Callable[Concatenate[Owner, Any, P], Result]", answer)


def _like(scores: Any, result: npt.NDArray[Any]) -> Any:
    if _is_torch(scores):
        if scores.requires_grad:
            warn_user(
                "the scores require gradients, and the probabilities do not have them; call "
                "map.to_torch() for a module that has, or pass scores.detach().",
                TrueoddsWarning,
            )
        torch = sys.modules["torch"]
        dtype = scores.dtype if scores.is_floating_point() else torch.get_default_dtype()
        return torch.tensor(result, dtype=dtype, device=scores.device)
    space = _namespace(scores)
    if space is None:
        return result
    floats = space.isdtype(scores.dtype, "real floating")
    return space.asarray(result, dtype=scores.dtype if floats else None, device=scores.device)


def _is_torch(values: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def _namespace(values: Any) -> Any:
    """The array library of an array that keeps the standard and is not NumPy's."""
    if isinstance(values, (np.ndarray, np.generic)) or not hasattr(values, "__array_namespace__"):
        return None
    return values.__array_namespace__()
