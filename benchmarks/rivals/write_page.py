"""Put the tables and the picture of ``make bench`` into docs/benchmarks.md.

Usage: python benchmarks/rivals/write_page.py [FOLDER]

FOLDER is where the benchmark wrote to, by default bench-output.
"""

import json
import re
import sys
from pathlib import Path

from adapters.show import cold_table, default_table, draw, first_fits, held_out_table, speed_table

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"


def with_table(page: str, name: str, lines: list[str]) -> str:
    """Return the page with the text between the marks of this name replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    table = "\n".join([begin, *lines, end])
    return re.sub(f"{begin}.*{end}", lambda _: table, page, flags=re.DOTALL)


def main(folder: Path) -> None:
    result = json.loads((folder / "rivals.json").read_text())
    page = PAGE.read_text(encoding="utf-8")
    page = with_table(page, "speed", speed_table(result["timings"], result["sort_seconds"]))
    page = with_table(page, "default", default_table(result["timings"], result["held_out"]))
    page = with_table(page, "held-out", held_out_table(result["held_out"]))
    cold = [*cold_table(result["cold"]), "", first_fits(result["first_fits"])]
    PAGE.write_text(with_table(page, "cold", cold), encoding="utf-8")
    draw(result["timings"], ROOT / "docs" / "images" / "benchmarks.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "bench-output"))
