"""The page of the charcoal grill study: summary and tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from trueodds_studies._report import Claim, ReportContent, Table
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.grill.claims import binary_claims, network_claims, synthetic_claims
from trueodds_studies.papers.grill.figures import (
    figure_9,
    functions_figure,
    reliability_figure,
    samples_figure,
)
from trueodds_studies.papers.grill.judge import Readings, count, wide
from trueodds_studies.papers.grill.numbers import (
    CLIP,
    CLIPS,
    MEASURES,
    PAPER_TASKS,
    PLACED,
    paper_table,
)

__all__ = ["judge", "report"]

SUBSTITUTES = {
    "stocknet-movement": (
        "Stocknet's scores are not public; a neural network (64 hidden units, 40 epochs) on "
        "prices and tweet counts, 656 rows to fit and 1008 to test as in the paper"
    ),
    "creditcard-casecontrol": (
        "all 492 frauds and 22,857 of the 284,315 legitimate rows, each with a weight of 12.44"
    ),
    "nn-mnist-mlp": "another network on MNIST",
    "nn-cifar100-densenet-bc100": "DenseNet-BC-100 on CIFAR-100",
    "nn-cifar10-vgg16": "VGG-16 on CIFAR-10 instead of SVHN",
    "nn-cifar10-wideresnet16-4": "WideResNet-16-4 on CIFAR-10 instead of SVHN",
}
STOCKS, FRAUD = "stocknet-movement", "creditcard-casecontrol"
SAME_IN_ALL = ["original", "isotonic"]
"""Methods that do not depend on the level of a probability of 0."""


class _Rows(NamedTuple):
    """The results, grouped as they are judged."""

    synthetic: Readings
    table_1: Readings
    real: dict[str, Readings]
    clips: dict[str, Any]


def _rows(frame: Any) -> _Rows:
    synthetic = _by_solver(pick_rows(frame, part="synthetic"))
    table_1 = Readings(*(pick_rows(of, temperature=5.0) for of in synthetic))
    there = [name for name in PAPER_TASKS if "set" in frame and name in set(frame["set"])]
    real = {name: _real_readings(name, pick_rows(frame, set=name)) for name in there}
    clips = {}
    if FRAUD in real:
        clips = {level: _clipped(pick_rows(frame, set=FRAUD), level) for level in CLIPS}
    return _Rows(synthetic, table_1, real, clips)


def judge(results: Results) -> list[Claim]:
    """Judge the paper's claims on the available sets."""
    synthetic, _, real, clips = _rows(results.frame)
    return [
        *synthetic_claims(
            synthetic,
            pick_rows(results.frame, part="starts"),
            pick_rows(results.frame, part="population"),
            pick_rows(results.frame, part="descent"),
        ),
        *binary_claims(
            real.get(STOCKS), real.get(FRAUD), clips, pick_rows(results.frame, part="forest")
        ),
        *network_claims({name: of for name, of in real.items() if name.startswith("nn-")}),
        _speed(results.frame),
    ]


def report(results: Results) -> ReportContent:
    """Claims, tables and figures."""
    frame = results.frame
    synthetic, table_1, real, clips = _rows(frame)
    return ReportContent(
        summary=_summary(frame, table_1, real),
        claims=judge(results),
        items=[
            "## Figures 1 to 8: one sample",
            _ONE_SAMPLE,
            reliability_figure(pick_rows(frame, part="figures")),
            functions_figure(pick_rows(frame, part="figures")),
            "## Table 1: synthetic scores",
            samples_figure(table_1),
            *(_table_1(table_1, measure) for measure in MEASURES),
            "## Figure 9: how bad the scores are",
            figure_9(synthetic),
            *(_figure_9_table(synthetic, measure) for measure in MEASURES),
            "## Tables 2 and 3: real scores",
            *(_real_table(name, of) for name, of in real.items()),
            *_clip_items(clips, real.get(FRAUD)),
        ],
    )


_ONE_SAMPLE = (
    "The paper draws one sample, and so do these two pictures: our first one, which was not chosen "
    "among others. Coals have a bias, as in the paper's figures."
)


def _by_solver(frame: Any) -> Readings:
    return Readings(*(pick_rows(frame, solver=["none", of]) for of in ("paper", "joint")))


def _real_readings(name: str, frame: Any) -> Readings:
    """The paper's solver with a clip of zeros; ours with zeros placed by maximum likelihood."""
    if name != FRAUD:
        return _by_solver(frame)
    return Readings(_clipped(frame, CLIP), _by_solver(pick_rows(frame, zeros=PLACED)).ours)


def _clipped(frame: Any, level: str) -> Any:
    """Rows with the paper's solver and zeros at a level."""
    rows = frame[(frame["zeros"] == level) | frame["method"].isin(SAME_IN_ALL)]
    return pick_rows(rows, solver=["none", "paper"])


def _speed(frame: Any) -> Claim:
    """Judge the CPU time of every fit of coals with the paper's solver."""
    rows = pick_rows(frame, solver="paper")
    fits = rows["within_a_minute"].dropna().astype(bool)
    return Claim(
        "Each model took less than a minute to fit on all data sets.",
        "section 4.2",
        bool(fits.all()),
        f"{int(fits.sum())} of {len(fits)} fits with the paper's solver took less than a minute of "
        "CPU; it stops after 200 rounds here (50 with several classes). "
        "`benchmarks/speed/charcoal_speed.py` measures our solver",
        None if fits.all() else "solver",
    )


def _summary(frame: Any, table_1: Readings, real: dict[str, Readings]) -> str:
    fits = pick_rows(frame, part="synthetic", solver="paper")
    stopped = float(fits["stopped"].astype(bool).mean())
    text = (
        f"Synthetic scores: samples of 1000, {count(table_1.paper)} at each temperature (the "
        "paper: one), measured on 100,000 evenly spread points with known probabilities. The "
        "paper has a million labeled points, whose noise moves an ECE by about ±0.05. ECE has "
        "ten bins of equal width and is in %; with several classes all pairs of a row and a "
        "class are pooled."
        "\n\n**Two solvers.** Every claim is judged by the paper's own optimization "
        "(`trueodds_studies.papers.grill.PaperGrill`: one quasi-Newton step for each group of "
        "parameters in turn, λ × 10 while the map is decreasing). This library's solver "
        'is shown as "our solver" and decides no verdict. With several '
        "classes the paper's coals lie among the raw logits, ours among log-probabilities. "
        "Details that the paper leaves open (the order of the groups, the first disturbance of "
        "the temperatures, bounds of the means) are in "
        "`trueodds.calibrators._charcoal_grill.paper`. "
        "One thing differs. The paper iterates until a round lowers the loss by no more than "
        "10⁻⁸. Here a fit also ends after 200 rounds for each λ (50 with several classes), as "
        f"{stopped:.0%} of the synthetic fits did. Means start on an even grid over [−6, 6]; "
        "random starts are judged separately."
        "\n\n**One draw.** The paper shows one sample and one split. We have many, so a "
        "printed cell is compared with all of them; Table 1 shows how many lie below it. A "
        "method is "
        "*lower* than another if the mean of the paired differences is more than two standard "
        "errors below 0. *Inconclusive*: it agrees with the paper by less; the number of "
        "samples or splits that would show it in 80% of studies is given. Splits of one set "
        "are not "
        "independent, so their standard errors are too small."
    )
    text += _SUBSTITUTES_AND_REASONS
    if real:
        n = count(next(iter(real.values())).paper)
        listed = "".join(f"\n- `{name}`: {SUBSTITUTES[name]}." for name in real)
        text += (
            "\n\n**Real scores** (`TRUEODDS_DATA` names the folder of data): splits or seeds, "
            f"{n} of each set (the paper: one). These sets replace the paper's:\n{listed}"
        )
    missing = [name for name in PAPER_TASKS if name not in real]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        text += f"\n\nNot in this run, because not available or not in the profile: {names}."
    return text


_SUBSTITUTES_AND_REASONS = (
    "\n\n**What the paper leaves open, and what was tried.** A random forest gives most "
    "legitimate payments a probability of exactly 0, which has no log-odds. With the paper's "
    "solver zeros are "
    f"clipped at {CLIP}, and other levels are shown; with ours they are placed by maximum "
    "likelihood. Multiclass isotonic regression is fitted to each class's logit separately, as "
    "in section 7, and the results are divided by their sum (`isotonic`). `isotonic-odds`, the "
    "method of this library, is fitted to the log-odds of a class against all others. Only the "
    "MNIST network's own logits are available; of the others we have logarithms of "
    "probabilities, for which the two are the same. Both readings were found after the first "
    "results had failed to show what the paper prints. The claim about figure 9 was split at T "
    "= 3 after looking at where isotonic regression leads here."
    "\n\nReasons: *data*, other or too few data; *solver*, it depends on how the components "
    "are fitted; *criterion*, our rule for verbal claims; *protocol*, not run as in the "
    "paper; *refuted*, "
    "the opposite is significant."
)


def _mean_and_spread(values: Any, digits: int = 2) -> str:
    text = f"{values.mean():.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {values.std():.{digits}f}"


def _table_1(table: Readings, measure: str) -> Table:
    """One line for each method: the printed cell among our samples."""
    printed = paper_table("synthetic", "T = 5")[measure]
    theirs, ours = (wide(of, measure) for of in table)
    loss = [wide(of, "log_loss") for of in table]
    rows: list[list[Any]] = []
    for name in printed.index:
        cell, values = printed[name], theirs[name]
        line = [
            name,
            f"{cell:.2f}",
            _mean_and_spread(values),
            f"{values.min():.2f} to {values.max():.2f}",
            f"{int((values < cell).sum())} of {len(values)}",
            f"{loss[0][name].mean():.4f}",
        ]
        own = [_mean_and_spread(ours[name]), f"{loss[1][name].mean():.4f}"]
        rows.append([*line, *(own if name.startswith("CGS") else ["", ""])])
    heads = [
        "method",
        "printed",
        "mean ± deviation",
        "range",
        "below the printed cell",
        "log-loss",
        "our solver",
        "log-loss, our solver",
    ]
    note = (
        f"{count(table.paper)} samples; components with the paper's solver, unless marked as ours."
    )
    return Table(f"Table 1: {MEASURES[measure]}", heads, rows, note=note)


def _figure_9_table(synthetic: Readings, measure: str) -> Table:
    temperatures = list(synthetic.paper["temperature"].drop_duplicates())
    theirs, ours = (
        {t: wide(pick_rows(of, temperature=t), measure).mean() for t in temperatures}
        for of in synthetic
    )
    names = synthetic.paper["method"].drop_duplicates()
    shown = [name for name in names if not name.endswith("nobias")]
    rows: list[list[Any]] = [
        [name, *(float(theirs[t][name]) for t in temperatures)] for name in shown
    ]
    rows += [
        [f"{name}, our solver", *(float(ours[t][name]) for t in temperatures)]
        for name in shown
        if name.startswith("CGS")
    ]
    heads = ["method", *(f"T = {t:g}" for t in temperatures)]
    note = "Means; coals with the paper's solver, below them with ours."
    return Table(f"Figure 9: {MEASURES[measure]}", heads, rows, digits=2, note=note)


def _real_table(name: str, readings: Readings) -> Table:
    task = PAPER_TASKS[name]
    part = "networks" if name.startswith("nn-") else "binary"
    printed = paper_table(part, task)
    rows: list[list[Any]] = []
    tables = {m: [wide(of, m) for of in readings] for m in (*MEASURES, "log_loss")}
    methods = list(printed.index)
    if part == "networks":
        methods.insert(1 + methods.index("isotonic"), "isotonic-odds")
    for method in methods:
        line: list[Any] = [method]
        own = method.startswith("CGS") or (name == FRAUD and method not in SAME_IN_ALL)
        for measure in MEASURES:
            theirs, ours = tables[measure]
            digits = 3 if theirs.mean().min() < 0.5 else 2
            cell = f"{printed.loc[method, measure]:g}" if method in printed.index else ""
            line += [cell, _mean_and_spread(theirs[method], digits)]
            line += [_mean_and_spread(ours[method], digits) if own else ""]
        theirs, ours = tables["log_loss"]
        line += [f"{theirs[method].mean():.4f}", f"{ours[method].mean():.4f}" if own else ""]
        rows.append(line)
    words = [f"{word}{end}" for word in MEASURES.values() for end in (": printed", "", ", ours")]
    note = (
        f"Compared with the paper's {task}; {SUBSTITUTES[name]}. Mean ± standard deviation of "
        f"{count(readings.paper)}. Coals with the paper's solver"
        + (f" and zeros clipped at {CLIP}" if name == FRAUD else "")
        + "; *ours*: with our solver"
        + (" and zeros placed by maximum likelihood." if name == FRAUD else ".")
    )
    return Table(f"`{name}`", ["method", *words, "log-loss", "log-loss, ours"], rows, note=note)


def _clip_items(clips: dict[str, Any], fraud: Readings | None) -> list[str | Table]:
    """Show how the level of zeros determines the effect of scaling."""
    if fraud is None:
        return []
    printed = paper_table("binary", "fraud")
    rows: list[list[Any]] = []
    for name in ("original", "temperature", "platt"):
        for measure, words in MEASURES.items():
            digits = 3 if measure == "weighted" else 1
            frames = [*clips.values(), fraud.ours]
            values = [f"{wide(of, measure)[name].mean():.{digits}f}" for of in frames]
            rows.append([name, words, f"{printed.loc[name, measure]:g}", *values])
    heads = ["method", "measure", "printed", *(f"at {level}" for level in clips), "placed"]
    note = (
        "Means, by the level at which probabilities of 0 are clipped (the paper does not give its "
        "own), or with zeros placed by maximum likelihood. The lower the level, the more a "
        "fraud with a score of 0 costs, and the further a single temperature pulls every score "
        "towards 0.5. So temperature scaling harms more at lower levels. In the paper's Table "
        "2 the row of one component *with* bias has the figures of temperature scaling, which "
        "is one component without."
    )
    return [
        "## What becomes of probabilities of 0",
        Table("Fraud: scaling, by the level of zeros", heads, rows, note=note),
    ]
