"""The compiled kernels: every module of ``trueodds.kernels`` is Python that Cython translates to C.

Everything else about the package is in ``pyproject.toml``.
"""

import os
import subprocess
import sys
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup

PACKAGE = "trueodds.kernels"
FOLDER = Path("src", *PACKAGE.split("."))
BUILD = Path("build", "kernels", Cython.__version__)
UTILITIES = "_utilities"
"""The module with Cython's functions for memory views, compiled once for all kernels."""

# One build serves Python 3.11 and later: kernels use only the stable interface of Python.
STABLE_SINCE = (3, 11)
MACROS = [("Py_LIMITED_API", f"0x{STABLE_SINCE[0]:02X}{STABLE_SINCE[1]:02X}0000")]
MSVC = sys.platform == "win32"
# No contraction to fused multiply-add: results are the same on every processor.
ARGUMENTS = ["/O2"] if MSVC else ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"]
# Floating-point exceptions are not used, so both sides of a choice may be computed.
ARGUMENTS += [] if MSVC else ["-fno-trapping-math"]

# Less optimization and build time, where benchmarks/speed/kernels.py shows no difference.
# The utilities run once for each array, not for each number.
LEVELS = {UTILITIES: "-O1"} | dict.fromkeys(
    ("bayesian_isotonic", "binnings", "isotonic", "monitor", "tables"), "-O2"
)

DIRECTIVES = {
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "language_level": 3,
    "auto_pickle": False,  # kernels are not pickled; the code would be a sixth of all
    "binding": False,  # functions without Python attributes: less code
}


def extension(module: str, source: Path) -> Extension:
    """Return how one module is compiled."""
    return Extension(
        f"{PACKAGE}.{module}",
        [source.as_posix()],
        define_macros=MACROS,
        include_dirs=[FOLDER.as_posix()],
        depends=[header.as_posix() for header in FOLDER.glob("*.h")],
        extra_compile_args=[
            *ARGUMENTS,
            *([LEVELS[module]] if module in LEVELS and not MSVC else []),
        ],
        py_limited_api=True,
    )


def extensions() -> list[Extension]:
    """Return all kernels, translated to C, and the utilities that they share."""
    BUILD.mkdir(parents=True, exist_ok=True)
    utilities = BUILD / f"{UTILITIES}.c"
    if not utilities.exists():
        command = [sys.executable, "-m", "cython", f"--generate-shared={utilities.as_posix()}"]
        subprocess.run(command, check=True)  # noqa: S603
    modules = sorted(path for path in FOLDER.glob("*.py") if path.stem != "__init__")
    kernels = cythonize(
        [extension(path.stem, path) for path in modules],
        build_dir=BUILD.as_posix(),
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=f"{PACKAGE}.{UTILITIES}",
        nthreads=os.cpu_count() or 1,
        quiet=True,
    )
    return [*kernels, extension(UTILITIES, utilities)]


setup(
    ext_modules=extensions(),
    options={
        "bdist_wheel": {"py_limited_api": "cp{}{}".format(*STABLE_SINCE)},
        "build_ext": {"parallel": os.cpu_count() or 1},
    },
)
