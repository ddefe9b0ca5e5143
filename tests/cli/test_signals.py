"""A signal at any moment: the run is complete, or it is terminated and nothing is left."""

import contextlib
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from support.terminate_at_random import COMPLETE, endings
from trueodds.basics.files import atomic_file
from trueodds.basics.signals import STOPPING, Terminated


@pytest.fixture(autouse=True)
def heed_interrupts():
    """A job in the background of a shell ignores Ctrl-C, and so would these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("made_of_it", ["duckdb", "import"])
def test_a_signal_counts_whatever_a_library_makes_of_it(run, data, monkeypatch, made_of_it):
    def swallowed(*_, **__):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except BaseException:
            errors = {
                "duckdb": RuntimeError("Query interrupted"),
                "import": ImportError("circular"),
            }
            raise errors[made_of_it] from None

    monkeypatch.setattr("trueodds.cli.rows.prepare.examine", swallowed)
    result = run("evaluate", data / "scores.csv", "-s", "p", "-l", "y")
    assert (result.code, result.err) == (
        143,
        "trueodds: terminated; no partial output was written.\n",
    )


@pytest.mark.parametrize(("number", "kind"), [(2, KeyboardInterrupt), (15, Terminated)])
def test_a_signal_is_put_off_while_a_temporary_file_is_made(tmp_path, monkeypatch, number, kind):
    make = os.open

    def interrupted(path, *words, **options):
        made = make(path, *words, **options)
        if str(path).endswith(".tmp"):
            os.kill(os.getpid(), number)
        return made

    monkeypatch.setattr(os, "open", interrupted)
    with STOPPING.watched(), pytest.raises(kind), atomic_file(tmp_path / "x"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def signal_when_a_file_is_there(monkeypatch):
    replace = Path.replace

    def interrupted(self, target):
        replace(self, target)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Path, "replace", interrupted)


@pytest.mark.usefixtures("signal_when_a_file_is_there")
def test_a_signal_that_comes_when_the_file_is_there_is_too_late(tmp_path):
    with STOPPING.watched():
        with atomic_file(tmp_path / "x") as stream:
            stream.write(b"all")
        with pytest.raises(Terminated):  # but a program that goes on can be stopped
            os.kill(os.getpid(), signal.SIGTERM)
    assert (tmp_path / "x").read_bytes() == b"all"


def test_a_signal_that_a_library_swallows_is_heeded_the_second_time(monkeypatch):
    seconds = iter([0.0, 0.1, 5.0])
    monkeypatch.setattr("time.monotonic", lambda: next(seconds))
    with STOPPING.watched():
        with contextlib.suppress(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)  # the first one may still be cleaning up
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.usefixtures("signal_when_a_file_is_there")
def test_a_signal_during_an_intermediate_file_stops_the_program_after_it(tmp_path):
    with (
        STOPPING.watched(),
        pytest.raises(Terminated),
        atomic_file(tmp_path / "x", final=False) as stream,
    ):
        stream.write(b"all")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x": b"all"}


def test_a_signal_while_temporary_files_are_removed_keeps_none_of_them(
    run, data, tmp_path, monkeypatch
):
    remove = shutil.rmtree

    def interrupted(folder, **options):
        monkeypatch.setattr(shutil, "rmtree", remove)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shutil, "rmtree", interrupted)
    result = run("evaluate", data / "scores.csv", "-s", "p", "-l", "y", "--resamples", "20")
    assert (result.code, result.err) == (
        143,
        "trueodds: terminated; no partial output was written.\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_monitor_stopped_before_its_state_is_saved_does_not_say_that_it_counted(
    run, data, tmp_path, monkeypatch
):
    fit = ["fit", data / "scores.csv", "-s", "p", "-l", "y", "-o", tmp_path / "m.json"]
    assert run(*fit).code == 0
    monkeypatch.setattr(
        "trueodds.watch.state.Watch.save", lambda *_: os.kill(os.getpid(), signal.SIGTERM)
    )
    words = [tmp_path / "m.json", data / "scores.csv", "-s", "p", "-l", "y"]
    result = run("monitor", *words, "--state", tmp_path / "state.json")
    assert (result.code, result.err) == (
        143,
        "trueodds: terminated; no partial output was written.\n",
    )
    assert not (tmp_path / "state.json").exists()


@pytest.mark.slow
def test_commands_stopped_at_random_moments_leave_all_or_nothing():
    found = [how for _, how in endings(8, seed=1, rows=2_000)]
    assert len(found) == 8
    assert set(found) - {COMPLETE}
