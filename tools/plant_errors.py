"""Do the tests see a small error? Plants errors at random places, and runs the tests near them.

    python tools/plant_errors.py PACKAGE [PACKAGE ...] [--count 40] [--seed 0] [--list FILE]
        [--again FILE] [--tests PATH ...] [--own] [--marks "not slow"] [--timeout 600] [--jobs 1]

An error changes one operator, constant, bound or condition: ``<`` becomes ``<=``, ``+`` becomes
``-``, 5 becomes 6, ``min`` becomes ``max``, a condition is reversed, ``abs`` is left out. Places
are drawn evenly from all that the packages of ``trueodds`` have, the same for the same seed.
Excluded are places where no result can change: types, texts, messages, the log, assertions, the
arguments ``copy=`` and ``strict=``, and a condition whose reverse is drawn as another error.
Everything happens in a copy of the tree; the tree itself is never changed.

The tests near a package are those of its folder, those with its name, and those of ``kernels`` and
``oracle`` that import it; without ``--own``, then all files of tests that import it; ``--tests``
adds others. They stop at the first failure, which counts if that test
passes without the error. One line answers each error: ``caught`` with the test, ``survived``, or
``no end`` if the tests did not end in time, which counts as caught. The exit code is 1 if an error
survived.

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
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

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


def _is_reversed_by_itself(test: ast.expr) -> bool:
    """The error planted in the test is already its reverse."""
    match test:
        case ast.Compare(ops=[op]):
            return not isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        case ast.UnaryOp(op=ast.Not()) | ast.Constant():
            return True
    return False


def _changes_nothing(node: ast.AST) -> bool:
    """Messages, assertions, the log, and arguments that state what must hold or what is copied."""
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Assert():
            return True
        case ast.keyword(arg="copy" | "strict"):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"))):
            return True
    return False


def errors(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Function, expression, and what to plant there; none where no result can change."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or _changes_nothing(node):
                continue
            inner = function
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{function}.{node.name}".lstrip(".")
            if isinstance(node, ast.If | ast.IfExp | ast.While):
                if ast.unparse(node.test) == "TYPE_CHECKING":
                    continue
                if not _is_reversed_by_itself(node.test):
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


def tests_near(package: str, *, own: bool) -> list[str]:
    """Files of tests: the package's own, then (unless ``own``) all that import it.

    Comparisons with slow twins and independent computations (``kernels``, ``oracle``) are own tests
    of each package that they import.
    """
    mentions = re.compile(rf"trueodds\.{package}\b|from trueodds import [^\n]*\b{package}\b")
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        is_near = bool(mentions.search(path.read_text("utf-8")))
        is_own = package in path.parent.name or package in path.stem
        is_own |= is_near and path.parent.name in ("kernels", "oracle")
        if is_own or (is_near and not own):
            found.append((not is_own, path.relative_to(ROOT).as_posix()))
    return [path for _, path in sorted(found)]


class Copy:
    """A copy of the tree, whose tests see its sources instead of the installed ones."""

    def __init__(self, folder: Path, marks: str, timeout: int) -> None:
        self.folder, self.marks, self.timeout = folder, marks, timeout
        self.passing: set[str] = set()
        self.failing: set[str] = set()
        names = ["src", "tests", "tools", "docs", "benchmarks", "examples", "studies"]
        ignored = shutil.ignore_patterns("__pycache__", "_build", "generated", "gallery")
        for name in names:
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, folder)

    def first_failure(self, tests: Sequence[str]) -> str | None:
        """The first test that fails, or an empty text; None if there is no end in time."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
        command += ["-m", self.marks, "-rfE", *(f"--deselect={name}" for name in self.failing)]
        environment = os.environ | {
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",  # a stale one could hide an error
        }
        try:
            done = subprocess.run(
                [*command, *tests], cwd=self.folder, env=environment, capture_output=True,
                text=True, check=False, timeout=self.timeout,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        if done.returncode in (0, 5):
            return ""
        found = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", done.stdout, re.MULTILINE)
        return found.group(1) if found else "nothing can be imported"

    def answer(self, place: Place, tests: Sequence[str]) -> tuple[str, str]:
        """Plant one error, and run the tests."""
        found = find_again(self.folder, place)
        if found is None:
            return "gone", ""
        path = self.folder / place.file
        source = path.read_bytes()
        first, last = found[1]
        planted = source[:first] + f"({place.after})".encode() + source[last:]
        while True:
            path.write_bytes(planted)
            try:
                failed = self.first_failure(tests)
            finally:
                path.write_bytes(source)
            if failed is None:
                return "no end", ""
            if not failed:
                return "survived", ""
            if failed in self.passing or "::" not in failed or not self.first_failure([failed]):
                self.passing.add(failed)
                return "caught", failed
            self.failing.add(failed)  # without the error too


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("packages", nargs="+", metavar="PACKAGE")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", type=Path, help="write the places here before any test runs")
    parser.add_argument("--again", type=Path, help="read the places from here")
    parser.add_argument("--tests", nargs="*", default=[], help="more tests than the nearest")
    parser.add_argument("--own", action="store_true", help="only the packages' own tests")
    parser.add_argument("--marks", default="not slow", help="tests that pytest selects")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for each error")
    parser.add_argument("--jobs", type=int, default=1, help="copies that work side by side")
    options = parser.parse_args()
    if options.again:
        drawn = [Place(**fields) for fields in json.loads(options.again.read_text())]
    else:
        drawn = draw(options.packages, options.count, options.seed)
    if options.list:
        options.list.write_text(json.dumps([asdict(place) for place in drawn], indent=1) + "\n")
    near = {name: tests_near(name, own=options.own) for name in options.packages}
    count = dict.fromkeys(("caught", "survived", "no end", "gone"), 0)
    waiting = list(enumerate(drawn, 1))[::-1]

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            copy = Copy(Path(folder), options.marks, options.timeout)
            while waiting:
                number, place = waiting.pop()
                package = next(name for name in near if f"/{name}/" in place.file)
                tests = dict.fromkeys([*near[package], *options.tests])
                answer, by = copy.answer(place, list(tests))
                count[answer] += 1
                print(f"{number:3} {answer:8}  {place}  {by}".rstrip(), flush=True)

    threads = [threading.Thread(target=work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(", ".join(f"{number} {name}" for name, number in count.items()))
    return int(count["survived"] > 0)


if __name__ == "__main__":
    sys.exit(main())
