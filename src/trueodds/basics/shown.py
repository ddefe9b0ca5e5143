"""Names and values in messages: shortened, without control characters."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence

__all__ = ["json_printable", "one_line", "printable", "shortened", "shown", "suggestion"]

LONGEST = 60
MOST_LISTED = 40
# Control characters (the escapes of terminals among them), marks that turn the direction of
# writing, invisible characters, and halves of characters that cannot be encoded.
HOSTILE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def shown(value: object, longest: int = LONGEST) -> str:
    r"""Return a name or a value in quotes, escaped, and shortened in the middle if it is long.

    Examples
    --------
    >>> print(shown("p"), shown(3), shown("two\nlines"), shown("\x1b[31mred"))
    'p' 3 'two\nlines' '\x1b[31mred'
    >>> print(shown("x" * 1000, longest=20))
    'xxxxxxxxx…xxxxxxxxx'
    """
    if not isinstance(value, str):
        try:
            text = repr(value)
        except Exception:  # an integer of more digits than Python writes, for example
            text = f"<{type(value).__name__}>"
        return text if len(text) <= longest else f"{text[: longest - 1]}…"
    if len(value) > longest:
        half = (longest - 1) // 2
        value = f"{value[:half]}…{value[-half:]}"
    return repr(value)


def printable(text: str) -> str:
    r"""Return a text with every control character escaped, such as ``\x1b``.

    Tabs and line ends are kept.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return HOSTILE.sub(lambda found: repr(found.group())[1:-1], text)


def one_line(text: object, length: int = LONGEST) -> str:
    r"""Return a text on one line, shortened, with control characters escaped.

    Examples
    --------
    >>> one_line("red \x1b[31m and\nlong", 12)
    'red \\x1b[31…'
    """
    plain = str(text)[: 4 * length]
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)
    return plain if len(plain) <= length else plain[: length - 1] + "…"


def shortened(names: Sequence[str], separator: str) -> str:
    """Join names; of many, the first two and the last."""
    return separator.join(names if len(names) < 11 else (*names[:2], "…", names[-1]))


def suggestion(name: object, known: Iterable[object], *, has: str = "it has") -> str:
    """Suggest similar names, or else list the known ones.

    Parameters
    ----------
    name : object
        The unknown name.
    known : iterable
        The known names.
    has : str, default="it has"
        Beginning of the sentence if no name is similar.

    Examples
    --------
    >>> suggestion("Scroe", ["score", "label"]), suggestion("x", ["score", "label"])
    ("did you mean 'score'?", "it has 'score', 'label'.")
    """
    present = list(known)
    by_folded = {_folded(other): other for other in reversed(present)}
    near = [by_folded[text] for text in difflib.get_close_matches(_folded(name), by_folded, 3, 0.5)]
    if near:
        return f"did you mean {', '.join(map(shown, near))}?"
    more = ", …" if len(present) > MOST_LISTED else ""
    return f"{has} {', '.join(map(shown, present[:MOST_LISTED]))}{more}."


def _folded(name: object) -> str:
    return (name if isinstance(name, str) else shown(name)).casefold()


def json_printable(text: str) -> str:
    r"""Return a JSON text with the same content in which every character is printable.

    Examples
    --------
    >>> print(json_printable('{"a\x9b2J": 1}'))
    {"a\u009b2J": 1}
    """
    # JSON writes what lies beyond 16 bits as two halves, so its own encoder does it.
    return HOSTILE.sub(lambda found: json.dumps(found.group())[1:-1], text)
