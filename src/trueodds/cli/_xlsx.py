"""Excel workbooks, as the CSV file that Excel would save of the first sheet."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from trueodds.basics import optional
from trueodds.cli._files import InputFiles
from trueodds.cli._show import note
from trueodds.exceptions import InputError

__all__ = ["as_csv"]


def as_csv(files: InputFiles, scratch: Path) -> InputFiles:
    """Copy the first sheet of each workbook to a CSV file; a percent cell holds its fraction."""
    copies = []
    for number, path in enumerate(files.paths):
        copy = scratch / f"sheet-{number}.csv"
        with copy.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(map(_texts, _rows(path)))
        if copy.stat().st_size == 0:
            raise InputError(f"the first sheet of {path.name} is empty.")
        copies.append(copy)
    return InputFiles(files.shown, tuple(copies), "csv")


def _rows(path: Path) -> Any:
    calamine: Any = optional.require("python_calamine", "xlsx files", "trueodds[excel]")
    try:
        book = calamine.load_workbook(str(path))
        if not book.sheet_names:
            raise InputError(f"{path.name} has no sheets.")
        if len(book.sheet_names) > 1:
            note(f"{path.name}: the first of {len(book.sheet_names)} sheets is read.")
        return book.get_sheet_by_index(0).to_python(skip_empty_area=True)
    except calamine.CalamineError as error:
        raise InputError(f"{path.name} cannot be read as a workbook: {error}.") from None


def _texts(row: list[Any]) -> list[str]:
    return [_text(value) for value in row]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # a workbook has no integers
    return str(value)
