"""Do the tests see a small error? Plants errors at random places, and runs the tests near them.

    python tools/plant_errors.py PACKAGE [PACKAGE ...] [--count 40] [--seed 0] [--list FILE]
        [--again FILE] [--tests PATH ...] [--marks "not slow"] [--timeout 300]

An error changes one operator, constant, bound or condition: ``<`` becomes ``<=``, ``+`` becomes
``-``, 5 becomes 6, ``min`` becomes ``max``, a condition is reversed, ``abs`` is left out. Places
are drawn evenly from all that the packages of ``trueodds`` have, the same for the same seed.
Everything happens in a copy of the tree; the tree itself is never changed.

The tests near a package are those of its folder, those with its name, and all files of tests that
import it; ``--tests`` adds others. They run once without an error, and the lines that each one
reaches are noted. Then an error is given the tests that reach its line, or all of them if none does
(the line runs at import, or in another process). One line answers each error: ``caught``,
``survived``, or ``no end`` if the tests did not end in time, which counts as caught. The exit code
is 1 if an error survived.

``--list`` writes the places before any test runs; ``--again`` reads them, and finds each by its
text, even if the line has moved. A survivor is either a missing test or an error that changes no
behavior; only a reader can tell.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import coverage

ROOT = Path(__file__).resolve().parents[1]
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
CALLED |= {"minimum": "maximum", "maximum": "minimum", "ceil": "floor", "floor": "ceil"}


@dataclass(frozen=True)
class Place:
    """An error: in which file and function, which text becomes which, and at which occurrence."""

    file: str
    function: str
    line: int
    before: str
    after: str
    occurrence: int = 0

    def __str__(self) -> str:
        before, after = (" ".join(text.split())[:70] for text in (self.before, self.after))
        return f"{self.file}:{self.line} {self.function}: {before}  →  {after}"


def wrong(node: ast.AST) -> ast.expr | None:
    """What stands where ``node`` stood, or None if nothing can be planted there."""
    new: ast.expr | None = None
    match node:
        case ast.Compare(ops=[op]):
            new = ast.Compare(node.left, [COMPARED[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in COMPUTED and not _of_text(node):
            new = ast.BinOp(node.left, COMPUTED[type(op)](), node.right)
        case ast.BoolOp(op=ast.And()):
            new = ast.BoolOp(ast.Or(), node.values)
        case ast.BoolOp(op=ast.Or()):
            new = ast.BoolOp(ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            new = node.operand
        case ast.Constant(value=bool(value)):
            new = ast.Constant(not value)
        case ast.Constant(value=int(value)):
            new = ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            new = ast.Constant(2 * value or 1.0)
        case ast.Call(func=ast.Name(id="abs"), args=[only]):
            new = only
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            new = ast.Call(ast.Name(CALLED[name]), node.args, node.keywords)
        case ast.Call(func=ast.Attribute(value=owner, attr="abs"), args=[*given]):
            new = given[0] if given else owner
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in CALLED:
            new = ast.Call(ast.Attribute(owner, CALLED[name]), node.args, node.keywords)
    return new


def _of_text(node: ast.BinOp) -> bool:
    """Texts and lists are joined by + and filled in by %: an error there is a mere crash."""
    return any(
        isinstance(side, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(side, ast.Constant) and not isinstance(side.value, int | float))
        for side in (node.left, node.right)
    )


def errors(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Function, expression, and what to plant there; none in types, texts and messages."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr | ast.Raise):
                continue
            inner = function
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{function}.{node.name}".lstrip(".")
            if isinstance(node, ast.If | ast.IfExp | ast.While):
                if ast.unparse(node.test) == "TYPE_CHECKING":
                    continue
                yield function, node.test, ast.UnaryOp(ast.Not(), node.test)
            if isinstance(node, ast.expr) and (new := wrong(node)) is not None:
                yield function, node, new
            yield from errors(node, inner)


def places(root: Path, path: Path) -> dict[Place, tuple[int, int]]:
    """All places of a file, with the first and last byte of their text."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[Place, tuple[int, int]] = {}
    seen: dict[tuple[str, str, str], int] = {}
    for function, old, new in errors(ast.parse(source)):
        first = starts[old.lineno - 1] + old.col_offset
        last = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
        key = (function, source[first:last].decode(), ast.unparse(new))
        seen[key] = seen.get(key, -1) + 1
        place = Place(path.relative_to(root).as_posix(), function, old.lineno, *key[1:], seen[key])
        found[place] = first, last
    return found


def draw(packages: list[str], count: int, seed: int) -> list[Place]:
    every: list[Place] = []
    for package in packages:
        for path in sorted((ROOT / "src/trueodds" / package).rglob("*.py")):
            every += places(ROOT, path)
    return random.Random(seed).sample(every, count)  # noqa: S311 - no secret


def find_again(root: Path, place: Place) -> tuple[Place, tuple[int, int]] | None:
    """The same text in the same function, wherever it is now."""
    path = root / place.file
    for other, where in places(root, path).items() if path.exists() else ():
        if replace(other, line=place.line) == place:
            return other, where
    return None


def tests_near(package: str) -> list[str]:
    mentions = re.compile(rf"trueodds\.{package}\b|from trueodds import [^\n]*\b{package}\b")
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        own = package in path.parent.name or package in path.stem
        if own or mentions.search(path.read_text("utf-8")):
            found.append((not own, path.relative_to(ROOT).as_posix()))
    return [path for _, path in sorted(found)]


class Copy:
    """A copy of the tree, whose tests see its sources instead of the installed ones."""

    failing: Sequence[str] = ()

    def __init__(self, folder: Path, marks: str, timeout: int) -> None:
        self.folder, self.marks, self.timeout = folder, marks, timeout
        names = ["src", "tests", "tools", "docs", "benchmarks", "examples", "studies"]
        ignored = shutil.ignore_patterns("__pycache__", "_build", "generated", "gallery")
        for name in names:
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, folder)

    def pytest(self, words: list[str], *options: str) -> int | None:
        """The exit code of the tests, or None if they did not end in time."""
        chosen = self.folder / "chosen-tests.txt"
        words = [*words, *(f"--deselect={name}" for name in self.failing)]
        chosen.write_text("\n".join(words) + "\n")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
        environment = os.environ | {
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",  # a stale one could hide an error
        }
        try:
            done = subprocess.run(
                [*command, "-m", self.marks, *options, f"@{chosen}"],
                cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
                timeout=self.timeout if options == () else None,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        self.said = done.stdout + done.stderr
        return done.returncode

    def lines_reached(self, tests: list[str]) -> coverage.CoverageData:
        """Run the tests without an error, and note which lines each one reaches."""
        source = self.folder / "src/trueodds"
        options = (f"--cov={source}", "--cov-context=test", "--cov-report=", "-rfE", "--maxfail=20")
        if self.pytest(tests, *options) not in (0, 1):
            sys.exit(f"The tests cannot run:\n{self.said[-3000:]}")
        self.failing = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", self.said, re.MULTILINE)
        for name in self.failing:
            print(f"fails without any error, and is left out: {name}")
        reached = coverage.CoverageData(str(self.folder / ".coverage"))
        reached.read()
        return reached

    def answer(self, place: Place, where: tuple[int, int], tests: list[str]) -> str:
        """Plant one error, and run the tests."""
        path = self.folder / place.file
        source = path.read_bytes()
        path.write_bytes(source[: where[0]] + f"({place.after})".encode() + source[where[1] :])
        try:
            code = self.pytest(tests)
        finally:
            path.write_bytes(source)
        return "no end" if code is None else "survived" if code in (0, 5) else "caught"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("packages", nargs="+", metavar="PACKAGE")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", type=Path, help="write the places here before any test runs")
    parser.add_argument("--again", type=Path, help="read the places from here")
    parser.add_argument("--tests", nargs="*", default=[], help="more tests than the nearest")
    parser.add_argument("--marks", default="not slow", help="tests that pytest selects")
    parser.add_argument(
        "--timeout", type=int, default=300, help="seconds for the tests of an error"
    )
    options = parser.parse_args()
    if options.again:
        drawn = [Place(**fields) for fields in json.loads(options.again.read_text())]
    else:
        drawn = draw(options.packages, options.count, options.seed)
    if options.list:
        options.list.write_text(json.dumps([asdict(place) for place in drawn], indent=1) + "\n")
    tests = [path for package in options.packages for path in tests_near(package)]
    tests = list(dict.fromkeys([*tests, *options.tests]))
    count = dict.fromkeys(("caught", "survived", "no end", "gone"), 0)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), options.marks, options.timeout)
        reached = copy.lines_reached(tests)
        for number, drawn_place in enumerate(drawn, 1):
            found = find_again(copy.folder, drawn_place)
            if found is None:
                answer = "gone"
            else:
                place, where = found
                lines = reached.contexts_by_lineno(str(copy.folder / place.file))
                contexts = {name.rpartition("|")[0] for name in lines.get(place.line, [])}
                near = sorted(contexts - {""}, key=lambda name: _order(name, tests))
                answer = copy.answer(place, where, near or tests)
            count[answer] += 1
            print(f"{number:3} {answer:8}  {drawn_place}", flush=True)
    print(", ".join(f"{number} {name}" for name, number in count.items()))
    return int(count["survived"] > 0)


def _order(name: str, tests: list[str]) -> int:
    path = name.partition("::")[0]
    return tests.index(path) if path in tests else len(tests)


if __name__ == "__main__":
    sys.exit(main())
