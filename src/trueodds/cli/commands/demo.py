"""``trueodds demo``: from a real model to a report, command by command."""

from __future__ import annotations

import csv
import io
import shlex
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from trueodds.cli.files.write import check_target, write_text

__all__ = ["demo"]

Folder = Annotated[
    str, typer.Argument(metavar="[FOLDER]", help="Output folder; created if necessary.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace the files of an earlier run.")]
Full = Annotated[bool, typer.Option("--full", help="Show the full output of each command.")]
WIDTH = 98
INK = ("light", "medium", "dark")


def demo(folder: Folder = "demo-output", force: Force = False, full: Full = False) -> None:
    """Run the whole workflow on a real model, showing every command.

    An AdaBoost model detects eights among handwritten digits (data from scikit-learn). It ranks
    them well, but all its probabilities are near 0.5.

    Examples
    --------
    trueodds demo demo-output
    trueodds demo demo-output --force --full
    """
    begin = time.monotonic()
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    known, new = str(where / "scores.csv"), str(where / "new_scores.csv")
    fitted, calibrated = str(where / "map.json"), str(where / "calibrated.csv")
    page = str(where / "report.html")
    query = str(where / "map.sql")
    for file in (known, new, fitted, calibrated, query, page):
        check_target(file, force=force)
    columns = ["--score", "score", "--label", "is_eight"]
    again = ["--force"] if force else []

    _say(
        f"An AdaBoost model detects eights among handwritten digits. {known} has its scores for "
        "digits"
    )
    _say("that it was not trained on, with the true classes. Are these scores calibrated?")
    _write_scores(known, new)
    _command("evaluate", known, *columns, "--group", "ink", shown=_finding, full=full)
    _say("Which method calibrates them best?")
    _command("compare", known, *columns, full=full)
    _say("Fit the recommended default and look at the result.")
    _command("fit", known, *columns, "-o", fitted, *again, full=full)
    _command("show", fitted, shown=lambda lines: lines[:1], full=full)
    _say("Calibrate the scores of new digits, and check the result:")
    _command("apply", fitted, new, "--score", "score", "-o", calibrated, *again, full=full)
    _command("evaluate", calibrated, "--score", "probability", "--label", "is_eight", full=full)
    _say("Export the map to SQL, and write a report.")
    _command("export", fitted, "--to", "sql", "--column", "score", "-o", query, *again, full=full)
    _command("report", known, *columns, "--group", "ink", "-o", page, *again, full=full)
    rest = "" if full else " --full shows the full output of each command."
    _say(f"Done in {time.monotonic() - begin:.0f} seconds.{rest} Open the report: {page}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _last(lines: list[str]) -> list[str]:
    """Return the last lines, which state what a command found or wrote."""
    return lines[-1:]


def _finding(lines: list[str]) -> list[str]:
    """Return the verdict on all rows, which precedes the groups."""
    return lines[: next(i for i, line in enumerate(lines) if "groups, worst first" in line)][-1:]


def _command(
    *words: str, shown: Callable[[list[str]], list[str]] = _last, full: bool = False
) -> None:
    """Print a command line, run it, and print the main part of its output, or all of it."""
    from trueodds.cli.app import run

    _say(f"$ {shlex.join(['trueodds', *words])}")
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        code = run(words)
    if code:
        sys.stderr.write(printed.getvalue())
        raise typer.Exit(code)
    if full:
        _say(printed.getvalue())
        return
    lines = [line for line in printed.getvalue().splitlines() if line.strip()]
    for line in shown(lines):
        _say(textwrap.indent(textwrap.fill(line, WIDTH), "  "))
    _say("")


def _write_scores(known: str, new: str) -> None:
    """Write out-of-fold scores of two thirds of the digits, and the model's scores of the rest."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.model_selection import cross_val_predict, train_test_split

    X, digit = load_digits(return_X_y=True)
    y = (digit == 8).astype(int)
    amount = X.sum(axis=1)
    ink = np.searchsorted(np.quantile(amount, [1 / 3, 2 / 3]), amount)
    train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=0)
    model = AdaBoostClassifier(n_estimators=100, random_state=0)
    scores = cross_val_predict(model, X[train], y[train], cv=5, method="predict_proba")[:, 1]
    _write_csv(known, scores, y[train], ink[train])
    model.fit(X[train], y[train])
    _write_csv(new, model.predict_proba(X[test])[:, 1], y[test], ink[test])


def _write_csv(path: str, scores: Any, y: Any, ink: Any) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["score", "is_eight", "ink"])
    for score, label, shade in zip(scores.tolist(), y.tolist(), ink.tolist(), strict=True):
        writer.writerow([score, label, INK[shade]])
    write_text(text.getvalue(), path)
