"""What it costs to stop the paper's solver of Charcoal Grill Scaling after some rounds.

    python benchmarks/choices/charcoal_turns.py [samples] [rounds ...]

The paper goes on until a round over all groups of parameters lowers the loss by no more than 1e-8;
``trueodds_studies.papers.grill.PaperGrill`` also ends after 200 rounds for each λ. Data are
the paper's synthetic ones (equation 5, T = 5, N = 1000), with 2 to 5 coals and bias. The columns
are the loss, the held-out ECE in % on 10⁵ equidistant points with known probabilities, and CPU
seconds, as means over the samples. By default 5 samples, 200 and 2000 rounds.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.special import expit, logit

from trueodds import LogisticCalibrator, ScoreTable
from trueodds.calibrators._charcoal_grill.fit import GrillRows
from trueodds.exceptions import TrueoddsWarning
from trueodds_studies.papers.grill.paper_grill import fit_paper

N_FIT, N_HELD_OUT, TEMPERATURE = 1000, 10**5, 5.0
COALS = (2, 3, 4, 5)


def true_log_odds(z: np.ndarray) -> np.ndarray:
    return np.where(z > 0, z / TEMPERATURE, z)


def grill_rows(seed: int) -> GrillRows:
    rng = np.random.default_rng(seed)
    scores = rng.uniform(size=N_FIT)
    y = (rng.uniform(size=N_FIT) < expit(true_log_odds(logit(scores)))).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        base = LogisticCalibrator(label_smoothing=None).fit(scores, y).predict_proba(expit([0, 1]))
    at_zero, at_one = logit(base[:, 1])
    table = ScoreTable.from_arrays(scores, y)
    return GrillRows(logit(table.score), table.n_neg, table.n_pos, at_one - at_zero, float(at_zero))


def errors(q: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Weighted and unweighted ECE in %."""
    bins = np.minimum((10 * q).astype(np.intp), 9)
    count = np.bincount(bins, minlength=10)
    gap = np.abs(np.bincount(bins, q - true, 10))
    used = count > 0
    return 100 * gap.sum() / len(q), 100 * float((gap[used] / count[used]).mean())


def main(samples: int, rounds: list[int]) -> None:
    z = logit((np.arange(N_HELD_OUT) + 0.5) / N_HELD_OUT)
    true = expit(true_log_odds(z))
    print("| coals | rounds for each λ | converged | loss | weighted | unweighted | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for n_coals in COALS:
        for limit in rounds:
            rows = []
            for seed in range(samples):
                begin = time.process_time()
                fit = fit_paper(
                    grill_rows(seed),
                    n_coals,
                    bias=True,
                    fit_width=False,
                    lam=0.01,
                    max_turns=limit,
                )
                seconds = time.process_time() - begin
                ece = errors(expit(fit.coals.calibrated(z)), true)
                rows.append((float(fit.converged), fit.loss, *ece, seconds))
            ended, loss, weighted, unweighted, seconds = np.mean(rows, axis=0)
            print(
                f"| {n_coals} | {limit} | {ended:.0%} | {loss:.2f} | {weighted:.2f} "
                f"| {unweighted:.2f} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(numbers[0] if numbers else 5, numbers[1:] or [200, 2000])
