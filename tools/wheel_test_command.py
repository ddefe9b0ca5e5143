"""Print the command by which cibuildwheel tests a wheel, to be run at the root of the project."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__":
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    print(settings["test-command"].format(project=".", package="."))  # noqa: T201
