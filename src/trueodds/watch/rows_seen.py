"""Rows that were counted, so that a redelivered file is compared row by row.

A row is identified by a hash of its time, scores, weight and group, and by its label. For each
file, the state keeps these values of all counted rows, if there is room. This distinguishes
appended rows, late labels and changed labels in any order of rows.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import StateFormatError
from trueodds.state_file import Fields
from trueodds.watch.periods import Piece, moment_text

__all__ = [
    "CHANGED",
    "COUNTED",
    "MOST_KEPT",
    "NEW",
    "FileRecord",
    "RowArrays",
    "compare_rows",
    "holds_most",
    "rows_digest",
    "rows_keys",
    "rows_values",
]

Keys = npt.NDArray[np.uint64]

NEW, COUNTED, CHANGED = 0, 1, 2
MOST_KEPT = 500_000
"""Maximum number of rows kept individually over all files: about 4 MB of text."""
CODE_BITS = np.uint64(8)
BYTES = 7
"""Bits kept of a row: 48 of its hash, 8 of the code of its label."""
FIELDS = {
    "fingerprint", "size", "modified", "rows", "digest", "counted", "waiting", "held", "until",
    "last", "values",
}  # fmt: skip
LONGEST_MOMENT = 64
HASHED_ROWS = 1 << 20
"""Rows that are hashed at once."""


@dataclass(frozen=True, eq=False)
class FileRecord:
    """Record of what was read from a file.

    Parameters
    ----------
    fingerprint : str
        Hash of the bytes that were read, and of the partition values in the path.
    size, modified : int
        Size and time of the file when it was hashed; ``modified`` (ns) is 0 if the file was so
        recent that it may have changed again without a new time.
    rows : int
        All rows that were read.
    digest : int
        Sum of the hashes of these rows with their labels.
    counted, waiting, held : int
        Rows that were counted, rows that have no label yet, and rows later than ``until``.
    until, last : str or None
        The end that the run was given, and the latest time that was counted.
    values : ndarray or None
        Hash and label of each counted row, sorted; None if there was no room.
    """

    fingerprint: str
    size: int
    modified: int
    rows: int
    digest: int
    counted: int
    waiting: int = 0
    held: int = 0
    until: str | None = None
    last: str | None = None
    values: Keys | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        content = {key: getattr(self, key) for key in sorted(FIELDS - {"values", "digest"})}
        values = None if self.values is None else _packed(self.values)
        return {**content, "digest": f"{self.digest:016x}", "values": values}

    @classmethod
    def from_dict(cls, content: Any, most: int) -> FileRecord:
        """Check a record; ``most`` is the number of values that are still allowed."""
        fields = Fields(content, FIELDS, "state.files")
        fingerprint, digest = fields.text("fingerprint", 32), fields.text("digest", 16)
        try:
            number = int(digest, 16) if digest.isalnum() else -1
        except ValueError:
            number = -1
        if len(fingerprint) != 32 or number < 0 or f"{number:016x}" != digest:
            raise StateFormatError("state.files must hold hashes of 32 and 16 hex digits.")
        counts: dict[str, Any] = {
            key: fields.count(key) for key in ("rows", "counted", "waiting", "held", "size")
        }
        texts: dict[str, Any] = {
            key: None if fields.raw(key) is None else fields.text(key, LONGEST_MOMENT)
            for key in ("until", "last")
        }
        values = None
        if fields.raw("values") is not None:
            values = _unpacked(fields.text("values", 12 * MOST_KEPT), most)
            if len(values) != counts["counted"]:
                raise StateFormatError(
                    "state.files: the number of values differs from the number of counted rows."
                )
        modified = fields.count("modified", 2**63)
        return cls(fingerprint, modified=modified, digest=number, values=values, **counts, **texts)


def _packed(values: Keys) -> str:
    """Encode sorted numbers of seven bytes as text: their differences, byte by byte, compressed."""
    steps = np.diff(values, prepend=np.uint64(0)).astype(">u8")
    planes = steps.view(np.uint8).reshape(-1, 8)[:, 8 - BYTES :].T
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode()


def _unpacked(text: str, most: int) -> Keys:
    """Decode at most ``most`` numbers."""
    wrong = StateFormatError("state.files: the rows cannot be read, or there are too many.")
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(base64.b64decode(text, validate=True), most * BYTES + 1)
    except (binascii.Error, zlib.error, ValueError):
        raise wrong from None
    if not stream.eof or stream.unused_data or len(content) % BYTES or len(content) > most * BYTES:
        raise wrong
    planes = np.frombuffer(content, dtype=np.uint8).reshape(BYTES, -1)
    wide = np.zeros((planes.shape[1], 8), dtype=np.uint8)
    wide[:, 8 - BYTES :] = planes.T
    steps = wide.reshape(-1).view(">u8").astype(np.uint64)
    if float(steps.astype(np.float64).sum()) >= 2.0 ** (8 * BYTES):
        raise wrong
    return np.cumsum(steps, dtype=np.uint64)


def _mixed(x: Keys) -> Keys:
    """The last step of splitmix64: every bit of the result depends on every bit of ``x``."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def rows_keys(
    moments: npt.NDArray[Any] | None,
    scores: Any,
    weight: npt.NDArray[np.float64] | None,
    *named: npt.NDArray[Any] | None,
) -> Keys:
    """Return a hash of each row without its label, the same on every machine and version."""
    parts = [scores] if scores.ndim == 1 else list(scores.T)
    parts += [part for part in (moments, weight) if part is not None]
    key = np.zeros(len(scores), dtype=np.uint64)
    for part in parts:
        bits = np.ascontiguousarray(part + 0 if part.dtype.kind == "f" else part)
        key = _mixed(key + bits.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    for texts in (part.tolist() for part in named if part is not None):
        names: dict[Any, int] = {name: _hash_of(name) for name in dict.fromkeys(texts)}
        codes = np.array([names[name] for name in texts], dtype=np.uint64)
        key = _mixed(key + codes + np.uint64(0x9E3779B97F4A7C15))
    return key


def _hash_of(text: Any) -> int:
    name = b"" if text is None else f"={text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big")


def rows_values(keys: Keys, codes: npt.NDArray[np.intp]) -> Keys:
    """Return hashes of rows combined with their label codes, as a record keeps them."""
    return (keys >> CODE_BITS >> CODE_BITS << CODE_BITS) | codes.astype(np.uint64)


def rows_digest(keys: Keys, codes: npt.NDArray[np.intp]) -> int:
    """Return a digest that does not depend on the order of the rows."""
    if not len(keys):
        return 0
    return int(np.add.reduce(_mixed(keys ^ _mixed((codes + 2).astype(np.uint64)))))


def _numbers(keys: Keys, places: Keys) -> Keys:
    """The number of each row among those with the same key, in the order of ``places``."""
    order = np.lexsort((places, keys))
    ordered = keys[order]
    numbers = np.zeros(len(keys), dtype=np.uint64)
    numbers[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return numbers


def compare_rows(before: Keys, now: Keys) -> tuple[npt.NDArray[np.int8], int]:
    """Classify rows as new, counted before, or counted with another label.

    Equal rows are matched one to one. The remaining rows are matched by their hash without the
    label; such rows have another label than the counted one.

    Parameters
    ----------
    before : ndarray
        Sorted values of the rows that were counted.
    now : ndarray
        Values of labeled rows, in any order.

    Returns
    -------
    status : ndarray
        NEW, COUNTED or CHANGED for each row of ``now``.
    withdrawn : int
        Number of rows of ``before`` without a match.
    """
    status = np.full(len(now), NEW, dtype=np.int8)
    counted, left = _matched(before, now)
    status[counted] = COUNTED
    rest = np.flatnonzero(~counted)
    changed, left = _matched(np.sort(left >> CODE_BITS), now[rest] >> CODE_BITS)
    status[rest[changed]] = CHANGED
    return status, len(left)


def holds_most(before: Keys, now: Keys) -> bool:
    """Whether at least half of the rows of ``before`` are in ``now``, with any label."""
    few = before[:: max(1, len(before) // 200)] >> CODE_BITS
    keys = now >> CODE_BITS
    if not np.isin(few, keys).mean() > 0.25:  # most files have nothing to do with each other
        return False
    found, _ = _matched(before >> CODE_BITS, keys)
    return bool(2 * int(found.sum()) >= len(before))


def _matched(before: Keys, now: Keys) -> tuple[npt.NDArray[np.bool_], Keys]:
    """Match ``now`` one to one to equal numbers in ``before``; also return what is left of it."""
    order = np.argsort(now, kind="stable")
    ordered = now[order]
    rank = np.arange(len(now)) - np.searchsorted(ordered, ordered, "left")
    first, end = (np.searchsorted(before, ordered, side) for side in ("left", "right"))
    found = rank < end - first
    used = np.zeros(len(before), dtype=bool)
    used[(first + rank)[found]] = True
    result = np.zeros(len(now), dtype=bool)
    result[order[found]] = True
    return result, before[~used]


@dataclass(eq=False)
class RowArrays:
    """What distinguishes the rows of a run, by position.

    Parameters
    ----------
    keys, codes, files : ndarray
        Hash without the label, label (−1 if there is none), and place of the file (−1 for rows
        that cannot be used).
    held, expired, take : ndarray of bool
        Rows after ``--until``, rows that are too old for a file that is not known, and rows that
        are to be counted.
    moments : ndarray or None
        Times as numbers.
    """

    keys: Any
    codes: Any
    files: Any
    held: Any
    expired: Any
    moments: Any
    take: Any

    def __post_init__(self) -> None:
        # Arrays of ten million rows count: half the size is enough for their positions.
        self._order = np.argsort(self.files, kind="stable").astype(np.int32)
        self._ordered = self.files[self._order]

    @classmethod
    def of(cls, pieces: Iterable[Piece], n: int) -> RowArrays:
        """Read all rows; those with a label are to be counted unless they are held."""
        keys, codes = np.zeros(n, dtype=np.uint64), np.full(n, -1, dtype=np.int16)
        files, moments = np.full(n, -1, dtype=np.int32), None
        held, expired = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        for piece in pieces:
            at = piece.positions
            named = piece.groups, piece.ids
            keys[at] = rows_keys(piece.moments, piece.scores, piece.counts, *named)
            codes[at], files[at] = piece.codes, piece.files
            held[at], expired[at] = piece.held, piece.expired
            if piece.moments is not None:
                moments = np.zeros(n) if moments is None else moments
                moments[at] = piece.moments
        return cls(keys, codes, files, held, expired, moments, (codes >= 0) & ~held)

    def rows_of(self, places: Sequence[int]) -> Any:
        """Positions of all rows of some files."""
        ends = [np.searchsorted(self._ordered, (place, place + 1)) for place in places]
        parts = [self._order[start:end] for start, end in ends]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def in_order(self, take: Any) -> Any:
        """Positions of the rows that ``take`` selects, in the order in which they are counted.

        Rows of one time are shuffled, because a file that is sorted by its labels must not look
        like a change in the middle of the day. Their order depends on nothing but these rows:
        places are hashes of rows without labels, numbered if equal, and a second hash decides
        which label gets which of the equal rows' numbers. Without times, the order is that of the
        files.
        """
        rows = np.flatnonzero(take).astype(np.int32)
        if self.moments is None:
            return rows
        rows = rows[np.argsort(self.moments[rows], kind="stable")]
        times, start = self.moments[rows], 0
        while start < len(rows):  # whole times, as many as fit a block
            last = times[min(start + HASHED_ROWS, len(rows)) - 1]
            end = int(np.searchsorted(times, last, "right"))
            rows[start:end] = self._shuffled(rows[start:end])
            start = end
        return rows

    def _shuffled(self, rows: Any) -> Any:
        keys = self.keys[rows]
        values = _mixed(keys ^ _mixed((self.codes[rows].astype(np.intp) + 2).astype(np.uint64)))
        places = _mixed(values + _numbers(values, values))
        places = _mixed(keys + _numbers(keys, places))
        return rows[np.lexsort((places, self.moments[rows]))]

    def values(self, at: Any) -> Any:
        """Rows with their labels, as records keep them."""
        return rows_values(self.keys[at], self.codes[at].astype(np.intp))

    def digest(self, at: Any) -> int:
        """The sum of rows with their labels."""
        blocks = (at[first : first + HASHED_ROWS] for first in range(0, len(at), HASHED_ROWS))
        sums = (rows_digest(self.keys[b], self.codes[b].astype(np.intp)) for b in blocks)
        return sum(sums) % 2**64

    def record(
        self, place: int, fingerprint: str, size: int, modified: int, kind: str | None
    ) -> FileRecord:
        """What to remember of a file."""
        own = self.rows_of([place])
        held, has_label = self.held[own], self.codes[own] >= 0
        counted = has_label & ~held
        n_counted = int(counted.sum())

        def latest(rows: Any) -> str | None:
            if self.moments is None or not rows.any():
                return None
            return moment_text(float(self.moments[own].max(where=rows, initial=-np.inf)), kind)

        return FileRecord(
            fingerprint,
            size,
            modified,
            rows=len(own),
            digest=self.digest(own),
            counted=n_counted,
            waiting=int((~has_label).sum()),
            held=int((held & has_label).sum()),
            until=latest(~held) if held.any() else None,
            last=latest(counted),
            values=np.sort(self.values(own[counted])) if n_counted <= MOST_KEPT else None,
        )
