"""Write the type stubs of the two lazy packages, so that editors and mypy see every calibrator.

Usage: python tools/write_stubs.py [--check]
"""

import importlib
import sys
from pathlib import Path

import trueodds
from trueodds import calibrators
from trueodds.calibrators import all_calibrators

SOURCE = Path(trueodds.__file__).parent
HEADER = "# Written by tools/write_stubs.py (make stubs); do not edit.\n"


def calibrator_lines() -> list[str]:
    return sorted(
        f"from {kind.__module__} import {kind.__name__} as {kind.__name__}"
        for kind in all_calibrators().values()
    )


def stubs() -> dict[Path, str]:
    homes = []
    # The stubs hide what is private from mypy.
    for name, home in vars(trueodds)["_HOMES"].items():
        value = getattr(importlib.import_module(home), name)
        module = home if home == "trueodds.calibrators" else getattr(value, "__module__", home)
        homes.append(f"from {home if name == 'load' else module} import {name} as {name}")
    modules = [f"from trueodds import {name} as {name}" for name in vars(trueodds)["_MODULES"]]
    top = [*sorted([*calibrator_lines(), *homes]), *modules, "", "__version__: str", ""]
    inner = sorted(
        f"from {getattr(calibrators, name).__module__} import {name} as {name}"
        for name in {*vars(calibrators)["__all__"], *vars(calibrators)["_HOMES"]} - {"LAST"}
    )
    inner += ["from trueodds.calibrators._shared.base import LAST as LAST"]
    inner += ["from trueodds.calibrators._shared.registry import METHODS as METHODS", ""]
    return {
        SOURCE / "__init__.pyi": HEADER + "\n".join(top),
        SOURCE / "calibrators" / "__init__.pyi": HEADER + "\n".join(inner),
    }


def main() -> int:
    stale = []
    for path, text in stubs().items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        sys.stderr.write(f"stale stubs: {stale}; run make stubs\n")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
