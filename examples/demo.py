"""A real model's scores in; calibrated probabilities, a comparison of methods and a report out.

The same as ``trueodds demo [FOLDER]``, for those who look here first; each step is a command that
works on any file of scores. See ``docs/command-line.md``.

Usage: python examples/demo.py [output folder]
"""

import sys

from trueodds.cli import main

if __name__ == "__main__":
    main(["demo", *sys.argv[1:]])
