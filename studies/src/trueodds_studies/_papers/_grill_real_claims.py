"""What real scores say to the claims of the charcoal grill paper (Tables 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trueodds_studies._papers._grill_judge import (
    Difference,
    Finding,
    Readings,
    all_lower,
    both,
    difference,
    in_words,
    means_of,
    on_substitutes,
    untested,
    wide,
)
from trueodds_studies._papers._grill_numbers import MEASURES, NO_BIAS, WITH_BIAS
from trueodds_studies._report import Claim

__all__ = ["binary_claims", "network_claims"]

Clips = dict[str, Any]
"""Rows of the fraud data by the level at which probabilities of 0 are clipped."""
MORE = NO_BIAS[1:] + WITH_BIAS[1:]
PARAMETRIC = ["temperature", "vector", "matrix"]
ON_PAR = 0.5
"""Unweighted ECE in % that are closer than this are on par."""
TABLE_2 = "section 6.2, Table 2"
TABLE_3 = "section 6.3, Table 3"
CIFAR = "nn-cifar100-densenet-bc100"
MNIST = "nn-mnist-mlp"


def _all_lower(differences: list[Difference]) -> Finding:
    return on_substitutes(all_lower(differences, "data"))


def _gap(frame: Any, measure: str, first: str, second: str, words: str = "") -> Difference:
    table = wide(frame, measure)
    pair = f"{in_words(first)} and {in_words(second)}"
    return difference(table[first], table[second], f"{words}{measure}: {pair}")


def binary_claims(stocks: Readings | None, fraud: Readings | None, clips: Clips) -> list[Claim]:
    """Stocknet and fraud; ``clips`` are the fraud rows at other levels of the clip."""
    sets = {"stocknet": stocks, "fraud": fraud}
    here = {name: readings for name, readings in sets.items() if readings is not None}
    together = Readings(*({name: of[i] for name, of in here.items()} for i in (0, 1)))
    pair = together if len(here) == len(sets) else None
    return [
        both(
            "With one coal unweighted ECE is on par with temperature scaling.",
            TABLE_2,
            pair,
            _one_coal,
        ),
        both("By unweighted ECE more coals gain nothing.", TABLE_2, pair, _no_gain),
        both(
            "By weighted ECE more coals can help on fraud.",
            TABLE_2,
            fraud,
            lambda frame: _best_gain(frame, "fraud"),
        ),
        both(
            "They help on Stocknet too, though only slightly.",
            TABLE_2,
            stocks,
            lambda frame: _best_gain(frame, "stocknet"),
        ),
        *_stocknet_claims(stocks),
        *_fraud_claims(fraud, clips),
    ]


def _one_coal(frames: dict[str, Any]) -> Finding:
    words, apart = [], 0.0
    for name, frame in frames.items():
        table = wide(frame, "unweighted")
        gap = float((table[NO_BIAS[0]] - table["temperature"]).abs().max())
        apart = max(apart, gap)
        words.append(f"{name}: 1 coal without bias and temperature at most {gap:.2f} apart")
    text = "; ".join(words) + " (printed: 0.00 on Stocknet, but 39.72 and 16.81 on fraud)"
    return Finding(apart < ON_PAR, text, None if apart < ON_PAR else "solver")


def _no_gain(frames: dict[str, Any]) -> Finding:
    """That no set and kind of coals is significantly lower with more of them, on average."""
    found = []
    for name, frame in frames.items():
        table = wide(frame, "unweighted")
        for kind, names in (("without bias", NO_BIAS), ("with bias", WITH_BIAS)):
            words = f"{name}, {kind}: 2 to 5 coals on average and one"
            found.append(difference(table[names[1:]].mean(axis=1), table[names[0]], words))
    if found[0].n < 2:
        return Finding(None, "one split says little", "protocol")
    gains = any(gap.sign < 0 for gap in found)
    words = "unweighted: " + "; ".join(gap.words for gap in found)
    return on_substitutes(Finding(not gains, words, "refuted" if gains else None))


def _best_gain(frame: Any, name: str) -> Finding:
    """The best number of coals against one coal of the same kind."""
    means = means_of(frame, "weighted")
    kind = min((NO_BIAS, WITH_BIAS), key=lambda names: min(means[m] for m in names))
    best = min(kind[1:], key=means.__getitem__)
    found = _all_lower([_gap(frame, "weighted", best, kind[0], f"{name}, ")])
    return found._replace(words=f"{found.words} (the best of four, so somewhat flattered)")


def _stocknet_claims(stocks: Readings | None) -> list[Claim]:
    alone = None if stocks is None else Readings(stocks.paper, None)
    return [
        both(
            "On small, balanced sets like Stocknet temperature scaling does best (of the methods "
            "before coals).",
            "section 7, Table 2",
            alone,
            lambda frame: _all_lower(
                [
                    _gap(frame, "weighted", "temperature", m)
                    for m in ("original", "platt", "isotonic")
                ]
            ),
        ),
        both(
            "There more expressive models overfit: Platt scaling's bias, and isotonic regression.",
            "section 7, Table 2",
            alone,
            lambda frame: _all_lower(
                [_gap(frame, "weighted", "temperature", rival) for rival in ("platt", "isotonic")]
            ),
        ),
    ]


def _fraud_claims(fraud: Readings | None, clips: Clips) -> list[Claim]:
    def best(frame: Any) -> Finding:
        means = means_of(frame, "weighted")
        coals = NO_BIAS + WITH_BIAS
        top = min(coals, key=means.__getitem__)
        rival = min((m for m in means if m not in coals), key=means.__getitem__)
        found = _all_lower([_gap(frame, "weighted", top, rival)])
        return found._replace(words=f"{found.words} (the best of ten against the best of four)")

    def few_high(frame: Any) -> Finding:
        share, rows = float(frame["above_tenth"].mean()), frame["n_above_tenth"].mean()
        spread = frame.groupby("method")["unweighted"].std()
        gaps = [
            _gap(frame, "unweighted", first, second).sign
            for first in ("original", "temperature", "platt", "isotonic")
            for second in NO_BIAS + WITH_BIAS
        ]
        words = (
            f"{rows:.0f} rows score above 0.1, by their weights {share:.2%} of all (printed: 53 of "
            "28,841, 0.18 %); the unweighted ECE of one method varies between splits by "
            f"{spread.min():.1f} to {spread.max():.1f} (standard deviation), and "
            f"{sum(map(abs, gaps))} of {len(gaps)} differences between coals and other methods are "
            "significant"
        )
        if not spread.notna().any():
            return Finding(None, "one split says little", "protocol")
        holds = sum(map(abs, gaps)) < len(gaps) / 2
        return Finding(holds, words, None if holds else "data")

    where = "section 7, Table 2"
    alone = None if fraud is None else Readings(fraud.paper, None)
    return [
        both(
            "Of the binary tasks coals are most effective on fraud: the lowest weighted ECE is "
            "theirs.",
            where,
            fraud,
            best,
        ),
        _worsens(fraud, clips, where),
        both(
            "On fraud methods are hard to compare by unweighted ECE: few scores are high.",
            where,
            alone,
            few_high,
        ),
    ]


def _worsens(fraud: Readings | None, clips: Clips, where: str) -> Claim:
    """Judged at every level of the clip; placed by likelihood stands beside it."""
    text = "On fraud temperature scaling makes calibration worse."
    if fraud is None:
        return untested(text, where)
    gaps = [
        _gap(frame, "weighted", "original", "temperature", f"zeros clipped at {level}, ")
        for level, frame in clips.items()
    ]
    found = _all_lower(gaps)
    if found.verdict is not None and len({gap.mean < 0 for gap in gaps}) > 1:
        words = "; ".join(gap.words for gap in gaps)
        found = Finding("inconclusive", f"it depends on the level: {words}", "protocol")
    placed = _gap(fraud.ours, "weighted", "original", "temperature", "zeros placed by likelihood, ")
    zeros = float(fraud.paper["zero"].mean())
    words = (
        f"{zeros:.0%} of the forest's probabilities are exactly 0 and must be given some log-odds, "
        f"and the paper does not say which; {found.words}; as this library does, {placed.words}"
    )
    return Claim(text, where, found.verdict, words, found.reason)


def network_claims(networks: dict[str, Readings]) -> list[Claim]:
    """Table 3."""
    mnist, cifar = networks.get(MNIST), networks.get(CIFAR)
    others = {name: of for name, of in networks.items() if name != MNIST}
    pair = Readings(*({name: of[i] for name, of in networks.items()} for i in (0, 1)))
    every = pair if networks else None
    alone = Readings(pair.paper, None) if networks else None
    return [
        both(
            "Isotonic regression does poorly on several classes: MNIST, each class's logit by "
            "itself.",
            TABLE_3,
            mnist and Readings(mnist.paper, None),
            lambda frame: _isotonic_is_poor({MNIST: frame}),
        ),
        both(
            "So it does on CIFAR-100 and SVHN.",
            TABLE_3,
            Readings({name: of.paper for name, of in others.items()}, None) if others else None,
            _with_other_logits,
        ),
        both(
            "It calibrates each class's logit independently, which may change the predicted class.",
            "section 7",
            alone,
            _changes_class,
        ),
        both(
            "Coals occasionally beat the other parametric methods.",
            TABLE_3,
            every,
            _coals_win,
        ),
        both(
            "Temperature scaling calibrates networks effectively.",
            "section 7, Table 3",
            alone,
            lambda frames: _all_lower(
                [
                    _gap(frame, "weighted", "temperature", "original", f"{name}, ")
                    for name, frame in frames.items()
                ]
            ),
        ),
        *_matrix_claims(cifar and Readings(cifar.paper, None)),
    ]


def _isotonic_is_poor(frames: dict[str, Any]) -> Finding:
    """Higher than temperature and vector scaling, and than coals on average, as in Table 3."""
    gaps = []
    for name, frame in frames.items():
        for measure in MEASURES:
            table = wide(frame, measure)
            rivals = {"temperature": table["temperature"], "vector": table["vector"]}
            rivals["coals on average"] = table[NO_BIAS + WITH_BIAS].mean(axis=1)
            worst = max(rivals, key=lambda rival: rivals[rival].mean())
            words = f"{name}, {measure}: {worst} and isotonic"
            gaps.append(difference(rivals[worst], table["isotonic"], words))
    return _all_lower(gaps)


def _with_other_logits(frames: dict[str, Any]) -> Finding:
    found = _isotonic_is_poor(frames)
    words = "of these networks only logarithms of probabilities are at hand, in which a row's "
    words += "other logits are known already; with them: "
    return found._replace(words=words + found.words)


def _changes_class(frames: dict[str, Any]) -> Finding:
    lost = {}
    for name, frame in frames.items():
        table = wide(frame, "accuracy")
        lost[name] = difference(table["isotonic"], table["original"], f"{name}: accuracy")
    words = "; ".join(gap.words for gap in lost.values())
    changes = any(gap.mean != 0 for gap in lost.values())
    return Finding(changes, words, None if changes else "data")


def _coals_win(frames: dict[str, Any]) -> Finding:
    wins, words = [], []
    for name, frame in frames.items():
        means = means_of(frame, "weighted")
        best = min(MORE, key=means.__getitem__)
        rival = min(PARAMETRIC, key=means.__getitem__)
        gap = _gap(frame, "weighted", best, rival, f"{name}, ")
        wins.append(gap)
        words.append(gap.words)
    text = "; ".join(words) + " (the best of eight against the best of three)"
    if wins[0].n < 2:
        return Finding(None, text, "protocol")
    if any(gap.sign < 0 for gap in wins):
        return Finding(True, text)
    ahead = [gap for gap in wins if gap.mean < 0]
    if ahead:
        needed = min(gap.needed for gap in ahead)
        return Finding("inconclusive", f"{text}; {needed} splits would show it in 80 %", "data")
    return Finding(False, text, "data")


def _matrix_claims(cifar: Readings | None) -> list[Claim]:
    def worse_than(rival: str) -> Callable[[Any], Finding]:
        return lambda frame: _all_lower(
            [_gap(frame, measure, rival, "matrix") for measure in MEASURES]
        )

    def overfits(frame: Any) -> Finding:
        gaps = [
            difference(
                wide(frame, "train_log_loss")[name],
                wide(frame, "log_loss")[name],
                f"{name}: log-loss on its training rows and held out",
            )
            for name in ("matrix", "temperature")
        ]
        ratio = gaps[0].mean / gaps[1].mean if gaps[1].mean else float("inf")
        holds = gaps[0].sign < 0 and abs(ratio) > 2
        words = "; ".join(gap.words for gap in gaps)
        if gaps[0].n < 2:
            return Finding(None, words, "protocol")
        return Finding(holds, words, None if holds else "data")

    where = "section 7, Table 3"
    return [
        both(
            "Matrix scaling does badly with 100 classes: worse than temperature scaling.",
            where,
            cifar,
            worse_than("temperature"),
        ),
        both(
            "It is worse there than no calibration.",
            where,
            cifar,
            worse_than("original"),
        ),
        both("Its many parameters overfit.", where, cifar, overfits),
    ]
