"""The page: a template with the numbers, and a script that draws them.

Names from the data are treated as hostile. They enter the page in three ways, each made safe in
one place. As text: jinja2 escapes all of it. As JSON: ``<``, ``>`` and ``&`` are written as
escapes, so that no tag can end the script element. By the page's script: it only sets text. The
page's Content-Security-Policy forbids every other script, style and request.
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

from trueodds.basics.imports import require
from trueodds.basics.shown import printable
from trueodds.basics.wording import (
    fixed,
    p_cell,
    p_text,
    places_of,
    places_of_values,
    probability_text,
    share_percent_text,
    significant,
)
from trueodds.report._plain import show_method
from trueodds.report._svg import (
    UNCERTAINTY_BOX,
    gain_axis,
    gain_marks,
    group_marks,
    uncertainty_lines,
)

__all__ = ["asset", "embedded_json", "policy", "render", "templates"]

IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.js)";\n', re.MULTILINE)


@cache
def asset(name: str) -> str:
    """Return the text of an asset."""
    return (resources.files("trueodds.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """Return all modules in one closed scope, each after its imports."""
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        text = asset(name)
        for other in IMPORT.findall(text):
            if other not in texts:
                add(other)
        texts[name] = re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.MULTILINE)

    add("page.js")
    return "(() => {\n'use strict';\n" + "\n".join(texts.values()) + "})();\n"


def policy(style: str, script: str = "") -> str:
    """Return a Content-Security-Policy that allows these two texts and nothing else."""

    def hashed(text: str) -> str:
        digest = hashlib.sha256(text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"

    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def embedded_json(content: Any) -> str:
    """Return JSON that is inert inside a script element."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def templates() -> Any:
    """Return the template environment, which escapes everything from the data."""
    jinja2 = require("jinja2", "a report", "trueodds[report]")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(asset),
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
    """Format the date of an ISO time, such as 18 November 2026."""
    day = datetime.fromisoformat(moment)
    return f"{day.day} {day:%B %Y}"


def render(content: dict[str, Any]) -> str:
    """Return the page as text."""
    environment = templates()
    from markupsafe import Markup  # comes with jinja2

    style, code = asset("report.css"), script()
    return printable(
        environment.get_template("report.html.j2").render(
            report=content,
            policy=policy(style, code),
            # Three texts are not escaped: two are our assets, the third is made safe above.
            style=Markup(style),  # noqa: S704
            script=Markup(code),  # noqa: S704
            data=Markup(embedded_json(content)),  # noqa: S704
            methods_shown=_sorted(content["methods"]),
            gain_axis=gain_axis(content["methods"]),
            uncertainty_lines=uncertainty_lines(content.get("uncertainty")),
            uncertainty_box=UNCERTAINTY_BOX,
            group_marks=group_marks(content["groups"]["worst"]),
        )
    )


def _sorted(methods: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
    """Return the baseline, then the others by log-loss, each with its mark."""
    pairs = list(zip(methods, gain_marks(methods), strict=True))
    others = sorted(pairs[1:], key=lambda pair: (pair[0]["log_loss"] is None, pair[0]["log_loss"]))
    return [*pairs[:1], *others]
