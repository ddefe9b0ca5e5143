"""``trueodds demo``: the whole way from a real model to a report, command by command."""

from __future__ import annotations

import csv
import io
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from trueodds.cli._write import check_target, write_text

__all__ = ["demo"]

Folder = Annotated[
    str, typer.Argument(metavar="[FOLDER]", help="Where files are written; made if need be.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace files of an earlier run.")]
INK = ("light", "medium", "dark")


def demo(folder: Folder = "demo-output", force: Force = False) -> None:
    """Train a real model, then compare, fit, apply and report, showing every command.

    AdaBoost tells eights from other handwritten digits (the data ships with scikit-learn). It
    ranks them well, but its probabilities all lie near one half.

    Examples
    --------
    trueodds demo demo-output
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

    _say("AdaBoost learns to tell eights from other digits; its scores of digits that it has not")
    _say(f"learned from go to {known}, with what they really are.")
    _write_scores(known, new)
    _say("\nCan these scores be trusted as probabilities?")
    _command("evaluate", known, *columns, "--group", "ink")
    _say("Which method would help?")
    _command("compare", known, *columns)
    _say("\nThe method that is best on average is fitted and saved.")
    _command("fit", known, *columns, "-o", fitted, *again)
    _say("\nThe map knows where it comes from:")
    _command("show", fitted)
    _say(f"\nNew digits ({new}) get calibrated probabilities.")
    _command("apply", fitted, new, "--score", "score", "-o", calibrated, *again)
    _command("evaluate", calibrated, "--score", "probability", "--label", "is_eight")
    _say("The map runs without Python, too.")
    _command("export", fitted, "--to", "sql", "--column", "score", "-o", query, *again)
    _say("\nEverything on one page:")
    _command("report", known, *columns, "--group", "ink", "-o", page, *again)
    _say(f"\nDone in {time.monotonic() - begin:.0f} seconds. Open the report: {page}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _command(*words: str) -> None:
    """Show a command line and run it."""
    from trueodds.cli._run import run

    _say(f"\n$ {shlex.join(['trueodds', *words])}")
    sys.stdout.flush()
    code = run(words)
    if code:
        raise typer.Exit(code)


def _write_scores(known: str, new: str) -> None:
    """Out-of-fold scores of two thirds of the digits, and the model's scores of the others."""
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
