"""Shared by the tests of exports."""

from postgres_server import postgres
from spark_session import spark

__all__ = ["postgres", "spark"]
