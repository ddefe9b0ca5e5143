"""``trueodds stream``: rows of files and lines into a calibrator, forecasts and state in step."""

import csv
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pytest

from support.mutate_json import Mutator
from trueodds import (
    GroupCalibrator,
    LogisticCalibrator,
    OneVsRestCalibrator,
    OnlineCalibrator,
    load,
)
from trueodds.basics.files import exclusive
from trueodds.cli import main
from trueodds.exceptions import InputError
from trueodds.maps import IdentityMap, LogOddsMap
from trueodds.watch import StreamWatch, ids_seen

COLUMNS = ("-s", "p", "-l", "y", "--state", "s.json")
STDIN = ("stream", "map.json", "-", *COLUMNS, "--id", "order")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LogOddsMap(a=0.8, b=0.9, c=-0.2).save("map.json")
    IdentityMap().save("identity.json")
    return tmp_path


@pytest.fixture
def feed(folder, run):
    """Run a command with standard input; returns as ``run`` does."""

    def call(*words, given):
        (folder / "given.jsonl").write_bytes(given)
        with standard_input("given.jsonl"):
            return run(*words)

    return call


@contextmanager
def standard_input(name):
    before, source = os.dup(0), os.open(name, os.O_RDONLY)
    try:
        os.dup2(source, 0)
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(source)


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(6)
    return p.tolist(), (rng.random(n) < p**2).astype(int).tolist()


def write(name, p, y, first=0, day=None):
    """CSV with scores, labels (None: not yet), ids, and perhaps a time for each row."""
    with open(name, "w") as file:  # noqa: PTH123
        file.write("p,y,order" + (",at\n" if day else "\n"))
        for i, (score, label) in enumerate(zip(p, y, strict=True)):
            at = f",2026-10-{day:02d} {i // 60:02d}:{i % 60:02d}:00" if day else ""
            file.write(f"{score},{'' if label is None else label},n{first + i}{at}\n")


def forecasts(name="f.csv"):
    with open(name, newline="") as file:  # noqa: PTH123
        return list(csv.DictReader(file))


def learned(state="s.json"):
    content = json.loads(Path(state).read_text())
    del content["checksum"]
    return content


def test_rows_of_files_are_learned_in_the_order_of_time(folder, run):
    for day in (2, 1):
        p, y = rows(80, day)
        write(f"{day}.csv", p, y, 1000 * day, day)
    words = ("stream", "map.json", "[0-9].csv", *COLUMNS, "-t", "at", "-o", "f.csv", "--json")
    result = run(*words, "--map-out", "now.json")
    assert result.code == 0, result.err
    online = OnlineCalibrator(start=load("map.json"))
    p, y = (a + b for a, b in zip(rows(80, 1), rows(80, 2), strict=True))
    expected = online.replay(p, y)[:, 1]
    found = forecasts()
    assert [float(row["forecast"]) for row in found] == expected.tolist()
    assert [row["file"] for row in found] == ["1.csv"] * 80 + ["2.csv"] * 80
    assert [int(row["row"]) for row in found] == [*range(1, 81)] * 2
    assert [int(row["label"]) for row in found] == y
    assert learned()["online"] == online.to_dict()
    assert result.json["rows_learned"] == result.json["rows"] == 160
    assert result.json["regret"] == online.regret_ < result.json["bound"]
    assert load("now.json") == online.map_
    before = learned()["online"], (folder / "f.csv").read_bytes()
    assert run(*words).code == 0
    assert (learned()["online"], (folder / "f.csv").read_bytes()) == before


def test_labels_that_come_later_are_learned_under_their_ids(folder, run):
    p, y = rows(60)
    words = ("stream", "map.json", "a.csv", *COLUMNS, "--id", "order", "-o", "f.csv")
    write("a.csv", p, [None] * 60)
    first = run(*words)
    assert "0 rows learned, 60 forecasts made" in first.err
    assert "60 forecasts wait for a label" in first.out
    asked = forecasts()
    assert {row["label"] for row in asked} == {""}
    write("a.csv", p, [*y[:40], *[None] * 20])  # the same rows, with labels of 40
    second = run(*words)
    assert "40 rows learned, 40 forecasts made" in second.err
    again = forecasts()[60:]
    assert [row["id"] for row in again] == [f"n{i}" for i in range(40)]
    assert [row["forecast"] for row in again] == [row["forecast"] for row in asked[:40]]
    assert [int(row["label"]) for row in again] == y[:40]
    assert "0 rows learned, 0 forecasts made" in run(*words).err
    online = OnlineCalibrator(start=load("map.json"))
    ids = [f"n{i}" for i in range(60)]
    assert online.ask(p, ids=ids)[:, 1].tolist() == [float(row["forecast"]) for row in asked]
    online.answer(ids[:40], y[:40])
    assert learned()["online"] == online.to_dict()


def test_files_without_labels_and_files_of_labels_alone(folder, run):
    """Payments of a day have no column of labels; labels come as ids and labels, in any order."""
    online, expected = OnlineCalibrator(start=load("map.json")), []
    words = ("*.csv", *COLUMNS, "--id", "order", "-o", "f.jsonl", "--json")
    for day in range(3):
        p, y = rows(50, day)
        ids = [f"n{100 * day + i}" for i in range(50)]
        lines = [f"{score},{name}\n" for score, name in zip(p, ids, strict=True)]
        (folder / f"b{day}.csv").write_text("p,order\n" + "".join(lines))
        told = online.ask(p, ids=ids)[:, 1].tolist()
        expected += [(f"b{day}.csv", name, None, q) for name, q in zip(ids, told, strict=True)]
        if day:
            assert run("stream", "map.json", *words).json["rows_learned"] == online.n_rows
        name = f"c{day}.csv" if day else "a0.csv"
        order = np.random.default_rng(day).permutation(50)
        labels = [f"{ids[i]},{y[i]}\n" for i in order]
        (folder / name).write_text("order,y\n" + "".join(labels) + "unknown,1\n,0\nn3,\n")
        expected += [(name, ids[i], y[i], told[i]) for i in order]
        online.answer([ids[i] for i in order], [y[i] for i in order])
        if not day:  # the labels come with the rows, under a name that sorts before theirs
            assert run("stream", "map.json", *words).json["rows_learned"] == 50
    last = run("stream", "map.json", *words)
    assert "c2.csv: no row waits for 1 of 53 labels." in last.err
    found = [json.loads(line) for line in (folder / "f.jsonl").read_text().splitlines()]
    assert [(row["file"], row["id"], row["label"], row["forecast"]) for row in found] == expected
    assert learned()["online"] == online.to_dict()
    assert StreamWatch.load("s.json").watch.monitor.n_rows == 150
    before = learned()["online"], (folder / "f.jsonl").read_bytes()
    run("stream", "map.json", *words)
    assert (learned()["online"], (folder / "f.jsonl").read_bytes()) == before


def test_without_ids_rows_wait_for_their_labels(folder, run):
    p, y = rows(30)
    write("a.csv", p, [*y[:20], *[None] * 10])
    words = ("stream", "map.json", "a.csv", *COLUMNS, "-o", "f.jsonl")
    first = run(*words)
    assert "20 rows learned, 20 forecasts made" in first.err
    assert "(10 without a label)" in first.out
    write("a.csv", p, y)
    assert "10 rows learned, 10 forecasts made" in run(*words).err
    online = OnlineCalibrator(start=load("map.json"))
    expected = online.replay(p, y)[:, 1].tolist()
    lines = [json.loads(line) for line in (folder / "f.jsonl").read_text().splitlines()]
    assert [line["forecast"] for line in lines] == expected
    assert learned()["online"] == online.to_dict()


def test_the_monitor_is_an_independent_watchdog(folder, run):
    p, y = rows(3000)
    write("a.csv", p, y)
    LogisticCalibrator().fit(*rows(1000, 1)).map_.save("fitted.json")
    run("stream", "fitted.json", "a.csv", *COLUMNS, "-o", "f.csv")
    watchdog = ("-s", "forecast", "-l", "label", "--state", "w.json", "--json")
    calm = run("monitor", "identity.json", "f.csv", *watchdog)
    assert calm.code == 0
    assert calm.json["rows"] == 3000
    own = StreamWatch.load("s.json").watch.monitor
    assert calm.json["e_value"] == pytest.approx(own.e_value, rel=1e-9)
    raw = ("-s", "p", "-l", "y", "--state", "v.json", "--json")
    assert run("monitor", "identity.json", "a.csv", *raw).code == 4


KILL_POINTS = 40


def run_killed(words, moment):
    """Run the command in a child that kills itself at its n-th step; True if it was killed."""
    child = os.fork()
    if not child:
        code = 70
        try:
            with open(os.devnull, "w") as nothing:  # noqa: PTH123
                os.dup2(nothing.fileno(), 1)
                os.dup2(nothing.fileno(), 2)
            _kill_at(moment)
            main([str(word) for word in words])
        except SystemExit as leave:
            code = int(leave.code or 0)
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def _kill_at(moment):
    """Count every write, flush and save, before and after; the process ends at the n-th."""
    from trueodds.watch.forecasts import Forecasts

    steps = iter(range(10**6))

    def stepping(kind, name):
        plain = getattr(kind, name)

        def called(*args, **options):
            if next(steps) == moment:
                for file in [one for one in args[:1] if isinstance(one, Forecasts)]:
                    if file._stream is not None:
                        file._stream.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            result = plain(*args, **options)
            if next(steps) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(kind, name, called)

    stepping(Forecasts, "write")
    stepping(Forecasts, "flush")
    stepping(StreamWatch, "save")
    stepping(Path, "replace")


@pytest.mark.slow
def test_a_run_that_is_killed_loses_nothing_and_counts_nothing_twice(folder, run):
    words = ["stream", "map.json", "[0-9].csv", *COLUMNS, "--id", "order", "-o", "f.csv"]
    words += ["--map-out", "now.json", "--map-every", "30"]
    deliveries = []
    for k in range(3):
        p, y = rows(40, k)
        deliveries.append((f"{k}.csv", p, [*y[:25], *[None] * 15], 100 * k))
    for delivery in deliveries:
        write(*delivery)
        assert run(*words).code == 0
    expected = (folder / "f.csv").read_bytes(), learned()
    for name in ("s.json", "f.csv", "now.json", "0.csv", "1.csv", "2.csv"):
        (folder / name).unlink()
    kills = 0
    for delivery in deliveries:
        write(*delivery)
        os.utime(delivery[0], (1e9, 1e9))
        for moment in range(KILL_POINTS):
            if not run_killed(words, moment):
                break
            kills += 1
        else:
            pytest.fail("more steps than moments")
    assert kills > 30
    assert (folder / "f.csv").read_bytes() == expected[0]
    assert learned()["online"] == expected[1]["online"]
    assert learned()["watch"]["monitor"] == expected[1]["watch"]["monitor"]


def test_two_runs_at_once_take_turns(folder):
    for k in range(2):
        write(f"{k}.csv", *rows(300, k), first=1000 * k)
    command = [sys.executable, "-m", "trueodds", "stream", "map.json"]
    runs = [
        subprocess.Popen([*command, f"{k}.csv", *COLUMNS, "-o", "f.csv"], stderr=subprocess.PIPE)
        for k in range(2)
    ]
    assert [one.wait(120) for one in runs] == [0, 0], [one.stderr.read() for one in runs]
    for one in runs:
        one.stderr.close()
    found = forecasts()
    assert sorted((row["file"], int(row["row"])) for row in found) == [
        (f"{k}.csv", i + 1) for k in range(2) for i in range(300)
    ]
    assert learned()["online"]["streams"][0]["clock"][0] == 600


# Lines ------------------------------------------------------------------------------------------


def lines(n, seed=0):
    """Rows with labels, rows without, and labels that come later, some of unknown rows."""
    p, y = rows(n, seed)
    found = []
    for i in range(n):
        if i % 3 == 0:
            found.append({"p": p[i], "y": y[i]})
        else:
            found.append({"p": p[i], "order": i})
        if i % 3 == 2 and i > 8:
            found.append({"order": i - 6, "y": y[i - 6]})
    return [*found, {"order": "unknown", "y": 1}, {"p": 0.4}]


def expected_answers(given):
    """The same by the calibrator's own methods, one row at a time."""
    online = OnlineCalibrator(start=load("map.json"))
    answers = []
    for number, row in enumerate(given, start=1):
        answer = {"line": number}
        if "order" in row:
            answer["id"] = row["order"]
        if "p" not in row:
            told = online.recall(row["order"])[0, 1]
            known = online.answer(row["order"], row["y"])
            answer |= {"forecast": told, "learned": True} if known else {"learned": False}
        elif "y" in row:
            answer["forecast"] = online.replay(row["p"], row["y"])[0, 1]
        elif "order" in row:
            answer["forecast"] = online.ask(row["p"], row["order"])[0, 1]
        else:
            answer["forecast"] = online.predict_proba(row["p"])[0, 1]
        answers.append(answer)
    return answers, online


def as_bytes(given):
    return "".join(json.dumps(row) + "\n" for row in given).encode()


def test_each_line_gets_the_answer_of_the_calibrator(folder, feed):
    given = lines(90)
    words = (*STDIN, "--map-out", "now.json", "--map-every", "20")
    result = feed(*words, given=as_bytes(given))
    assert result.code == 0, result.err
    answers, online = expected_answers(given)
    assert [json.loads(line) for line in result.out.splitlines()] == answers
    assert learned()["online"] == online.to_dict()
    assert load("now.json") == online.map_
    monitor = StreamWatch.load("s.json").watch.monitor
    assert monitor.n_rows == online.n_rows


def test_lines_in_two_runs_equal_lines_in_one(folder, feed):
    given = lines(60)
    first = feed(*STDIN, given=as_bytes(given[:31]))
    second = feed(*STDIN, given=as_bytes(given[31:]))
    answers, online = expected_answers(given)
    found = [json.loads(line) for line in (first.out + second.out).splitlines()]
    assert found == answers
    assert learned()["online"] == online.to_dict()


def test_lines_killed_anywhere_go_on_bit_for_bit(folder, monkeypatch):
    """The input goes on after the last line of the state; the answers have each line once."""
    given = lines(45)
    monkeypatch.setattr("trueodds.watch.lines.READ_BYTES", 300)
    monkeypatch.setattr("trueodds.watch.lines.LONGEST_WAIT", 7)
    words = [*STDIN, "-o", "f.jsonl"]
    kills = 0
    for moment in range(12, 400, 9):
        known = learned()["lines"] if (folder / "s.json").exists() else 0
        (folder / "rest.jsonl").write_bytes(as_bytes(given[known:]))
        with standard_input("rest.jsonl"):
            if not run_killed(words, moment):
                break
        kills += 1
    else:
        pytest.fail("it never ended")
    assert kills > 5
    answers, online = expected_answers(given)
    found = [json.loads(line) for line in (folder / "f.jsonl").read_text().splitlines()]
    assert found == answers
    assert learned()["online"] == online.to_dict()
    assert learned()["lines"] == len(given)


def test_an_answer_comes_before_the_next_line_is_sent(folder):
    command = [sys.executable, "-m", "trueodds", *STDIN]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        for i in range(3):
            process.stdin.write(as_bytes([{"p": 0.3, "order": i}]))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == i
        process.terminate()
        assert process.wait(60) == 143
    assert StreamWatch.load("s.json").online.n_pending == 3


@pytest.mark.parametrize("answers", [1_001, 2_500])
def test_a_burst_is_saved_at_the_latest_after_1000_lines(folder, answers):
    """Killed after so many answers, all but the last 1,000 lines are in the state."""
    given = as_bytes({"p": 0.001 * (k % 1000), "order": k} for k in range(4000))
    command = [sys.executable, "-m", "trueodds", *STDIN, "--max-pending", "9999"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        sender = Thread(target=send, args=(process.stdin, given))
        sender.start()
        for _ in range(answers):
            last = json.loads(process.stdout.readline())
        process.kill()
        sender.join()
    state = StreamWatch.load("s.json")
    assert state.lines >= last["line"] - 1000
    assert state.online.n_pending == state.lines


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "line 2 of standard input is not valid JSON"),
        (b"[1]", "line 2 of standard input is no JSON object"),
        (b'{"p": 1.5}', r"line 2 of standard input: scores must lie in [0, 1]"),
        (b'{"p": "0.5"}', "'p' must be a number; got '0.5'"),
        (b'{"p": true}', "'p' must be a number; got True"),
        (b'{"p": 0.5, "y": 2}', "2 is none of the map's classes (0, 1)"),
        (b'{"p": 0.5, "order": [1]}', "'order' (--id) must be a text or a whole number"),
        (b'{"y": 1}', "it has neither a score ('p') nor a label ('y') with an id"),
        (b'{"p": 0.5, "order": "%s"}' % (b"x" * 65), "at most 64 characters"),
        (b'{"p": 0.5, "p": 0.6}', "duplicate key 'p'"),
        (b"\xff", "line 2 of standard input is not UTF-8 text"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(folder, feed, line, said):
    given = b'{"p": 0.3, "y": 1}\n' + line + b'\n{"p": 0.4, "y": 0}\n'
    refused = feed(*STDIN, given=given)
    assert refused.code == 1
    assert said in refused.err
    assert "--on-bad-rows skip" in refused.err
    assert len(refused.out.splitlines()) == 1
    assert learned()["lines"] == 1
    (folder / "s.json").unlink()
    skipped = feed(*STDIN, "--on-bad-rows", "skip", given=given)
    assert skipped.code == 0
    answers = [json.loads(one) for one in skipped.out.splitlines()]
    assert [sorted(one) for one in answers] == [
        ["forecast", "line"], ["error", "line"], ["forecast", "line"]
    ]  # fmt: skip
    assert StreamWatch.load("s.json").online.n_rows == 2


def test_a_line_without_end_is_refused(folder, feed):
    result = feed(*STDIN, given=b'{"p": 0.1}\n' + b" " * 3_000_000)
    assert result.code == 1
    assert "longer than 1,000,000 bytes" in result.err


def with_ids(n, first=0):
    """Rows with an id: every third with its label, the others with a label twenty lines later."""
    p, y = rows(n, first)
    found, late = [], []
    for i in range(n):
        row = {"p": p[i], "order": first + i}
        found.append(row | {"y": y[i]} if i % 3 == 0 else row)
        late += [] if i % 3 == 0 else [{"order": first + i, "y": y[i]}]
        found += [late.pop(0)] if len(late) > 20 else []
    return found + late[:-5]


@pytest.mark.parametrize("texts", [False, True])
def test_a_feed_that_is_sent_again_is_not_learned_again(folder, feed, texts):
    given = with_ids(90)
    if texts:
        given = [row | {"order": f"order {row['order']}"} for row in given]
    first = feed(*STDIN, given=as_bytes(given))
    before = learned()
    again = feed(*STDIN, given=as_bytes(given))
    answers, others = (
        [json.loads(line) for line in one.out.splitlines()] for one in (first, again)
    )
    assert not any("known" in answer for answer in answers)
    assert all(answer["known"] for answer in others)
    assert [one["line"] for one in others] == list(range(len(given) + 1, 2 * len(given) + 1))
    waiting = {row["order"] for row in given} - {row["order"] for row in given if "y" in row}
    assert len(waiting) == 5
    for old, new, row in zip(answers, others, given, strict=True):
        assert ("forecast" in new) == ("p" in row)
        if row["order"] in waiting:
            assert new["forecast"] == old["forecast"]
    assert f"{len(given):,} rows not counted again: their ids (--id) were counted" in again.err
    assert "0 rows learned" in again.err
    after = learned()
    assert after["online"] == before["online"]
    assert after["watch"] == before["watch"]
    more = feed(*STDIN, given=as_bytes([*with_ids(3, 1000), *given]))
    assert "1 rows learned" in more.err


def test_a_consumer_that_restarts_at_its_committed_offset_loses_nothing(folder, feed):
    """Lines that the state has come again; those after it come once."""
    given = with_ids(120)
    everything, online = [], OnlineCalibrator(start=load("map.json"))
    for row in given:
        if "p" not in row:
            online.answer(row["order"], row["y"])
        elif "y" in row:
            online.replay(row["p"], row["y"])
        else:
            online.ask(row["p"], row["order"])
    for start, end in [(0, 50), (30, 100), (100, 130), (0, len(given))]:
        result = feed(*STDIN, given=as_bytes(given[start:end]))
        everything += [json.loads(line) for line in result.out.splitlines()]
    assert learned()["online"] == online.to_dict()
    assert learned()["lines"] == 50 + 70 + 30 + len(given)
    done = [one["id"] for one in everything if one.get("learned")]
    assert len(done) == len(set(done)) == sum("p" not in row for row in given)


@pytest.mark.slow
def test_a_consumer_that_is_killed_commits_what_the_state_has(folder):
    given = with_ids(3000)
    command = [sys.executable, "-m", "trueodds", *STDIN, "--max-pending", "9999"]
    offset = saved = 0
    for answers in (1300, 700, 2100, 10_000):
        rest = given[offset:]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            sender = Thread(target=send, args=(process.stdin, as_bytes(rest)))
            sender.start()
            for _ in range(min(answers, len(rest))):
                process.stdout.readline()
            if answers < len(rest):
                process.kill()
            sender.join()
        done = StreamWatch.load("s.json").lines if (folder / "s.json").exists() else 0
        offset, saved = max(0, offset + done - saved - 50), done  # an older commit than possible
    state = StreamWatch.load("s.json").online
    online = OnlineCalibrator(start=load("map.json"), max_pending=9999)
    for row in given:
        if "p" not in row:
            online.answer(row["order"], row["y"])
        elif "y" in row:
            online.replay(row["p"], row["y"])
        else:
            online.ask(row["p"], row["order"])
    assert state.to_dict() == online.to_dict()


def send(stream, content):
    with suppress(BrokenPipeError):
        stream.write(content)
    with suppress(BrokenPipeError):
        stream.close()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_rows_in_files_are_known_by_their_ids(folder, run, kind):
    def deliver(name, p, y, first):
        write("a.csv", p, y, first)
        frame = pd.read_csv("a.csv")
        if kind == "csv":
            frame.to_csv(name, index=False)
        else:
            frame.to_json(name, orient="records", lines=True)
        Path("a.csv").unlink()

    p, y = rows(60)
    words = (
        "stream",
        "map.json",
        f"[0-9].{kind}",
        *COLUMNS,
        "--id",
        "order",
        "-o",
        "f.csv",
        "--json",
    )
    deliver(f"1.{kind}", p[:40], y[:40], 0)
    assert run(*words).json["rows_known"] == 0
    deliver(f"2.{kind}", p[20:], y[20:], 20)  # the second half of the first file comes again
    second = run(*words)
    assert second.json["rows_known"] == 20
    assert second.json["rows_learned"] == second.json["rows"] == 60
    assert "20 rows not counted again: their ids (--id) were counted before." in second.err
    online = OnlineCalibrator(start=load("map.json"))
    online.replay(p, y)
    assert learned()["online"] == online.to_dict()
    assert [row["id"] for row in forecasts()] == [f"n{i}" for i in range(60)]
    deliver(f"3.{kind}", [0.3, 0.4, 0.3], [1, 0, 1], 100)
    (folder / f"3.{kind}").write_text((folder / f"3.{kind}").read_text().replace("n102", "n100"))
    third = run(*words)
    assert (third.json["rows_known"], third.json["rows_learned"]) == (1, 62)


def test_rows_that_were_answered_are_not_asked_again(folder, run):
    """A file without labels grows after its labels came in another file."""
    words = ("stream", "map.json", "*.csv", *COLUMNS, "--id", "order", "-o", "f.jsonl", "--json")
    (folder / "asked.csv").write_text("p,order\n0.2,a\n0.7,b\n")
    run(*words)
    (folder / "labels.csv").write_text("order,y\na,1\n")
    labels = run(*words)
    assert (labels.json["rows_learned"], labels.json["rows_known"]) == (1, 0)
    (folder / "asked.csv").write_text("p,order\n0.2,a\n0.7,b\n0.4,c\n")
    grown = run(*words)
    assert (grown.json["rows_pending"], grown.json["forecasts"]) == (2, 1)
    (folder / "labels.csv").write_text("order,y\na,1\nb,0\n")
    more = run(*words)
    assert (more.json["rows_learned"], more.json["rows_known"]) == (2, 1)
    assert "no row waits" not in more.err


def test_the_number_of_ids_is_bounded_and_said(folder, feed, monkeypatch):
    monkeypatch.setattr(ids_seen, "MOST_IDS", 100)
    p, y = rows(250)
    given = [{"p": p[i], "y": y[i], "order": i} for i in range(250)]
    said = "the state has the last 100 ids; rows of the 150 ids before them are counted again"
    assert said in feed(*STDIN, given=as_bytes(given)).err
    again = feed(*STDIN, given=as_bytes(given[160:]))
    assert "90 rows not counted again" in again.err
    assert said in again.err
    older = feed(*STDIN, given=as_bytes(given[:10]))
    assert "10 rows learned" in older.err


def test_several_classes_weights_and_named_labels(folder, run, feed):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], 300).round(6)
    scores[:, 2] = (1 - scores[:, 0] - scores[:, 1]).round(6)
    y = np.array(["a", "b", "c"])[[rng.choice(3, p=row / row.sum()) for row in scores]]
    OneVsRestCalibrator(LogisticCalibrator()).fit(scores, y).map_.save("three.json")
    given = [
        dict(zip(("p", "q", "r"), row, strict=True)) | {"y": label, "n": 1 + i % 3}
        for i, (row, label) in enumerate(zip(scores[:40].tolist(), y, strict=False))
    ]
    (folder / "a.jsonl").write_bytes(as_bytes(given))
    words = ("-s", "p", "-s", "q", "-s", "r", "-l", "y", "--counts", "n", "--state")
    assert (
        "40 rows learned"
        in run("stream", "three.json", "a.jsonl", *words, "s.json", "-o", "f.csv").err
    )
    lined = feed("stream", "three.json", "-", *words, "t.json", given=as_bytes(given))
    online = OnlineCalibrator(start=load("three.json"))
    expected = online.replay(scores[:40], y[:40], counts=[1 + i % 3 for i in range(40)])
    columns = ("forecast_a", "forecast_b", "forecast_c")
    for found in (forecasts(), [json.loads(line) for line in lined.out.splitlines()]):
        assert [[float(row[c]) for c in columns] for row in found] == expected.tolist()
    assert learned()["online"] == learned("t.json")["online"] == online.to_dict()
    wrong = run("stream", "three.json", "a.jsonl", "-s", "p", "-l", "y", "--state", "u.json")
    assert (wrong.code, "pass one --score for each" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["a.csv", "-", "--state", "s.json"], 2, "cannot be read together with files"),
        (["a.csv", "--map-every", "5", "--state", "s.json"], 2, "--map-every needs --map-out"),
        (["a.csv", "--until", "7", "--state", "s.json"], 2, "need --time"),
        (["-", "--time", "at", "--state", "s.json"], 2, "--time is for files"),
        (["a.csv", "-o", "f.txt", "--state", "s.json"], 2, "must end in .csv or .jsonl"),
        (["a.csv", "-o", "a.csv", "--state", "s.json"], 2, "are the same file"),
        (["a.csv", "--map-out", "map.json", "--state", "s.json"], 2, "are the same file"),
        (["a.csv", "-o", "identity.csv", "--state", "s.json"], 1, "is not the output of this"),
        (
            ["a.csv", "--max-pending", "7", "--state", "old.json"],
            2,
            "begun with --max-pending 1000",
        ),
        (["a.csv", "-t", "order", "--state", "old.json"], 2, "was begun with --time None"),
        (["none.csv", "--state", "s.json"], 1, "none.csv"),
        (["a.csv", "--state", "map.json"], 2, "are the same file"),
        (["a.csv", "--state", "identity.json"], 1, "is not a valid state"),
    ],
)
def test_what_is_wrong_with_a_command_is_said(folder, run, words, code, said):
    write("a.csv", *rows(20))
    (folder / "identity.csv").write_text("mine\n")
    run("stream", "map.json", "a.csv", "-s", "p", "-l", "y", "--state", "old.json")
    result = run("stream", "map.json", *words, "-s", "p", "-l", "y")
    assert (result.code, said in result.err) == (code, True), result.err
    assert not (folder / "s.json").exists()


def test_a_state_of_another_map_and_a_shortened_output_are_refused(folder, run):
    write("a.csv", *rows(20))
    words = ("a.csv", *COLUMNS, "-o", "f.csv")
    assert run("stream", "map.json", *words).code == 0
    assert "was begun with another map" in run("stream", "identity.json", *words).err
    (folder / "f.csv").write_text("file\n")
    assert "is shorter than when this state was saved" in run("stream", "map.json", *words).err
    (folder / "f.csv").unlink()
    write("b.csv", *rows(5, 1))
    assert run("stream", "map.json", "b.csv", *words[1:]).code == 0
    assert len(forecasts()) == 5


def test_a_map_with_features_is_refused_with_what_takes_it(folder, run):
    p, y = rows(200)
    topic = pd.DataFrame({"topic": [["a", "b"][i % 2] for i in range(200)]})
    GroupCalibrator().fit(p, y, features=topic).map_.save("topics.json")
    write("a.csv", p, y)
    refused = run("stream", "topics.json", "a.csv", *COLUMNS)
    assert refused.code == 2
    assert "topics.json also needs 'topic'. Fit one without --feature." in refused.err
    missing = run("monitor", "topics.json", "a.csv", *COLUMNS)
    assert "a.csv has no column 'topic', a feature; it has 'p', 'y', 'order'." in missing.err


def test_an_output_that_another_program_changed_is_refused_and_kept(folder, run):
    words = ("stream", "map.json", "[ab].csv", *COLUMNS, "-o", "f.csv")
    write("a.csv", *rows(20))
    assert run(*words).code == 0
    state, own = (folder / "s.json").read_bytes(), (folder / "f.csv").read_bytes()
    write("b.csv", *rows(5, 1))
    others = {
        "is not the file that this state wrote": b"x" * (len(own) - 100) + b"y,z\n" * 500,
        "bytes more than this state wrote": own + b"a line of mine\n",
        "is shorter than when this state was saved": own[:-1],
    }
    for said, other in others.items():
        (folder / "f.csv").write_bytes(other)
        refused = run(*words)
        assert (refused.code, said in refused.err) == (1, True), refused.err
        assert (folder / "f.csv").read_bytes() == other
        assert (folder / "s.json").read_bytes() == state
    (folder / "f.csv").write_bytes(own)
    assert run(*words).code == 0
    assert len(forecasts()) == 25


def test_a_run_that_ends_with_an_error_leaves_the_output_closed(folder, run):
    words = ("stream", "map.json", "[ab].csv", *COLUMNS, "-o", "f.csv")
    write("a.csv", *rows(20))
    assert run(*words).code == 0
    own = (folder / "f.csv").read_bytes()
    write("b.csv", [0.5, 7.0], [0, 1])
    assert run(*words).code == 1
    assert (folder / "f.csv").read_bytes() == own
    (folder / "f.csv").write_bytes(own + b"a line of mine\n")
    (folder / "b.csv").unlink()
    assert "bytes more than this state wrote" in run(*words).err


def test_a_folder_that_moves_goes_on(folder, run, monkeypatch):
    for place in ("here/out", "there"):
        (folder / place).mkdir(parents=True)
    (folder / "map.json").rename(folder / "here/map.json")
    words = ("stream", "map.json", "[ab].csv", *COLUMNS, "-o", "out/f.csv")
    monkeypatch.chdir(folder / "here")
    write("a.csv", *rows(20))
    assert run(*words).code == 0
    assert str(folder) not in Path("s.json").read_text()
    monkeypatch.chdir(folder)
    (folder / "here").rename(folder / "there/inside")
    monkeypatch.chdir(folder / "there/inside")
    write("b.csv", *rows(5, 1))
    moved = run(*words)
    assert moved.code == 0, moved.err
    assert len(forecasts("out/f.csv")) == 25


def test_two_states_do_not_share_an_output(folder, run, monkeypatch):
    """The second one comes while the first one writes."""
    from trueodds.watch import forecasts as module

    write("a.csv", *rows(20))
    words = ("stream", "map.json", "a.csv", "-s", "p", "-l", "y", "-o", "f.csv", "--state")
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.1)
    with exclusive("f.csv", 0) as free:
        assert free
        refused = run(*words, "t.json")
    assert (refused.code, "another run is writing f.csv" in refused.err) == (1, True)
    assert not (folder / "t.json").exists()
    assert run(*words, "s.json").code == 0
    own = (folder / "f.csv").read_bytes()
    assert "is not the output of this state" in run(*words, "t.json").err
    assert (folder / "f.csv").read_bytes() == own
    assert not (folder / ".f.csv.lock").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk_is_named_and_the_next_run_goes_on(folder):
    """Answers up to the last state stay; a part of a line is cut off at once."""
    given = as_bytes({"p": 0.001 * (k % 1000), "y": k % 2} for k in range(3000))
    (folder / "given.jsonl").write_bytes(given)
    command = [sys.executable, "-m", "trueodds", *STDIN, "-o", "f.jsonl"]

    def limited():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (100_001, 100_001))

    with open("given.jsonl") as source:  # noqa: PTH123
        run = subprocess.run(
            command, stdin=source, capture_output=True, text=True, preexec_fn=limited, check=False
        )
    assert run.returncode == 1
    assert "f.jsonl: file too large." in run.stderr
    known = StreamWatch.load("s.json").lines
    assert known in (1000, 2000)
    kept = (folder / "f.jsonl").read_text()
    assert kept.endswith("}\n")
    assert kept.count("\n") == known
    with open("given.jsonl", "rb") as source:  # noqa: PTH123
        rest = b"".join(list(source)[known:])
    done = subprocess.run(command, input=rest, capture_output=True, check=False)
    assert done.returncode in (0, 4)
    assert b"bytes" not in done.stderr
    lines = (folder / "f.jsonl").read_text().splitlines()
    assert [json.loads(line)["line"] for line in lines] == list(range(1, 3001))


def test_changed_states_of_a_stream_are_refused_or_work(folder, run):
    write("a.csv", *rows(30))
    run("stream", "map.json", "a.csv", *COLUMNS, "--id", "order", "-o", "f.csv")
    mutator, fine = Mutator([learned()], 3), 0
    for _ in range(60):
        try:
            content = json.loads(mutator.text())
        except (ValueError, RecursionError):
            continue
        try:
            job = StreamWatch.from_dict(content)
        except InputError:
            continue
        fine += 1
        assert (
            StreamWatch.from_dict(json.loads(json.dumps(job.to_dict()))).to_dict() == job.to_dict()
        )
    assert 0 < fine < 60


@pytest.mark.slow
@pytest.mark.parametrize("time", ["2026-10-{:02d}", "{}"])
def test_whole_days_give_the_same_forecasts_and_state_however_files_are_read(folder, run, time):
    p, y = rows(600)
    days = [list(range(k, k + 60)) for k in range(0, 600, 60)]
    for day in days:
        day.sort(key=lambda i: y[i])  # in a file, negatives come first

    def save(name, part):
        text = "".join(f"{p[i]},{y[i]},{time.format(k + 1)}\n" for k in part for i in days[k])
        Path(name).write_text("p,y,at\n" + text)

    parts = {"a.csv": range(3), "b.csv": range(3, 4), "c.csv": range(4, 10)}
    for name, part in parts.items():
        save(name, part)
    save("all.csv", range(10))
    found = []
    for mark, runs in enumerate([[["all.csv"]], [list(parts)], [[name] for name in parts]]):
        options = ("--time", "at", "--state", f"{mark}.json", "-o", f"{mark}.jsonl")
        for files in runs:
            assert run("stream", "map.json", *files, "-s", "p", "-l", "y", *options).code in (0, 4)
        lines = [json.loads(line) for line in Path(f"{mark}.jsonl").read_text().splitlines()]
        made = [(line["time"], line["label"], line["forecast"]) for line in lines]
        state = json.loads(Path(f"{mark}.json").read_text())
        found.append((made, state["online"], state["watch"]["monitor"]))
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) == 600
    first = [label for _, label, _ in found[0][0][:60]]
    assert first != sorted(first), "rows of a day are shuffled"
