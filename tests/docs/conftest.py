"""The Spark session of the other tests, for the page that shows Spark."""

from spark_session import spark

__all__ = ["spark"]
