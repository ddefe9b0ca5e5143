"""A Spark session for the tests that need one, in whichever folder they are."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from needs import lacking

COMPILES_STAGES = "spark.sql.codegen.wholeStage"
COMPILES_EXPRESSIONS = "spark.sql.codegen.factoryMode"


@contextmanager
def compiling(session: Any) -> Iterator[None]:
    """Queries are compiled, as they are unless told otherwise."""
    before = {name: session.conf.get(name) for name in (COMPILES_STAGES, COMPILES_EXPRESSIONS)}
    session.conf.set(COMPILES_STAGES, "true")
    session.conf.set(COMPILES_EXPRESSIONS, "FALLBACK")
    yield
    for name, value in before.items():
        session.conf.set(name, value)


def _java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") is not None or (
        home is not None and (Path(home) / "bin" / "java").exists()
    )


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session in this process; skipped without Java unless everything is required."""
    if not _java():
        lacking("Spark needs Java 17 or newer, and no java was found: install one or set JAVA_HOME")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # The compiler that Java would use for long runs takes more time than these queries do.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
    session = (
        SparkSession.builder.master("local[1]")
        .appName("trueodds-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "1")
        # A query runs once on a few rows: to interpret it is faster than to compile it.
        .config(COMPILES_STAGES, "false")
        .config(COMPILES_EXPRESSIONS, "NO_CODEGEN")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
