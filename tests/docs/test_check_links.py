"""tools/check_links.py finds what is broken in a built site, and nothing else."""

import subprocess
import sys

import pytest
from project_pages import ROOT

PROGRAM = ROOT / "tools" / "check_links.py"


def check(folder):
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(folder)], capture_output=True, text=True, check=False
    )


@pytest.fixture
def site(tmp_path):
    """Write pages and check them."""

    def write(body):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / "sub" / "other.html").write_text("<h1 id='here'>Other</h1>")
        (tmp_path / "picture.png").write_bytes(b"")
        (tmp_path / "index.html").write_text(f"<h1 id='top-of-it'>Index</h1>{body}")
        return check(tmp_path)

    return write


def test_a_whole_site_passes(site):
    result = site(
        "<a href='sub/other.html#here'></a><a href='#top-of-it'></a><a href='#'></a>"
        "<img src='picture.png?v=1' srcset='picture.png, picture.png 2x'>"
        "<a href='https://example.org/absent'></a><a href='mailto:a@example.org'></a>"
        "<link rel='author' href='https://example.org'>"
    )
    assert (result.returncode, result.stdout) == (0, "2 pages, 0 broken links\n")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<a href='absent.html'></a>", "index.html: absent.html does not exist"),
        ("<a href='sub/other.html#there'></a>", "sub/other.html#there has no such anchor"),
        ("<a href='#there'></a>", "#there has no such anchor"),
        ("<img src='absent.png'>", "absent.png does not exist"),
        ("<img srcset='picture.png, absent.png 2x'>", "absent.png does not exist"),
        ("<a href='../outside.html'></a>", "leads out of the folder"),
        ("<a href='/index.html'></a>", "leads out of the folder"),
        ("<script src='https://example.org/x.js'></script>", "is loaded from the network"),
        ("<link rel='stylesheet' href='//example.org/x.css'>", "is loaded from the network"),
    ],
)
def test_a_broken_link_is_named(site, body, message):
    result = site(body)
    assert result.returncode == 1
    assert message in result.stdout
    assert "1 broken links" in result.stdout


def test_a_folder_without_pages_is_no_success(tmp_path):
    assert check(tmp_path).returncode == 1
    assert check(tmp_path / "absent").returncode == 2
