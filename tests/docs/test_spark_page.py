"""The pages with Spark in them run, in the session that all tests on Spark share."""

import pytest
from project_pages import DOCS, run_doctests


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_examples_on_production_run(spark, monkeypatch, tmp_path):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    run_doctests(DOCS / "howto" / "deploy.md", monkeypatch)


def test_the_examples_on_spark_run(spark, monkeypatch):
    run_doctests(DOCS / "howto" / "spark.md", monkeypatch)
