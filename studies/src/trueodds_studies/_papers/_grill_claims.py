"""What the results say to the claims of the charcoal grill paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds_studies._papers._grill_numbers import MEASURES
from trueodds_studies._report import Claim

__all__ = ["by_temperature", "claims", "count", "means_of"]

WITH_BIAS = [f"CGS-{n}-withbias" for n in range(1, 6)]
NO_BIAS = [f"CGS-{n}-nobias" for n in range(1, 6)]
NO_DATA = "no data at hand in this run"


def claims(synthetic: Any, solver: Any, real: dict[str, Any]) -> list[Claim]:
    """All of the paper's claims, judged; ``real`` has the rows of each set that was run."""
    return [
        *_synthetic_claims(synthetic[synthetic["temperature"] == 5], solver),
        *_figure_9_claims(synthetic),
        *_binary_claims(real),
        *_network_claims(real),
        Claim(
            "Each model took less than a minute to fit on all data sets.",
            "section 4.2",
            None,
            "studies keep no timings; see `benchmarks/charcoal_speed.py`",
        ),
    ]


def count(frame: Any) -> int:
    """How many samples, splits or seeds there are."""
    return int(frame["replicate"].nunique())


def means_of(frame: Any, measure: str) -> dict[str, float]:
    """The mean of each method."""
    found: dict[str, float] = frame.groupby("method", sort=False)[measure].mean().to_dict()
    return found


def _difference(frame: Any, measure: str, first: str, second: str) -> tuple[float, float]:
    """Mean of the paired differences, and its standard error (nan for one pair)."""
    wide = frame.pivot(index="replicate", columns="method", values=measure)
    difference = wide[first] - wide[second]
    return float(difference.mean()), float(difference.std() / len(difference) ** 0.5)


def _lower(frame: Any, measure: str, first: str, second: str) -> tuple[bool | None, str]:
    """Whether a method's error is lower by more than two standard errors; and the figures."""
    means = means_of(frame, measure)
    words = f"{measure}: {first} {means[first]:.3g}, {second} {means[second]:.3g}"
    mean, error = _difference(frame, measure, first, second)
    if error != error:
        return None, f"{words} (one sample says little)"
    return mean < -2 * error, f"{words}, difference {mean:+.3g} ± {error:.2g}"


def _coals_against(frame: Any, measure: str, rival: str, sign: int) -> tuple[bool | None, str]:
    """Whether 2 to 5 coals with bias are all lower (−1) or all higher (+1) than a rival."""
    means, found = means_of(frame, measure), []
    for name in WITH_BIAS[1:]:
        mean, error = _difference(frame, measure, name, rival)
        found.append((means[name], mean, error))
    listed = ", ".join(f"{value:.2f} ({mean:+.2f} ± {error:.2f})" for value, mean, error in found)
    words = f"{measure}: {rival} {means[rival]:.2f}; 2 to 5 coals {listed}"
    if count(frame) < 2:
        return None, words
    return all(sign * mean > 2 * error for _, mean, error in found), words


def _all(found: list[tuple[bool | None, str]]) -> tuple[bool | None, str]:
    verdicts = [verdict for verdict, _ in found]
    together = None if None in verdicts else all(verdicts)
    return together, "; ".join(words for _, words in found)


def _equal(frame: Any, first: str, second: str) -> tuple[bool, str]:
    gaps = [abs(means_of(frame, m)[first] - means_of(frame, m)[second]) for m in MEASURES]
    return max(gaps) < 0.1, f"{first} and {second}: {gaps[0]:.3f} and {gaps[1]:.3f} apart"


def _synthetic_claims(table: Any, solver: Any) -> list[Claim]:
    rows = table.set_index("method")
    low = rows["bias_below_half"].groupby("method").mean()
    slope, intercept = (rows[c].groupby("method").mean() for c in ("slope", "intercept"))
    same = [
        _equal(table, NO_BIAS[0], "temperature"),
        _equal(table, WITH_BIAS[0], "platt"),
    ]
    train, held_out = (means_of(table, m)["isotonic"] for m in ("train_weighted", "weighted"))
    bins, flat = (means_of(table, m) for m in ("n_used_bins", "flat"))
    most_flat = max(flat[name] for name in WITH_BIAS[1:])
    falls = table[table["method"].isin(WITH_BIAS + NO_BIAS)]["falls"].astype(bool)
    stuck = means_of(solver, "weighted")
    ours = means_of(table[table["replicate"].isin(set(solver["replicate"]))], "weighted")
    paper_range, our_range = (
        (min(found[m] for m in NO_BIAS[1:]), max(found[m] for m in NO_BIAS[1:]))
        for found in (stuck, ours)
    )
    spread, our_spread = (
        f[f["method"].isin(NO_BIAS[1:])].groupby("replicate")["weighted"].agg(np.ptp).mean()
        for f in (solver, table[table["replicate"].isin(set(solver["replicate"]))])
    )
    section_6 = "section 6.1, Table 1"
    return [
        Claim(
            "Temperature scaling (T = 2.43) wrongly takes confidence from low scores.",
            "section 3.1",
            bool(low["temperature"] > 0.01),
            f"T = {1 / slope['temperature']:.2f}; below ½ its probabilities are "
            f"{low['temperature']:+.3f} from the truth on average (original "
            f"{low['original']:+.3f})",
        ),
        Claim(
            "Platt scaling (w = 0.43, b = −0.50) has less difficulty than temperature scaling.",
            "section 3.2",
            *_after(
                _all([_lower(table, m, "platt", "temperature") for m in MEASURES]),
                f"w = {slope['platt']:.2f}, b = {intercept['platt']:.2f}",
            ),
        ),
        Claim(
            "Isotonic regression is almost perfect on its training data and much worse on others.",
            "section 3.3, figure 4",
            train < 0.1 and held_out > 5 * train,
            f"weighted: {train:.3f} on the training data, {held_out:.2f} held out",
        ),
        Claim(
            "Isotonic regression is close to a step function; coals are smooth.",
            "section 4.1, figures 5 and 7",
            flat["isotonic"] > 0.5 > most_flat,
            f"share of the unit interval on plateaus: isotonic {flat['isotonic']:.0%}, 2 to 5 "
            f"coals at most {most_flat:.0%}",
        ),
        Claim(
            "After isotonic regression some bins are empty.",
            "section 3.3, figure 4",
            bins["isotonic"] < 10,
            f"bins used: {bins['isotonic']:.2f} of 10 on average",
        ),
        Claim(
            "One coal is temperature scaling without bias, and Platt scaling with it.",
            section_6,
            all(close for close, _ in same),
            "; ".join(words for _, words in same),
        ),
        Claim(
            "More than one coal (with bias) is better than Platt scaling by both ECE.",
            section_6,
            *_all([_coals_against(table, measure, "platt", -1) for measure in MEASURES]),
        ),
        Claim(
            "More than one coal is slightly worse than isotonic regression by weighted ECE.",
            section_6,
            *_coals_against(table, "weighted", "isotonic", 1),
        ),
        Claim(
            "Many coals are better than isotonic regression (by unweighted ECE in Table 1).",
            section_6,
            *_lower(table, "unweighted", WITH_BIAS[4], "isotonic"),
        ),
        Claim(
            "The fitted maps never fall.",
            "section 4.2",
            not falls.any(),
            f"{int(falls.sum())} of {len(falls)} fits of this library fall somewhere",
        ),
        Claim(
            "The parameters are hard to learn: results vary with the number of coals.",
            "section 7",
            paper_range[1] > 1.5 * paper_range[0],
            f"weighted ECE of 2 to 5 coals without bias: {paper_range[0]:.2f} to "
            f"{paper_range[1]:.2f} with the paper's solver, {our_range[0]:.2f} to "
            f"{our_range[1]:.2f} with this library's (the paper's Table 1: 1.87 to 9.03); "
            f"within one sample the largest less the smallest is {spread:.2f} and "
            f"{our_spread:.2f} on average",
        ),
    ]


def _after(found: tuple[bool | None, str], words: str) -> tuple[bool | None, str]:
    return found[0], f"{words}; {found[1]}"


def _figure_9_claims(synthetic: Any) -> list[Claim]:
    weighted, unweighted = (by_temperature(synthetic, m) for m in MEASURES)
    rivals = [m for m in weighted.columns if m != "isotonic"]
    best = {t: weighted.loc[t].idxmin() for t in weighted.index}
    high = [t for t in unweighted.index if t >= 5]
    lowest = {t: unweighted.loc[t].idxmin() for t in high}
    mild = weighted.index.min()
    nearly = synthetic[synthetic["temperature"] == mild]
    simple = [
        _lower(nearly, "weighted", first, second)
        for first in ("temperature", "platt")
        for second in ("isotonic", *WITH_BIAS[1:])
    ]
    unclear = "; ".join(words for lower, words in simple if not lower)
    return [
        Claim(
            "Where scores are nearly right, expressive models calibrate worse than simple ones.",
            "section 6.1, figure 9",
            _all(simple)[0],
            f"weighted ECE at T = {mild:g}: "
            + ", ".join(f"{name} {value:.2f}" for name, value in weighted.loc[mild].items())
            + (f". Not beyond two standard errors: {unclear}" if unclear else ""),
        ),
        Claim(
            "Isotonic regression has consistently the lowest weighted ECE.",
            "section 6.1, figure 9",
            all(name == "isotonic" for name in best.values()),
            "; ".join(
                f"T = {t:g}: {best[t]} {weighted.loc[t].min():.2f}, isotonic "
                f"{weighted.loc[t, 'isotonic']:.2f} "
                f"(rank {1 + int((weighted.loc[t, rivals] < weighted.loc[t, 'isotonic']).sum())})"
                for t in weighted.index
            ),
        ),
        Claim(
            "At high temperatures five coals have the lowest unweighted ECE.",
            "section 6.1, figure 9",
            all(name == WITH_BIAS[4] for name in lowest.values()),
            "; ".join(
                f"T = {t:g}: {lowest[t]} {unweighted.loc[t].min():.2f}, {WITH_BIAS[4]} "
                f"{unweighted.loc[t, WITH_BIAS[4]]:.2f}, isotonic "
                f"{unweighted.loc[t, 'isotonic']:.2f}"
                for t in high
            ),
        ),
    ]


def _binary_claims(real: dict[str, Any]) -> list[Claim]:
    stocks, fraud = real.get("stocknet-movement"), real.get("creditcard-casecontrol")
    coals = NO_BIAS + WITH_BIAS
    claims = []

    def add(text: str, where: str, frame: Any, judge: Any) -> None:
        verdict, words = (None, NO_DATA) if frame is None else judge()
        claims.append(Claim(text, where, verdict, words))

    def more_coals_gain() -> tuple[bool, str]:
        means = means_of(stocks, "unweighted")
        best = min(means[m] for m in NO_BIAS[1:] + WITH_BIAS[1:])
        words = f"temperature {means['temperature']:.2f}, best of 2 to 5 coals {best:.2f}"
        return best >= means["temperature"], f"unweighted: {words}"

    def weighted_gain() -> tuple[bool, str]:
        found = []
        for name, frame in (("stocknet", stocks), ("fraud", fraud)):
            if frame is not None:
                means = means_of(frame, "weighted")
                one = min(means[NO_BIAS[0]], means[WITH_BIAS[0]])
                more = min(means[m] for m in NO_BIAS[1:] + WITH_BIAS[1:])
                found.append((more < one, f"{name}: one coal {one:.3g}, best of more {more:.3g}"))
        return all(gain for gain, _ in found), "; ".join(words for _, words in found)

    def fraud_best() -> tuple[bool | None, str]:
        means = means_of(fraud, "weighted")
        top = min(coals, key=means.__getitem__)
        rival = min((m for m in means if m not in coals), key=means.__getitem__)
        verdict, words = _lower(fraud, "weighted", top, rival)
        return verdict, f"{words} (the best of ten against the best of four)"

    add("On Stocknet more coals gain nothing by unweighted ECE.", "section 6.2, Table 2", stocks,
        more_coals_gain)  # fmt: skip
    add("By weighted ECE more coals can help, slightly on Stocknet.", "section 6.2, Table 2",
        fraud if stocks is None else stocks, weighted_gain)  # fmt: skip
    add("On the small, balanced Stocknet temperature scaling does best.", "section 7", stocks,
        lambda: _lower(stocks, "weighted", "temperature", "original"))  # fmt: skip
    add("There a bias and isotonic regression overfit.", "section 7", stocks, lambda: _all(
            [_lower(stocks, "weighted", "temperature", m) for m in ("platt", "isotonic")]
        ))  # fmt: skip
    add("Of the binary tasks coals do best on fraud (lowest weighted ECE).", "section 7, Table 2",
        fraud, fraud_best)  # fmt: skip
    add("On fraud temperature scaling makes calibration worse.", "section 7, Table 2", fraud,
        lambda: _lower(fraud, "weighted", "original", "temperature"))  # fmt: skip
    return claims


def _network_claims(real: dict[str, Any]) -> list[Claim]:
    networks = {name: frame for name, frame in real.items() if name.startswith("nn-")}
    where = "section 6.3, Table 3"
    if not networks:
        words = NO_DATA
        return [
            Claim("Isotonic regression does poorly on several classes.", where, None, words),
            Claim("Coals sometimes beat the other parametric methods.", where, None, words),
            Claim("Matrix scaling does badly with 100 classes.", "section 7", None, words),
        ]
    isotonic, wins = [], []
    for name, frame in networks.items():
        means = means_of(frame, "weighted")
        rank = 1 + sum(value < means["isotonic"] for value in means.values())
        isotonic.append((rank > len(means) - 3, f"{name}: rank {rank} of {len(means)} by weighted"))
        best = min(NO_BIAS[1:] + WITH_BIAS[1:], key=means.__getitem__)
        rival = min(("temperature", "vector", "matrix"), key=means.__getitem__)
        wins.append((name, _lower(frame, "weighted", best, rival)))
    hundred = networks.get("nn-cifar100-densenet-bc100")
    return [
        Claim(
            "Isotonic regression does poorly on several classes.",
            where,
            all(poor for poor, _ in isotonic),
            "; ".join(words for _, words in isotonic),
        ),
        Claim(
            "Coals sometimes beat the other parametric methods.",
            where,
            any(won for _, (won, _) in wins) if all(w is not None for _, (w, _) in wins) else None,
            "; ".join(f"{name}: {words}" for name, (_, words) in wins)
            + " (the best of eight against the best of three)",
        ),
        *(
            Claim(
                f"Matrix scaling does badly with 100 classes: worse than {words}.",
                "section 7, Table 3",
                *((None, NO_DATA) if hundred is None else _all(
                    [_lower(hundred, m, rival, "matrix") for m in MEASURES]
                )),
            )
            for rival, words in (("temperature", "temperature scaling"), ("original", "none"))
        ),
    ]  # fmt: skip


def by_temperature(synthetic: Any, measure: str) -> Any:
    """Means, temperatures × methods, as in figure 9."""
    kept = synthetic[~synthetic["method"].str.endswith("nobias")]
    return kept.pivot_table(index="temperature", columns="method", values=measure, sort=False)
