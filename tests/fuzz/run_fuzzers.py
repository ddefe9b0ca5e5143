"""Coverage-guided fuzzing (atheris) of maps, states, CSV files and calls of the API.

    make fuzz SECONDS=600                                   # all targets side by side
    python -m fuzz.run_fuzzers --seconds 600 fuzz_maps      # in tests/: one of them
    python -m fuzz.run_fuzzers fuzz_maps --input FILE       # in tests/: once, on what was found

An input that breaks a promise is written to ``build/fuzz/found`` and ends the run with code 1. When
the library has been mended, it goes to ``tests/fuzz/found/TARGET``, where tests try it ever after.
Inputs that reach new code stay in ``build/fuzz/TARGET``, so that the next run goes on from there.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WORK = HERE.parents[1] / "build" / "fuzz"
TARGETS = {"fuzz_maps": 20, "fuzz_states": 5, "fuzz_online": 2, "fuzz_rows": 1}
"""With how many inputs there are for each one of the slowest target."""
LONGEST = 50_000
"""Bytes of an input."""
SLOWEST = 20
"""Seconds for one input, on a machine that has other work too."""
MOST_MEMORY = 1_500
"""Megabytes."""


def fuzz(name: str, seconds: int, runs: int) -> None:
    """Fuzz one target in this process, which then ends."""
    import atheris

    # Inputs that follow coverage change with the library; those of a fixed number of runs do not.
    with contextlib.nullcontext() if runs else atheris.instrument_imports(include=["trueodds"]):
        target = _target(name)
    corpus, found = WORK / name, WORK / "found"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number:02}").write_bytes(seed)
    words = WORK / f"{name}.tokens"
    words.write_text("".join(f"{_token(token)}\n" for token in target.TOKENS))

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        changed = target.change(data, seed)
        if changed is None or len(changed) > max_size:
            changed = atheris.Mutate(data, max_size)
        return bytes(changed)

    options: dict[str, object] = {
        **(
            {"runs": runs * TARGETS[name], "seed": 1, "keep_seed": 1}
            if runs
            else {"max_total_time": seconds}
        ),
        "max_len": LONGEST,
        "timeout": SLOWEST,
        "rss_limit_mb": MOST_MEMORY,
        "dict": words,
        "artifact_prefix": f"{found}/{name}-",
        "print_final_stats": 1,
    }
    if not target.TOKENS:
        del options["dict"]  # libFuzzer refuses an empty one
    flags = [f"-{key}={value}" for key, value in options.items()]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], target.check, custom_mutator=change)
    atheris.Fuzz()


def _target(name: str) -> Any:
    return importlib.import_module(f"fuzz.{name}")


def _token(token: str) -> str:
    """A line of libFuzzer's dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in token.encode()) + '"'


def side_by_side(names: list[str], seconds: int, runs: int) -> int:
    """Fuzz each target in a process of its own; returns 1 if one of them found something."""
    WORK.mkdir(parents=True, exist_ok=True)
    processes = {}
    for name in names:
        command = [sys.executable, "-m", "fuzz.run_fuzzers", name, "--alone"]
        command += ["--seconds", str(seconds), "--runs", str(runs)]
        if runs:
            shutil.rmtree(WORK / name, ignore_errors=True)  # what an earlier run has found
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        with (WORK / f"{name}.log").open("w") as log:
            processes[name] = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=HERE.parent
            )
    bad = 0
    for name, process in processes.items():
        code = process.wait()
        lines = (WORK / f"{name}.log").read_text(errors="replace").splitlines()
        tried = next((line.split()[-1] for line in lines if "number_of_executed" in line), "?")
        print(f"{name}: {tried} inputs, {'nothing found' if code == 0 else 'FOUND'}", flush=True)
        if code:
            bad = 1
            print("\n".join(lines[-60:]), flush=True)
    return bad


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("targets", nargs="*", default=list(TARGETS))
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--runs", type=int, default=0, help="the same inputs every time, this many")
    parser.add_argument("--input", type=Path, help="a file to check once, without fuzzing")
    parser.add_argument("--alone", action="store_true", help="fuzz one target in this process")
    arguments = parser.parse_args()
    if arguments.input is not None:
        _target(arguments.targets[0]).check(arguments.input.read_bytes())
    elif arguments.alone:
        fuzz(arguments.targets[0], arguments.seconds, arguments.runs)
    else:
        return side_by_side(arguments.targets, arguments.seconds, arguments.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
