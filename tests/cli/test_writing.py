"""Outputs that appear whole or not at all: a full disk, several writers, links."""

import os
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import trueodds
from trueodds.basics.files import write_text


@pytest.mark.parametrize("command", ["apply", "fit", "export", "report"])
def test_a_full_device_is_said_in_one_sentence(run, data, command):
    scores = [data / "scores.csv", "-s", "p"]
    words = {
        "apply": [data / "map.json", *scores, "--output-format", "csv"],
        "fit": [*scores, "-l", "y", "-m", "beta"],
        "export": [data / "map.json", "--to", "sql"],
        "report": [*scores, "-l", "y", "-m", "identity", "-m", "beta"],
    }
    result = run(command, *words[command], "-o", "/dev/full")
    assert result.code == 1
    assert result.err.endswith("trueodds: /dev/full: no space left on device.\n")
    assert result.err.count("\n") == 1


def small_files() -> None:
    """No file of the process may grow beyond 4 kB, as if the disk were full then."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
def test_a_disk_that_fills_up_leaves_what_was_there(run_process, data, tmp_path, files_left, older):
    target = tmp_path / "o.csv"
    if older:
        target.write_text("precious\n")
    words = ["apply", data / "map.json", data / "scores.csv", "-s", "p", "-o", target, "--force"]
    result = run_process(*words, preexec_fn=small_files)
    assert result.returncode == 1, result.stderr
    assert f"{target}: file too large" in result.stderr.decode()
    assert result.stderr.count(b"\n") == 1
    assert files_left(tmp_path) == (["o.csv"] if older else [])
    if older:
        assert target.read_text() == "precious\n"


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o640, 0o604, 0o664])
def test_a_file_that_is_replaced_keeps_its_permissions(run, data, tmp_path, mode):
    scores = [data / "scores.csv", "-s", "p"]
    for target, words in (
        ("map.json", ["fit", *scores, "-l", "y", "-m", "beta"]),
        ("rows.csv", ["apply", data / "map.json", *scores]),
    ):
        target = tmp_path / target
        target.write_text("private")
        target.chmod(mode)
        assert run(*words, "-o", target, "--force").code == 0
        assert target.stat().st_mode & 0o777 == mode
        assert len(target.read_bytes()) > 100


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_file_that_is_replaced_keeps_its_owner_where_the_system_allows_it():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to other users
        Path(folder).chmod(0o777)
        target = Path(folder) / "map.json"
        target.write_text("old")
        os.chown(target, 65534, 65533)
        target.chmod(0o640)
        write_text("new", target)
        found = target.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (65534, 65533, 0o640)

        # Another user keeps neither owner nor group; the new group may do what all may.
        target.chmod(0o664)
        program = (
            "import os, sys; from trueodds.basics.files import write_text; os.setgroups([]);"
            "os.setgid(65532); os.setuid(65532); write_text('newer', sys.argv[1])"
        )
        subprocess.run([sys.executable, "-c", program, target], check=True)
        found = target.stat()
        assert target.read_text() == "newer"
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (65532, 65532, 0o644)


def test_a_file_that_many_write_at_once_is_always_that_of_one_of_them(tmp_path):
    target = tmp_path / "map.json"
    texts = {letter * 20_000 for letter in "abcdefg"}
    write_text(min(texts), target)
    done = threading.Event()
    seen = set()

    def read():
        while not done.is_set():
            seen.add(target.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    writers = [
        threading.Thread(target=lambda text=text: [write_text(text, target) for _ in range(10)])
        for text in texts
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    reader.join()
    assert seen <= texts
    assert target.read_text() in texts
    assert os.listdir(tmp_path) == ["map.json"]  # noqa: PTH208


@pytest.mark.slow
def test_commands_that_write_one_output_at_once_leave_one_whole_map(data, tmp_path):
    target = tmp_path / "map.json"
    command = [sys.executable, "-m", "trueodds", "fit", data / "scores.csv", "-s", "p"]
    command += ["-l", "y", "--force", "-o", target, "-m"]
    methods = ["beta", "logistic", "isotonic"]
    processes = [subprocess.Popen([*command, method]) for method in methods]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert trueodds.load(target).family in ("log_odds", "piecewise_linear", "step")
    assert os.listdir(tmp_path) == ["map.json"]  # noqa: PTH208
