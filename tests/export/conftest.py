"""Shared by the tests of exports."""

import os

from spark_session import spark

# The compiler that Java would use for long runs takes more time than these queries do.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

__all__ = ["spark"]
