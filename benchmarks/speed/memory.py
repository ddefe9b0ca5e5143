"""Peak memory and CPU seconds of each command, by the number of rows and of classes.

``--memory`` (1 GB by default) is a limit; this program shows what a command takes beyond it.

    python benchmarks/speed/memory.py                                # all: hours, and 2 GB of disk
    python benchmarks/speed/memory.py --rows 10000 100000 --classes 2 --commands evaluate fit
    python benchmarks/speed/memory.py --crowded                      # next to two busy loops

Prints a Markdown table; each cell is CPU seconds / peak MB. A cell in bold is more than 1.2 times
``--memory``. The interpreter and its libraries are included. Linux counts the peak of the program
that starts a command as the command's own, so another process writes the data and this one stays
small.
"""

import argparse
import multiprocessing
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMANDS = ("evaluate", "fit", "apply", "monitor", "compare", "report")
SLOW = {"compare": 1_000_000, "report": 1_000_000}
"""Most rows that are worth the time: beyond it, a sample of as many is used."""
BLOCK = 500_000


def write_scores(path: Path, rows: int, classes: int) -> None:
    """Overconfident scores of two classes in one column, of more in one column each."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    writer = None
    for begin in range(0, rows, BLOCK):
        n = min(BLOCK, rows - begin)
        if classes == 2:
            z = rng.normal(-1, 1.5, n)
            table = {"p": 1 / (1 + np.exp(-2 * z)), "y": rng.random(n) < 1 / (1 + np.exp(-z))}
            table["y"] = table["y"].astype(np.int8)
        else:
            z = rng.normal(0, 1.5, (n, classes))
            true, said = np.exp(z), np.exp(2 * z)
            true /= true.sum(axis=1, keepdims=True)
            said /= said.sum(axis=1, keepdims=True)
            y = (true.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
            table = {f"p{k}": said[:, k] for k in range(classes)} | {"y": y.astype(np.int8)}
        batch = pa.table(table)
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    writer.close()


def write_elsewhere(path: Path, rows: int, classes: int) -> None:
    """Write scores in a separate process."""
    writer = multiprocessing.get_context("spawn").Process(
        target=write_scores, args=(path, rows, classes)
    )
    writer.start()
    writer.join()
    assert writer.exitcode == 0


def words_of(command: str, data: Path, folder: Path, classes: int, memory: str) -> list[str]:
    score = "p" if classes == 2 else "p*"
    labeled = [str(data), "--score", score, "--label", "y", "--memory", memory]
    fitted = str(folder / f"map-{classes}.json")
    output = folder / "output"
    output.unlink(missing_ok=True)
    return {
        "evaluate": ["evaluate", *labeled],
        "fit": ["fit", *labeled, "-o", str(output)],
        "compare": ["compare", *labeled],
        "report": ["report", *labeled, "-o", str(output)],
        "apply": [
            *("apply", fitted, str(data), "--score", score, "--memory", memory),
            *("-o", str(output), "--output-format", "parquet"),
        ],
        "monitor": ["monitor", fitted, *labeled, "--state", str(output)],
    }[command]


def measure(words: list[str]) -> tuple[int, float, float]:
    """Exit code, CPU seconds and peak MB of one run and its children."""
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-m", "trueodds", *words]
        run = subprocess.Popen(command, stdout=said, stderr=said)
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        if run.returncode not in (0, 4):  # 4 is an alarm of the monitor
            said.seek(0)
            print(said.read().decode()[-500:], file=sys.stderr)
    unit = 1e6 if platform.system() == "Darwin" else 1e3
    return run.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit


@contextmanager
def busy_loops(wanted: bool) -> Iterator[None]:
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * wanted)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**k for k in (4, 5, 6, 7)])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--crowded", action="store_true", help="two busy loops run alongside")
    parser.add_argument("--all", action="store_true", help="compare and report at every size too")
    options = parser.parse_args()
    number, unit = re.fullmatch(r"([\d.]+)([MG])B", options.memory).groups()
    limit = 1.2 * float(number) * (1000 if unit == "G" else 1)
    state = "crowded: two busy loops" if options.crowded else "nothing else is started"
    print(f"CPU seconds / peak MB; --memory {options.memory}; {os.cpu_count()} cores, {state}\n")
    print("| command, classes | " + " | ".join(f"{rows:,}" for rows in options.rows) + " |")
    print("|---|" + "---|" * len(options.rows))
    with tempfile.TemporaryDirectory() as name, busy_loops(options.crowded):
        folder = Path(name)
        for classes in options.classes:
            small = folder / f"small-{classes}.parquet"
            write_elsewhere(small, 2000, classes)
            method = ["--method", "beta" if classes == 2 else "temperature"]
            fitted = folder / f"map-{classes}.json"
            words = words_of("fit", small, folder, classes, options.memory)[:-1]
            assert measure([*words, str(fitted), *method])[0] == 0
            files = {rows: folder / f"{rows}-{classes}.parquet" for rows in options.rows}
            for rows, data in files.items():
                write_elsewhere(data, rows, classes)
            for command in options.commands:
                cells = []
                for rows, data in files.items():
                    if rows > SLOW.get(command, rows) and not options.all:
                        cells.append("–")
                        continue
                    words = words_of(command, data, folder, classes, options.memory)
                    code, cpu, peak = measure(words)
                    cell = f"{cpu:.1f} / {peak:.0f}" if code in (0, 4) else f"exit {code}"
                    cells.append(f"**{cell}**" if peak > limit else cell)
                print(f"| {command}, {classes} | " + " | ".join(cells) + " |", flush=True)
            for data in files.values():
                data.unlink()


if __name__ == "__main__":
    main()
