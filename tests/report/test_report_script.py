"""The report's script: modules with declared imports, linted, and joined in one scope."""

import shutil
import subprocess
from pathlib import Path

import pytest

import trueodds.report
from support.services import lacking
from trueodds.report import _page

ASSETS = Path(trueodds.report.__file__).parent / "assets"
LINTER = Path(__file__).parent / "check_modules.js"


def run_node(*words):
    node = shutil.which("node") or lacking("needs Node.js")
    return subprocess.run([node, *map(str, words)], capture_output=True, text=True)


def faults(folder):
    done = run_node("--expose-internals", LINTER, *sorted(folder.glob("*.js")))
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def test_no_module_has_a_fault():
    assert len(list(ASSETS.glob("*.js"))) == 6
    assert faults(ASSETS) == []


@pytest.mark.parametrize(
    ("module", "old", "new", "fault"),
    [
        ("words.js", "Math.abs(value)", "Math.abs(amount)", "words.js: amount is not declared"),
        ("page.js", "drawClasses, plots,", "plots,", "page.js: drawClasses is not declared"),
        ("draw.js", "export function roundUp", "function roundUp", "does not export roundUp"),
        ("data.js", "const SHAPES", "const view = 1;\nconst SHAPES", "view is declared and not"),
        ("data.js", "const SHAPES", "const current = [];\nconst SHAPES", "declared in data.js too"),
        ("words.js", "function powerText", "function powerTexts", "powerTexts is exported and"),
    ],
)
def test_the_linter_finds_planted_faults(module, old, new, fault, tmp_path):
    shutil.copytree(ASSETS, tmp_path, dirs_exist_ok=True)
    text = (tmp_path / module).read_text()
    assert old in text
    (tmp_path / module).write_text(text.replace(old, new))
    assert any(fault in line for line in faults(tmp_path))


def test_the_page_holds_every_module_once_and_no_import(tmp_path):
    script = _page.script()
    assert "import " not in script.replace("important", "")
    assert "\nexport " not in script
    for path in ASSETS.glob("*.js"):
        assert script.count(path.read_text().splitlines()[0]) == 1
    (tmp_path / "page.js").write_text(script)
    done = run_node("--check", tmp_path / "page.js")
    assert done.returncode == 0, done.stderr
