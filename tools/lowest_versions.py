"""Print the lowest version that pyproject.toml declares for each dependency, as pip constraints.

Usage: python tools/lowest_versions.py [EXTRA or GROUP ...] > constraints.txt

The dependencies of the library itself are always among them. ``name>=1.2`` becomes ``name==1.2``,
which to pip is 1.2.0.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([^,;\s]+)")


def requirements(settings: dict[str, Any], *names: str) -> list[str]:
    """What the library needs, with what these extras and dependency groups list."""
    sections = settings["project"].get("optional-dependencies", {})
    sections |= settings.get("dependency-groups", {})
    found = list(settings["project"]["dependencies"])
    for name in names:
        found += [line for line in sections[name] if isinstance(line, str)]
    return found


def lowest_versions(lines: list[str]) -> list[str]:
    """Constraints in alphabetical order, each once."""
    found = set()
    for line in lines:
        match = REQUIREMENT.match(line)
        if match is None:
            raise ValueError(f"{line!r} declares no lowest version")
        found.add(f"{match[1]}=={match[2]}")
    return sorted(found)


if __name__ == "__main__":
    declared = tomllib.loads(PROJECT.read_text("utf-8"))
    print(*lowest_versions(requirements(declared, *sys.argv[1:])), sep="\n")
