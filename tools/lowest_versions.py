"""Print the lowest version that pyproject.toml declares for each dependency, as pip constraints.

Usage: python tools/lowest_versions.py [EXTRA ...] > constraints.txt

The dependencies of the library itself are always among them. ``name>=1.2`` becomes ``name==1.2``,
which to pip is 1.2.0.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?>=(?P<version>[^,;\s]+)")


def lowest_versions(project: dict[str, object], extras: list[str]) -> list[str]:
    """Constraints for the library and some of its extras, in alphabetical order."""
    optional = project.get("optional-dependencies", {})
    declared = project.get("dependencies", [])
    if not isinstance(optional, dict) or not isinstance(declared, list):
        raise TypeError("dependencies must be a list, and optional-dependencies a table")
    found = set()
    for requirement in [*declared, *(line for extra in extras for line in optional[extra])]:
        match = REQUIREMENT.match(requirement)
        if match is None:
            raise ValueError(f"{requirement!r} declares no lowest version")
        found.add(f"{match['name']}=={match['version']}")
    return sorted(found)


if __name__ == "__main__":
    with PROJECT.open("rb") as file:
        content = tomllib.load(file)["project"]
    sys.stdout.write("\n".join(lowest_versions(content, sys.argv[1:])) + "\n")
