"""Write the type stubs of the lazy packages from their tables, so that editors and mypy see names.

Usage: python tools/write_stubs.py [--check]
"""

import importlib
import importlib.util
import sys
from pathlib import Path

import trueodds

SOURCE = Path(trueodds.__file__).parent
HEADER = "# Written by tools/write_stubs.py (make stubs); do not edit.\n"
PACKAGES = ("calibrators", "engines", "export", "model_selection", "report")


def lines(package: str, homes: dict[str, str]) -> list[str]:
    """One import for each name, from the module that defines it."""
    absolute = {name: importlib.util.resolve_name(home, package) for name, home in homes.items()}
    return sorted(f"from {home} import {name} as {name}" for name, home in absolute.items())


def stubs() -> dict[Path, str]:
    # The stubs hide what is private from mypy.
    top = [*lines("trueodds", vars(trueodds)["_homes"]()), "", "__version__: str"]
    written = {SOURCE / "__init__.pyi": top}
    for name in PACKAGES:
        module = importlib.import_module(f"trueodds.{name}")
        own = lines(module.__name__, vars(module)["_HOMES"])
        written[SOURCE / name / "__init__.pyi"] = [*own, "", "__all__: list[str]"]
    return {path: HEADER + "\n".join(text) + "\n" for path, text in written.items()}


def main() -> int:
    stale = []
    for path, text in stubs().items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path.relative_to(SOURCE)))
    if stale:
        sys.stderr.write(f"stale stubs: {stale}; run make stubs\n")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
