"""A PostgreSQL server for the tests that need one: their own, or the one that a variable names."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from needs import lacking

DEBIAN = Path("/usr/lib/postgresql")
SERVER = "TRUEODDS_POSTGRES"


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
