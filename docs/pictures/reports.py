"""The reports that the documentation shows: that of the demo, and one of real forecasts.

    TRUEODDS_DATA=... python docs/pictures/reports.py [docs/images]

Writes each as PDF and as PNG, and the top of the first as report.png. Needs Chromium.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from report_size import chromium

WIDTH, TOP = 1000, 1240
LIMIT_KB = 300
MARGIN = dict.fromkeys(("top", "bottom", "left", "right"), "14mm")
COLORS = 56


def trueodds(place, *words):
    """Run a command in a folder, as a reader would."""
    subprocess.run([sys.executable, "-m", "trueodds", *words], cwd=place, check=True)


def save_pictures(page_file, name, folder, browser):
    """The whole page as PDF and PNG."""
    page = browser.new_context(viewport={"width": WIDTH, "height": TOP}).new_page()
    page.goto(page_file.absolute().as_uri())
    page.wait_for_selector("#plot-after .point")
    page.pdf(path=folder / f"{name}.pdf", format="A4", margin=MARGIN, print_background=True)
    page.screenshot(path=folder / f"{name}.png", full_page=True)
    reduce_colors(folder / f"{name}.png")
    page.context.close()


def reduce_colors(path):
    """Keep the most frequent colors: those of lines and marks, not of their blurred edges."""
    with Image.open(path) as picture:
        rgb = picture.convert("RGB")
    found = sorted(rgb.getcolors(rgb.width * rgb.height), reverse=True)[:COLORS]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, color in found for part in color])
    rgb.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


def main(folder="docs/images"):
    folder = Path(folder)
    rows = "pred-employment-ma.parquet"
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / rows).symlink_to((Path(os.environ["TRUEODDS_DATA"]) / rows).absolute())
        trueodds(place, "demo", "demo-output")
        columns = ["--score", "score", "--label", "y"]
        groups = ["--group", "year", "--group", "SEX", "--group", "AGEP"]
        trueodds(place, "report", rows, *columns, *groups, "-o", "employment.html")
        with chromium() as browser:
            save_pictures(place / "demo-output" / "report.html", "report-demo", folder, browser)
            save_pictures(place / "employment.html", "report-employment", folder, browser)
    with Image.open(folder / "report-demo.png") as whole:
        whole.crop((0, 0, WIDTH, TOP)).save(folder / "report.png", optimize=True)
    sizes = {path: path.stat().st_size / 1000 for path in sorted(folder.glob("report*"))}
    for path, size in sizes.items():
        print(f"{path}: {size:.0f} kB")
    if max(sizes.values()) > LIMIT_KB:
        raise SystemExit(f"a file is larger than {LIMIT_KB} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
