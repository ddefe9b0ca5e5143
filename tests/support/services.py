"""What tests need of the machine: libraries, Spark, a PostgreSQL server."""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

COMPILES_STAGES = "spark.sql.codegen.wholeStage"
COMPILES_EXPRESSIONS = "spark.sql.codegen.factoryMode"
DEBIAN = Path("/usr/lib/postgresql")
SERVER = "TRUEODDS_POSTGRES"


def lacking(reason: str) -> NoReturn:
    """Skip a test for want of something; in CI (``TRUEODDS_REQUIRE_ALL``), fail it."""
    if os.environ.get("TRUEODDS_REQUIRE_ALL"):
        pytest.fail(f"{reason} (TRUEODDS_REQUIRE_ALL is set, so this test is not skipped)")
    pytest.skip(reason)


def library(name: str) -> ModuleType:
    """An optional library that a test needs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        lacking(f"needs the Python library {name}")


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


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server as ``psql`` takes it.

    ``TRUEODDS_POSTGRES`` may name a running server (``postgresql://user@localhost/database``); only
    temporary tables are written there. Otherwise a new cluster is started in a temporary folder. It
    listens on a socket in that folder alone, and is deleted afterwards.
    """
    if SERVER in os.environ:
        yield os.environ[SERVER]
        return
    programs = _programs()
    if programs is None:
        lacking(f"needs PostgreSQL (Debian package postgresql), or a server named by {SERVER}")
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    shutil.chown(folder, owner)

    def run(program: str, *words: str) -> None:
        # The server would keep a pipe open, so what the programs print goes to a file.
        with (folder / "log.txt").open("a") as log:
            command = [str(programs / program), *words]
            finished = subprocess.run(
                command, user=owner, cwd=folder, stdout=log, stderr=log, check=False
            )
        assert finished.returncode == 0, (folder / "log.txt").read_text()

    cluster = str(folder / "cluster")
    try:
        run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--pgdata", cluster)
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "--pgdata", cluster, "--wait", "--options", options, "start")
        try:
            yield f"postgresql:///postgres?host={folder}&user=postgres"
        finally:
            run("pg_ctl", "--pgdata", cluster, "--mode=immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl; Debian keeps one for each version, outside the path."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    return max(DEBIAN.glob("*/bin"), key=lambda folder: float(folder.parent.name), default=None)


def _owner() -> str:
    """Whose the server is: PostgreSQL refuses to run as root."""
    import pwd  # Windows has none

    user = pwd.getpwuid(os.getuid())
    return user.pw_name if user.pw_uid else "nobody"
