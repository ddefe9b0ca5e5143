"""The numbers that the charcoal grill paper prints: Tables 1, 2 and 3. All ECE are in %."""

from __future__ import annotations

from typing import Any

from trueodds_studies._optional import need
from trueodds_studies._printed import printed_rows

__all__ = [
    "CLIP",
    "CLIPS",
    "FIGURE_BINS",
    "LABEL_NOISE",
    "MEASURES",
    "NO_BIAS",
    "PAPER_TASKS",
    "PLACED",
    "WITH_BIAS",
    "paper_table",
]

MEASURES = {"weighted": "weighted ECE, %", "unweighted": "unweighted ECE, %"}
WITH_BIAS = [f"CGS-{n}-withbias" for n in range(1, 6)]
NO_BIAS = [f"CGS-{n}-nobias" for n in range(1, 6)]
PLACED = "placed"
"""Probabilities of 0 are placed by maximum likelihood."""
CLIPS = ("1e-03", "1e-06", "1e-12")
"""Levels at which probabilities of 0 are clipped."""
CLIP = CLIPS[1]
FIGURE_BINS = {"CGS-5-withbias": 20}
"""Bins of the reliability diagrams, where they are not ten: figure 8."""
LABEL_NOISE = 0.1
"""Two standard deviations of a held-out ECE, in %, caused by drawing 10⁶ labels."""

_TABLES = {"synthetic": "table_1", "binary": "table_2", "networks": "table_3"}

PAPER_TASKS = {
    "stocknet-movement": "stocknet",
    "creditcard-casecontrol": "fraud",
    "nn-mnist-mlp": "MNIST",
    "nn-cifar100-densenet-bc100": "CIFAR",
    "nn-cifar10-vgg16": "SVHN",
    "nn-cifar10-wideresnet16-4": "SVHN",
}
"""Our sets, and the columns of Tables 2 and 3 that they replace."""


def paper_table(part: str, task: str) -> Any:
    """A task's columns of Table 1 (``"synthetic"``), 2 (``"binary"``) or 3 (``"networks"``)."""
    rows = printed_rows(__package__, _TABLES[part])
    values = [[float(row[f"{measure}, {task}"]) for measure in MEASURES] for row in rows]
    return need("pandas").DataFrame(values, [row["method"] for row in rows], list(MEASURES))
