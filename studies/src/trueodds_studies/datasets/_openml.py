"""Data sets fetched from OpenML by scikit-learn, which keeps them in its own cache."""

from __future__ import annotations

import re
from typing import Any

from trueodds.exceptions import InputError
from trueodds_studies._optional import need
from trueodds_studies.datasets._dataset import Dataset

__all__ = ["OPENML", "PREFIX", "load_from_openml", "openml_name"]

PREFIX = "openml:"

_SAME_NAME = """
2dplanes abalone adult audiology autos balance-scale cal_housing car coil2000 credit-approval
cylinder-bands dermatology diabetes ecoli fried glass heart-statlog hepatitis house_16H
house_8L houses ijcnn1 ionosphere iris kr-vs-kp letter liver-disorders mammography
mfeat-factors mfeat-fourier mfeat-karhunen mfeat-morphological mfeat-pixel mfeat-zernike
mushroom nursery optdigits page-blocks pendigits segment shuttle sick skin-segmentation sonar
spambase splice vehicle vote vowel waveform-5000 wdbc yeast zoo
"""
OPENML: dict[str, str] = {
    **{name: name for name in _SAME_NAME.split()},
    "australian": "Australian",
    "breast-cancer": "breast-w",
    "creditcard": "creditcard",
    "german": "credit-g",
    "german-credit": "credit-g",
    "horse": "colic",
    "htru2": "HTRU2",
    "landsat-satellite": "satimage",
    "SEA50": "SEA(50)",
    "taiwan-credit": "default-of-credit-card-clients",
    "tic-tac": "tic-tac-toe",
}
"""Our names and OpenML's, of sets that the five papers use."""


def openml_name(name: str) -> str | None:
    """Return OpenML's name of a set; a name after ``openml:`` is used unchanged."""
    if name.startswith(PREFIX):
        return name.removeprefix(PREFIX)
    return OPENML.get(name)


def load_from_openml(name: str) -> Dataset:
    """Fetch a set by OpenML's name or number, or read it from scikit-learn's cache."""
    wanted = openml_name(name)
    if wanted is None or not re.fullmatch(r"[\w()+., -]{1,100}", wanted):
        raise InputError(f"{name!r} is not a name or number of a data set of OpenML.")
    # A number is OpenML's data_id; a name may have several versions, the first is the original.
    query: dict[str, Any] = (
        {"data_id": int(wanted)} if wanted.isdecimal() else {"name": wanted, "version": 1}
    )
    try:
        found = need("sklearn.datasets").fetch_openml(**query, as_frame=True, parser="auto")
    except (OSError, ValueError) as error:
        raise InputError(
            f"OpenML gave no data set {wanted!r} ({type(error).__name__}: {error}). Check the name "
            "and the network; what was fetched once is read from scikit-learn's cache."
        ) from None
    if found.target is None or getattr(found.target, "ndim", 1) != 1:
        raise InputError(f"data set {wanted!r} of OpenML has no single target column.")
    identity = found.details.get("id", "?") if getattr(found, "details", None) else "?"
    return Dataset(
        name=name,
        X=found.data.reset_index(drop=True),
        y=found.target.rename("y").reset_index(drop=True),
        provenance=f"OpenML {wanted!r}, data_id {identity}",
        notes="" if name == wanted or name.startswith(PREFIX) else f"called {wanted!r} on OpenML",
    )
