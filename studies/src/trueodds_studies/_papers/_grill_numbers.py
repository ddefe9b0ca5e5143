"""What the charcoal grill paper prints: Tables 1, 2 and 3. All ECE are in %."""

from __future__ import annotations

from typing import Any

from trueodds_studies._optional import need

__all__ = [
    "CLIP",
    "CLIPS",
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
"""Probabilities of 0 stand where the likelihood is highest."""
CLIPS = ("1e-03", "1e-06", "1e-12")
"""Or at one of these levels."""
CLIP = CLIPS[1]
LABEL_NOISE = 0.1
"""Two standard deviations of a held-out ECE, in %, that 10⁶ drawn labels bring."""

_TABLE_1 = """
original 9.09 9.09
temperature 9.03 11.17
platt 5.85 7.34
isotonic 1.52 4.39
CGS-1-nobias 9.03 11.12
CGS-2-nobias 9.03 11.12
CGS-3-nobias 2.26 5.00
CGS-4-nobias 9.03 11.12
CGS-5-nobias 1.87 3.82
CGS-1-withbias 5.85 7.35
CGS-2-withbias 2.81 4.28
CGS-3-withbias 3.17 4.54
CGS-4-withbias 2.98 4.96
CGS-5-withbias 2.22 2.69
"""
_TABLE_2 = """
original 8.87 0.032 24.53 19.16
temperature 6.23 0.13 6.94 16.81
platt 9.60 0.038 12.88 29.32
isotonic 11.14 0.031 28.90 37.41
CGS-1-nobias 6.22 0.031 6.94 39.72
CGS-2-nobias 6.16 0.031 17.82 30.08
CGS-3-nobias 6.75 0.17 31.88 30.89
CGS-4-nobias 6.88 0.032 26.03 27.85
CGS-5-nobias 6.90 0.031 24.69 36.52
CGS-1-withbias 9.62 0.13 24.01 16.80
CGS-2-withbias 9.48 0.11 25.49 24.81
CGS-3-withbias 9.51 0.026 25.50 24.81
CGS-4-withbias 10.42 0.17 27.40 24.36
CGS-5-withbias 10.02 0.074 25.28 20.91
"""
_TABLE_3 = """
original 0.11 0.37 0.26 2.94 16.97 1.89
temperature 0.053 0.024 0.16 2.42 0.86 3.21
vector 0.053 0.019 0.15 4.36 0.79 2.92
matrix 0.13 0.66 0.14 6.41 35.68 2.84
isotonic 1.11 0.27 1.06 14.45 11.00 10.74
CGS-1-nobias 0.053 0.025 0.15 2.42 0.92 3.17
CGS-2-nobias 0.084 0.025 0.13 6.22 0.92 2.57
CGS-3-nobias 0.067 0.024 0.14 5.11 0.86 2.87
CGS-4-nobias 0.061 0.022 0.16 4.08 0.80 3.08
CGS-5-nobias 0.061 0.024 0.16 3.43 0.86 3.13
CGS-1-withbias 0.056 0.017 0.15 3.14 0.92 2.80
CGS-2-withbias 0.066 0.018 0.14 4.38 1.03 2.49
CGS-3-withbias 0.068 0.014 0.13 4.71 0.95 2.41
CGS-4-withbias 0.066 0.013 0.15 5.21 0.53 2.75
CGS-5-withbias 0.039 0.018 0.13 2.89 1.30 2.81
"""
_TABLES = {
    "synthetic": (_TABLE_1, ("T = 5",)),
    "binary": (_TABLE_2, ("stocknet", "fraud")),
    "networks": (_TABLE_3, ("MNIST", "CIFAR", "SVHN")),
}

PAPER_TASKS = {
    "stocknet-movement": "stocknet",
    "creditcard-casecontrol": "fraud",
    "nn-mnist-mlp": "MNIST",
    "nn-cifar100-densenet-bc100": "CIFAR",
    "nn-cifar10-vgg16": "SVHN",
    "nn-cifar10-wideresnet16-4": "SVHN",
}
"""Our sets, and the columns of Tables 2 and 3 that they stand in for."""


def paper_table(part: str, task: str) -> Any:
    """A task's columns of Table 1 (``"synthetic"``), 2 (``"binary"``) or 3 (``"networks"``)."""
    text, tasks = _TABLES[part]
    lines = [line.split() for line in text.strip().splitlines()]
    first = 1 + tasks.index(task)
    values = [[float(line[first]), float(line[first + len(tasks)])] for line in lines]
    return need("pandas").DataFrame(values, [line[0] for line in lines], list(MEASURES))
