"""What the synthetic scores say to the claims of the charcoal grill paper."""

from __future__ import annotations

from functools import partial
from typing import Any

from trueodds_studies._papers._grill_judge import (
    Difference,
    Finding,
    Readings,
    against,
    all_lower,
    both,
    count,
    difference,
    in_words,
    means_of,
    wide,
)
from trueodds_studies._papers._grill_numbers import (
    LABEL_NOISE,
    MEASURES,
    NO_BIAS,
    WITH_BIAS,
    paper_table,
)
from trueodds_studies._report import Claim

__all__ = ["at", "outside_table_1", "synthetic_claims"]

TABLE_1 = 5.0
SEVERAL = WITH_BIAS[1:]
EXPRESSIVE = ["isotonic", *SEVERAL]
SIMPLE = ["temperature", "platt"]
MUCH_CORRUPTED = 3.0
HIGH = 5.0
SAME = 0.1
"""ECE in % that are closer than this are the same: the printed pairs are at most 0.05 apart."""
SECTION_6 = "section 6.1, Table 1"
FIGURE_9 = "section 6.1, figure 9"


def at(frame: Any, temperature: float) -> Any:
    """The samples of one temperature."""
    return frame[frame["temperature"] == temperature]


def synthetic_claims(readings: Readings) -> list[Claim]:
    """Sections 3, 4 and 6.1; ``readings`` are all samples with the one and the other solver."""
    table = Readings(*(at(frame, TABLE_1) for frame in readings))
    alone = Readings(table.paper, None)  # of methods that need no solver
    return [
        *_simple_method_claims(alone),
        *_coal_claims(table),
        *_table_1_claims(table),
        *_figure_9_claims(readings),
        both(
            "Learning the parameters is difficult: performance varies much with the number of "
            "coals.",
            "section 7",
            table,
            _varies,
        ),
    ]


def _simple_method_claims(table: Readings) -> list[Claim]:
    return [
        both(
            "Temperature scaling (T = 2.43) wrongly takes confidence from low scores.",
            "section 3.1, figure 2",
            table,
            _low_scores,
        ),
        both(
            "Platt scaling (w = 0.43, b = −0.50) has less difficulty than temperature scaling.",
            "section 3.2, figure 3",
            table,
            _platt,
        ),
        both(
            "Isotonic regression is almost perfect on its training data and much worse held out, "
            "especially unweighted.",
            "section 3.3, figure 4",
            table,
            _isotonic_overfits,
        ),
        both(
            "Isotonic regression leaves bins empty (an example).",
            "section 3.3, figure 4",
            table,
            _empty_bins,
        ),
    ]


def _printed(values: Any, cell: float) -> str:
    """Where a printed number lies among our samples."""
    below = int((values < cell).sum())
    return f"the printed {cell:g} is above {below} of {len(values)} samples"


def _low_scores(table: Any) -> Finding:
    rows = table[table["method"] == "temperature"]
    low = means_of(table, "bias_below_half")
    heat = 1 / rows["slope"]
    return Finding(
        bool((rows["bias_below_half"] > 0.01).all()),
        f"T = {heat.mean():.2f} ({_printed(heat, 2.43)}); below ½ its probabilities are "
        f"{low['temperature']:+.3f} from the truth on average, and in every sample by at least "
        f"{rows['bias_below_half'].min():.3f} (original {low['original']:+.3f})",
        None if (rows["bias_below_half"] > 0.01).all() else "data",
    )


def _platt(table: Any) -> Finding:
    rows = table[table["method"] == "platt"]
    found = all_lower(_by_both(table, ["platt"], "temperature"), "data")
    words = (
        f"w = {rows['slope'].mean():.2f} ({_printed(rows['slope'], 0.43)}), b = "
        f"{rows['intercept'].mean():.2f} ({_printed(rows['intercept'], -0.5)}); {found.words}"
    )
    return found._replace(words=words)


def _isotonic_overfits(table: Any) -> Finding:
    rows = table[table["method"] == "isotonic"]
    train, fresh = rows["train_weighted"].max(), rows["weighted"].min()
    means = {m: rows[m].mean() for m in ("train_weighted", "train_unweighted", *MEASURES)}
    holds = bool(train < 0.1 * fresh and means["unweighted"] > means["weighted"])
    words = (
        f"on the training data {means['train_weighted']:.3f} weighted, "
        f"{means['train_unweighted']:.3f} unweighted; held out {means['weighted']:.2f} and "
        f"{means['unweighted']:.2f}; the least of {len(rows)} samples {fresh:.2f}"
    )
    return Finding(holds, words, None if holds else "criterion")


def _empty_bins(table: Any) -> Finding:
    rows = table[table["method"] == "isotonic"]
    some = int((rows["n_used_bins"] < 10).sum())
    words = f"in {some} of {len(rows)} samples at least one of ten bins is empty"
    return Finding(some > 0, words, None if some else "data")


def _coal_claims(table: Readings) -> list[Claim]:
    def smooth(frame: Any) -> Finding:
        flat = means_of(frame, "flat")
        most = max(flat[name] for name in SEVERAL)
        words = (
            f"share of the unit interval on plateaus: isotonic {flat['isotonic']:.0%}, 2 to 5 "
            f"coals at most {most:.0%}"
        )
        holds = flat["isotonic"] > 0.5 > most
        return Finding(holds, words, None if holds else "solver")

    def rising(frame: Any) -> Finding:
        falls = frame[frame["method"].isin(NO_BIAS + WITH_BIAS)]["falls"].astype(bool)
        words = f"{int(falls.sum())} of {len(falls)} fits fall somewhere"
        return Finding(not falls.any(), words, "solver" if falls.any() else None)

    def figure_6(frame: Any) -> Finding:
        return all_lower(
            [
                *against(frame, [WITH_BIAS[1]], "isotonic", "unweighted"),
                *against(frame, [WITH_BIAS[1]], WITH_BIAS[2], "unweighted"),
            ],
            "solver",
        )

    return [
        both(
            "Isotonic regression is close to a step function; coals are much smoother.",
            "section 4.1, figures 5 and 7",
            table,
            smooth,
        ),
        both("The fitted maps never fall.", "section 4.2", table, rising),
        both(
            "Two coals are slightly better than isotonic regression held out, and better than "
            "three (by unweighted ECE, as in Table 1).",
            "section 4.1, figure 6",
            table,
            figure_6,
        ),
    ]


def _by_both(frame: Any, names: list[str], rival: str) -> list[Difference]:
    return [gap for measure in MEASURES for gap in against(frame, names, rival, measure)]


def _table_1_claims(table: Readings) -> list[Claim]:
    def one_coal(frame: Any) -> Finding:
        pairs = ((NO_BIAS[0], "temperature"), (WITH_BIAS[0], "platt"))
        gaps = []
        for first, second in pairs:
            apart = [(wide(frame, m)[first] - wide(frame, m)[second]).abs().max() for m in MEASURES]
            words = f"{in_words(first)} and {second} at most {max(apart):.3f} apart"
            gaps.append((max(apart), words))
        holds = all(gap < SAME for gap, _ in gaps)
        words = "; ".join(words for _, words in gaps) + " in any sample, by either ECE"
        return Finding(holds, words, None if holds else "solver")

    def worse_than_isotonic(frame: Any) -> Finding:
        table_ = wide(frame, "weighted")
        return all_lower(
            [
                difference(table_["isotonic"], table_[name], f"isotonic and {in_words(name)}")
                for name in SEVERAL
            ],
            "solver",
        )

    return [
        both(
            "One coal is temperature scaling without bias, and Platt scaling with it.",
            SECTION_6,
            table,
            one_coal,
        ),
        both(
            "More than one coal (with bias) is better than Platt scaling by both ECE.",
            SECTION_6,
            table,
            lambda frame: all_lower(_by_both(frame, SEVERAL, "platt"), "solver"),
        ),
        both(
            "More than one coal is slightly worse than isotonic regression by weighted ECE.",
            SECTION_6,
            table,
            worse_than_isotonic,
        ),
        both(
            "Many coals are better than isotonic regression (five, by unweighted ECE).",
            SECTION_6,
            table,
            lambda frame: all_lower(
                against(frame, [WITH_BIAS[4]], "isotonic", "unweighted"), "solver"
            ),
        ),
        both(
            "The cells of Table 1: they could be one more of our samples.",
            "Table 1",
            table,
            _cells,
        ),
    ]


def outside_table_1(frame: Any) -> list[str]:
    """Printed cells beyond the range of our samples and beyond two standard deviations."""
    printed = paper_table("synthetic", "T = 5")
    found = []
    for measure in MEASURES:
        table = wide(frame, measure)
        for name in printed.index:
            cell, ours = printed.loc[name, measure], table[name]
            slack = max(2 * ours.std(), LABEL_NOISE)
            low = min(ours.min() - LABEL_NOISE, ours.mean() - slack)
            high = max(ours.max() + LABEL_NOISE, ours.mean() + slack)
            if not low <= cell <= high:
                span = f"{ours.min():.2f} to {ours.max():.2f}"
                found.append(f"{in_words(name)}, {measure}: {cell:g} (ours {span})")
    return found


def _cells(frame: Any) -> Finding:
    if count(frame) < 2:
        return Finding(None, "one sample says little", "protocol")
    outside, cells = outside_table_1(frame), 2 * len(paper_table("synthetic", "T = 5"))
    words = f"{cells - len(outside)} of {cells} lie within the range of our samples or two of "
    words += "their standard deviations"
    if outside:
        words += f"; outside: {'; '.join(outside)}"
    return Finding(not outside, words, "solver" if outside else None)


def _figure_9_claims(readings: Readings) -> list[Claim]:
    low, much = (
        [t for t in readings.paper["temperature"].drop_duplicates() if (t >= MUCH_CORRUPTED) == big]
        for big in (False, True)
    )

    def nearly_right(frame: Any) -> Finding:
        mild = min(low)
        table = wide(at(frame, mild), "weighted")
        found = difference(
            table[SIMPLE].mean(axis=1),
            table[EXPRESSIVE].mean(axis=1),
            f"weighted at T = {mild:g}: simple (temperature, Platt) and expressive (isotonic, 2 to "
            "5 coals), on average",
        )
        means = ", ".join(
            f"{in_words(name)} {table[name].mean():.2f}" for name in (*SIMPLE, *EXPRESSIVE)
        )
        finding = all_lower([found], "data")
        return finding._replace(words=f"{finding.words}; {means}")

    return [
        both(
            "Where scores are nearly right, expressive models calibrate worse than simple ones.",
            FIGURE_9,
            readings,
            nearly_right,
        ),
        *(
            both(
                f"Isotonic regression has consistently the lowest weighted ECE: at T = "
                f"{', '.join(f'{t:g}' for t in some)}.",
                FIGURE_9,
                readings,
                partial(_lowest, name="isotonic", measure="weighted", temperatures=some),
            )
            for some in (much, low)
        ),
        both(
            "At high temperatures five coals have the lowest unweighted ECE.",
            FIGURE_9,
            readings,
            partial(
                _lowest,
                name=WITH_BIAS[4],
                measure="unweighted",
                temperatures=[t for t in much if t >= HIGH],
            ),
        ),
    ]


def _lowest(frame: Any, name: str, measure: str, temperatures: list[float]) -> Finding:
    """Whether a method is below the best of the others at each temperature.

    One coal is Platt scaling; the uncalibrated scores are no calibration method.
    """
    rivals = [*SIMPLE, "isotonic", *SEVERAL]
    found = []
    for temperature in temperatures:
        table = wide(at(frame, temperature), measure)
        best = min((m for m in rivals if m != name), key=lambda m: table[m].mean())
        first = int((table[rivals].idxmin(axis=1) == name).sum())
        pair = f"{in_words(name)} and {in_words(best)}"
        gap = difference(table[name], table[best], f"T = {temperature:g}: {pair}")
        found.append(gap._replace(words=f"{gap.words}, lowest of all in {first}"))
    finding = all_lower(found, "solver")
    lowest = sum(gap.mean < 0 for gap in found)
    words = f"beside the next best, lowest mean at {lowest} of {len(found)} temperatures: "
    return finding._replace(words=words + finding.words)


def _varies(table: Any) -> Finding:
    """Whether the worst of eight fits typically has twice the ECE of the best."""
    weighted = wide(table, "weighted")[NO_BIAS[1:] + SEVERAL]
    ratio = float((weighted.max(axis=1) / weighted.min(axis=1)).median())
    ranges = weighted.max(axis=1) - weighted.min(axis=1)
    words = (
        f"weighted ECE of the eight fits of 2 to 5 coals to one sample: the worst is {ratio:.1f} "
        f"times the best (median; judged: at least 2), {ranges.mean():.2f} apart on average "
        f"(printed: 1.87 to 9.03, {_printed(ranges, 9.03 - 1.87)})"
    )
    return Finding(ratio >= 2, words, None if ratio >= 2 else "solver")
