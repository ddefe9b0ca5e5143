"""Verdicts of the charcoal grill study, first on synthetic and then on real scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from trueodds_studies._report import Claim
from trueodds_studies._significance import by_signs, significant_sign
from trueodds_studies.papers.grill.judge import (
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
    on_substitutes,
    untested,
    wide,
)
from trueodds_studies.papers.grill.numbers import (
    LABEL_NOISE,
    MEASURES,
    NO_BIAS,
    WITH_BIAS,
    paper_table,
)

__all__ = ["at", "binary_claims", "network_claims", "outside_table_1", "synthetic_claims"]

TABLE_1 = 5.0
SEVERAL = WITH_BIAS[1:]
EXPRESSIVE = ["isotonic", *SEVERAL]
SIMPLE = ["temperature", "platt"]
MUCH_CORRUPTED = 3.0
HIGH = 5.0
SAME = 0.1
"""Two ECE in % are equal if they differ by less; printed pairs differ by at most 0.05."""
SECTION_6 = "section 6.1, Table 1"
FIGURE_9 = "section 6.1, figure 9"


def at(frame: Any, temperature: float) -> Any:
    """The samples of one temperature."""
    return frame[frame["temperature"] == temperature]


def synthetic_claims(readings: Readings, starts: Any, population: Any, descent: Any) -> list[Claim]:
    """Sections 3, 4 and 6.1.

    Parameters
    ----------
    readings : Readings
        All samples with each of the two solvers.
    starts : DataFrame
        Some of them with the paper's solver and several random starts.
    population : DataFrame
        The best T, w and b at each temperature.
    descent : DataFrame
        One coal by gradient descent.
    """
    table = Readings(*(at(frame, TABLE_1) for frame in readings))
    alone = Readings(table.paper, None)  # of methods that need no solver
    return [
        *_simple_method_claims(alone),
        _printed_parameters(table.paper, population),
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
        _starts(starts),
        _descent(descent, table.paper),
        _unstable(table.paper),
    ]


def _descent(descent: Any, table: Any) -> Claim:
    """The best learning rate of the best optimizer, chosen by the log-loss of the sample."""
    text = (
        "By gradient descent one coal does not reach the ECE of Platt scaling, whatever the "
        "learning rate."
    )
    if not len(descent):
        return Claim(text, "footnote 6", None, "not part of this run", "protocol")
    fits = descent.groupby(["replicate", "method", "rate"])["train_log_loss"].first()
    best = fits.groupby("replicate").idxmin()
    ece = descent.set_index(["replicate", "method", "rate"])["weighted"].loc[list(best)]
    platt = table[table["method"] == "platt"].set_index("replicate")["weighted"]
    apart = (ece.droplevel([1, 2]) - platt.reindex(ece.index.get_level_values(0))).abs()
    rates = descent.groupby(["method", "rate"])["weighted"].mean()
    shown = ", ".join(f"{name} {rate:g}: {value:.2f}" for (name, rate), value in rates.items())
    reached = bool(apart.max() < SAME)
    return Claim(
        text,
        "footnote 6",
        not reached,
        f"weighted ECE by optimizer and learning rate: {shown}; Platt scaling {platt.mean():.2f}; "
        f"with the rate of the lowest loss at most {apart.max():.3f} from it (judged: {SAME})",
        "refuted" if reached else None,
    )


def _unstable(table: Any) -> Claim:
    """Compare coefficients of variation between samples, method by method."""
    if count(table) < 2:
        words = "one sample is too few to judge"
        return Claim("MCE is much less stable than ECE.", "section 2", None, words, "protocol")
    groups = table.groupby("method")
    spread = {m: groups[m].std() / groups[m].mean() for m in ("weighted", "unweighted", "maximum")}
    more = int((spread["maximum"] > spread["weighted"]).sum())
    n = len(spread["maximum"])
    words = ", ".join(f"{name} {values.median():.2f}" for name, values in spread.items())
    gap = spread["maximum"] - spread["weighted"]
    sign = significant_sign(float(gap.mean()), float(gap.std() / n**0.5), n)
    return by_signs(
        Claim(
            "MCE is much less stable than ECE.",
            "section 2",
            None,
            f"standard deviation between samples over the mean, median of {n} methods: {words}; "
            f"larger for MCE than for weighted ECE with {more}",
        ),
        [sign],
    )


def _simple_method_claims(table: Readings) -> list[Claim]:
    return [
        both(
            "Temperature scaling wrongly takes confidence from low scores.",
            "section 3.1, figure 2",
            table,
            _low_scores,
        ),
        both(
            "Platt scaling has less difficulty than temperature scaling.",
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


PRINTED_PARAMETERS = {"T": 2.43, "w": 0.43, "b": -0.50}


def _parameters(rows: Any) -> dict[str, Any]:
    temperature, platt = (rows[rows["method"] == name] for name in SIMPLE)
    return {"T": 1 / temperature["slope"], "w": platt["slope"], "b": platt["intercept"]}


def _printed_parameters(table: Any, population: Any) -> Claim:
    """Judge whether the printed parameters agree with our samples, and of which distortion."""
    ours = _parameters(table)
    inside = [
        ours[name].min() <= cell <= ours[name].max() for name, cell in PRINTED_PARAMETERS.items()
    ]
    best = {
        float(temperature): {n: float(v.iloc[0]) for n, v in _parameters(rows).items()}
        for temperature, rows in population.groupby("temperature")
    }
    nearest = min(
        best,
        key=lambda t: max(abs(best[t][n] / cell - 1) for n, cell in PRINTED_PARAMETERS.items()),
    )
    seen = ", ".join(
        f"{name} {values.mean():.2f} ± {values.std():.2f}" for name, values in ours.items()
    )
    words = ", ".join(f"{name} = {value:.3f}" for name, value in best[nearest].items())
    return Claim(
        "Scores at T = 5 give temperature 2.43, and Platt scaling w = 0.43, b = −0.50.",
        "sections 3.1 and 3.2",
        all(inside),
        f"our samples have {seen}; with all probabilities known, the nearest temperature is "
        f"{nearest:g}: {words}. Section 3 and Table 1 seem to be of different distortions",
        None if all(inside) else "protocol",
    )


def _printed(values: Any, cell: float) -> str:
    """Return the position of a printed number among our samples."""
    below = int((values < cell).sum())
    return f"the printed {cell:g} is above {below} of {len(values)} samples"


def _low_scores(table: Any) -> Finding:
    rows = table[table["method"] == "temperature"]
    low = means_of(table, "bias_below_half")
    heat = 1 / rows["slope"]
    return Finding(
        bool((rows["bias_below_half"] > 0.01).all()),
        f"T = {heat.mean():.2f} ({_printed(heat, 2.43)}); below 0.5 its probabilities are "
        f"{low['temperature']:+.3f} from the true ones on average, and in every sample by at least "
        f"{rows['bias_below_half'].min():.3f} (original {low['original']:+.3f})",
        None if (rows["bias_below_half"] > 0.01).all() else "data",
    )


def _platt(table: Any) -> Finding:
    rows = table[table["method"] == "platt"]
    found = all_lower(_by_both(table, ["platt"], "temperature"))
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
            lambda frame: all_lower(_by_both(frame, SEVERAL, "platt")),
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
            lambda frame: all_lower(against(frame, [WITH_BIAS[4]], "isotonic", "unweighted")),
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
        return Finding(None, "one sample is too few to judge", "protocol")
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
        finding = all_lower([found])
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
    finding = all_lower(found)
    lowest = sum(gap.mean < 0 for gap in found)
    words = f"compared with the next best, lowest mean at {lowest} of {len(found)} temperatures: "
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


def _starts(starts: Any) -> Claim:
    """Whether the worst of a few random starts typically has twice the ECE of the best."""
    fits = starts.groupby(["method", "replicate"])["weighted"]
    ratio = float((fits.max() / fits.min()).median())
    n_starts, n_fits = starts["start"].nunique(), fits.ngroups
    return Claim(
        "The fit depends on where the coals start.",
        "section 8",
        ratio >= 2,
        f"weighted ECE of {n_starts} random starts of one fit: the worst is {ratio:.1f} times the "
        f"best (median of {n_fits} fits; judged: at least 2), from {starts['weighted'].min():.2f} "
        f"to {starts['weighted'].max():.2f} in all; our solver has no random start",
        None if ratio >= 2 else "criterion",
    )


# Real scores -------------------------------------------------------------------------------------
# Claims on real scores (Tables 2 and 3).

Clips = dict[str, Any]
"""Rows of the fraud data by the level at which probabilities of 0 are clipped."""
MORE = NO_BIAS[1:] + WITH_BIAS[1:]
PARAMETRIC = ["temperature", "vector", "matrix"]
ON_PAR = 0.5
"""Two unweighted ECE in % are on par if they differ by less."""
TABLE_2 = "section 6.2, Table 2"
TABLE_3 = "section 6.3, Table 3"
CIFAR = "nn-cifar100-densenet-bc100"
MNIST = "nn-mnist-mlp"


def _all_lower(differences: list[Difference]) -> Finding:
    return on_substitutes(all_lower(differences))


def _gap(frame: Any, measure: str, first: str, second: str, words: str = "") -> Difference:
    table = wide(frame, measure)
    pair = f"{in_words(first)} and {in_words(second)}"
    return difference(table[first], table[second], f"{words}{measure}: {pair}")


def binary_claims(
    stocks: Readings | None, fraud: Readings | None, clips: Clips, forest: Any
) -> list[Claim]:
    """Judge Stocknet and fraud; ``clips`` are the fraud rows at other clip levels.

    ``forest`` has the F1 of the forest that scores frauds.
    """
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
        _forest(forest),
    ]


def _forest(rows: Any) -> Claim:
    text, where = "The random forest has an F1 of 86% in 5-fold cross-validation.", "section 5"
    if not len(rows):
        return untested(text, where)
    found = float(rows["f1"].iloc[0])
    near = abs(found - PRINTED_F1) < 0.02
    return Claim(
        text,
        where,
        near,
        f"{found:.1%} on all frauds and 8% of the legitimate rows, weighted to the natural rate "
        "(judged: within 2 points)",
        None if near else "data",
    )


PRINTED_F1 = 0.86


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
    """Judge that no set and kind of coals is significantly lower with more of them, on average."""
    found = []
    for name, frame in frames.items():
        table = wide(frame, "unweighted")
        for kind, names in (("without bias", NO_BIAS), ("with bias", WITH_BIAS)):
            words = f"{name}, {kind}: 2 to 5 coals on average and one"
            found.append(difference(table[names[1:]].mean(axis=1), table[names[0]], words))
    if found[0].n < 2:
        return Finding(None, "one split is too few to judge", "protocol")
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
            "28,841, 0.18%). The unweighted ECE of one method varies between splits by "
            f"{spread.min():.1f} to {spread.max():.1f} (standard deviation). Of {len(gaps)} "
            f"differences between coals and other methods, {sum(map(abs, gaps))} are significant"
        )
        if not spread.notna().any():
            return Finding(None, "one split is too few to judge", "protocol")
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
    """Judge every clip level; zeros placed by maximum likelihood are shown in addition."""
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
    placed = _gap(
        fraud.ours, "weighted", "original", "temperature", "zeros placed by maximum likelihood, "
    )
    zeros = float(fraud.paper["zero"].mean())
    words = (
        f"{zeros:.0%} of the forest's probabilities are exactly 0 and must be given some log-odds, "
        f"and the paper does not name them; {found.words}; as this library does, {placed.words}"
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
            "Isotonic regression does poorly on several classes: MNIST, each class's logit "
            "separately.",
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
            "Temperature scaling does not change the accuracy.",
            "section 3.1",
            alone,
            _keeps_accuracy,
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


def _keeps_accuracy(frames: dict[str, Any]) -> Finding:
    moved = {}
    for name, frame in frames.items():
        table = wide(frame, "accuracy")
        moved[name] = float((table["temperature"] - table["original"]).abs().max())
    words = "; ".join(f"{name}: moves by at most {gap:.1g}" for name, gap in moved.items())
    kept = max(moved.values()) < 1e-9
    return Finding(kept, words, None if kept else "refuted")


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
        return Finding("inconclusive", f"{text}; {needed} splits would show it in 80%", "data")
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
