"""A page that pytest does not collect by itself; tests/docs/test_spark_page.py runs it."""

collect_ignore = ["spark.md"]  # needs the Spark session of the tests
