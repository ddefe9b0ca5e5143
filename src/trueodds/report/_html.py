"""The page: a template filled with the numbers, and a script that draws them.

Names from the data are hostile until shown otherwise. They enter the page in three ways, each
made safe in one place: as text (jinja2 escapes all of it), as JSON (where ``<``, ``>`` and ``&``
are written as escapes, so that no tag can end the script element), and by the page's script,
which only ever sets text. The page's own policy then forbids every script, style and request
that is not in the file from the start.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

from trueodds.basics.optional import require
from trueodds.basics.wording import p_cell, p_text, probability_text, share_percent_text
from trueodds.report._digits import fixed, places_of, places_of_values, significant
from trueodds.report._marks import gain_axis, gain_marks, group_marks
from trueodds.report._plain import show_method
from trueodds.report._sureness import SURENESS_BOX, sureness_lines

__all__ = ["embedded_json", "render"]

IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.js)";\n', re.MULTILINE)


@cache
def _asset(name: str) -> str:
    return (resources.files("trueodds.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """All modules in one closed scope, each after those that it imports."""
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        text = _asset(name)
        for other in IMPORT.findall(text):
            if other not in texts:
                add(other)
        texts[name] = re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.MULTILINE)

    add("page.js")
    return "(() => {\n'use strict';\n" + "\n".join(texts.values()) + "})();\n"


def _policy(style: str, script: str) -> str:
    """A Content-Security-Policy that lets these two texts run and nothing else."""

    def hashed(text: str) -> str:
        digest = hashlib.sha256(text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"

    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def embedded_json(content: Any) -> str:
    """JSON that stays inert inside a script element, whatever its strings hold."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _environment() -> Any:
    jinja2 = require("jinja2", "a report", "trueodds[report]")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_asset),
    )
    environment.filters.update(
        digits=fixed,
        places=places_of,
        places_of_values=places_of_values,
        significant=significant,
        percent=share_percent_text,
        p_value=p_text,
        p_cell=p_cell,
        probability=probability_text,
        count=lambda v: f"{v:,}",
        method=show_method,
        signed=lambda v, places=3: ("+" if (v or 0) > 0 else "") + fixed(v, places),
        date=_date,
    )
    return environment


def _date(moment: str) -> str:
    """A date as people write it, of an ISO time."""
    day = datetime.fromisoformat(moment)
    return f"{day.day} {day:%B %Y}"


def render(content: dict[str, Any]) -> str:
    """The page as text."""
    environment = _environment()
    from markupsafe import Markup  # comes with jinja2

    style, script = _asset("report.css"), _script()
    return str(
        environment.get_template("report.html.j2").render(
            report=content,
            policy=_policy(style, script),
            # The three texts that are not escaped: two are ours, the third is made safe above.
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            data=Markup(embedded_json(content)),  # noqa: S704
            methods_shown=_sorted(content["methods"]),
            gain_axis=gain_axis(content["methods"]),
            sureness_lines=sureness_lines(content.get("sureness")),
            sureness_box=SURENESS_BOX,
            group_marks=group_marks(content["groups"]["worst"]),
        )
    )


def _sorted(methods: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
    """The baseline, then the others by their log-loss, each with its mark; infinite losses last."""
    pairs = list(zip(methods, gain_marks(methods), strict=True))
    others = sorted(pairs[1:], key=lambda pair: (pair[0]["log_loss"] is None, pair[0]["log_loss"]))
    return [*pairs[:1], *others]
