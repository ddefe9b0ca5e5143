"""What the results say to the claims of the Bayesian isotonic paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds_studies._diagrams import significantly_better
from trueodds_studies._optional import need
from trueodds_studies._papers._bayes_isotonic_numbers import CORRECTION, FLAGGED, SIZES, TABLE_2
from trueodds_studies._report import Claim
from trueodds_studies._study import Results, pick_rows

__all__ = ["COMPARED", "LOSSES", "PAIRS", "Findings", "claims"]

LOSSES = {"brier_score": "Brier score", "log_loss": "log-loss"}
PAIRS = ("iso", "enir", "log", "beta")
"""Methods that the paper runs with and without Platt's correction."""
COMPARED = ("bayes-iso", "enir-platt", "iso-platt", "beta(-platt)", "log-platt")
NAMES = {"iso": "isotonic", "enir": "ENIR", "log": "logistic", "beta": "beta"}
KINDS = ("over-over", "over-under", "under-under")
ACCURATE = 0.95


class Findings:
    """The numbers that tables, figures and claims share.

    Attributes
    ----------
    synthetic : dict of str to pandas.DataFrame
        Mean losses, sizes × methods.
    real : pandas.DataFrame or None
        All rows of the real data.
    """

    def __init__(self, results: Results) -> None:
        frame = results.frame
        rows = pick_rows(frame, part="synthetic")
        self.n_replicates = int(rows["replicate"].nunique())
        self.rows = rows.assign(n=rows["n"].astype(int))
        self.synthetic = {
            loss: self.rows.pivot_table(index="n", columns="method", values=loss, sort=False)
            for loss in LOSSES
        }
        self.runs = pick_rows(frame, part="runs")
        self.real: Any = None
        if "set" in frame.columns and (frame["part"] == "real").any():
            real = pick_rows(frame, part="real")
            self.real = real.assign(
                size=real["size"].astype(int), pair=real["set"] + ", " + real["model"]
            )
            self.n_folds = len(real[["outer", "inner"]].drop_duplicates())
            self.n_pairs = int(self.real["pair"].nunique())

    def means(self, value: str, size: int) -> Any:
        """Pairs × methods, averaged over folds."""
        rows = self.real[self.real["size"] == size]
        return rows.pivot_table(index="pair", columns="method", values=value, sort=False)

    def table_1(self, loss: str, n: int) -> dict[str, float]:
        """A column of Table 1, in which beta is two methods."""
        line = self.synthetic[loss].loc[n]
        beta = "beta" if loss == "brier_score" else "beta-platt"
        return {name: float(line[beta if "(" in name else name]) for name in ("ideal", *COMPARED)}

    def panels(self, *, chains: bool = False) -> dict[tuple[str, int], Any]:
        """Pairs × the methods of figure 7, for each loss and size."""
        found = {}
        for loss in LOSSES:
            beta = "beta" if loss == "brier_score" else "beta-platt"
            own = [beta if "(" in name else name for name in COMPARED] + ["chains"] * chains
            names = [*COMPARED, "chains"][: len(own)]
            for n in SIZES:
                found[loss, n] = self.means(loss, n)[own].set_axis(names, axis=1)
        return found

    def improved(self, method: str, loss: str, size: int) -> Any:
        """For each pair, whether Platt's correction lowers the loss."""
        table = self.means(loss, size)
        return table[f"{method}-platt"] < table[method]

    def ends(self, size: int) -> Any:
        """Shares of pairs that are over- or under-confident at the ends, by method."""
        low, high = (self.means(f"{end}_excess", size) > 0 for end in ("low", "high"))
        both = {"over-over": low & high, "over-under": low ^ high, "under-under": ~low & ~high}
        return need("pandas").DataFrame({kind: both[kind].mean() for kind in KINDS})

    @property
    def flagged(self) -> Any:
        """Pairs at 3000 where a sampled map outweighs all others, in most of the folds."""
        rows = self.real[(self.real["size"] == 3000) & (self.real["method"] == "bayes-iso")]
        return (rows["heaviest"] > 0.5).groupby(rows["pair"], sort=False).mean() >= 0.5

    def wins(self, loss: str, method: str = "bayes-iso") -> dict[str, float]:
        """Shares of pairs as in Table 2."""
        found = {}
        for size in SIZES:
            table = self.means(loss, size)
            won = table[method] < table[["iso-platt", "enir-platt"]].min(axis=1)
            found[str(size)] = float(won.mean())
        kept = won[~self.flagged.reindex(won.index)]
        found["3000 LH"] = float(kept.mean()) if len(kept) else float("nan")
        return found


def claims(found: Findings) -> list[Claim]:
    """All of the paper's claims, judged."""
    judged = [*_synthetic_claims(found), *_run_claims(found)]
    judged += _correction_claims(found) + _confidence_claims(found) + _comparison_claims(found)
    return judged


def _synthetic_claims(found: Findings) -> list[Claim]:
    columns = {(loss, n): found.table_1(loss, n) for n in SIZES for loss in LOSSES}
    order = {
        key: sorted(COMPARED, key=lambda name, c=column: c[name])  # type: ignore[misc]
        for key, column in columns.items()
    }
    listed = {key: f"{LOSSES[key[0]]}, {key[1]}: {', '.join(order[key])}" for key in order}
    ideal = columns["brier_score", 3000]["ideal"], columns["log_loss", 3000]["ideal"]
    parametric = {"beta(-platt)", "log-platt"}
    return [
        Claim(
            "The ideal losses are 0.1621 (Brier) and 0.4741 (log-loss).",
            "Table 1",
            abs(ideal[0] - 0.1621) < 0.0015 and abs(ideal[1] - 0.4741) < 0.004,
            f"{ideal[0]:.4f} and {ideal[1]:.4f}; the text of section 5.1 swaps their names",
        ),
        Claim(
            "On synthetic data Bayes-Iso wins over all other methods.",
            "section 5.1, Table 1",
            all(order[loss, n][0] == "bayes-iso" for loss in LOSSES for n in (100, 3000)),
            "; ".join(listed[loss, n] for n in (100, 3000) for loss in LOSSES)
            + f". Log-loss less that of Bayes-Iso: {_excess(found, ('beta-platt', 'iso-platt'))}",
        ),
        Claim(
            "Beta calibration is second with 100 instances.",
            "section 5.1, Table 1",
            all(order[loss, 100][1] == "beta(-platt)" for loss in LOSSES),
            "; ".join(listed[loss, 100] for loss in LOSSES)
            + f". Log-loss less that of Bayes-Iso: {_excess(found, ('beta-platt',), (100,))}",
        ),
        Claim(
            "With 3000 instances non-parametric methods dominate parametric ones.",
            "section 5.1, Table 1",
            all(set(order[loss, 3000][3:]) == parametric for loss in LOSSES),
            "; ".join(listed[loss, 3000] for loss in LOSSES),
        ),
        Claim(
            "With 1000 instances the methods rank as with 3000.",
            "section 5.1",
            all(order[loss, 1000] == order[loss, 3000] for loss in LOSSES),
            "; ".join(listed[loss, 1000] for loss in LOSSES),
        ),
    ]


def _excess(found: Findings, rivals: tuple[str, ...], sizes: tuple[int, ...] = SIZES) -> str:
    """By how much rivals exceed Bayes-Iso in log-loss, ± the standard error over samples."""
    wide = found.rows.pivot(index=["n", "replicate"], columns="method", values="log_loss")
    words = []
    for rival in rivals:
        excess = (wide[rival] - wide["bayes-iso"]).groupby("n")
        means, errors = excess.mean(), excess.std() / np.sqrt(found.n_replicates)
        listed = ", ".join(f"{means[n]:+.4f} ± {errors[n]:.4f} at {n}" for n in sizes)
        words.append(f"{rival} {listed}")
    return "; ".join(words)


def _run_claims(found: Findings) -> list[Claim]:
    runs = found.runs.assign(n=found.runs["n"].astype(int))
    spread = runs.groupby(["n", "score"])["probability"].std().groupby("n").mean()
    rising = bool(spread[100] < spread[1000] < spread[3000])
    rows = found.rows[found.rows["method"] == "bayes-iso"]
    heaviest = rows.groupby("n")["heaviest"].mean()
    words = ", ".join(f"{n}: {spread[n]:.4f}" for n in SIZES)
    return [
        Claim(
            "Runs on the same data differ very little.",
            "section 5.1, figure 6",
            bool(spread.max() < 0.02),
            f"mean standard deviation between runs by instances: {words}",
        ),
        Claim(
            "The larger the calibration data, the more the runs differ.",
            "section 5.1, figure 6",
            rising,
            f"{words}; mean weight of the heaviest map: "
            + ", ".join(f"{n}: {heaviest[n]:.2f}" for n in SIZES),
        ),
    ]


def _untested(texts: dict[str, str]) -> list[Claim]:
    return [Claim(text, where, None, "no real set in this run") for text, where in texts.items()]


def _correction_claims(found: Findings) -> list[Claim]:
    text = "Platt's correction improves {} in more than 90 % of cases."
    if found.real is None:
        return _untested({text.format("isotonic calibration and ENIR"): "section 3, figure 2"})
    judged = []
    cases = {
        (method, loss): sum(found.improved(method, loss, n).sum() for n in SIZES)
        for method in PAIRS
        for loss in LOSSES
    }
    total = len(SIZES) * found.n_pairs
    figures = {key: f"{LOSSES[key[1]]} {cases[key]} of {total}" for key in cases}
    for method in ("iso", "enir"):
        words = f"averaged over folds: {found.n_folds} (paper: 25): " + "; ".join(
            figures[method, loss]
            + (" (paper: {} of {})".format(*CORRECTION[method, loss]) if method == "iso" else "")
            for loss in LOSSES
        )
        words += f". {_size_of_correction(found, method)}"
        good = all(cases[method, loss] > 0.9 * total for loss in LOSSES)
        where = "abstract, section 3, figure 2"
        judged.append(Claim(text.format(NAMES[method]), where, good, words))
    judged.append(
        Claim(
            "Platt's correction improves logistic calibration.",
            "section 3, figure 2",
            all(cases["log", loss] > total / 2 + total**0.5 for loss in LOSSES),
            "; ".join(figures["log", loss] for loss in LOSSES)
            + f" (by chance half, up to {total / 2 + total**0.5:.0f})",
        )
    )
    brier, log = cases["beta", "brier_score"] / total, cases["beta", "log_loss"] / total
    judged.append(
        Claim(
            "For beta calibration the correction helps log-loss only; about half of the cases by "
            "Brier score.",
            "section 3, figure 2",
            bool(0.4 <= brier <= 0.6 < log),
            "; ".join(figures["beta", loss] for loss in LOSSES),
        )
    )
    return judged


def _size_of_correction(found: Findings, method: str) -> str:
    """How large the changes are: where a 0 or 1 was wrong the gain is large, else all is small."""
    tables = [found.means("log_loss", n) for n in SIZES]
    change = np.concatenate([t[f"{method}-platt"] - t[method] for t in tables])
    falls, rises = change[change < 0], change[change >= 0]
    words = [f"falls by {-np.median(falls):.2g} where it falls"] if len(falls) else []
    words += [f"rises by {np.median(rises):.2g} where it rises"] if len(rises) else []
    return f"In the median log-loss {' and '.join(words)}"


def _confidence_claims(found: Findings) -> list[Claim]:
    texts = {
        "Platt's correction makes over-confidence at both ends rarer and under-confidence at both "
        "ends more frequent.": "section 3, figure 3",
        "Isotonic calibration and ENIR tend to be over-confident.": "abstract, figure 3",
        "Bayes-Iso has the most equal shares of over- and under-confidence.": "section 3, figure 3",
    }
    if found.real is None:
        return _untested(texts)
    ends = sum(found.ends(n) for n in SIZES) / len(SIZES)
    moved = [
        ends.loc[f"{m}-platt", "over-over"] <= ends.loc[m, "over-over"]
        and ends.loc[f"{m}-platt", "under-under"] >= ends.loc[m, "under-under"]
        for m in PAIRS
    ]
    imbalance = (ends["over-over"] - ends["under-under"]).drop("chains").abs().sort_values()
    shown = {m: f"{m} {ends.loc[m, 'over-over']:.0%} / {ends.loc[m, 'under-under']:.0%}"
             for m in ends.index}  # fmt: skip
    verdicts = [
        (
            all(moved),
            "over-over / under-under, all sizes: "
            + ", ".join(f"{shown[m]} → {shown[f'{m}-platt']}" for m in PAIRS),
        ),
        _single_ends(found),
        (
            bool(imbalance.index[0] == "bayes-iso"),
            "difference of the shares: "
            + ", ".join(f"{m} {value:.2f}" for m, value in imbalance.items())
            + f"; {shown['chains']}",
        ),
    ]
    return [
        Claim(text, where, *verdict)
        for (text, where), verdict in zip(texts.items(), verdicts, strict=True)
    ]


def _single_ends(found: Findings) -> tuple[bool, str]:
    """Over- and under-confidence at each end by itself; neither if both are exactly 0 or 1."""
    good, words = [], []
    for method in ("iso", "enir"):
        rows = found.real[found.real["method"] == method]
        excess = np.concatenate([rows["low_excess"], rows["high_excess"]])
        over, under = np.mean(excess > 0), np.mean(excess < 0)
        good.append(bool(over > under))
        words.append(
            f"{method}: {over:.0%} over, {under:.0%} under, {np.mean(excess == 0):.0%} equal, mean "
            f"{excess.mean():+.3f}"
        )
    return all(good), "single ends, all sizes: " + "; ".join(words)


def _comparison_claims(found: Findings) -> list[Claim]:
    texts = {
        "Bayes-Iso is the best non-parametric method in the majority of cases at every size.":
            "section 5.3, Table 2",
        "In particular with few instances: its share falls with the size.": "section 5.3, Table 2",
        "Without flagged cases its share at 3000 is higher.": "section 5.3, Table 2",
        "Bayes-Iso is best or tied with the best for all sizes and losses.":
            "abstract, section 5.3, figure 7",
        "Parametric methods are better with few instances, non-parametric ones with many.":
            "section 5.3, figure 7",
        "With few instances and a very accurate model Bayes-Iso is too under-confident.":
            "section 5.3",
    }  # fmt: skip
    if found.real is None:
        return _untested(texts)
    wins = {loss: found.wins(loss) for loss in LOSSES}
    shares = "; ".join(
        f"{LOSSES[loss]}: "
        + ", ".join(f"{c} {v:.0%} (paper {TABLE_2[loss][c]} %)" for c, v in wins[loss].items())
        for loss in LOSSES
    )
    falling = "; ".join(
        f"{LOSSES[loss]}: " + " → ".join(f"{wins[loss][str(n)]:.0%}" for n in SIZES)
        for loss in LOSSES
    )
    flagged = found.flagged
    higher = all(wins[loss]["3000 LH"] > wins[loss]["3000"] for loss in LOSSES)
    unflagged = "; ".join(
        f"{LOSSES[loss]}: {wins[loss]['3000']:.0%} → {wins[loss]['3000 LH']:.0%}" for loss in LOSSES
    )
    n_flagged = f"{int(flagged.sum())} of {len(flagged)} flagged (paper {FLAGGED} %)"
    verdicts: list[tuple[bool | None, str]] = [
        (all(wins[loss][str(n)] > 0.5 for loss in LOSSES for n in SIZES), shares),
        (all(wins[loss]["100"] > wins[loss]["1000"] > wins[loss]["3000"] for loss in LOSSES),
         falling),
        (higher if flagged.any() else None, f"{unflagged}; {n_flagged}"),
        _best_or_tied(found),
        _parametric_first(found),
        _accurate_models(found),
    ]  # fmt: skip
    return [
        Claim(text, where, *verdict)
        for (text, where), verdict in zip(texts.items(), verdicts, strict=True)
    ]


def _best_or_tied(found: Findings) -> tuple[bool, str]:
    tied, words = [], []
    for (loss, n), panel in found.panels().items():
        ranks = panel.rank(axis=1).mean()
        best = str(ranks.idxmin())
        beaten, figures = significantly_better(panel, best, "bayes-iso")
        tied.append(best == "bayes-iso" or not beaten)
        words.append(
            f"{LOSSES[loss]}, {n}: best, rank {ranks[best]:.2f}"
            if best == "bayes-iso"
            else f"{LOSSES[loss]}, {n}: {best} is best, {figures}"
        )
    return all(tied), "; ".join(words)


def _parametric_first(found: Findings) -> tuple[bool, str]:
    good, words = [], []
    for loss in LOSSES:
        gaps = []
        for n in (100, 3000):
            ranks = found.panels()[loss, n].rank(axis=1).mean()
            others = ranks[["enir-platt", "iso-platt"]].mean()
            gaps.append(float(ranks[["beta(-platt)", "log-platt"]].mean() - others))
        good.append(gaps[0] < 0 < gaps[1])
        words.append(f"{LOSSES[loss]}: {gaps[0]:+.2f} at 100, {gaps[1]:+.2f} at 3000")
    lead = "mean rank of beta and logistic less that of isotonic and ENIR, corrected: "
    return all(good), lead + "; ".join(words)


def _accurate_models(found: Findings) -> tuple[bool | None, str]:
    accuracy = found.means("accuracy", 100)["bayes-iso"]
    table = found.means("log_loss", 100)
    lost = table["bayes-iso"] > table[["iso-platt", "enir-platt"]].min(axis=1)
    sharp = accuracy >= ACCURATE
    if not sharp.any() or sharp.all():
        return None, f"no pairs on both sides of an accuracy of {ACCURATE:.0%}"
    excess = sum(found.means(f"{end}_excess", 100)["bayes-iso"] for end in ("low", "high")) / 2
    return (
        bool(lost[sharp].mean() > 0.5 and excess[sharp].mean() < 0),
        f"with 100 instances Bayes-Iso has a higher log-loss than Iso-Platt or ENIR-Platt on "
        f"{int(lost[sharp].sum())} of {int(sharp.sum())} pairs with accuracy of at least "
        f"{ACCURATE:.0%}, and on {int(lost[~sharp].sum())} of {int((~sharp).sum())} others; its "
        f"mean over-confidence at the ends is {excess[sharp].mean():+.4f} and "
        f"{excess[~sharp].mean():+.4f}",
    )
