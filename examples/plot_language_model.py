"""
Which answers of a language model need no review
================================================
A model states a confidence for each answer, far too high and worst in mathematics. A person has
checked 150 answers. Left: all of them teach a calibrator what the signals mean in each subject.
Right: a calibrator of the first 50 ranks answers, and the other 100 give a threshold with the
guarantee that at most 20% of the answers sent out without review are wrong. The answers are
simulated, so the picture can show the 3,000 that nobody checked.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from trueodds import GroupCalibrator
from trueodds.decisions import guaranteed_threshold

rng = np.random.default_rng(0)


def answers(n):
    """Questions of four subjects, and two signals of whether the model knew the answer."""
    subject = rng.choice(["history", "law", "math", "medicine"], n)
    known = rng.normal(1.7, 2.0, n)
    easier = pd.Series(subject).map({"history": 0.8, "law": -0.3, "math": -2.0, "medicine": 0.2})
    signal = known + rng.normal(0, 0.5, n)
    return pd.DataFrame(
        {
            "subject": subject,
            "stated": np.clip((90 + 3 * known + rng.normal(0, 4, n)) // 5 * 5, 50, 100) / 100,
            "probability": 1 / np.sqrt(1 + np.exp(-signal)),
            "right": rng.random(n) < 1 / (1 + np.exp(-known - easier.to_numpy())),
        }
    )


def fit(rows):
    """Calibrate the probability of the tokens; subject and stated confidence are features."""
    return GroupCalibrator().fit(rows["probability"], rows["right"], features=rows[FEATURES])


def confidence(calibrator, rows):
    """Calibrated probability that an answer is right."""
    return calibrator.predict_proba(rows["probability"], features=rows[FEATURES])[:, 1]


FEATURES = ["subject", "stated"]
checked, unchecked = answers(150), answers(3000)
learn, prove = checked[:50], checked[50:]
calibrator = fit(learn)
found = guaranteed_threshold(prove["right"], confidence(calibrator, prove), at_most=0.2)

figure, (left, ax) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
right = unchecked["right"].to_numpy()
shown = {
    "stated confidence": ("#D55E00", unchecked["stated"].to_numpy()),
    "calibrated, 50 answers": ("#009E73", confidence(calibrator, unchecked)),
    "calibrated, 150 answers": ("#0072B2", confidence(fit(checked), unchecked)),
}
for name, (color, score) in shown.items():
    for subject in np.unique(unchecked["subject"]):
        own = (unchecked["subject"] == subject).to_numpy()
        left.plot(score[own].mean(), right[own].mean(), "o", color=color, ms=8)
        if "stated" in name:
            place = (score[own].mean() + 0.015, right[own].mean())
            left.annotate(subject, place, va="center")
    if "150" in name:
        continue
    order = np.lexsort((rng.random(len(score)), -score))  # ties in random order
    errors = np.cumsum(~right[order]) / np.arange(1, len(score) + 1)
    sent = np.arange(1, len(score) + 1) / len(score)
    ax.plot(sent[30:], errors[30:], color=color)
for name, (color, _) in shown.items():
    left.plot([], [], "o", color=color, label=name)
left.plot([0.4, 1], [0.4, 1], color="0.6", lw=1, zorder=0)
left.set(xlabel="mean confidence", ylabel="share of right answers", title="Subjects")
left.set(xlim=(0.4, 1.1))
left.legend(loc="upper left")

act = confidence(calibrator, unchecked) >= found.threshold
ax.axhline(0.2, color="0.5", lw=1, ls="--")
ax.plot(act.mean(), 1 - right[act].mean(), "o", color="#009E73", ms=9)
ax.annotate(
    f"guaranteed threshold, {found.threshold:g}",
    (act.mean(), 1 - right[act].mean()),
    xytext=(-20, 60),
    textcoords="offset points",
    ha="right",
    arrowprops={"arrowstyle": "-", "color": "0.5"},
)
ax.set(xlabel="share of answers sent out", ylabel="share of them that is wrong", ylim=(0, None))
ax.set(title="The most confident answers")
