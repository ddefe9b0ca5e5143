"""What keeps the package simple: small modules, one meaning for a name, few private imports."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import trueodds

SOURCE = Path(trueodds.__file__).parent
MOST_LINES = 400
MOST_PRIVATE_IMPORTS = 15


@pytest.fixture(scope="module")
def modules():
    """Every module of the package, parsed."""
    found = {path: ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    assert len(found) > 300
    return found


def test_no_module_is_longer_than_four_hundred_lines(modules):
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in modules}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_no_two_classes_have_the_same_name(modules):
    names = Counter(
        node.name
        for tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_packages_import_little_that_is_private_to_others(modules):
    found = [
        f"{path.relative_to(SOURCE)}: {node.module}"
        for path, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and is_private_to_another(node, path)
    ]
    assert len(found) <= MOST_PRIVATE_IMPORTS, found


def is_private_to_another(imported: ast.ImportFrom, path: Path) -> bool:
    package, *rest = (imported.module or "").split(".")
    if package != "trueodds" or not rest or rest[0] == path.relative_to(SOURCE).parts[0]:
        return False
    names = [alias.name for alias in imported.names]
    return any(name.startswith("_") and not name.endswith("__") for name in [*rest, *names])
