"""Pages that pytest does not collect by itself; tests/docs/test_spark_page.py runs them."""

collect_ignore = ["deploy.md", "spark.md"]  # need the Spark session of the tests
