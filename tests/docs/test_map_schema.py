"""docs/map-schema.json and docs/map-format.md describe saved maps as they are read."""

import copy
import json
import subprocess
import sys
from dataclasses import fields

import jsonschema
import numpy as np
import pytest
from project_pages import DOCS, ROOT

import trueodds
from trueodds import maps
from trueodds.exceptions import MapFormatError

SCHEMA = json.loads((DOCS / "map-schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
BEYOND_A_SCHEMA = (
    "strictly increasing|one longer|of one length|shape|for each row of means|distinct labels"
    "|rows of one length|lower must not exceed upper|needs a = b|one entry per|one per node"
    "|one per feature|one entry for each"
    "|pre-order|children|attributes must exist|beyond the nodes|position of a category|sorted"
    "|one scale and one number|must sum to 1|sum must be 1|equally many classes|one for each map"
    "|score alone|center and unit must be lists|an output of the map|which is not there"
    "|null for others|shift must have|variances and covariances|base must have"
    "|mixing·prior|of the band must be|lowest and the highest"
)
"""What only the loader can refuse: relations between numbers, and between lists."""

SAME, HALF = maps.LogOddsMap(a=1.0, b=1.0, c=0.0), maps.LogOddsMap(a=0.5, b=0.5, c=0.1)
STRUCTURED = maps.StructuredSoftmaxMap(
    tau=0.5, floor=1e-9, mixing=0.01, prior=[0.6, 0.4], bias=[0.1, 0.0], on_logs=np.eye(2),
    on_probabilities=np.ones((2, 2)), shared=[0.1, 0.0, 0.0, 0.2],
)  # fmt: skip
MAPS = [
    maps.IdentityMap(classes=("a", "b", "c")),
    maps.LogOddsMap(a=0.4, b=0.6, c=0.1, upper=36.0, classes=("no", "yes")),
    maps.LogOddsMap(a=0.4, b=0.4, c=0.1, axis="raw", scale="raw"),
    maps.CharcoalGrillMap(means=[-3.0, 3.0], temperatures=[1.0, 5.0], widths=[1.0, 1.0]),
    maps.QuadraticMap(a=0.1, b=0.6, c=0.1, lower=-5.0, upper=36.0),
    maps.StepMap(edges=[-1.0, 2.5], values=[0.0, 0.5, 1.0], scale="raw"),
    maps.StepMap(edges=[], values=[0.5]),
    maps.LogOddsCurveMap(x=[-2.0, 0.1, 3.0], y=[-1.0, 0.2, 9.0]),
    maps.PiecewiseLinearMap(x=[-np.inf, 0.0, np.inf], y=[0.0, 0.5, 1.0], scale="logit"),
    maps.SoftmaxMap(weights=[1.0, 2.0, 0.3], bias=[0.0, 0.1, -1.0], floor=-3.5, classes=(0, 1, 2)),
    maps.SoftmaxMap(weights=np.eye(2), bias=[0.0, 0.1]),
    maps.CharcoalSoftmaxMap(
        means=[[0.0, -3.0, -3.0]], temperatures=[2.0], widths=[1.0], bias=[0.0, 0.0, 0.1]
    ),
    STRUCTURED,
    maps.StructuredSoftmaxMap(
        tau=0.5,
        floor=1e-9,
        mixing=0.01,
        prior=[0.5, 0.3, 0.2],
        bias=[0.1, 0.0, 0.2],
        on_logs=[0.1, 0.2, 0.3],
        on_probabilities=[],
        shared=[0.1, 0.0, 0.0, 0.2],
    ),
    SAME.with_band(SAME, HALF, level=0.9),
    maps.AverageMap(maps=(STRUCTURED, maps.IdentityMap(), SAME), weights=[0.25, 0.25, 0.5]),
    maps.OneVsRestMap(maps=(SAME, maps.IdentityMap())),
    maps.GroupMap(
        base=SAME,
        center=[0.1],
        unit=[1.2],
        names=("age", "town"),
        categories=(None, ("A", "B", "C")),
        terms=(
            maps.GroupTerm(0, (), (), [0.2], [0.1], [[0.01], [0.0], [0.02]]),
            maps.GroupTerm(
                0, (1, -1), (None, [0.5]), np.ones(10), [], np.ones((1, 10)), np.ones((2, 10))
            ),
        ),
    ),
    maps.TreeMap(
        maps=(SAME, HALF, SAME, HALF),
        parent=[-1, 0, 0, 0],
        attribute=[1, -1, -1, -1],
        cut=[0.0, 0.0, 0.0, 0.0],
        weight=[90.0, 50.0, 20.0, 20.0],
        names=("age", "town"),
        categories=(None, ("A", "B", "C")),
        fill=[35.0, 1.0],
    ),
    maps.IdentityMap().with_metadata(
        {
            "method": "auto",
            "options": {"cv": 5, "rule": None},
            "chosen": "identity",
            "reason": "it was right already",
            "created": "2026-01-31T12:00:00Z",
            "software": "trueodds 0.1.0",
            "file": "scores.csv",
            "columns": {"score": ["p"], "label": "y"},
            "rows": 100,
            "positives": 30,
            "class_rows": [70, 30],
            "effective_rows": 120.5,
            "score_range": ["-inf", 3.5],
            "data": f"sha256:{'0a' * 32}",
            "losses": {
                "log_loss": {"before": 0.5, "after": "inf"},
                "brier_score": {"before": 0.2, "after": 0.1},
                "folds": 5,
                "rows": 100,
                "formula": {
                    "method": "temperature",
                    "verdict": "does as well here",
                    "difference": -0.01,
                    "standard_error": 0.02,
                },
            },
            "observed_expected": {
                "before": {"estimate": 1.2, "low": 0.9, "high": "inf"},
                "after": {"estimate": 1.0, "low": 0.8, "high": 1.25},
                "level": 0.9,
            },
            "parent": f"sha256:{'f1' * 32}",
            "notes": {"by hand": [1, None, True, "x"]},
        }
    ),
]


def test_the_schema_is_up_to_date():
    program = ROOT / "tools" / "write_map_schema.py"
    result = subprocess.run([sys.executable, str(program), "--check"], check=False)
    assert result.returncode == 0, "run: python tools/write_map_schema.py"


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_family_has_an_example_here():
    assert {example.family for example in MAPS} == set(maps.CalibrationMap._families)


def test_the_example_with_metadata_has_every_key_of_it():
    from trueodds.maps._metadata import METADATA_KEYS

    text = (DOCS / "map-format.md").read_text(encoding="utf-8")
    assert MAPS[-1].metadata.keys() == METADATA_KEYS.keys()
    assert [key for key in METADATA_KEYS if f"| `{key}` |" not in text] == []


def test_every_family_and_field_is_on_the_page():
    text = (DOCS / "map-format.md").read_text(encoding="utf-8")
    for family, kind in maps.CalibrationMap._families.items():
        names = {family, *(f.name for f in fields(kind))}
        assert {name for name in names if f"`{name}`" not in text} == set()


@pytest.mark.parametrize("example", MAPS, ids=lambda m: m.family)
def test_a_saved_map_agrees_with_the_schema(example):
    VALIDATOR.validate(example.to_dict())


@pytest.mark.parametrize("method", sorted(trueodds.all_calibrators()))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_every_calibrator_saves_agrees_with_the_schema(method, n_classes):
    kind = trueodds.all_calibrators()[method]
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(n_classes), 60)
    y = (scores.cumsum(axis=1) > rng.random((60, 1))).argmax(axis=1)
    calibrator = kind(trueodds.BetaCalibrator()) if method == "one_vs_rest" else kind()
    options = {"features": rng.random((60, 2))} if calibrator.needs_features else {}
    VALIDATOR.validate(calibrator.fit(scores, y, **options).map_.to_dict())


WRONG = [None, True, "x", "inf", [], [None], ["x"], [[1.0]], {}, -2, 0, 1.5, 10**400]


def mutations(document):
    """The document with one thing changed: a key less or more, a wrong value, an item less."""
    if isinstance(document, dict):
        yield {**document, "surplus": 1}
        for key, value in document.items():
            yield {name: item for name, item in document.items() if name != key}
            for other in [*WRONG, *mutations(value)]:
                yield {**document, key: other}
    elif isinstance(document, list):
        yield document[1:]
        yield [*document, *document[-1:]]
        for i, value in enumerate(document):
            for other in [*WRONG, *mutations(value)]:
                yield [*document[:i], other, *document[i + 1 :]]


def refusal(document) -> str | None:
    try:
        maps.CalibrationMap.from_dict(copy.deepcopy(document))
    except MapFormatError as error:
        return str(error)
    return None


@pytest.mark.parametrize("example", MAPS, ids=lambda m: m.family)
def test_loader_and_schema_refuse_the_same(example):
    counts = {True: 0, False: 0}
    for document in mutations(example.to_dict()):
        message, fine = refusal(document), VALIDATOR.is_valid(document)
        counts[fine] += 1
        if message is None:
            assert fine, f"the schema refuses what is read: {document}"
        elif fine:
            assert any(word in message for word in BEYOND_A_SCHEMA.split("|")), (
                f"the schema lets pass what is refused ({message}): {document}"
            )
    assert counts[False] > 30
    assert counts[True] > 0
