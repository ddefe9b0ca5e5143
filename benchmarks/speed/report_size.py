"""Size of a report, time to build it and time until Chromium has drawn it.

    python benchmarks/speed/report_size.py [--rows 1000000] [--max-rows 200000] [--out report.html]

Prints the size of the page against 3 MB and the time from navigation to the first frame after
the diagrams are drawn against 2 s (median of five loads in a fresh context).
"""

import argparse
import shutil
import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from trueodds.report import build_report

FLAGS = [f"--disable-{part}" for part in ("gpu", "quic", "sync", "background-networking")]
FLAGS += ["--no-sandbox", "--no-first-run", "--disable-component-update"]
LIMIT_MB, LIMIT_SECONDS = 3.0, 2.0


def make_rows(n):
    """Over-confident scores with four groups, one of which is off by more."""
    rng = np.random.default_rng(0)
    truth = rng.normal(-1.5, 1.6, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-truth))).astype(int)
    region = rng.choice(["north", "south", "east", "west"], n)
    score = 1 / (1 + np.exp(-(1.6 * truth + 0.6 * (region == "west"))))
    return (
        score,
        y,
        {"region": region, "age": rng.normal(45, 12, n), "shop": rng.integers(0, 80, n)},
    )


@contextmanager
def chromium():
    from playwright.sync_api import sync_playwright

    browser_path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if browser_path is None:
        raise SystemExit("no Chromium found: install Debian's package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        yield browser
        browser.close()


def load_seconds(path, repeats=5):
    """Navigation start to the frame after the script has drawn, as the browser's clock sees it."""
    times = []
    with chromium() as browser:
        for _ in range(repeats):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(path.absolute().as_uri())
            page.wait_for_selector("#plot-after .point")
            times.append(
                page.evaluate(
                    "() => new Promise(done => requestAnimationFrame(() => "
                    "setTimeout(() => { const n = performance.getEntriesByType('navigation')[0];"
                    " const p = performance.getEntriesByName('first-contentful-paint')[0];"
                    " done(Math.max(n.loadEventEnd, p ? p.startTime : 0) / 1000); })))"
                )
            )
            page.context.close()
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--max-rows", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    score, y, groups = make_rows(options.rows)
    limit = {} if options.max_rows is None else {"max_rows": options.max_rows}
    begin, cpu = time.perf_counter(), time.process_time()
    report = build_report(score, y, groups=groups, **limit)
    elapsed, cpu = time.perf_counter() - begin, time.process_time() - cpu
    with tempfile.TemporaryDirectory() as folder:
        path = report.save(options.out or Path(folder) / "report.html")
        size = path.stat().st_size / 1e6
        seconds = load_seconds(path)
    print(report.verdict)
    print(f"rows {options.rows}; built in {elapsed:.1f} s ({cpu:.1f} s of CPU)")
    print(f"size {size:.3f} MB, {LIMIT_MB / size:.1f} times below {LIMIT_MB:g} MB")
    ratio = LIMIT_SECONDS / seconds
    print(f"drawn after {seconds:.3f} s, {ratio:.1f} times below {LIMIT_SECONDS:g} s")


if __name__ == "__main__":
    main()
