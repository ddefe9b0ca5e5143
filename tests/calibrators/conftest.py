"""Makes the slow twins, which stand one folder up, importable by the tests of calibrators."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
