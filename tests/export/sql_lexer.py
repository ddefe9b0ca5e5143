"""Tokens of SQL by each dialect's own lexical rules, independent of what writes the SQL.

- PostgreSQL, DuckDB, SQLite: ``"name"`` and ``'text'``, in which the delimiter is doubled.
- Snowflake: names likewise; texts have escape sequences, too; ``$$text$$``; ``//`` comments.
- Spark: ```name```, in which a backtick is doubled; texts in either quotes with escape sequences,
  and no doubling: two texts side by side are one.
- BigQuery: names in backticks and texts in either quotes, both with the same escape sequences and
  without doubling or line breaks; three quotes open a long text; ``#`` comments.
"""

import re

WORD = re.compile(r"[A-Za-z_]\w*")
NUMBER = re.compile(r"\d+(\.\d*)?([eE][-+]?\d+)?")
ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}
RULES = {
    # name quote, is it doubled, escapes in names; text quotes, are they doubled, escapes in texts
    "duckdb": ('"', True, False, "'", True, False),
    "postgres": ('"', True, False, "'", True, False),
    "sqlite": ('"', True, False, "'", True, False),
    "snowflake": ('"', True, False, "'", True, True),
    "spark": ("`", True, False, "'\"", False, True),
    "bigquery": ("`", False, True, "'\"", False, True),
}


def tokens(sql: str, dialect: str) -> list[tuple[str, str]]:
    """(kind, value) of each token; a comment or an open quote is an error."""
    name, name_doubled, name_escapes, texts, text_doubled, text_escapes = RULES[dialect]
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(sql):
        character = sql[at]
        if character.isspace():
            at += 1
        elif sql[at : at + 2] in ("--", "/*") or (dialect == "bigquery" and character == "#"):
            raise ValueError(f"a comment at {sql[at : at + 30]!r}")
        elif dialect == "snowflake" and sql[at : at + 2] in ("//", "$$"):
            raise ValueError(f"a comment or a long text at {sql[at : at + 30]!r}")
        elif character == name:
            value, at = _quoted(sql, at, name_doubled, name_escapes, dialect)
            found.append(("name", value))
        elif character in texts:
            if dialect == "bigquery" and sql[at : at + 3] == 3 * character:
                raise ValueError(f"a long text at {sql[at : at + 30]!r}")
            value, at = _quoted(sql, at, text_doubled, text_escapes, dialect)
            found.append(("text", value))
        else:
            match = WORD.match(sql, at) or NUMBER.match(sql, at)
            piece = match[0] if match else character
            found.append(("piece", piece))
            at += len(piece)
    return found


def _quoted(sql: str, at: int, doubled: bool, escapes: bool, dialect: str) -> tuple[str, int]:
    quote, value = sql[at], ""
    at += 1
    while at < len(sql):
        character = sql[at]
        if escapes and character == "\\":
            match = re.match(r"\\(?:([0-3][0-7]{2})|x([0-9a-f]{2}))", sql[at:])
            if match:
                value += chr(int(match[1], 8) if match[1] else int(match[2], 16))
                at += len(match[0])
                continue
            value += ESCAPED.get(sql[at + 1], sql[at + 1])
            at += 2
        elif character == quote:
            if doubled and sql[at + 1 : at + 2] == quote:
                value += quote
                at += 2
                continue
            return value, at + 1
        else:
            if dialect == "bigquery" and character in "\r\n":
                raise ValueError("a line break in quotes")
            value += character
            at += 1
    raise ValueError(f"open quotes: {value[:30]!r}")
