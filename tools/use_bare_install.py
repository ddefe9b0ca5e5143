"""Use an installed trueodds that has no extras: fit, save, load, apply; ask for what is not there.

Usage: python -I tools/use_bare_install.py

CI runs it with the wheel in an empty environment. It fails if the core needs more than the wheel
declares, or if something optional is missing without a word on how to install it.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import files, version
from importlib.util import find_spec
from pathlib import Path

import trueodds

EXTRAS = ("duckdb", "jinja2", "matplotlib", "onnx", "polars", "pyarrow", "sqlglot", "typer")
P = [0.02, 0.1, 0.1, 0.3, 0.35, 0.5, 0.6, 0.62, 0.8, 0.9, 0.95, 0.99]
Y = [0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1]


def check(condition: bool, what: str) -> None:
    if not condition:
        sys.exit(f"not so: {what}")


def check_installation() -> None:
    source = Path(__file__).resolve().parents[1] / "src"
    check(source not in Path(trueodds.__file__).resolve().parents, "trueodds is the installed one")
    check(version("trueodds") == trueodds.__version__, "the wheel has the version of the package")
    names = {path.name for path in files("trueodds") or ()}
    check({"LICENSE", "py.typed", "METADATA"} <= names, "the wheel has a license and its types")
    present = [name for name in EXTRAS if find_spec(name)]
    check(not present, f"there are no extras; found {', '.join(present)}")


def use_every_method() -> None:
    for name, kind in trueodds.all_calibrators().items():
        if name in ("group", "tree"):
            continue  # they need features
        fitted = kind().fit(P, Y)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "map.json"
            fitted.map_.save(path)
            loaded = trueodds.load(path)
        check((loaded(P) == fitted.map_(P)).all(), f"{name} predicts the same after loading")
        scope: dict[str, object] = {}
        exec(fitted.map_.to_python(), scope)  # noqa: S102 - our own export
        check(any(callable(value) for value in scope.values()), f"{name} exports to Python")


def ask_for_what_is_missing() -> None:
    fitted = trueodds.IsotonicCalibrator().fit(P, Y)
    for export, extra in ((fitted.map_.to_sql, "engines"), (fitted.map_.to_onnx, "onnx")):
        try:
            export()
        except ImportError as error:
            found = str(error)
        else:
            found = "no error"
        check(f'pip install "trueodds[{extra}]"' in found, f"{extra} is asked for; got: {found}")
    for command in ([sys.executable, "-I", "-m", "trueodds"], [str(program())]):
        done = subprocess.run([*command, "methods"], capture_output=True, text=True, check=False)
        said = done.stderr
        check(done.returncode == 3, f"{command} leaves with 3; got {done.returncode}")
        check('pip install "trueodds[cli]"' in said, f"the cli extra is asked for; got: {said}")


def program() -> Path:
    return Path(sys.executable).parent / "trueodds"


if __name__ == "__main__":
    check_installation()
    use_every_method()
    ask_for_what_is_missing()
    sys.stdout.write(f"trueodds {trueodds.__version__} works without extras\n")
