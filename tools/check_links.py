"""Check a folder of HTML pages: every link, picture, script and anchor inside it must resolve.

Usage: python tools/check_links.py FOLDER
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

REFERENCES = {"href", "src", "poster", "data"}


class Page(HTMLParser):
    """What a page refers to, and the anchors that it offers."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.references: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect references and anchors of one tag."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in REFERENCES:
                self.references.append(value)
            elif name == "srcset":
                self.references += [part.split()[0] for part in value.split(",") if part.strip()]


@cache
def read(path: Path) -> Page:
    return Page(path)


def fault_of(page: Path, reference: str, folder: Path) -> str | None:
    parts = urlsplit(reference)
    if parts.scheme or parts.netloc:
        return None  # of another site
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if parts.path.startswith("/") or not path.is_relative_to(folder):
        return "leads out of the folder"
    if path.is_dir():
        path /= "index.html"
    if not path.is_file():
        return "does not exist"
    if parts.fragment and path.suffix == ".html" and not _has(path, unquote(parts.fragment)):
        return "has no such anchor"
    return None


def _has(path: Path, anchor: str) -> bool:
    return anchor == "top" or anchor in read(path).anchors


def faults_of(folder: Path) -> list[str]:
    folder = folder.resolve()
    return [
        f"{page.relative_to(folder)}: {reference} {fault}"
        for page in sorted(folder.rglob("*.html"))
        for reference in dict.fromkeys(read(page).references)
        if (fault := fault_of(page, reference, folder))
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
