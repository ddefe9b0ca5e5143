"""Many classes: `trueodds evaluate` of 10,000 × 100 and 10⁷ × 10, and matrix scaling of 100.

    TRUEODDS_DATA=... python benchmarks/speed/many_classes.py

Prints CPU seconds and peak memory of each command, which runs in a separate process, and what
matrix scaling makes of a network's 100 classes with 5,000 rows to learn from.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trueodds import MatrixCalibrator
from trueodds.metrics import log_loss

BATCH = 500_000


def write_scores(path, n_rows, n_classes):
    """Overconfident forecasts, batch by batch."""
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(n_classes)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int16())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, BATCH):
            z = rng.normal(0, 1.5, (min(BATCH, n_rows - start), n_classes)).astype(np.float32)
            truth = _softmax(z).cumsum(axis=1)
            y = (truth > rng.random((len(z), 1))).argmax(axis=1).astype(np.int16)
            said = dict(zip(names, _softmax(1.5 * z).T, strict=True))
            writer.write_table(pa.table({**said, "y": y}, schema=schema))


def _softmax(z):
    e = np.exp(z)
    return e / e.sum(axis=1, keepdims=True)


def evaluate(path, n_classes):
    """CPU seconds and peak memory in MB of a command."""
    scores = ["--score", f"x0:x{n_classes - 1}", "--label", "y"]
    command = [sys.executable, "-m", "trueodds", "evaluate", str(path), *scores, "--memory", "1GB"]
    with subprocess.Popen(command) as process:
        _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def matrix_scaling():
    """Half of a network's test images to learn from, the other half to measure on."""
    table = pq.read_table(Path(os.environ["TRUEODDS_DATA"]) / "nn-cifar100-densenet-bc100.parquet")
    y = table["y"].to_numpy()
    logits = np.column_stack([table[f"x{k}"].to_numpy() for k in range(100)]).astype(np.float64)
    known, new = slice(0, 5000), slice(5000, None)
    logits -= logits.max(axis=1, keepdims=True)
    before = log_loss(y[new], _softmax(logits[new]))
    start = time.process_time()
    fitted = MatrixCalibrator(scale="logit").fit(logits[known], y[known])
    seconds = time.process_time() - start
    return seconds, before, log_loss(y[new], fitted.predict_proba(logits[new]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for n_rows, n_classes in ((10_000, 100), (10_000_000, 10)):
            path = Path(folder) / f"{n_classes}.parquet"
            write_scores(path, n_rows, n_classes)
            seconds, memory = evaluate(path, n_classes)
            print(f"{n_rows:,} × {n_classes}: {seconds:.1f} s of CPU, peak {memory:.0f} MB")
    seconds, before, after = matrix_scaling()
    print(
        f"matrix scaling, 5,000 × 100: {seconds:.1f} s of CPU, log-loss {before:.3f} → {after:.3f}"
    )


if __name__ == "__main__":
    main()
