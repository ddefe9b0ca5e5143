"""The compiled kernels of the studies, and the version, which is that of the library.

``pyproject.toml`` describes everything else.
"""

import re
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

PACKAGE = "trueodds_studies.kernels"
FOLDER = Path("src", *PACKAGE.split("."))
MSVC = sys.platform == "win32"
# As in the library: one build for every later Python, and the same results on every processor.
STABLE_SINCE = (3, 11)
MACROS = [("Py_LIMITED_API", f"0x{STABLE_SINCE[0]:02X}{STABLE_SINCE[1]:02X}0000")]
ARGUMENTS = ["/O2"] if MSVC else ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"]
DIRECTIVES = {
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "language_level": 3,
}


def version() -> str:
    """Return the version of the library; a source distribution contains it."""
    library, metadata = Path("../src/trueodds/__init__.py"), Path("PKG-INFO")
    path = metadata if metadata.exists() else library
    pattern = r'^(?:__version__ = "|Version: )([\w.]+)'
    found = re.search(pattern, path.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{path} names no version")
    return found[1]


setup(
    version=version(),
    ext_modules=cythonize(
        [
            Extension(
                f"{PACKAGE}.{path.stem}",
                [path.as_posix()],
                define_macros=MACROS,
                extra_compile_args=ARGUMENTS,
                py_limited_api=True,
            )
            for path in sorted(FOLDER.glob("[!_]*.py"))
        ],
        build_dir="build/kernels",
        compiler_directives=DIRECTIVES,
        quiet=True,
    ),
    options={"bdist_wheel": {"py_limited_api": "cp{}{}".format(*STABLE_SINCE)}},
)
