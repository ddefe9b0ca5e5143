"""Shared by the tests of exports."""

from spark_session import spark

__all__ = ["spark"]
