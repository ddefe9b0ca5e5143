"""The page on Spark runs, in the session that all tests on Spark share."""

from project_pages import DOCS, run_doctests


def test_the_examples_on_spark_run(spark, monkeypatch):
    run_doctests(DOCS / "howto" / "spark.md", monkeypatch)
