"""Draw fraud that is predicted and found, day by day, when labels come a day late.

python docs/pictures/late_labels.py

The payments are those of docs/howto/late-labels.md. Draws docs/images/late-labels.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from trueodds import AutoCalibrator, OnlineCalibrator

PICTURE = Path(__file__).parents[1] / "images" / "late-labels.png"
BLUE, RED = "#0072B2", "#D55E00"
DAYS = 60


def payments(day):
    rng = np.random.default_rng(day)
    attack = 20 <= day < 40
    fraud = (rng.random(1000) < (0.08 if attack else 0.02)).astype(int)
    evidence = rng.normal(np.where(fraud == 1, 0.5 if attack else 1.5, -2.0), 1.3)
    return 1 / (1 + np.exp(-evidence)), fraud


def main() -> None:
    history = [np.concatenate(part) for part in zip(*map(payments, range(90, 100)), strict=True)]
    calibrator = AutoCalibrator().fit(*history)
    online = OnlineCalibrator(start=calibrator, max_pending=5000)
    found, fixed, followed = [], [], []
    labels = {}
    for day in range(DAYS):
        online.answer(list(labels), list(labels.values()))
        scores, fraud = payments(day)
        ids = [f"{day}-{i}" for i in range(len(scores))]
        followed.append(online.ask(scores, ids)[:, 1].sum())
        fixed.append(calibrator.predict_proba(scores)[:, 1].sum())
        found.append(fraud.sum())
        labels = dict(zip(ids, fraud, strict=True))
    figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
    ax.axvspan(20, 40, color="0.93", linewidth=0)
    ax.text(20.3, 104, "a new kind of fraud", fontsize=9, color="0.35", va="top")
    ax.plot(found, "o", color="0.25", markersize=3.5, label="found a day later")
    ax.plot(fixed, color=RED, linewidth=1.5, label="predicted by the map of the first day")
    ax.plot(followed, color=BLUE, linewidth=1.8, label="predicted by OnlineCalibrator")
    ax.set(xlabel="day", ylabel="frauds among 1,000 payments", xlim=(-1, DAYS), ylim=(0, 108))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
