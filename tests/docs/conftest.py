"""The programs in tools/, and the Spark session of the other tests."""

import sys
from pathlib import Path

from spark_session import spark

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

__all__ = ["spark"]
