"""Arrays that are expensive to compute, such as scores of base models, stored between runs."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.files import atomic_file
from trueodds_studies._task import digest

__all__ = ["Scratch"]

Arrays = dict[str, npt.NDArray[Any]]


class Scratch:
    """A folder of named arrays, each file found by a description of what made it.

    Parameters
    ----------
    folder : path
        Created when the first array is stored. On a cluster, share it; otherwise every machine
        computes its own arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds_studies import Scratch
    >>> scratch = Scratch("scratch")
    >>> made = scratch.arrays({"set": "iris", "fold": 0}, lambda: {"scores": np.arange(3.0)})
    >>> again = scratch.arrays({"set": "iris", "fold": 0}, lambda: 1 / 0)
    >>> again["scores"]
    array([0., 1., 2.])
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)

    def arrays(self, description: Mapping[str, Any], compute: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of a description: read if they are stored, else computed and stored.

        Parameters
        ----------
        description : mapping of str to plain values
            Everything that the arrays depend on: set, model and its options, seed, fold, and a
            version that is raised when the code that computes them changes.
        compute : callable () → dict of str to ndarray
            No arrays of objects: files are NumPy's ``.npz`` and never pickled.
        """
        name = digest(dict(description))
        path = self._folder / name[:2] / f"{name[2:34]}.npz"
        kept = _read(path)
        if kept is not None:
            return kept
        made = compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not durable: a file that a power cut damages is found out and made again.
        with atomic_file(path, durable=False, final=False) as file:
            np.savez(file, allow_pickle=False, **made)
        return made


def _read(path: Path) -> Arrays | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        return None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile):
        return None  # damaged from outside: made again
