"""Verdicts of the calibration trees study: each claim, and what our results say to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.compare import SignTest, corrected_resampled_t_test, sign_test
from trueodds_studies._optional import need
from trueodds_studies._papers._trees_numbers import METHODS, MODELS, SETS, SIGN_TESTS, paper_table
from trueodds_studies._report import Claim
from trueodds_studies._study import Results, pick_rows

__all__ = [
    "ALPHA",
    "NAMES",
    "RIVALS",
    "SUBSTITUTES",
    "TABLE_OF",
    "Compared",
    "all_claims",
    "artificial",
    "wdl",
]

RIVALS = METHODS[1:]
RIVAL_NAMES = {"PS": "Platt scaling", "IR": "isotonic regression"}
NAMES = {
    "naive-bayes": "naive Bayes",
    "stumps": "boosted stumps",
    "boosted-trees": "boosted trees",
    "svm": "SVMs",
}
TABLE_OF = dict(zip(MODELS, ("Table 2", "Table 3", "Table 4", "Table 5"), strict=True))
ALPHA = 0.01
CLOSE = 0.02
N_FOLDS = 10
SUBSTITUTES = {
    "bankruptcy": "`bankruptcy` is the fifth year's file (5910 rows; the paper's third has 10,503)",
    "cylinder-bands": "`cylinder-bands` has 540 rows (the paper prints 512) and no identifiers",
    "hand-postures": "`hand-postures` is a part (11,022 of 78,095 rows, 3 of 5 classes)",
    "led24": "`led24` is generated anew",
    "news-popularity": "`news-popularity` is a part (14,828 of 39,644 rows)",
}


def all_claims(results: Results, found: dict[str, Compared]) -> list[Claim]:
    """Claims of the whole paper, in its order but for the verdicts of Table 6 first."""
    return [
        *_sign_claims(found),
        *_table_claims(found),
        *_average_claims(found),
        _draws(found),
        *_reliability_claims(results),
        _artificial_claim(results),
    ]


class Compared:
    """One base learner: RMSE of sets × methods, and which differences are significant."""

    def __init__(self, results: Results, model: str) -> None:
        pandas = need("pandas")
        lines = pick_rows(results.frame, part="cv", model=model)
        self.model = model
        counts = sorted(set(lines.groupby("set")["fold"].nunique()), reverse=True)
        self.n_folds = " or ".join(map(str, counts))
        self.n_repeats = int(lines["repeat"].nunique())
        self.rmse = results.table("rmse", rows="set", columns="method", part="cv", model=model)
        folds = lines.pivot_table(
            index=["set", "repeat", "fold"], columns="method", values="rmse", sort=False
        )
        self.marks = pandas.DataFrame(0, index=self.rmse.index, columns=list(RIVALS))
        for name in self.rmse.index:
            for rival in RIVALS:
                both = folds.loc[name]
                test = corrected_resampled_t_test(
                    both["PCT"], both[rival], n_train=N_FOLDS - 1, n_test=1
                )
                if test.p_value < ALPHA:
                    self.marks.loc[name, rival] = int(-np.sign(test.difference))
        self.paper, self.paper_marks = (frame.loc[self.rmse.index] for frame in paper_table(model))
        used = lines.groupby("set", sort=False)["rows"].first()
        self.whole = [n for n in used.index if used[n] == SETS[n].rows and n not in SUBSTITUTES]
        self.leaves = lines[lines["method"] == "PCT"].groupby("set")["n_leaves"]

    def signs(self, rival: str, marks: Any = None) -> SignTest:
        """The sign test of significant wins and losses, as in Table 6."""
        column = (self.marks if marks is None else marks)[rival]
        return sign_test(-column, np.zeros(len(column)), draws="drop")


def wdl(test: SignTest) -> str:
    """Wins, draws and losses as text."""
    return f"{test.wins}-{test.draws}-{test.losses}"


def _sign_claims(found: dict[str, Compared]) -> list[Claim]:
    claims = []
    for rival in RIVALS:
        for model in MODELS:
            wins, draws, losses, p = SIGN_TESTS[model, rival]
            level = 0.05 if p > 0.01 else 0.01
            text = (
                f"With {NAMES[model]} PCT has significantly more wins than losses against "
                f"{RIVAL_NAMES[rival]} (sign test, p < {level})."
            )
            if model not in found:
                claims.append(Claim(text, "Table 6", None, "not run in this profile"))
                continue
            one = found[model]
            ours = one.signs(rival)
            means = sign_test(one.rmse["PCT"], one.rmse[rival])
            printed = one.signs(rival, one.paper_marks)
            # So few sets that the paper's own circles on them would not do: no test of the claim.
            possible = printed.p_value < level
            verdict = ours.wins > ours.losses and ours.p_value < level
            too_few = f", p = {printed.p_value:.2g}, so they are too few for this claim"
            claims.append(
                Claim(
                    text,
                    "Table 6",
                    verdict if possible or verdict else None,
                    f"significant wins, draws, losses {wdl(ours)}, p = {ours.p_value:.2g}; paper "
                    f"{wins}-{draws}-{losses}, on our {len(one.rmse)} sets {wdl(printed)}"
                    f"{'' if possible else too_few}; by "
                    f"means alone {wdl(means)}, p = {means.p_value:.2g}",
                )
            )
    return claims


def _lost(one: Compared, rivals: tuple[str, ...]) -> list[str]:
    return [
        f"{rival} on {name} ({one.rmse.loc[name, 'PCT']:.3f} against "
        f"{one.rmse.loc[name, rival]:.3f})"
        for rival in rivals
        for name in one.marks.index[one.marks[rival] < 0]
    ]


def _table_claims(found: dict[str, Compared]) -> list[Claim]:
    claims = []
    for model in MODELS:
        rivals = ("PS",) if model == "naive-bayes" else RIVALS
        words = " or ".join(RIVAL_NAMES[rival] for rival in rivals)
        text = f"With {NAMES[model]} PCT is never significantly worse than {words}."
        if model not in found:
            claims.append(Claim(text, TABLE_OF[model], None, "not run in this profile"))
            continue
        one = found[model]
        lost = _lost(one, rivals)
        claims.append(
            Claim(text, TABLE_OF[model], not lost, "; ".join(lost) or f"{len(one.rmse)} sets")
        )
    bayes = found["naive-bayes"]
    lost = _lost(bayes, ("IR",))
    printed = list(bayes.paper_marks.index[bayes.paper_marks["IR"] < 0])
    shown = ", ".join(
        f"{name}: PCT {bayes.rmse.loc[name, 'PCT']:.3f}, IR {bayes.rmse.loc[name, 'IR']:.3f}"
        for name in printed
    )
    claims.append(
        Claim(
            "With naive Bayes isotonic regression is superior on three sets (led24, optdigits, "
            "yeast).",
            "Table 2",
            all(bayes.rmse.loc[n, "IR"] < bayes.rmse.loc[n, "PCT"] for n in printed)
            if printed
            else None,
            f"judged by the sign of the difference; {shown or 'none of the three was run'}; "
            f"significant here: {'; '.join(lost) or 'none'}",
        )
    )
    for model, one in found.items():
        gaps = (one.rmse[list(METHODS)] - one.paper).abs()
        close = gaps <= CLOSE
        whole = close.loc[one.whole]
        far = gaps.stack().sort_values(ascending=False)[:4]
        largest = ", ".join(f"{name} {method} {gap:.3f}" for (name, method), gap in far.items())
        same = [
            (one.rmse.loc[name, "PCT"] < one.rmse.loc[name, rival]) == (sign > 0)
            for rival in RIVALS
            for name, sign in one.paper_marks[rival].items()
            if sign
        ]
        claims.append(
            Claim(
                f"{TABLE_OF[model]} cell by cell: within {CLOSE} on at least 75 % of the cells.",
                TABLE_OF[model],
                bool(close.to_numpy().mean() >= 0.75),
                f"{int(close.to_numpy().sum())} of {close.size}, of the sets with all the paper's "
                f"rows {int(whole.to_numpy().sum())} of {whole.size}; largest gaps: {largest}. Of "
                f"{len(same)} differences that the paper calls significant {sum(same)} have the "
                "same sign here",
            )
        )
    return claims


def _average_claims(found: dict[str, Compared]) -> list[Claim]:
    means = {model: one.rmse.mean() for model, one in found.items()}
    listed = "; ".join(
        f"{NAMES[model]} {' / '.join(f'{mean[m]:.4f}' for m in METHODS)}"
        for model, mean in means.items()
    )
    gain = {
        model: float((1 - one.rmse["PCT"] / one.rmse[list(RIVALS)].min(axis=1)).median())
        for model, one in found.items()
    }
    others = [gain[model] for model in gain if model != "naive-bayes"]
    shown = ", ".join(f"{NAMES[model]} {value:+.1%}" for model, value in gain.items())
    return [
        Claim(
            "PCT has a lower RMSE on average than both other methods, with every base learner.",
            "abstract, section 6",
            all(mean["PCT"] < min(mean[rival] for rival in RIVALS) for mean in means.values()),
            f"means over sets, PCT / PS / IR: {listed}",
        ),
        Claim(
            "PCT gains most with naive Bayes.",
            "section 5.1.2",
            gain["naive-bayes"] > max(others) if others else None,
            f"median reduction of RMSE against the better of PS and IR: {shown}",
        ),
    ]


def _draws(found: dict[str, Compared]) -> Claim:
    gaps: list[float] = []
    single: list[float] = []
    for one in found.values():
        for name in one.marks.index[one.marks["PS"] == 0]:
            gaps.append(abs(one.rmse.loc[name, "PCT"] - one.rmse.loc[name, "PS"]))
            single.append(float((one.leaves.get_group(name) == 1).mean()))
    median, share = (float(np.median(gaps)), float(np.mean(single))) if gaps else (0.0, 0.0)
    return Claim(
        "Draws with Platt scaling have almost identical RMSE: the tree was pruned to its root.",
        "section 5.1.2",
        (median < 0.005 and share > 0.5) if gaps else None,
        f"{len(gaps)} draws: median difference {median:.4f}, {share:.0%} of their trees have one "
        "leaf; judged: below 0.005, and more than half",
    )


def _distance(results: Results) -> Any:
    """Mean over bins, by weight, of |predicted − observed|: sets × methods."""
    lines = pick_rows(results.frame, part="reliability")
    lines = lines.assign(gap=(lines["predicted"] - lines["observed"]).abs() * lines["weight"])
    sums = lines.groupby(["set", "method"], sort=False)[["gap", "weight"]].sum()
    return (sums["gap"] / sums["weight"]).unstack("method")


def _reliability_claims(results: Results) -> list[Claim]:
    distance = _distance(results)
    shown = "; ".join(
        f"{name} {' / '.join(f'{line[m]:.3f}' for m in ('base', *METHODS))}"
        for name, line in distance.iterrows()
    )
    words = "mean distance from the diagonal, naive Bayes / PCT / PS / IR: " + shown
    calibrated = distance[list(METHODS)]
    return [
        Claim(
            "The probabilities of naive Bayes are poorly calibrated, and each method improves "
            "them.",
            "section 5.2, figure 5",
            bool((calibrated.max(axis=1) < distance["base"]).all()),
            words,
        ),
        Claim(
            "Platt scaling keeps features of the original curve; PCT follows the diagonal more "
            "closely.",
            "section 5.2, figure 5",
            bool((distance["PCT"] < distance["PS"]).all()),
            f"closer on {int((distance['PCT'] < distance['PS']).sum())} of {len(distance)} sets",
        ),
        Claim(
            "Isotonic regression is jagged about the diagonal; PCT is smooth and follows it "
            "closely.",
            "section 5.2, figure 5",
            bool((distance["PCT"] < distance["IR"]).all()),
            f"closer than IR on {int((distance['PCT'] < distance['IR']).sum())} of "
            f"{len(distance)} sets, by the distance alone; smoothness is for the eye",
        ),
    ]


def artificial(results: Results) -> Any:
    """RMSE of the artificial example: replicates × methods."""
    return results.table("rmse", rows="replicate", columns="method", part="artificial")


def _artificial_claim(results: Results) -> Claim:
    table = artificial(results)
    flat = (table[list(RIVALS)].sub(table["base"], axis=0)).abs().to_numpy().max()
    means = ", ".join(f"{method} {value:.4f}" for method, value in table.mean().items())
    return Claim(
        "Of a constant prediction global methods make nothing better; PCT becomes a decision tree.",
        "section 4.3",
        bool(flat < 1e-3 and (table["PCT"] < table["base"]).all()),
        f"RMSE, means of {len(table)}: {means}",
    )
