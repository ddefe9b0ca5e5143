"""Data sets in the folder that ``TRUEODDS_DATA`` names."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from trueodds.exceptions import InputError
from trueodds_studies._optional import need
from trueodds_studies.datasets._dataset import Dataset

__all__ = ["data_folder", "folder_names", "load_from_folder"]

VARIABLE = "TRUEODDS_DATA"
MANIFEST = "MANIFEST.csv"


def data_folder() -> Path | None:
    """The folder named by the environment, or None if it names none."""
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise InputError(f"{VARIABLE} must name a folder of Parquet files; {named!r} is not one.")
    return folder


def folder_names() -> dict[str, Path]:
    """Names of the Parquet files that lie directly in the folder, with their paths.

    A name is looked up among these and never joined to a path, so that no name can lead out of the
    folder; links that do are left out.
    """
    folder = data_folder()
    if folder is None:
        return {}
    inside = folder.resolve()
    return {
        path.stem: path
        for path in sorted(folder.glob("*.parquet"))
        if path.resolve().is_relative_to(inside)
    }


def load_from_folder(name: str) -> Dataset:
    """Read ``<name>.parquet``: the column ``y`` is the label, all others are features."""
    path = folder_names()[name]
    pandas = need("pandas")
    need("pyarrow")
    try:
        frame = pandas.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name} in {VARIABLE} cannot be read as Parquet: {error}") from None
    if "y" not in frame.columns:
        raise InputError(f"{path.name} has no column 'y' with the labels; it has {list(frame)}.")
    entry = _manifest(path.parent).get(name, {})
    match = entry.get("matches", "")
    notes = [entry.get("note", "")]
    if match and not match.startswith("yes"):
        notes.insert(0, f"Match with the papers: {match}.")
    return Dataset(
        name=name,
        X=frame.drop(columns="y"),
        y=frame["y"],
        provenance=f"{path.name} in {VARIABLE}, from {entry.get('source') or 'an unknown source'}",
        notes=" ".join(note for note in notes if note),
    )


def _manifest(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / MANIFEST
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file) if row.get("name")}
