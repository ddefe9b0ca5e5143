"""Pages that pytest does not collect by itself; tests/docs/test_spark_page.py runs them."""

import os
import sys
from pathlib import Path

# Pages call the program by its name; it is installed next to Python.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
collect_ignore = ["deploy.md", "spark.md"]  # need the Spark session of the tests
