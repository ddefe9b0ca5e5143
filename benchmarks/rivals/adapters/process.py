"""The other end of a worker: ask, wait, and give up in time."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from typing import Any

RIVALS = Path(__file__).resolve().parents[1]


def environment(sources: Path | None = None) -> dict[str, str]:
    """Return the environment of a new interpreter, which finds the adapters and other packages."""
    path = [str(RIVALS), *([] if sources is None else [str(sources)])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}


class Process:
    """A library in a separate process, started at once and again after a hang.

    Parameters
    ----------
    name : str
        An adapter of this folder.
    sources : Path, default=None
        Where Python looks for packages before those that are installed.
    """

    def __init__(self, name: str, sources: Path | None = None) -> None:
        self.name = name
        self.sources = sources
        self.missing: str | None = None
        self.process: subprocess.Popen[str] | None = None
        self.can: set[str] = set()
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "adapters.worker", self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(self.sources),
        )
        hello = self._answer(120)
        self.missing = hello.get("missing") or hello.get("error")
        self.can = set(hello.get("can", ()))

    def ask(self, timeout: float, **request: Any) -> dict[str, Any]:
        """The worker's answer, or ``{"error": ...}``; a worker that hangs is replaced."""
        if self.process is None or self.process.poll() is not None:
            self._start()
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._answer(timeout)

    def _answer(self, timeout: float) -> dict[str, Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                self.close()
                return {"error": f"no answer in {timeout:.0f} s", "slow": True}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process died"}

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
