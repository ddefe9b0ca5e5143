"""Tables and text of the Bayesian isotonic study."""

from __future__ import annotations

import math
from typing import Any

from trueodds_studies._report import Figure, ReportContent, Table
from trueodds_studies._study import Results
from trueodds_studies.papers.bayes_isotonic.claims import claims
from trueodds_studies.papers.bayes_isotonic.figures import (
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
)
from trueodds_studies.papers.bayes_isotonic.findings import (
    CHANCE,
    COMPARED,
    LOSSES,
    OWN,
    PAIRS,
    Findings,
    Share,
)
from trueodds_studies.papers.bayes_isotonic.method_claims import merged_table, method_claims
from trueodds_studies.papers.bayes_isotonic.models import DEFAULTS
from trueodds_studies.papers.bayes_isotonic.numbers import FLAGGED, SETS, SIZES, TABLE_2, table_1

__all__ = ["report", "summary"]

BESIDE = ("bayes-iso-text", "chains", "enir-platt-program")
"""Methods that are shown in addition to the paper's."""
READINGS = ("the program", "the text")
TEN = 10
"""Samples that the paper averages."""
SHORT = {"brier_score": "Brier", "log_loss": "log-loss"}


def report(results: Results) -> ReportContent:
    """Judge the paper's claims on the available sets."""
    found = Findings(results)
    items: list[Table | Figure | str] = [
        "## Figure 1: the methods that the paper begins from",
        figure_1(),
        "## Table 1: synthetic scores",
        _table_1(found),
        "## Figures 4 to 6",
        figure_4(),
        figure_5(found.curves),
        figure_6(found.runs),
    ]
    if found.real is not None:
        items += [
            "## Figures 2 and 3: Platt's correction",
            _correction_table(found),
            figure_2(found),
            figure_3(found, ""),
            figure_3(found, "_by_map"),
            _ENDS,
            "## Table 2: against other non-parametric methods",
            *_table_2(found),
            "## Figure 7: all methods",
            *figure_7(found),
            _ranks(found),
        ]
    items += ["## Where the text and the authors' program differ", _DIFFERENCES, _limits(found)]
    parts = set(results.frame["part"])
    if "merged" in parts:
        items += ["## Future work", merged_table(results)]
    more = method_claims(results) if {"posterior", "prior", "time"} <= parts else []
    return ReportContent(summary(found), [*claims(found), *more], items)


_ENDS = (
    "Both follow the paper's definition. A method is overconfident at an end if the mean of "
    "its probabilities there, over all folds, is closer to 0 (1) than the share of positives; "
    "otherwise it is underconfident. The text ranks test rows by the model's score. The "
    "authors' program sorts them by the calibrated probability, which isotonic calibration "
    "makes equal for many rows. The 2.5% are then arbitrary rows of the last step. Here, tied "
    "rows share the last places."
)
_DIFFERENCES = (
    "The authors' program for the experiments on real data is public "
    "(github.com/mlkruup/bayesiso). It was read, not run; nothing of it is in this project.\n\n"
    "**Limits of Bayes-Iso.** The text takes bins of N/10 with a slack of 1/√B, the program "
    "windows of N/20 with 1/√N, widened to contain isotonic regression. The program's are much "
    "narrower at 3000 (slack 0.018 against 0.058), and leave less to be sampled. `bayes-iso` has "
    "the program's, `bayes-iso-text` the text's.\n\n"
    "**ENIR-Platt.** Corrected labels are neither 0 nor 1, and ENIR's program counts every label "
    "but an exact 0 as a positive when it weighs its models. All near-isotonic models keep the sum "
    "of the probabilities, so the smoothest of them, isotonic regression, gets practically all the "
    "weight: in the paper's experiments ENIR-Platt is Iso-Platt with ENIR's smoothing of bins. "
    "`enir-platt-program` is that; `enir-platt` weighs models by the likelihood of the corrected "
    "labels. (The same happens there to uncorrected ENIR where scores are tied, because tied rows "
    "are given their mean label; this is not imitated.)\n\n"
    "**Ends of the ranking** (figure 3): see above.\n\n"
    "**Rows.** Folds and samples are not stratified in the program nor here. In the program some "
    "1.4% of the 100 or 1000 calibration rows may be among the model's training rows, because "
    "only the 3000 are kept apart from these; here none is."
)


def summary(found: Findings) -> str:
    """What was run, and how it was judged."""
    text = (
        f"Synthetic scores: {found.n_replicates} samples of each size (the paper: 10), 100,000 "
        "test rows each; exactly half of the rows are positive. `bayes-iso` is the authors' "
        "sampler with 10,000 maps within the limits of their program. `chains`, the library's "
        "default, samples the posterior without limits; it is shown as well and decides no "
        "verdict."
    )
    if found.real is None:
        return text + "\n\nNone of the real sets is available."
    used = list(found.real["set"].unique())
    models = list(found.real["model"].unique())
    missing = [name for name, ours in SETS.items() if ours not in used]
    lacking = ", ".join(missing) or "none"
    return text + (
        f"\n\n**Real scores** (`TRUEODDS_DATA` names the folder of data). {len(used)} of the "
        f"paper's 17 sets are used with {len(models)} of its nine models ({', '.join(models)}). "
        f"This gives {found.n_pairs} pairs of a set and a model (the paper: 153) and "
        f"{found.n_folds('iso')} of the 25 combinations of outer and inner folds. Slower methods "
        f"use fewer of them: `bayes-iso` {found.n_folds('bayes-iso')}, `chains` "
        f"{found.n_folds('chains')}, `bayes-iso-text` {found.n_folds('bayes-iso-text')}. As in the "
        "paper, losses are averaged over the folds of a pair before pairs are counted or ranked; "
        "only folds that all compared methods have are used. Not used (not available or not in "
        "the profile): "
        f"{lacking}. "
        "Substitutes: `SEA50-regenerated` has other rows of the same generator. "
        "`creditcard-casecontrol` contains all frauds and 8% of the legitimate rows; as many "
        f"frauds are drawn as 20,000 random rows of the full set would have. {_constant(found)}"
        "\n\nThe base models have the defaults of scikit-learn 0.20 and 0.21, which were "
        f"current when the paper was written. {DEFAULTS}. As in the authors' program, features "
        "are not standardized, the logistic function turns decision values of the SVM into "
        "scores, and log-loss clips probabilities at 1e-15."
        "\n\n**Verdicts.** The standard error of a share of cases comes from the spread "
        "between the "
        f"{len(used)} sets, because pairs with the same set are not independent. The paper's "
        "Friedman tests treat them as independent, and so do ours in figure 7. A difference or a "
        "share counts if Student's t-test over sets or samples finds it significant at 5%. "
        "*Inconclusive*: neither the claim nor its opposite is significant; the needed number of "
        "sets or samples is given. *Confirmed with the authors' measure*: their program computes "
        "something else than the text describes (section *Where the text and the authors' program "
        "differ*). A third reading has ENIR as its own paper's text describes it, without "
        "smoothing. Reasons: *data*, too few or other sets; *measure*, what is counted; "
        "*solver*, another variant of a method; *criterion*, our rule for verbal claims; "
        "*refuted*, the opposite is significant."
    )


def _constant(found: Findings) -> str:
    """Where the model gives all calibration rows the same score."""
    rows = found.real[(found.real["method"] == "iso") & (found.real["constant"] > 0)]
    if rows.empty:
        return ""
    counts = rows.groupby(["set", "model"], sort=False).size()
    name, model = counts.idxmax()
    return (
        f"As in the authors' program, the {len(rows)} samples whose scores are all equal are left "
        f"out, most often {name} with {model} ({counts.max()})."
    )


def _table_1(found: Findings) -> Table:
    paper = table_1()
    columns = [(loss, n) for n in (100, 3000) for loss in LOSSES]
    heads = [f"{SHORT[loss]}, {n}" for loss, n in columns]
    rows: list[list[Any]] = []
    for name in ("ideal", *COMPARED, *BESIDE):
        cells: list[Any] = [name]
        for (loss, n), head in zip(columns, heads, strict=True):
            losses = found.sample_losses(loss, n, (name,))[name]
            cells.append(f"{losses.mean():.4f} ± {losses.std() / math.sqrt(len(losses)):.4f}")
            cells.append(float(paper.loc[name, head]) if name in paper.index else None)
        rows.append(cells)
    note = (
        f"Means of {found.n_replicates} samples ± standard errors; the paper's are means of 10 "
        "samples. Beta without correction for the Brier score and with it for log-loss, as in the "
        "paper. The last three rows are not in the paper: Bayes-Iso within the limits that its "
        "text describes, the library's chains, and ENIR-Platt as in the authors' program."
    )
    heads = [head for name in heads for head in (name, f"{name} (paper)")]
    return Table("Table 1", ["method", *heads], rows, digits=4, note=note)


def _correction_table(found: Findings) -> Table:
    rows: list[list[Any]] = []
    for method in PAIRS:
        for loss, words in LOSSES.items():
            shares = [Share.of([found.improved(method, loss, n)]) for n in SIZES]
            whole = Share.of([found.improved(method, loss, n) for n in SIZES])
            single = Share.of([_single_folds(found, method, loss, n) for n in SIZES])
            rows.append([method, words, *map(str, shares), str(whole), str(single)])
    heads = ["method", "loss", *(f"{n} rows" for n in SIZES), "all", "single folds"]
    note = (
        f"Pairs of which Platt's correction lowers the loss, after averaging over "
        f"{found.n_folds('iso')} folds, ± the standard error from the spread between sets. The "
        "last column counts single folds instead: averaging matters, because one wrong forecast of "
        "0 or 1 in any fold decides the mean."
    )
    return Table("What Platt's correction improves", heads, rows, note=note)


def _single_folds(found: Findings, method: str, loss: str, n: int) -> Any:
    table = found.folds(loss, n)[[method, f"{method}-platt"]].dropna()
    return table[f"{method}-platt"] < table[method]


def _table_2(found: Findings) -> list[Table]:
    rows: list[list[Any]] = []
    for loss, words in LOSSES.items():
        for reading in OWN:
            shares = [Share.of([found.won(loss, n, reading=reading)]) for n in SIZES]
            kept = found.won_unflagged(loss, reading=reading).values()
            shares += [Share.of([won]) for won in kept if len(won)]
            cells = [*map(str, shares), *[""] * (5 - len(shares))]
            rows.append([words, reading, *cells])
        printed = [f"{TABLE_2[loss][c]}%" for c in ("100", "1000", "3000", "3000 LH", "3000 LH")]
        rows.append([words, "printed", *printed])
    flagged = found.flagged()
    by_pair = flagged.groupby(level=["set", "model"]).mean()
    note = (
        "Pairs where Bayes-Iso is better than both Iso-Platt and ENIR-Platt, the latter in three "
        f"readings; {found.n_folds('bayes-iso')} folds. 3000 LH leaves out cases in which one "
        f"sampled map outweighs all others together: {flagged.mean():.0%} of fits here (the paper: "
        f"{FLAGGED}% of cases). Read as pairs, those flagged in at least half of their folds "
        f"({(by_pair >= 0.5).mean():.0%}) are left out; read as folds, flagged folds are."
    )
    heads = ["loss", "ENIR-Platt", *map(str, SIZES), "3000 LH, pairs", "3000 LH, folds"]
    return [Table("Table 2", heads, rows, note=note), _table_2_beside(found)]


def _table_2_beside(found: Findings) -> Table:
    rows: list[list[Any]] = []
    few = found.on_folds_of("bayes-iso-text")
    n_folds = few.n_folds("bayes-iso-text")
    for loss, words in LOSSES.items():
        for method in ("bayes-iso", "bayes-iso-text", "chains"):
            shares = [Share.of([few.won(loss, n, method)]) for n in SIZES]
            rows.append([words, method, *map(str, shares)])
    note = (
        f"The same with other samplers of the same prior, all on {n_folds} fold"
        f"{'s' if n_folds > 1 else ''}: within the program's limits, the text's, and none."
    )
    return Table("Table 2 with other samplers", ["loss", "method", *map(str, SIZES)], rows,
                 note=note)  # fmt: skip


def _ranks(found: Findings) -> Table:
    names = [*COMPARED, "chains"]
    rows: list[list[Any]] = []
    for loss, words in LOSSES.items():
        for n in SIZES:
            ranks = found.panel(loss, n, names).rank(axis=1).mean()
            rows.append([f"{words}, {n}", *(float(ranks[name]) for name in names)])
    note = (
        f"Average ranks over pairs, with the library's chains as a sixth method, on "
        f"{found.n_folds('chains')} of the folds. Beta without correction for the Brier score and "
        "with it for log-loss."
    )
    return Table("Ranks with chains", ["loss, size", *names], rows, digits=2, note=note)


def _limits(found: Findings) -> Table:
    """Compare each kind of limits with the printed figures, to find which explains them."""
    methods = ("bayes-iso", "bayes-iso-text")
    paper = table_1()
    rows: list[list[Any]] = []
    for n in (100, 3000):
        for loss, words in LOSSES.items():
            head = f"{SHORT[loss]}, {n}"
            printed = float(paper.loc["bayes-iso", head] - paper.loc["ideal", head])
            gaps = [found.gap(loss, n, "ideal", method) for method in methods]
            away = [(printed - gap.mean) / (gap.error * math.sqrt(gap.n / TEN)) for gap in gaps]
            cells = [f"{gap} ({z:+.1f})" for gap, z in zip(gaps, away, strict=True)]
            near = [READINGS[i] for i, z in enumerate(away) if abs(z) <= CHANCE]
            rows.append([f"synthetic, {n}: {words} above the ideal", *cells, f"{printed:+.4f}",
                         " or ".join(near) or "neither"])  # fmt: skip
    heaviest = found.rows.groupby(["method", "n"])["heaviest"].mean()
    for n in SIZES:
        cells = [f"{heaviest[m, n]:.2f}" for m in methods]
        rows.append([f"synthetic, {n}: weight of the heaviest map", *cells, "", ""])
    if found.real is not None:
        for n in SIZES:
            shares = [float(found.flagged(n, method).mean()) for method in methods]
            cells = [f"{share:.0%}" for share in shares]
            nearer = READINGS[int(abs(shares[1] - FLAGGED / 100) < abs(shares[0] - FLAGGED / 100))]
            last = [f"{FLAGGED}%", f"{nearer} (nearer)"] if n == SIZES[-1] else ["", ""]
            rows.append([f"real sets, {n}: fits with one dominant map", *cells, *last])
    note = (
        "Bayes-Iso within the program's limits and within the text's, compared with the "
        "paper's figures. In brackets: the distance from the printed figure in standard errors "
        "of a mean of ten samples. Limits with a distance of at most 1.96 explain it."
    )
    return Table("Two kinds of limits", ["", *methods, "paper", "explained by"], rows, note=note)
