"""Where the numbers come from, and how to get them again."""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

import trueodds
from trueodds.report._evidence import ReportRows
from trueodds.report._plain import number, show_method

__all__ = [
    "data_summary",
    "fingerprint",
    "provenance_of",
    "reproduce",
    "warnings_of_methods",
    "warnings_seen",
]


def fingerprint(rows: ReportRows) -> str:
    """SHA-256 of scores, label codes and weights in their order, to recognise the same data."""
    digest = hashlib.sha256()
    for array in (rows.score, rows.codes.astype("<i8"), rows.weight):
        if array is not None:
            digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def data_summary(
    rows: ReportRows, sample: ReportRows, names: Mapping[str, str], scale: str
) -> dict[str, Any]:
    """How many rows of what."""
    count = np.bincount(rows.codes, minlength=len(rows.classes))
    weight = np.bincount(rows.codes, rows.weight, len(rows.classes))
    share = weight / weight.sum()
    return {
        "rows": len(rows),
        "compared_rows": len(sample),
        "weighted": rows.weight is not None,
        "score": names.get("score", "score"),
        "label": names.get("label", "label"),
        "input": scale,
        "binary": rows.binary,
        "positive": str(rows.classes[1]) if rows.binary else None,
        "classes": [
            {"label": str(label), "rows": int(n), "share": number(s)}
            for label, n, s in zip(rows.classes.tolist(), count, share, strict=True)
        ],
        "fingerprint": fingerprint(rows),
    }


def provenance_of(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the caller says about the data, and what made the report."""
    return {
        "given": {str(k): str(v) for k, v in (given or {}).items()},
        "made_by": {
            "trueodds": trueodds.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def reproduce(command: str | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The command line if there was one, and the call with every setting that matters."""
    options = "".join(f"    {name}={value!r},\n" for name, value in settings.items())
    call = (
        "from trueodds.report import build_report\n\n"
        f"report = build_report(\n    scores,\n    y,\n{options})\n"
        'report.save("report.html")'
    )
    return {"command": command, "python": call}


def warnings_seen(caught: list[Any]) -> list[dict[str, Any]]:
    """Each warning once, with how often it came."""
    seen = Counter((w.category.__name__, str(w.message)) for w in caught)
    return [{"category": c, "message": m, "count": n} for (c, m), n in seen.items()]


def warnings_of_methods(comparison: Any) -> list[dict[str, Any]]:
    """What the methods warned of while they were compared, and which could not be fitted."""
    said = [(name, text) for name, texts in comparison.warnings.items() for text in texts]
    said += [(m, f"left out of the comparison: {e}") for m, e in comparison.failures.items()]
    return [{"category": show_method(m), "message": text, "count": 1} for m, text in said]
