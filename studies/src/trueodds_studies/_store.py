"""Result rows on disk: small Parquet parts that are renamed into place, then compacted.

Every unit of work that ends leaves one part, written under a temporary name and renamed, so a
kill at any moment loses at most what was running. ``results.parquet`` gathers the parts; a kill
between writing it and removing them leaves rows twice, which reading undoes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trueodds.basics.files import atomic_file
from trueodds.exceptions import InputError
from trueodds_studies._optional import need
from trueodds_studies._task import Plain, digest

__all__ = ["ResultStore"]

TASK, ROW, SECONDS, DAY = "task", "row", "seconds", "day"
RESERVED = (TASK, ROW, SECONDS, DAY)
MANY_PARTS = 2000


class ResultStore:
    """The results of one study in one folder.

    Parameters
    ----------
    folder : path
        It contains ``results.parquet`` and ``parts/``. Any program that reads Parquet can open
        them: ``duckdb -c "select * from 'results.parquet'"``.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._whole = self.folder / "results.parquet"
        self._parts = self.folder / "parts"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; the operating system releases the lock when the process ends."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            import fcntl
        except ImportError:  # pragma: no cover - Windows: two runs at once only repeat work
            yield
            return
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"another run is using {self.folder}; wait for it, or pass another folder."
                ) from None
            yield

    def add(self, rows: Sequence[Mapping[str, Plain]]) -> None:
        """Store the rows of finished tasks. Each has its task's key under ``"task"``."""
        pa, pq = need("pyarrow"), need("pyarrow.parquet")
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = pa.table({name: _column([row.get(name) for row in rows]) for name in names})
        name = digest(sorted({str(row[TASK]) for row in rows}))[:32]
        self._parts.mkdir(parents=True, exist_ok=True)
        with atomic_file(self._parts / f"{name}.parquet", final=False) as file:
            pq.write_table(table, file)

    def _part_files(self) -> list[Path]:
        return sorted(self._parts.glob("[!.]*.parquet"))

    def read(self) -> Any:
        """All rows as a PyArrow table, each row of a task once; None if there are none."""
        pa, pq = need("pyarrow"), need("pyarrow.parquet")
        files = [*([self._whole] if self._whole.exists() else []), *self._part_files()]
        if not files:
            return None
        tables = [pq.read_table(file) for file in files]
        table = pa.concat_tables(tables, promote_options="permissive")
        tasks, rows = table[TASK].to_pylist(), table[ROW].to_pylist()
        first: dict[tuple[Any, Any], int] = {}
        for index, pair in enumerate(zip(tasks, rows, strict=True)):
            first.setdefault(pair, index)
        return table if len(first) == len(table) else table.take(list(first.values()))

    def compact(self) -> None:
        """Merge all parts into ``results.parquet``."""
        pq = need("pyarrow.parquet")
        for left_over in self._parts.glob(".*.tmp"):  # of a run that was killed
            left_over.unlink(missing_ok=True)
        files = self._part_files()
        if not files:
            return
        table = self.read()
        with atomic_file(self._whole, final=False) as output:
            pq.write_table(table, output)
        for file in files:
            file.unlink()

    def finished(self) -> set[str]:
        """Keys of the tasks that have results."""
        table = self.read()
        return set() if table is None else set(table[TASK].to_pylist())


def _column(values: list[Plain]) -> Any:
    """Numbers of a column that mixes int and float become float; other mixtures are refused."""
    pa = need("pyarrow")
    if any(isinstance(value, float) for value in values):
        numbers = [None if value is None else float(value) for value in values]
        return pa.array(numbers, type=pa.float64(), from_pandas=False)
    return pa.array(values, from_pandas=False)
