"""JavaScript gives what NumPy gives, under node."""

import json
import os
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from support.map_examples import examples, small_tree
from trueodds.exceptions import InputError
from trueodds.maps import LogOddsMap, StepMap, TreeMap

NODE = shutil.which("node")

RUN = """
import { readFileSync } from "node:fs";
const revive = (x) => Array.isArray(x) ? x.map(revive)
  : x === "inf" ? Infinity : x === "-inf" ? -Infinity : x === "nan" ? NaN : x;
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const { file, rows, features } of cases) {
  const { calibrate } = await import(file);
  const answers = revive(rows).map((row, k) => calibrate(row, features && features[k]));
  console.log(JSON.stringify(answers, (_, x) => Number.isNaN(x) ? "nan" : x));
}
"""


def plain(rows: np.ndarray) -> list:
    texts = {np.inf: "inf", -np.inf: "-inf"}
    if rows.ndim == 2:
        return [plain(row) for row in rows]
    return [texts.get(x, "nan" if x != x else x) for x in rows.tolist()]


needs_node = pytest.mark.skipif(
    NODE is None and "TRUEODDS_REQUIRE_ALL" not in os.environ, reason="node is not installed"
)


@pytest.mark.slow
@needs_node
def test_every_family_gives_what_numpy_gives(tmp_path):
    """10⁴ scores of the first map of each family, and the special ones of all others."""
    cases, expected = [], []
    for k, example in enumerate(examples()):
        m = example.map
        if example.n_scores != m._n_scores:
            continue
        (tmp_path / f"map{k}.mjs").write_text(m.to_javascript(), encoding="ascii")
        rows = slice(0, 10_000 if example.is_first else 700)
        features = None
        if m.features:
            records = example.features.iloc[rows].astype(object)
            records = records.where(records.notna(), None).to_dict("records")
            # JSON has no infinities
            features = [{n: (1e308 if v == np.inf else -1e308 if v == -np.inf else v)
                         for n, v in r.items()} for r in records]  # fmt: skip
        cases.append(
            {"file": f"./map{k}.mjs", "rows": plain(example.scores[rows]), "features": features}
        )
        expected.append((example.name, example.expected[rows]))
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "run.mjs").write_text(RUN)
    answer = subprocess.run(
        [NODE, "run.mjs", "cases.json"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = answer.stdout.splitlines()
    assert len(lines) == len(expected) > 50
    for line, (name, values) in zip(lines, expected, strict=True):
        found = np.array(json.loads(line), dtype=float)
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-12, err_msg=name)


WRONG = """
import { calibrate } from "./wrong.mjs";
const wrong = [" ", "\\n", "", "\\u00a0", [], [0.3], ["0.3"], {}, false, true, new Date(0),
  new Date(1), 0n, 1n, "0x1", "0b1", "0o1", "1n", "abc", "0.3x", "1e", ".", "e5", null, undefined,
  Symbol("a"), () => 0.3, new Number(0.3), new String("0.3"), NaN, "NaN"];
const right = [0.3, "0.3", " 0.3 ", ".3", "3e-1", "3.E-1", "+0.3", 1, "1", 0, "0", -0, "-0.0"];
const found = right.map((value) => calibrate(value));
console.log(JSON.stringify([wrong.map((value) => Number.isNaN(calibrate(value))), found]));
"""


@needs_node
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_only_numbers_and_decimal_texts_are_scores(scale, tmp_path):
    m = LogOddsMap(a=0.7, b=1.3, c=0.2, scale=scale)
    (tmp_path / "wrong.mjs").write_text(m.to_javascript(), encoding="ascii")
    (tmp_path / "run.mjs").write_text(WRONG)
    ran = subprocess.run(
        [NODE, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    wrong, right = json.loads(ran.stdout)
    assert wrong == [True] * 31
    np.testing.assert_allclose(right, m([0.3] * 7 + [1.0] * 2 + [0.0] * 4), rtol=0, atol=1e-15)


@needs_node
def test_a_boolean_attribute_is_the_number_of_the_fit(tmp_path):
    tree = TreeMap(
        maps=tuple(LogOddsMap(a=a, b=a, c=0.0, scale="raw") for a in (1.0, 0.5, 2.0)),
        parent=[-1, 0, 0], attribute=[0, -1, -1], cut=np.zeros(3), weight=np.ones(3),
        names=("member",), categories=((0.0, 1.0),), fill=[0.0],
    )  # fmt: skip
    (tmp_path / "tree.mjs").write_text(tree.to_javascript(), encoding="ascii")
    (tmp_path / "run.mjs").write_text(
        'import { calibrate } from "./tree.mjs";\n'
        "console.log(JSON.stringify([false, true, 0, 1, null].map((member) => "
        "calibrate(0.3, { member }))));"
    )
    ran = subprocess.run(
        [NODE, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    members = np.array([[0.0], [1.0], [0.0], [1.0], [np.nan]])
    expected = tree(np.full(5, 0.3), features=members)
    np.testing.assert_allclose(json.loads(ran.stdout), expected, rtol=0, atol=1e-15)


@needs_node
def test_an_attribute_that_is_null_undefined_or_absent_is_missing(tmp_path):
    tree = small_tree()
    (tmp_path / "tree.mjs").write_text(tree.to_javascript(), encoding="ascii")
    (tmp_path / "run.mjs").write_text(
        'import { calibrate } from "./tree.mjs";\n'
        'const colors = [{ color: "blue" }, { color: null }, { color: undefined }, {}];\n'
        "console.log(JSON.stringify(colors.map((color) => "
        "calibrate(0.3, { age: 50, ...color }))));"
    )
    ran = subprocess.run(
        [NODE, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    features = pd.DataFrame({"age": [50.0] * 4, "color": ["blue", None, None, None]})
    expected = tree(np.full(4, 0.3), features=features)
    np.testing.assert_allclose(json.loads(ran.stdout), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["", "1a", "a b", "return", "Math", "a;alert(1)", "ä"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(InputError, match="a free name that JavaScript accepts"):
        StepMap(edges=[], values=[0.4]).to_javascript(name)
