"""Report phrases that the house style replaces, and sentences that are too long.

Usage: python tools/check_prose.py [PATH ...]

Without a path it checks everything that a user reads: pages, docstrings, messages and help texts in
Python files, and the report's templates. It skips code, quotations and references to papers.
The phrases are in tools/prose.toml, each with its replacement and an example.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STYLE = tomllib.loads((ROOT / "tools" / "prose.toml").read_text("utf-8"))

FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,}|\$\$)[^\n]*\n.*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
FORMULA = re.compile(r"\$[^$\n]+\$")
LINK_TARGET = re.compile(r"\]\([^)\s]*(?:\s+\"[^\"]*\")?\)")
QUOTATION = re.compile(r'"[^"]{1,400}"|“[^”]{1,400}”', re.DOTALL)
TAG = re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>", re.DOTALL)
SECTION = re.compile(r"^[ \t]*[-=]{3,}[ \t]*$")
TABLE_RULE = re.compile(r"\s*={3,}(?:\s+={3,})+\s*$")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)*_]*\s+(?=[^\sa-z])")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|vs|Eq|Fig|Sec|cf|p|pp|no)\.")
PROGRAM = re.compile(
    r"\s*(?:(?:SELECT|CASE|WITH|CREATE|INSERT|def|const)\b|copy \(|import \w+[\n,]|\(\) =>)"
)
LISTS_OF_NAMES = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises")


@dataclass(frozen=True)
class Passage:
    """A paragraph, item, table cell or message, without its code and quotations."""

    line: int
    text: str
    is_sentence: bool = True  # whether the limit on words applies
    describes_name: bool = False  # the description of a parameter, attribute or result


@dataclass(frozen=True)
class Rule:
    """A phrase to avoid and what to write instead."""

    pattern: re.Pattern[str]
    instead: str
    wrong: str
    right: str
    of_names: bool = False

    @classmethod
    def read(cls, entry: dict[str, str]) -> "Rule":
        """Compile an entry of prose.toml."""
        loose = entry["pattern"].replace(" ", r"\s+")
        flags = re.NOFLAG if entry.get("case") else re.IGNORECASE
        return cls(
            re.compile(loose, flags),
            entry["instead"],
            entry["wrong"],
            entry["right"],
            entry.get("in") == "descriptions",
        )


RULES = [Rule.read(entry) for entry in STYLE["rule"]]


@dataclass(frozen=True)
class Finding:
    """A fault of style: where, which phrase, and what to write instead."""

    path: Path
    line: int
    phrase: str
    instead: str

    def __str__(self) -> str:
        return f'{shown(self.path)}:{self.line}: "{self.phrase}": {self.instead}'


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def without(pattern: re.Pattern[str], text: str, filler: str = "x") -> str:
    """Replace what is not prose; line breaks stay, so that lines can be counted."""
    return pattern.sub(lambda found: filler + "\n" * found[0].count("\n"), text)


def prose_of(text: str) -> str:
    text = without(CODE, text, "CODE")
    text = without(FORMULA, text, "CODE")
    text = without(LINK_TARGET, text, "]")
    return without(QUOTATION, text, '"CODE"')


def page_passages(text: str) -> Iterator[Passage]:
    """Paragraphs, items and table cells of a Markdown page."""
    text = without(TAG, without(FENCE, text, ""), "")
    paragraph: list[str] = []
    first = 1
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        begins = re.match(r"\s*(?:[-*+]|\d+\.)\s", line)
        special = not line.strip() or re.match(r"\s*(?:[|>#]|:::|\[\^?\w+\]:|\(\w[\w-]*\)=)", line)
        if (begins or special) and paragraph:
            yield Passage(first, prose_of("\n".join(paragraph)))
            paragraph = []
        if not special:
            if not paragraph:
                first = number
            paragraph.append(line)
        elif line.lstrip().startswith("|"):
            yield Passage(number, prose_of(line).replace("|", "\u2502"), is_sentence=False)
        elif line.startswith("#"):
            yield Passage(number, prose_of(line), is_sentence=False)


def docstring_passages(lines: list[str], first: int) -> Iterator[Passage]:
    """Paragraphs of a numpydoc docstring, without examples, references and lists of names."""
    section = ""
    whole = [line for before, line in pairwise(lines) if line.strip() and not before.endswith("\\")]
    base = min(map(indent, whole), default=0)
    paragraph: list[str] = []
    start = first
    is_example = False
    opens_description = False
    rules = 0  # a table has three: above its header, below it, and at the end
    for number, line in enumerate([*lines, ""], start=first):
        text = line.strip()
        following = lines[number - first + 1] if number - first + 1 < len(lines) else ""
        is_heading = bool(text) and bool(SECTION.match(following))
        is_name = section in LISTS_OF_NAMES and bool(text) and indent(line) == base
        is_command = section == "Examples" and text.startswith("trueodds ")
        is_example = (is_example or is_command or text.startswith(">>>")) and bool(text)
        is_rule = bool(TABLE_RULE.match(line))
        rules += is_rule
        in_table = is_rule or rules % 3 > 0
        ends = not text or is_heading or is_name or is_example or in_table
        ends = ends or text.startswith((".. ", "- ", "* "))
        if ends and paragraph:
            yield Passage(start, prose_of("\n".join(paragraph)), describes_name=opens_description)
            paragraph, opens_description = [], False
        if in_table:
            if not is_rule:
                yield Passage(number, prose_of(line), is_sentence=False)
        elif is_heading:
            section = text
        elif is_name:
            opens_description = True
        elif text and not is_example and not SECTION.match(line) and section != "References":
            if not paragraph:
                start = number
            paragraph.append(line)


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def python_passages(text: str) -> Iterator[Passage]:
    """Docstrings, and every other text of several words: messages, help, templates."""
    lines = text.splitlines()
    tree = ast.parse(text)
    seen = set(split_texts(tree))  # and texts that are a docstring or part of an f-string
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and is_text(node.value):
            seen.add(id(node.value))
            raw = lines[node.lineno - 1 : node.end_lineno]
            raw[0] = re.sub(r"^(\s*)r?\"\"\"", r"\1", raw[0])
            raw[-1] = raw[-1].removesuffix('"""')
            yield from docstring_passages(raw, node.lineno)
        elif isinstance(node, ast.JoinedStr):
            seen |= {id(part) for part in ast.walk(node)}
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield from message_passages("".join(map(str, parts)), node.lineno)
        elif isinstance(node, ast.Constant) and is_text(node) and id(node) not in seen:
            yield from message_passages(str(node.value), node.lineno)


def split_texts(tree: ast.Module) -> Iterator[int]:
    """Find texts and constants of the module that are split: lists of words, tables of numbers."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("split", "splitlines"):
            yield from map(id, ast.walk(node.func))
            names |= {part.id for part in ast.walk(node.func) if isinstance(part, ast.Name)}
    for line in tree.body:
        if isinstance(line, ast.Assign) and names & {getattr(t, "id", "") for t in line.targets}:
            yield id(line.value)


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def message_passages(text: str, line: int) -> Iterator[Passage]:
    """A text inside Python code; paragraphs of a longer one are counted from its first line."""
    if len(text.split()) < 3 or PROGRAM.match(text):
        return
    below = 0
    for paragraph in re.split(r"(\n\s*\n)", text):
        if paragraph.strip():
            yield Passage(line + below, prose_of(paragraph.replace("|", "\u2502")))
        below += paragraph.count("\n")


def template_passages(text: str) -> Iterator[Passage]:
    """Texts between the tags of a Jinja template."""
    text = without(re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL), text, "")
    text = without(re.compile(r"\{#.*?#\}", re.DOTALL), text, "")
    text = without(re.compile(r"\{\{.*?\}\}", re.DOTALL), text, "{}")
    text = without(re.compile(r"\{%.*?%\}", re.DOTALL), text, "")
    text = without(re.compile(r"</?(?:a|b|strong|em|i|code|span|abbr)\b[^<>]*>"), text, "")
    line = 1
    for piece in re.split(r"(<[^<>]*>)", text):
        if piece.strip() and not piece.startswith("<"):
            before = len(piece) - len(piece.lstrip())
            yield Passage(line + piece[:before].count("\n"), prose_of(piece.strip()))
        line += piece.count("\n")


READERS = {".md": page_passages, ".py": python_passages, ".j2": template_passages}


def findings_of(path: Path) -> list[Finding]:
    """Read a file and return its faults of style, in the order of its lines."""
    found = []
    for passage in READERS[path.suffix](path.read_text("utf-8")):
        for rule in RULES:
            if rule.of_names and not passage.describes_name:
                continue
            text = passage.text.lstrip() if rule.of_names else passage.text
            for match in rule.pattern.finditer(text):
                line = passage.line + text.count("\n", 0, match.start())
                found.append(Finding(path, line, " ".join(match[0].split()), rule.instead))
        if passage.is_sentence:
            found += long_sentences(path, passage)
    return sorted(set(found), key=lambda finding: (finding.line, finding.phrase))


def long_sentences(path: Path, passage: Passage) -> Iterator[Finding]:
    start = 0
    text = ABBREVIATION.sub(lambda match: match[0].replace(".", "\u2024"), passage.text)
    for end in [*(match.end() for match in SENTENCE_END.finditer(text)), len(text)]:
        words = [word for word in text[start:end].split() if re.search(r"\w", word)]
        if len(words) > STYLE["longest_sentence"]:
            line = passage.line + text.count("\n", 0, start)
            instead = f"a sentence of {len(words)} words; at most {STYLE['longest_sentence']}"
            yield Finding(path, line, " ".join(words[:6]) + " …", instead)
        start = end


def files_under(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (each for each in sorted(path.rglob("*")) if each.suffix in READERS)
    elif path.suffix in READERS:
        yield path


def checked_files() -> list[Path]:
    """Everything that a user reads."""
    found = {file for pattern in STYLE["checked"] for file in ROOT.glob(pattern)}
    left_out = {file for pattern in STYLE["not_checked"] for file in ROOT.glob(pattern)}
    return sorted(found - left_out)


def main(arguments: list[str]) -> int:
    paths = [Path(argument).resolve() for argument in arguments]
    files = [file for path in paths for file in files_under(path)] if paths else checked_files()
    found = [finding for file in files for finding in findings_of(file)]
    for finding in found:
        print(finding)
    print(f"{len(files)} files, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
