"""Groups in ``evaluate``, ``report`` and Python: the exact test, its correction, one answer."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from oracle import oracles, samples
from oracle.figures import Near, Such, chance
from trueodds import ScoreTable, metrics

LEVEL, ALPHA = 0.9, 0.05
SOURCE = "groups"


def regions():
    """Eight groups of 30 to 400 rows with distinct scores; the last is overconfident."""
    rng = np.random.default_rng(21)
    sizes = [30, 45, 60, 90, 130, 190, 270, 400]
    group = np.repeat([f"r{i}" for i in range(8)], sizes)
    z = rng.normal(-0.5, 1.4, len(group))
    truth = samples.sigmoid(np.where(group == "r7", 0.5 * z, z))
    return samples.Sample("regions", samples.sigmoid(z), samples.drawn(rng, truth), group=group)


def tables():
    """Regions given as counts of whole percents."""
    rng = np.random.default_rng(22)
    base = regions()
    keep = rng.random(len(base.p)) < 0.4
    p, group = np.round(base.p[keep], 2).clip(0.01, 0.99), base.group[keep]
    w = rng.integers(1, 5, keep.sum()).astype(float)
    return samples.Sample("regions-counts", p, base.y[keep], w, group)


SAMPLES = {one.name: one for one in (samples.small_groups(), regions(), tables())}


@functools.cache
def expected(name):
    """Value → figures of each group."""
    one = SAMPLES[name]
    y, p, w = one.rows
    values = sorted(set(one.group))
    parts = [one.group == value for value in values]
    tests = [oracles.exact_test(y[part], p[part], w[part]) for part in parts]
    p_values = np.array([test["p_value"] for test in tests])
    # With bins nobody looks for the least p-value: such a group is large enough.
    least = np.array([test["least"] if test["bins"] is None else 0.0 for test in tests])
    adjusted = oracles.tarone_holm(p_values, least, ALPHA)
    found = {}
    for value, part, test, corrected in zip(values, parts, tests, adjusted, strict=True):
        low, high = oracles.wilson(y[part], w[part], LEVEL)
        predicted, observed = oracles.mean(p[part], w[part]), oracles.mean(y[part], w[part])
        found[value] = {
            "rows": w[part].sum(),
            "predicted": predicted,
            "observed": observed,
            "observed_low": low,
            "observed_high": high,
            "p_value": chance(test["p_value"]),
            "p_adjusted": chance(corrected),
            "too_small": corrected is None,
            "flagged": corrected is not None and corrected <= ALPHA,
        }
    return found


def losses(one, value):
    part = one.group == value
    return oracles.metrics(one.y[part], one.p[part], one.weight[part])


def joint(one):
    """Value → gap and ratio with intervals for all groups that are not too small."""
    times = np.ones(len(one.y), dtype=int) if one.w is None else one.w.astype(int)
    y, p, group = (np.repeat(column, times) for column in (one.y, one.p, one.group))
    n_joint = sum(not found["too_small"] for found in expected(one.name).values())
    return oracles.group_gaps(y, p, group, LEVEL, n_joint)


def sides(one, value, found, rel):
    """What the whole of a group must be, and what its worst range must satisfy."""
    own = joint(one)[value]
    odds = [v / (1 - v) if v < 1 else np.inf for v in (own["low"], own["predicted"], own["high"])]
    least = max(1.0, odds[0] / odds[1], odds[1] / odds[2] if odds[2] else np.inf)
    shown = {key: own[key] for key in ("gap", "gap_low", "gap_high", "gap_at_least")}
    whole = {k: own[k] for k in ("predicted", "observed", "low", "high")}
    whole |= {k: own[k] for k in ("ratio", "ratio_low", "ratio_high")}
    whole |= {"between": None, "level": LEVEL, "odds_at_least": least}
    assert found["worst"]["odds_at_least"] >= found["whole"]["odds_at_least"] * (1 - rel)
    there = found["worst"]["between"]
    if there is None:
        worst = whole
    else:
        part = (one.group == value) & (one.p >= there[0] - rel)
        part &= (one.p < there[1] + rel) | (there[1] == 1)
        assert part.any()
        worst = {key: Such(lambda _: True, "of a range") for key in whole}
        worst |= {"between": [Such(lambda v: 0 <= v <= 1, "an end")] * 2, "level": LEVEL}
    return {k: Near(v, 2e-6) for k, v in shown.items()} | {"whole": whole, "worst": worst}


def numbers_of(plain):
    """The same dict without texts and None."""
    return {
        key: numbers_of(value) if isinstance(value, dict) else value
        for key, value in plain.items()
        if value is not None and not isinstance(value, str)
    }


def worst(one, found):
    """The worst segment and the worst group, of the rows written out."""
    times = np.ones(len(one.y), dtype=int) if one.w is None else one.w.astype(int)
    y, p, group = (np.repeat(column, times) for column in (one.y, one.p, one.group))
    largest_deviation, scale, every = oracles.multicalibration(y, p, {"g": list(group)})
    name = max(every, key=lambda name: every[name]["deviations"])
    names = found["multicalibration"]["worst"]["values"]
    assert names == {} if not name else names["g"] in (name[0][1], "(other)")
    # Chance of a larger maximum, from labels drawn anew.
    rng, masks, beyond = np.random.default_rng(0), oracles.segments({"g": list(group)}), 0
    for _ in range(100):
        drawn = (rng.random(len(p)) < p).astype(int)
        ranges = [
            oracles.cumulative_range(drawn[m], p[m], np.ones(m.sum())) for m in masks.values()
        ]
        beyond += max(size / spread for size, spread, _ in ranges) >= largest_deviation
    gaps = {v: g for v, g in joint(one).items() if g["rows"] >= 30}
    largest = max(gaps, key=lambda v: abs(gaps[v]["gap"]))
    entries = {group["value"]: group for group in found["groups"]}
    shown = found["worst_group"]
    assert shown["worst"].items() <= found["groups"][0].items()
    assert shown["largest"].items() <= entries[largest].items()
    return {
        "multicalibration": {
            "error": largest_deviation * scale,
            "deviations": largest_deviation,
            "p_value": Such(lambda v: abs(v - beyond / 100) <= 0.15, "the share of samples"),
            "n_segments": len(every),
            "worst": every[name] | {"too_high": Such(lambda v: v in (0, 1), "a truth value")},
        },
        "worst_group": {
            "error": abs(gaps[largest]["gap"]),
            "low": max(gap["gap_at_least"] for gap in gaps.values()),
            "high": max(max(-gap["gap_low"], gap["gap_high"]) for gap in gaps.values()),
            "worst": numbers_of(shown["worst"]),  # as in the table, whose figures are compared
            "largest": numbers_of(shown["largest"]),
            "left_out": len(set(group)) - len(gaps),
            "level": LEVEL,
        },
    }


@pytest.mark.parametrize("name", SAMPLES)
def test_evaluate(name, figures, command, folder):
    one = SAMPLES[name]
    words = ["--group", "g", "--max-groups", 100]
    found = command("evaluate", one.write(folder), *one.options(), *words)["groups"]
    wanted = expected(name)
    groups = [
        wanted[group["value"]]
        | losses(one, group["value"])
        | sides(one, group["value"], group, 1e-6)
        for group in found["groups"]
    ]
    document = {"significance": ALPHA, "left_out": 0, "groups": groups} | worst(one, found)
    figures.document(f"evaluate --group ({name})", found, document, rel=1e-6)
    assert len(groups) == len(wanted)


@pytest.mark.parametrize("name", SAMPLES)
def test_python(name, figures):
    one = SAMPLES[name]
    counts = {} if one.w is None else {"counts": one.w}
    found = metrics.group_test(one.y, one.p, one.group, **counts)
    wanted = expected(name)
    shown = {
        group.value: {key: getattr(group, key) for key in wanted[group.value]} for group in found
    }
    figures.compare(f"{SOURCE}: Python", shown, wanted, rel=1e-6)


@pytest.mark.parametrize("name", SAMPLES)
def test_python_of_tables(name, figures):
    one = SAMPLES[name]
    given = []
    for value in sorted(set(one.group)):
        part = one.group == value
        table = ScoreTable.from_arrays(
            one.p[part], one.y[part], counts=one.weight[part], pos_label=1
        )
        rows = int(one.weight[part].sum())
        given.append(metrics.GroupCounts("g", value, rows, table))
    found = metrics.evaluate_groups(given)["groups"]
    wanted = expected(name)
    shown = {group["value"]: {key: group[key] for key in wanted[group["value"]]} for group in found}
    figures.compare(f"{SOURCE}: Python", shown, wanted, rel=1e-6)


def test_with_importance_weights_a_row_is_one_observation(figures, command, folder):
    """Rows of weight 0 do not count, and a group that has no others is none."""
    plain, rng = regions(), np.random.default_rng(23)
    w = rng.choice([0.0, 0.5, 1.0, 4.0], len(plain.p)) * (plain.group != "r0")
    one = replace(plain, name="regions-weights", w=w)
    words = ["evaluate", one.write(folder), *one.options(), "--group", "g"]
    by_command = {group["value"]: group for group in command(*words)["groups"]["groups"]}
    in_python = {
        group.value: group.to_dict()
        for group in metrics.group_test(one.y, one.p, one.group, sample_weight=w)
    }
    wanted = {}
    for value in (f"r{k}" for k in range(1, 8)):
        part = (one.group == value) & (w > 0)
        y, p, own = one.y[part], one.p[part], w[part]
        low, high = oracles.wilson(y, own * own.sum() / np.sum(own**2), LEVEL)
        wanted[value] = {
            "rows": part.sum(),
            "predicted": oracles.mean(p, own),
            "observed": oracles.mean(y, own),
            "observed_low": low,
            "observed_high": high,
        }
    for found in (by_command, in_python):
        shown = {value: {key: group[key] for key in wanted["r1"]} for value, group in found.items()}
        figures.compare(f"{SOURCE}: weights", shown, wanted, rel=1e-6)
    p_values = [
        {value: [group["p_value"], group["p_adjusted"]] for value, group in found.items()}
        for found in (by_command, in_python)
    ]
    figures.compare(f"{SOURCE}: weights", *p_values, rel=1e-6)


@pytest.mark.parametrize("name", ["groups", "regions"])
def test_report(name, figures, command, folder):
    one = SAMPLES[name]
    words = ["--group", "g", "-m", "identity", "-m", "temperature", "-o", folder / f"{name}.html"]
    found = command("report", one.write(folder), *one.options(), *words)["report"]["groups"]
    wanted = expected(name)
    for group in found["worst"]:
        before = group["before"]
        figures.document(
            f"report --group ({name})",
            before,
            wanted[group["value"]] | sides(one, group["value"], before, 2e-5),
            rel=2e-5,
        )
    flagged = [value for value, group in wanted.items() if group["flagged"]]
    small = [value for value, group in wanted.items() if group["too_small"]]
    figures.compare(
        f"report --group ({name})",
        [found["tested"], found["too_small"], found["significant_before"]],
        [len(wanted) - len(small), len(small), len(flagged)],
    )
    shown = {group["value"] for group in found["worst"] if group["before"]["flagged"]}
    assert shown == set(flagged)


def test_a_group_that_is_off_is_found_and_no_other():
    """What the oracle flags is what was distorted."""
    assert [v for v, g in expected("groups").items() if g["flagged"]] == ["off"]
    assert [v for v, g in expected("regions").items() if g["flagged"]] == ["r7"]
    assert any(group["too_small"] for group in expected("groups").values())
