"""Check a folder of HTML pages: every link, picture, script and anchor inside it must resolve.

Nothing may be loaded from the network; links to other sites are not followed.

Usage: python tools/check_links.py FOLDER
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

REFERENCES = {"href", "src", "poster", "data"}
LINKS = {"a", "area", "link"}  # what they name is not loaded, unless it is a style sheet


class Page(HTMLParser):
    """What a page refers to, and the anchors that it offers."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.references: dict[str, bool] = {}  # and whether the browser loads it by itself
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect references and anchors of one tag."""
        loads = tag not in LINKS or ("rel", "stylesheet") in attrs
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in REFERENCES:
                self._refer(value, loads)
            elif name == "srcset":
                for part in value.split(","):
                    self._refer(part.split()[0], loads)

    def _refer(self, address: str, loads: bool) -> None:
        self.references[address] = self.references.get(address, False) or loads


@cache
def read(path: Path) -> Page:
    return Page(path)


def fault_of(page: Path, address: str, loads: bool, folder: Path) -> str | None:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return "is loaded from the network" if loads and parts.netloc else None
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if parts.path.startswith("/") or not path.is_relative_to(folder):
        return "leads out of the folder"
    if path.is_dir():
        path /= "index.html"
    if not path.is_file():
        return "does not exist"
    anchor = unquote(parts.fragment)
    if anchor and path.suffix == ".html" and anchor not in {"top", *read(path).anchors}:
        return "has no such anchor"
    return None


def faults_of(folder: Path) -> list[str]:
    folder = folder.resolve()
    return [
        f"{page.relative_to(folder)}: {address} {fault}"
        for page in sorted(folder.rglob("*.html"))
        for address, loads in read(page).references.items()
        if (fault := fault_of(page, address, loads, folder))
    ]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not (folder := Path(arguments[0])).is_dir():
        sys.stderr.write(f"{(__doc__ or '').strip()}\n")
        return 2
    pages = sum(1 for _ in folder.rglob("*.html"))
    faults = faults_of(folder)
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    sys.stdout.write(f"{pages} pages, {len(faults)} broken links\n")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
