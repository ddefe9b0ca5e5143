"""The way of one score from a CSV file to a map is short, and each score is checked once on it."""

import json
import subprocess
import sys
from collections import defaultdict

import pytest

from trueodds.cli import _table
from trueodds.cli._table import IN_MEMORY

MOST_FILES = 35
MOST_FUNCTIONS = 110
LOOK_AT_EVERY_SCORE = {"_score_rules", "check_rows", "validate_scores", "read_rows", "_check_range"}

TRACE = """
import json, os, sys
import trueodds
from trueodds.cli._run import run

folder = os.path.dirname(trueodds.__file__) + os.sep
seen, inside, importing = {}, [], []
ASIDE = {"about", "describe_evidence", "with_about", "_origin", "_gain", "show_shared_options"}
ASIDE |= {"_common_header", "named", "with_even_lines", "classes_line", "left_out", "note"}

def watch(frame, event, _):
    code = frame.f_code
    # Modules are imported, and names in them looked up, once in a process and not for each fit.
    if code.co_name == "_find_and_load" and event in ("call", "return"):
        importing.append(1) if event == "call" else importing and importing.pop()
    if importing or code.co_name == "__getattr__" or code.co_filename.endswith("lazy.py"):
        return
    if not code.co_filename.startswith(folder):
        return
    command = code.co_name == "fit" and code.co_filename == os.path.join(folder, "cli", "_fit.py")
    if command and event in ("call", "return"):
        inside[:] = [True] if event == "call" else []
    # What says how the map was learned, or makes a class ready, is not on the way to the map;
    # nor is what looks at a file's header and line ends before it is read, or prints names.
    if code.co_name in ASIDE and inside and event in ("call", "return"):
        inside[:] = [not inside[0]]
    is_function = code.co_flags & 2 and not code.co_name.startswith("<")  # no class, no lambda
    if event == "call" and inside == [True] and is_function and code.co_name not in ASIDE:
        seen[code.co_filename.removeprefix(folder), code.co_qualname] = None

sys.setprofile(watch)
code = run(sys.argv[1:])
sys.setprofile(None)
print(json.dumps(list(seen)))
sys.exit(code)
"""


@pytest.fixture(scope="module")
def passed(data, tmp_path_factory):
    """Files of ours and their functions that a fit passes through, in a new process."""
    output = tmp_path_factory.mktemp("traced") / "map.json"
    words = ["fit", data / "scores.csv", "-s", "p", "-l", "y", "-m", "beta", "-o", output]
    result = subprocess.run(
        [sys.executable, "-c", TRACE, *map(str, words)], capture_output=True, text=True, check=True
    )
    found = defaultdict(list)
    for file, function in json.loads(result.stdout):
        found[file].append(function)
    return found


def listed(passed):
    return "\n".join(f"{file}: {', '.join(passed[file])}" for file in sorted(passed))


def test_a_fit_passes_through_few_files_and_functions(passed):
    count = sum(map(len, passed.values()))
    assert len(passed) > 20, listed(passed)  # so something was traced
    assert len(passed) <= MOST_FILES, f"{len(passed)} files:\n{listed(passed)}"
    assert count <= MOST_FUNCTIONS, f"{count} functions:\n{listed(passed)}"


def test_each_score_is_checked_once(passed):
    called = [name.rpartition(".")[2] for functions in passed.values() for name in functions]
    assert LOOK_AT_EVERY_SCORE.intersection(called) == {"_score_rules"}, listed(passed)


@pytest.mark.parametrize("weight", [[], ["--weight", "w"]])
@pytest.mark.parametrize("scale", [["-s", "p"], ["-s", "z", "--input", "logit"]])
def test_counting_on_the_engine_gives_the_map_of_counting_in_memory(
    run, data, tmp_path, monkeypatch, scale, weight
):
    words = ["fit", data / "scores.parquet", *scale, *weight, "-l", "y", "-m", "isotonic", "-o"]
    maps = []
    for most in (IN_MEMORY, 1999):
        monkeypatch.setattr(_table, "IN_MEMORY", most)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        path = tmp_path / f"{most}.json"
        assert run(*words, path).code == 0
        maps.append(path.read_text())
    assert len(maps[0]) > 500
    assert maps[0] == maps[1]


@pytest.mark.parametrize("most", [IN_MEMORY, 3])
def test_weights_of_zero(run, csv_file, monkeypatch, most):
    monkeypatch.setattr(_table, "IN_MEMORY", most)
    rows = [f"0.{k + 1},{k % 2},{k % 2},0" for k in range(8)]
    path = csv_file("p,y,half,nothing", *rows)
    words = ["fit", path, "-s", "p", "-l", "y", "-m", "beta", "--weight"]
    result = run(*words, "nothing")
    assert result.code == 1
    assert "is zero in all 8 rows" in result.err
    assert "one class only" in run(*words, "half").err
