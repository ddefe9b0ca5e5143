"""How the charcoal grill study judges a claim: paired differences between samples or splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from trueodds_studies._report import Claim, Reason, Verdict, by_readings
from trueodds_studies._significance import significant_sign, units_needed, verdict_of_signs

__all__ = [
    "NO_DATA",
    "Difference",
    "Finding",
    "Readings",
    "against",
    "all_lower",
    "both",
    "count",
    "difference",
    "in_words",
    "means_of",
    "on_substitutes",
    "untested",
    "wide",
]

NO_DATA = "no data at hand in this run"


class Finding(NamedTuple):
    """A verdict, the figures behind it, and the reason of any verdict but *confirmed*."""

    verdict: bool | Verdict | None
    words: str
    reason: Reason | None = None


class Readings(NamedTuple):
    """The same experiments with the paper's solver, and with ours."""

    paper: Any
    ours: Any


def count(frame: Any) -> int:
    """How many samples, splits or seeds there are."""
    return int(frame["replicate"].nunique())


def means_of(frame: Any, measure: str) -> dict[str, float]:
    """The mean of each method."""
    found: dict[str, float] = frame.groupby("method", sort=False)[measure].mean().to_dict()
    return found


def wide(frame: Any, measure: str) -> Any:
    """Samples × methods."""
    return frame.pivot(index="replicate", columns="method", values=measure)


class Difference(NamedTuple):
    """Mean of paired differences; ``words`` has the figures."""

    mean: float
    error: float
    n: int
    words: str

    @property
    def sign(self) -> int:
        """−1 or +1 where it is significant, else 0."""
        return significant_sign(self.mean, self.error, self.n)

    @property
    def needed(self) -> int:
        """Number of samples that would show this difference in 80% of studies."""
        return units_needed(self.mean, self.error, self.n)


def difference(first: Any, second: Any, words: str) -> Difference:
    """Return the paired difference of two series over the same samples."""
    found = _paired(first, second)
    return found._replace(words=f"{words} {first.mean():.3g} and {second.mean():.3g}{found.words}")


def _paired(first: Any, second: Any) -> Difference:
    gaps = first - second
    n = len(gaps)
    mean, error = float(gaps.mean()), float(gaps.std() / n**0.5)
    words = (
        f" ({mean:+.2g} ± {error:.1g}, lower in {int((gaps < 0).sum())} of {n})" if n > 1 else ""
    )
    return Difference(mean, error, n, words)


def against(frame: Any, names: Sequence[str], rival: str, measure: str) -> list[Difference]:
    """Some methods and one other; the words of the first difference name the other."""
    table = wide(frame, measure)
    found = []
    for name in names:
        gap = _paired(table[name], table[rival])
        other = f"{in_words(rival)} {table[rival].mean():.3g}"
        begin = f"{measure}, {other}: " if name == names[0] else ""
        words = f"{begin}{in_words(name)} {table[name].mean():.3g}{gap.words}"
        found.append(gap._replace(words=words))
    return found


def in_words(method: str) -> str:
    """``"CGS-2-nobias"`` as ``"2 coals without bias"``."""
    if not method.startswith("CGS-"):
        return method
    number, kind = method.split("-")[1:]
    coals = "1 coal" if number == "1" else f"{number} coals"
    return coals if kind == "withbias" else f"{coals} without bias"


def all_lower(differences: Sequence[Difference]) -> Finding:
    """Judge whether every difference is significantly negative."""
    words = "; ".join(found.words for found in differences)
    if any(found.n < 2 for found in differences):
        return Finding(None, f"{words} (one sample is too few to judge)", "protocol")
    verdict = verdict_of_signs([-found.sign for found in differences])
    if verdict is not None:
        return Finding(verdict, words, None if verdict else "refuted")
    open_ = [found for found in differences if found.sign == 0]
    if any(found.mean >= 0 for found in open_):
        return Finding("inconclusive", words, "data")
    needed = max(found.needed for found in open_)
    return Finding("inconclusive", f"{words}; {needed} would show it in 80%", "data")


def on_substitutes(found: Finding) -> Finding:
    """Return a finding on other data than the paper's, where the opposite refutes nothing."""
    if found.reason != "refuted":
        return found
    return Finding(False, f"{found.words}; the opposite is significant on this substitute", "data")


def both(
    text: str, where: str, readings: Readings | None, judge: Callable[[Any], Finding]
) -> Claim:
    """The verdict with the paper's solver; that with ours is the second reading."""
    if readings is None:
        return untested(text, where)
    solvers = {"paper's solver": readings.paper, "our solver": readings.ours}
    claims = {}
    for name, frame in solvers.items():
        if frame is not None:
            found = judge(frame)
            claims[name] = Claim(text, where, found.verdict, found.words, found.reason)
    return by_readings(claims)


def untested(text: str, where: str) -> Claim:
    """Return a claim about data that are not available."""
    return Claim(text, where, None, NO_DATA, "data")
