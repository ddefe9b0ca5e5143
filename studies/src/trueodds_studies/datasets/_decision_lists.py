"""Random decision lists after Weka's generator RDG1, with Java's random numbers."""

from __future__ import annotations

import numpy as np

from trueodds.exceptions import InputError
from trueodds_studies.datasets._synthetic import LabeledRows

__all__ = ["make_decision_list"]

_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1


class _JavaRandom:
    """The linear congruential generator that Java's documentation prescribes."""

    def __init__(self, seed: int) -> None:
        self.state = (seed ^ _MULTIPLIER) & _MASK

    def _bits(self, n: int) -> int:
        self.state = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        return self.state >> (48 - n)

    def number(self) -> float:
        """Uniform on [0, 1): the method ``nextDouble``."""
        return ((self._bits(26) << 27) + self._bits(27)) * 2.0**-53


def make_decision_list(n: int = 100, *, random_state: int = 1) -> LabeledRows:
    """Ten fair coins, and a class that a random list of rules gives them: Weka's RDG1.

    A row that no rule covers adds a rule of one to nine of its values, for the other class than the
    previous rule. By Weka's documentation, rows, rules and their order are Weka's for the same
    seed; 100 rows and the seed 1 are its defaults.

    Parameters
    ----------
    n : int, default=100
    random_state : int, default=1
        Weka's seed.

    Returns
    -------
    LabeledRows
        The classes have no noise: ``probability`` is 0 or 1.

    References
    ----------
    Hall et al. (2009), The WEKA data mining software; figure 2 of Leathart, Frank, Holmes and
    Pfahringer (2017), Probability calibration trees.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_decision_list
    >>> rows = make_decision_list(6)
    >>> rows.X.shape, sorted(set(rows.y.tolist()))
    ((6, 10), [0, 1])
    """
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"n must be a whole number of at least 1; got {n!r}.")
    if not isinstance(random_state, (int, np.integer)):
        raise InputError(f"random_state must be a whole number, a seed; got {random_state!r}.")
    random, rules = _JavaRandom(int(random_state)), list[tuple[dict[int, int], int]]()
    rows, known = [], dict[tuple[int, ...], int]()
    for _ in range(n):
        row = tuple(int(random.number() > 0.5) for _ in range(10))
        if row not in known:
            label = _label(row, rules)
            if label is None:
                label = 1 - rules[-1][1] if rules else 0
                rules.append((_new_rule(row, random), label))
            known[row] = label
        rows.append(row)
    y = np.array([known[row] for row in rows], dtype=np.int64)
    return LabeledRows(np.array(rows, dtype=np.float64), y, y.astype(np.float64))


def _label(row: tuple[int, ...], rules: list[tuple[dict[int, int], int]]) -> int | None:
    """The class of the first rule whose tests a row passes."""
    for rule, label in rules:
        if all(row[attribute] == value for attribute, value in rule.items()):
            return label
    return None


def _new_rule(row: tuple[int, ...], random: _JavaRandom) -> dict[int, int]:
    size = int(random.number() * 9) + 1
    left = list(range(10))
    tests = [left.pop(int(random.number() * len(left))) for _ in range(size)]
    return {attribute: row[attribute] for attribute in tests}
