"""Put the leaderboard and the picture of ``make arena`` into docs/arena.md.

Usage: python benchmarks/arena/write_page.py [RESULTS] [DEFAULT]

RESULTS is the file that the accuracy benchmark wrote, by default arena-output/results.jsonl;
DEFAULT is the method that the others are compared with, by default trueodds/auto.
"""

import re
import sys
from itertools import product
from pathlib import Path

from contest.leaderboard import table_of
from contest.methods import DEFAULT
from contest.predictions import PREFIX
from contest.results import read_rows
from contest.show import draw, markdown

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "arena.md"
WHAT_THE_DEFAULT_IS = {
    "binary": "trueodds/bayesian_smooth",
    "multiclass": "trueodds/bayesian_structured",
}
"""Which would be in the table twice."""
MOST = 12
"""Methods in a table; our default and the base model are added if they are not among them."""


def with_table(page: str, name: str, lines: list[str]) -> str:
    """Return the page with the text between the marks of this name replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    table = "\n".join([begin, *lines, end])
    return re.sub(f"{begin}.*{end}", lambda _: table, page, flags=re.DOTALL)


def main(results: Path, default: str) -> None:
    rows = read_rows(results)
    page = PAGE.read_text(encoding="utf-8")
    tables = {}
    for of_packages, kind in product((False, True), ("binary", "multiclass")):
        mine = [
            row
            for row in rows
            if row["kind"] == kind and row["set"].startswith(PREFIX) == of_packages
        ]
        if not mine:
            continue
        # Variants with options, and prototypes, are for those who develop.
        names = sorted(
            {row["method"] for row in mine if "(" not in row["method"]}
            - {row["method"] for row in mine if row["method"].startswith("prototype/")}
            - {WHAT_THE_DEFAULT_IS[kind]}
        )
        table, _ = table_of(mine, names)
        if not of_packages:
            tables[kind] = table
        n_sets = len(set(table.sets))
        count = f"{len(table.experiments)} experiments on {n_sets} data sets, "
        said = f"{count}{len(table.methods)} methods; the first {MOST} and the base model:"
        mark = f"packages-{kind}" if of_packages else kind
        page = with_table(page, mark, [said, "", *markdown(table, default, MOST)])
    PAGE.write_text(page, encoding="utf-8")
    if tables:
        draw(tables, default, ROOT / "docs" / "images" / "arena.png")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        Path(given[0] if given else "arena-output/results.jsonl"),
        given[1] if len(given) > 1 else DEFAULT,
    )
