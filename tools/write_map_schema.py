"""Write docs/map-schema.json: what a saved map must look like, as JSON Schema (draft 2020-12).

Usage: python tools/write_map_schema.py [--check]

A schema can say which keys there are, of what type and in what range; it cannot say that a list
increases or that two lists have one length. ``trueodds.load`` checks all of it.
"""

import json
import math
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from trueodds.inputs import InputScale
from trueodds.maps import CalibrationMap
from trueodds.maps._base import SHARED, BinaryMap
from trueodds.maps._binary import LARGEST_LOG_ODDS
from trueodds.maps._classes import LARGEST_COEFFICIENT as COEFFICIENT_LIMIT, LEAST_SHARE
from trueodds.maps._group import LARGEST_EFFECT
from trueodds.maps._json import FORMAT, VERSION
from trueodds.maps._metadata import FINGERPRINT, LONGEST_TEXT, LOSSES, METADATA_KEYS, TIME
from trueodds.numerics.structured_softmax.base import LEAST_FLOOR
from trueodds.numerics.structured_softmax.model import N_SHARED

TARGET = Path(__file__).resolve().parents[1] / "docs" / "map-schema.json"
LARGEST = sys.float_info.max
SCALES = get_args(InputScale)
Schema = dict[str, Any]


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def a_list(items: Schema, *, least: int = 0, unique: bool = False) -> Schema:
    return {
        "type": "array",
        "items": items,
        **({"minItems": least} if least else {}),
        **({"uniqueItems": True} if unique else {}),
    }


def an_object(properties: Schema, *, optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def when(key: str, value: str, then: Schema) -> Schema:
    return {"if": {"properties": {key: {"const": value}}}, "then": then}


NUMBER, POSITIVE, PROBABILITY = ref("number"), ref("positive"), ref("probability")
LOWER, UPPER = {"anyOf": [NUMBER, {"const": "-inf"}]}, {"anyOf": [NUMBER, {"const": "inf"}]}
INFINITE_ENDS: dict[Any, Schema] = {-math.inf: LOWER, math.inf: UPPER}
INCREASING = a_list({"anyOf": [NUMBER, {"enum": ["-inf", "inf"]}]}, unique=True)
INDICES = a_list({"type": "integer", "minimum": -1, "maximum": 2**53}, least=1)
NOT_POSITIVE = {**NUMBER, "maximum": 0}
COEFFICIENT = {**NUMBER, "minimum": -COEFFICIENT_LIMIT, "maximum": COEFFICIENT_LIMIT}
BINARY = sorted(
    name for name, kind in CalibrationMap._families.items() if issubclass(kind, BinaryMap)
)
NAMES = {"anyOf": [{"type": "null"}, a_list({"type": "string"}, least=1, unique=True)]}
CATEGORIES = a_list(
    {
        "anyOf": [
            {"type": "null"},
            a_list({"anyOf": [{"type": "string"}, NUMBER]}, unique=True),
        ]
    },
    least=1,
)
WITHOUT_FEATURES = {
    "allOf": [
        ref("map"),
        {"properties": {"family": {"not": {"enum": ["group", "tree"]}}, "band": False}},
    ]
}
EFFECT = {**NUMBER, "minimum": -LARGEST_EFFECT, "maximum": LARGEST_EFFECT}
TERM = an_object(
    {
        "output": {"type": "integer", "minimum": 0},
        "features": a_list({"type": "integer", "minimum": -1}),
        "cuts": a_list({"anyOf": [{"type": "null"}, a_list(NUMBER, unique=True)]}),
        "shift": a_list(EFFECT, least=1),
        "slope": a_list(EFFECT),
        "spread": {**a_list(a_list(EFFECT, least=1), least=1), "maxItems": 3},
        "interval": {**a_list(a_list(EFFECT, least=1), least=2), "maxItems": 5},
    },
    optional=("interval",),
)
STRICTER: dict[str, Schema] = {
    "charcoal_grill": {
        "temperatures": a_list(POSITIVE, least=1),
        "widths": a_list(POSITIVE, least=1),
    },
    "step": {"edges": INCREASING, "values": a_list(PROBABILITY, least=1)},
    "piecewise_linear": {
        "x": {**INCREASING, "minItems": 1},
        "y": a_list(PROBABILITY, least=1),
    },
    "log_odds_curve": {
        "x": a_list(NUMBER, least=1, unique=True),
        "y": a_list({**NUMBER, "minimum": -LARGEST_LOG_ODDS, "maximum": LARGEST_LOG_ODDS}, least=1),
    },
    "softmax": {
        "weights": {"anyOf": [a_list(NUMBER, least=2), a_list(a_list(NUMBER, least=2), least=2)]},
        "bias": a_list(NUMBER, least=2),
        "floor": {"anyOf": [NOT_POSITIVE, {"const": "-inf"}]},
    },
    "charcoal_softmax": {
        "means": a_list(a_list(NUMBER, least=2), least=1),
        "temperatures": a_list(POSITIVE, least=1),
        "widths": a_list(POSITIVE, least=1),
        "bias": a_list(NUMBER, least=2),
        "floor": NOT_POSITIVE,
    },
    "structured_softmax": {
        "tau": {**NUMBER, "minimum": 0, "maximum": 1e6},
        "floor": {**NUMBER, "minimum": LEAST_FLOOR, "maximum": 1},
        "mixing": {**NUMBER, "minimum": LEAST_SHARE, "maximum": 1 - 2**-53},
        "prior": a_list(PROBABILITY, least=2),
        "bias": a_list(COEFFICIENT, least=2),
        "on_logs": {
            "anyOf": [a_list(COEFFICIENT, least=2), a_list(a_list(COEFFICIENT, least=2), least=2)]
        },
        "on_probabilities": {
            "anyOf": [{"const": []}, a_list(a_list(COEFFICIENT, least=2), least=2)]
        },
        "shared": {**a_list(COEFFICIENT, least=N_SHARED), "maxItems": N_SHARED},
        "unit": {**NUMBER, "minimum": 1e-300, "maximum": 1e300},
    },
    "one_vs_rest": {"maps": a_list(ref("map"), least=2)},
    "average": {"maps": a_list(ref("map"), least=1), "weights": a_list(PROBABILITY, least=1)},
    "group": {
        "base": WITHOUT_FEATURES,
        "unit": a_list({**NUMBER, "exclusiveMinimum": 1e-6}, least=1),
        "names": NAMES,
        "categories": CATEGORIES,
        "terms": a_list(TERM),
    },
    "tree": {
        "maps": a_list(ref("map"), least=1),
        "parent": {**INDICES, "prefixItems": [{"const": -1}]},
        "attribute": INDICES,
        "weight": a_list({**NUMBER, "minimum": 0}, least=1),
        "names": NAMES,
        "categories": CATEGORIES,
    },
}
"""What a field must be beyond its type, which :func:`parameters_of` knows."""


def parameters_of(name: str, kind: type[CalibrationMap]) -> Schema:
    """The fields of a family: numbers, choices and lists of numbers by their types."""
    hints, stricter = get_type_hints(kind), STRICTER.get(name, {})
    own = [f for f in fields(kind) if f.name not in SHARED]
    if unknown := stricter.keys() - {f.name for f in own}:
        raise SystemExit(f"{name} has no fields {', '.join(sorted(unknown))}; see {__file__}")
    result = {}
    for f in own:
        if get_origin(hints[f.name]) is Literal:
            result[f.name] = {"enum": list(get_args(hints[f.name]))}
        elif hints[f.name] is float:
            result[f.name] = INFINITE_ENDS.get(f.default, NUMBER)
        else:
            result[f.name] = a_list(NUMBER, least=1)
    return result | stricter


PARAMETERS = {name: parameters_of(name, kind) for name, kind in CalibrationMap._families.items()}


TEXT, COUNT, PLAIN_OBJECT = ref("text"), ref("count"), ref("plain_object")
A_FINGERPRINT = {"type": "string", "pattern": f"^{FINGERPRINT}$"}
LOSS = {"anyOf": [{**NUMBER, "minimum": 0}, {"const": "inf"}]}
LOSS_PAIR = an_object(
    {"before": LOSS, "after": LOSS, "one_map": LOSS}, optional=("before", "one_map")
)
FORMULA = an_object(
    {"method": TEXT, "verdict": TEXT, "difference": NUMBER, "standard_error": NUMBER}
)
END = {"anyOf": [NUMBER, {"enum": ["inf", "nan"]}]}
RATIO = an_object({"estimate": END, "low": END, "high": END})
METADATA: dict[str, Schema] = {
    "method": TEXT,
    "options": PLAIN_OBJECT,
    "chosen": TEXT,
    "reason": TEXT,
    "created": {"type": "string", "pattern": f"^{TIME}$"},
    "software": TEXT,
    "file": TEXT,
    "columns": PLAIN_OBJECT,
    "rows": COUNT,
    "positives": COUNT,
    "class_rows": a_list(COUNT),
    "effective_rows": {**NUMBER, "minimum": 0},
    "score_range": {
        **a_list({"anyOf": [NUMBER, {"enum": ["-inf", "inf"]}]}, least=2),
        "maxItems": 2,
    },
    "data": A_FINGERPRINT,
    "losses": an_object(
        {**dict.fromkeys(LOSSES, LOSS_PAIR), "folds": COUNT, "rows": COUNT, "formula": FORMULA},
        optional=(*LOSSES, "folds", "rows", "formula"),
    ),
    "observed_expected": an_object(
        {"before": RATIO, "after": RATIO, "level": NUMBER}, optional=("before", "after", "level")
    ),
    "parent": A_FINGERPRINT,
    "notes": ref("plain"),
}
PLAIN_VALUES: dict[str, Schema] = {
    "text": {"type": "string", "maxLength": LONGEST_TEXT},
    "count": {"type": "integer", "minimum": 0, "maximum": 2**53},
    "plain": {
        "anyOf": [{"type": ["null", "boolean"]}, NUMBER, TEXT, a_list(ref("plain")), PLAIN_OBJECT]
    },
    "plain_object": {
        "type": "object",
        "propertyNames": TEXT,
        "additionalProperties": ref("plain"),
    },
}


def inner_maps(condition: Schema) -> Schema:
    """A condition on every map inside a map."""
    return {
        "properties": {"parameters": {"properties": {"maps": {"items": {"properties": condition}}}}}
    }


def of_scale(scale: str) -> Schema:
    return inner_maps({"scale": {"const": scale}})


def family_rules() -> list[Schema]:
    rules = [when("family", name, {"properties": {"parameters": ref(name)}}) for name in PARAMETERS]
    two_labels = {"properties": {"classes": {"minItems": 2, "maxItems": 2}}}
    rules += [when("family", name, two_labels) for name in BINARY]
    one_scale = {"allOf": [when("scale", scale, of_scale(scale)) for scale in SCALES]}
    or_margins = {
        "allOf": [
            when("scale", scale, {"anyOf": [of_scale(scale), of_scale("raw")]}) for scale in SCALES
        ]
    }
    holds = inner_maps({"family": {"enum": [*BINARY, "identity"]}})
    no_features = inner_maps({"family": {"not": {"enum": ["group", "tree"]}}})
    plain = inner_maps({"family": {"not": {"enum": ["average", "group", "tree"]}}})
    rules.append(when("family", "one_vs_rest", {"allOf": [holds, one_scale]}))
    rules.append(when("family", "average", {"allOf": [plain, one_scale]}))
    rules.append(when("family", "tree", {"allOf": [no_features, or_margins]}))
    return rules


def schema() -> Schema:
    """The whole schema; fails if a key of metadata is not in it."""
    if METADATA.keys() != METADATA_KEYS.keys():
        raise SystemExit(f"describe all of {', '.join(METADATA_KEYS)} in {__file__}")
    labels = a_list({"type": ["string", "number", "boolean"]}, unique=True)
    header = an_object(
        {
            "format": {"const": FORMAT},
            "version": {"type": "integer", "minimum": 1, "maximum": VERSION},
            "family": {"enum": list(PARAMETERS)},
            "scale": {"enum": list(SCALES)},
            "classes": {**labels, "type": ["array", "null"]},
            "parameters": {"type": "object"},
            "metadata": {"anyOf": [{"type": "null"}, ref("metadata")]},
        },
        optional=("metadata",),
    )
    header["properties"]["band"] = ref("band")
    curve = {
        "allOf": [ref("map"), {"properties": {"family": {"enum": BINARY}, "band": False}}],
    }
    band = an_object(
        {
            "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "lower": a_list(curve, least=1),
            "upper": a_list(curve, least=1),
        }
    )
    first = {
        "if": {"properties": {"version": {"const": 1}}},
        "then": {"properties": {"metadata": False, "band": False}},
    }
    metadata = an_object(METADATA, optional=tuple(METADATA))
    numbers = {
        "number": {"type": "number", "minimum": -LARGEST, "maximum": LARGEST},
        "positive": {**NUMBER, "exclusiveMinimum": 0},
        "probability": {"type": "number", "minimum": 0, "maximum": 1},
    }
    families = {name: an_object(parameters) for name, parameters in PARAMETERS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A calibration map saved by trueodds, versions 1 to {VERSION}",
        **ref("map"),
        "$defs": {
            "map": {**header, "allOf": [*family_rules(), first]},
            "band": band,
            **numbers,
            **families,
            "metadata": metadata,
            **PLAIN_VALUES,
        },
    }


def main(arguments: list[str]) -> int:
    text = json.dumps(schema(), indent=1) + "\n"
    if arguments == ["--check"]:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
