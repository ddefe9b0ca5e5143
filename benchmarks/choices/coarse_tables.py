"""How far maps learned from rounded scores are from those learned from all of them.

Scores are crowded at both ends: log-odds of mean −1 and standard deviation 7. Each method is
fitted to all distinct scores and, by ``fit_frame``, to tables of at most ``max_rows`` rows. It
prints the mean and the largest difference of the two maps over the scores. To compare with, it
prints the mean error of the exact map against the true curve.

Usage: python benchmarks/choices/coarse_tables.py [rows]
"""

import sys

import numpy as np
import polars as pl

from trueodds import BBQCalibrator, BetaCalibrator, ENIRCalibrator, IsotonicCalibrator
from trueodds.engines.group import group_scores


def main() -> None:
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 200_000
    rng = np.random.default_rng(1)
    z = rng.normal(-1, 7, n)
    score = 1 / (1 + np.exp(-z))
    truth = 1 / (1 + np.exp(0.5 - 0.6 * z))
    frame = pl.DataFrame({"score": score, "label": (rng.random(n) < truth).astype(int)})
    names = {"score": "score", "label": "label"}
    print(f"{n:,} scores, {len(np.unique(score)):,} distinct")
    print(f"{'method':20} {'max_rows':>9} {'digits':>6} {'mean':>9} {'greatest':>9} {'error':>9}")
    for calibrator in (BetaCalibrator(), IsotonicCalibrator(), ENIRCalibrator(), BBQCalibrator()):
        exact = calibrator.fit(score, frame["label"]).predict_proba(score)[:, 1]
        error = np.abs(exact - truth).mean()
        for max_rows in (n // 10, n // 2):
            digits = group_scores(frame, **names, max_rows=max_rows).cells.bits
            coarse = calibrator.fit_frame(frame, **names, max_rows=max_rows)
            difference = np.abs(coarse.predict_proba(score)[:, 1] - exact)
            print(
                f"{type(calibrator).__name__:20} {max_rows:9,} {digits:6} {difference.mean():9.1e} "
                f"{difference.max():9.1e} {error:9.1e}"
            )


if __name__ == "__main__":
    main()
