"""A real model's scores in; calibrated probabilities, a comparison of methods and a report out.

AdaBoost tells eights from other handwritten digits (the data ships with scikit-learn). It ranks
them well, but its probabilities all lie near one half. Its out-of-fold scores are written to a
file, as any model's could be; every method of trueodds is compared on them by repeated
cross-validation; the best one is fitted, saved, and applied.

Usage: python examples/demo.py [output folder]
"""

import io
import sys
import time
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from jinja2 import Environment
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_predict

import trueodds
from trueodds.exceptions import TrueoddsWarning
from trueodds.metrics import (
    brier_score,
    compare_metric,
    expected_calibration_error,
    log_loss,
)
from trueodds.plots import CalibrationMapDisplay, ReliabilityDisplay

mpl.use("Agg")

REPEATS, FOLDS = 4, 5
LEFT_OUT = {
    "tree": "needs the pixels beside the scores",
    "one_vs_rest": "a way to use the others on several classes",
    "vector": "on two classes the same as beta without a constraint",
    "matrix": "on two classes the same as beta without a constraint",
}

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>trueodds: demo report</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
 :root { color-scheme: light dark; }
 body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
        padding: 0 1rem; }
 figure { margin: 1.5rem 0; background: #fff; border-radius: 8px; padding: .5rem; }
 figcaption { color: #333; padding: 0 .5rem; } figure { max-width: 38rem; }
 figure svg { width: 100%; height: auto; }
 table { border-collapse: collapse; } th, td { padding: .25rem .8rem; text-align: right; }
 th:first-child, td:first-child { text-align: left; } tbody tr:nth-child(odd) { background: #8882; }
 .verdict { font-size: 1.2rem; } code { background: #8883; padding: 0 .3em; border-radius: 3px; }
</style></head><body>
<h1>Is it an eight?</h1>
<p class="verdict">{{ verdict }}</p>
<p>{{ n }} out-of-fold scores of AdaBoost on handwritten digits, {{ positives }} of them eights.
Methods are compared by {{ repeats }} × {{ folds }}-fold cross-validation on these scores, all with
Platt's label correction; smaller is better in every column.</p>
<table><thead><tr><th>method</th><th>log-loss</th><th>± s.e.</th><th>Brier score</th><th>ECE</th>
</tr></thead><tbody>
{% for row in rows %}<tr><td>{{ row.method }}</td><td>{{ "%.4f"|format(row.log_loss) }}</td>
<td>{{ "%.4f"|format(row.error) }}</td><td>{{ "%.4f"|format(row.brier) }}</td>
<td>{{ "%.4f"|format(row.ece) }}</td></tr>
{% endfor %}</tbody></table>
{% for title, svg in pictures %}<figure>{{ svg }}<figcaption>{{ title }}</figcaption></figure>
{% endfor %}
<p>Left out: {% for name, why in left_out.items() %}{{ name }} ({{ why }})
{{- "; " if not loop.last }}{% endfor %}.
Made by <code>make demo</code> with trueodds {{ version }}.</p>
</body></html>
"""


def say(text: str) -> None:
    print(text, flush=True)


def write_scores(path: Path) -> pd.DataFrame:
    X, digit = load_digits(return_X_y=True)
    y = (digit == 8).astype(int)
    model = AdaBoostClassifier(n_estimators=100, random_state=0)
    scores = cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]
    frame = pd.DataFrame({"score": scores, "is_eight": y})
    frame.to_csv(path, index=False)
    return frame


def cross_validate(calibrator, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Held-out calibrated probabilities, one row for each repetition."""
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
    result = np.empty((REPEATS, len(y)))
    for number, (train, test) in enumerate(folds.split(scores, y)):
        fitted = calibrator.fit(scores[train], y[train])
        result[number // FOLDS, test] = fitted.predict_proba(scores[test])[:, 1]
    return result


def compare(scores: np.ndarray, y: np.ndarray) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    rows, held_out = [], {}
    for name, kind in trueodds.all_calibrators().items():
        if name in LEFT_OUT:
            continue
        start = time.perf_counter()
        p = cross_validate(kind(label_smoothing="platt"), scores, y)
        held_out[name] = p
        losses = -np.log(np.clip(np.where(y == 1, p, 1 - p), 1e-15, 1)).mean(axis=0)
        rows.append(
            {
                "method": name,
                "log_loss": np.mean([log_loss(y, q) for q in p]),
                "error": losses.std() / np.sqrt(len(y)),
                "brier": np.mean([brier_score(y, q) for q in p]),
                "ece": np.mean([expected_calibration_error(y, q) for q in p]),
            }
        )
        seconds = time.perf_counter() - start
        say(f"  {name:<20} log-loss {rows[-1]['log_loss']:.4f}   ({seconds:.1f} s)")
    return pd.DataFrame(rows).sort_values("log_loss", ignore_index=True), held_out


def svg(display) -> str:
    buffer = io.StringIO()
    display.figure_.savefig(buffer, format="svg", bbox_inches="tight")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")
    folder.mkdir(parents=True, exist_ok=True)
    say("1. AdaBoost scores the digits")
    frame = write_scores(folder / "scores.csv")
    scores, y = frame["score"].to_numpy(), frame["is_eight"].to_numpy()

    say("2. every method, cross-validated on these scores")
    table, held_out = compare(scores, y)
    table.to_csv(folder / "comparison.csv", index=False)
    best = table["method"][0]

    say(f"3. {best} is fitted on all scores, saved, loaded and applied")
    calibrator = trueodds.all_calibrators()[best](label_smoothing="platt").fit(scores, y)
    calibrator.map_.save(folder / "map.json")
    frame["calibrated"] = trueodds.load(folder / "map.json")(scores)
    frame.to_csv(folder / "calibrated.csv", index=False)

    gain = compare_metric(log_loss, y, scores, held_out[best][0], random_state=0)
    verdict = (
        f"{best} calibration cuts the log-loss from {gain.estimate_a:.3f} to {gain.estimate_b:.3f} "
        f"(95 % interval of the gain: {gain.low:.3f} to {gain.high:.3f})."
    )
    both = {"AdaBoost": scores, f"after {best}": held_out[best][0]}
    reliability = ReliabilityDisplay.from_predictions(y, both, random_state=0).plot()
    reliability.figure_.savefig(folder / "reliability.png", dpi=110, bbox_inches="tight")
    pictures = [
        (
            "Before and after, on held-out scores. Bands show where a calibrated model's points "
            "would fall nine times in ten.",
            svg(reliability),
        ),
        (
            f"What {best} learned.",
            svg(CalibrationMapDisplay.from_calibrator(calibrator, scores=scores, y=y).plot()),
        ),
    ]
    page = Environment(autoescape=True).from_string(PAGE.replace("{{ svg }}", "{{ svg|safe }}"))
    report = page.render(
        verdict=verdict,
        n=len(y),
        positives=int(y.sum()),
        repeats=REPEATS,
        folds=FOLDS,
        rows=table.to_dict("records"),
        pictures=pictures,
        left_out=LEFT_OUT,
        version=trueodds.__version__,
    )
    (folder / "report.html").write_text(report, encoding="utf-8")
    say(f"\n{verdict}\n")
    for name in ("report.html", "comparison.csv", "calibrated.csv", "map.json", "scores.csv"):
        say(f"  {folder / name}")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        main()
