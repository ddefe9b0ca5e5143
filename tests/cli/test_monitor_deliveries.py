"""``trueodds monitor`` counts every row once: late, missing, changed, moved and growing files."""

import json
import os
import shutil
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.monitor_under_faults import run_all
from trueodds import CalibrationMonitor
from trueodds.exceptions import StateFormatError
from trueodds.maps import IdentityMap
from trueodds.watch import rows_seen, state

COLUMNS = ("--score", "p", "--label", "y")
FIRST = date(2026, 10, 1)
PER_DAY = 400


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    IdentityMap().save("map.json")
    return tmp_path


@pytest.fixture
def watch(folder, run):
    """Run the monitor on a file or a folder, by day; returns the JSON document and more."""

    def call(file, *words, timed=True):
        by = ("--time", "day") if timed else ()
        return run(
            "monitor", "map.json", file, *COLUMNS, *by, "--state", "s.json", "--json", *words
        )

    return call


def day_name(number):
    return (FIRST + timedelta(days=number)).isoformat()


def rows_of(number, shift=0.0, decimals=None, n=PER_DAY):
    """Scores and labels of a day; ``shift`` is on the log-odds of the labels."""
    rng = np.random.default_rng(number)
    p = rng.uniform(0.1, 0.6, n)
    p = p if decimals is None else p.round(decimals)
    odds = p / (1 - p) * np.exp(shift)
    return p, (rng.random(n) < odds / (1 + odds)).astype(int)


def write(path, p, y, day=None):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"p": p, "y": pa.array([None if v is None else int(v) for v in y], pa.int64())}
    if day is not None:
        columns["day"] = [day] * len(p)
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
        return
    names = ",".join(columns)
    cells = [
        column.tolist() if hasattr(column, "tolist") else column for column in columns.values()
    ]
    texts = [["" if v is None else str(v) for v in column] for column in cells]
    lines = [names, *map(",".join, zip(*texts, strict=True))]
    path.write_text("".join(f"{line}\n" for line in lines))


def deliver(number, labeled=True, name="part-0.parquet", **more):
    """The partition of a day of the lake."""
    p, y = rows_of(number, **more)
    write(f"lake/day={day_name(number)}/{name}", p, y if labeled else [None] * len(y))


def kinds(result):
    return [(event["kind"], event["period"], event["rows"]) for event in result.json["events"]]


# ----- the lake ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_month_of_a_lake_with_late_missing_and_changed_days(folder, watch):
    """Labels come three days late; day 11 is missing until day 20; day 7 comes twice."""
    said, alarm_night, counted = {}, None, {}
    for night in range(33):
        if night < 30 and night != 11:
            deliver(night, labeled=False, shift=0.0 if night < 18 else 1.2)
        if night >= 3 and night - 3 != 11:
            deliver(night - 3, shift=0.0 if night - 3 < 18 else 1.2)
        if night == 20:
            deliver(11)
        if night == 15:  # delivered anew under another name, with 50 labels changed
            p, y = rows_of(7)
            y[:50] = 1 - y[:50]
            shutil.rmtree(f"lake/day={day_name(7)}")
            order = np.random.default_rng(0).permutation(len(p))
            write(f"lake/day={day_name(7)}/part-9f3.parquet", p[order], y[order])
        result = watch("lake", "--html", "w.html", "--metrics", "w.prom")
        for event in kinds(result):
            said.setdefault(event[0], []).append((night, *event[1:]))
        for line in result.json["periods"]:
            counted[line["period"]] = counted.get(line["period"], 0) + line["rows"]
        if result.code == 4 and alarm_night is None:
            alarm_night = night
    assert counted == {day_name(number): PER_DAY for number in range(30)}
    assert result.json["rows_total"] == 30 * PER_DAY
    assert result.json["rows_unlabeled"] == 0
    assert said == {
        "missing": [(12, day_name(11), 0)],
        "changed": [(15, day_name(7), 50)],
        "late": [(20, day_name(11), PER_DAY)],
    }
    assert day_name(18) <= result.json["alarm_time"] <= day_name(19)
    assert alarm_night in (21, 22)
    assert result.json["missing"] == []
    page = (folder / "w.html").read_text()
    for words in ("again with another label", "No rows of", "after rows of later"):
        assert words in page
    gauges = dict(line.rsplit(" ", 1) for line in (folder / "w.prom").read_text().splitlines())
    named = {key: float(gauges[f'trueodds_monitor_{key}{{state="s.json"}}']) for key in (
        "rows", "rows_late", "rows_changed", "periods_missing", "rows_unlabeled",
    )}  # fmt: skip
    assert list(named.values()) == [30 * PER_DAY, PER_DAY, 50, 0, 0]


def test_rows_without_a_label_do_not_move_the_clock(watch):
    deliver(0)
    deliver(1, labeled=False)
    assert watch("lake").json["rows"] == PER_DAY
    deliver(1)
    result = watch("lake")
    assert (result.json["rows"], result.json["rows_unlabeled"]) == (2 * PER_DAY, 0)
    assert result.json["events"] == []


@pytest.mark.parametrize("decimals", [None, 2])
def test_labels_that_come_one_by_one_all_count_once(watch, decimals):
    """Of many rows with equal scores, those are counted whose labels are new."""
    p, y = rows_of(0, decimals=decimals)
    arrives = np.random.default_rng(1).integers(0, 4, len(p))
    for night in range(4):
        order = np.random.default_rng(night).permutation(len(p))
        now = [int(v) if arrived <= night else None for v, arrived in zip(y, arrives, strict=True)]
        write("a.csv", p[order], np.array(now, dtype=object)[order], day_name(0))
        result = watch("a.csv")
        assert result.json["rows"] == (arrives <= night).sum()
        assert result.json["rows_unlabeled"] == (arrives > night).sum()
        assert result.json["events"] == []
    state = json.loads(Path("s.json").read_text())
    assert sum(line["observed"] for line in state["periods"]) == y.sum()


def test_until_and_late_labels_together_lose_nothing(watch):
    for number in range(4):
        deliver(number, labeled=number < 3)
    assert watch("lake", "--until", day_name(1)).json["rows"] == 2 * PER_DAY
    deliver(3)
    assert watch("lake", "--until", day_name(1)).json["rows"] == 2 * PER_DAY
    assert watch("lake", "--until", day_name(2)).json["rows"] == 3 * PER_DAY
    assert watch("lake").json["rows"] == 4 * PER_DAY


def test_rows_held_by_until_are_read_in_the_same_run_if_their_file_moves(watch):
    p, y = rows_of(0)
    days = [day_name(number // 100) for number in range(400)]
    columns = {"p": p, "y": y, "day": days}
    Path("lake").mkdir()
    pq.write_table(pa.table(columns), "lake/a.parquet")
    assert watch("lake", "--until", day_name(1)).json["rows"] == 200
    Path("lake/a.parquet").rename("lake/b.parquet")
    assert watch("lake", "--until", day_name(2)).json["rows"] == 300
    Path("lake/b.parquet").rename("lake/c.parquet")
    assert watch("lake").json["rows"] == 400
    assert watch("lake").json["files_new"] == 0


class RandomLake:
    """Days in files that grow, get labels, change, move and are copied, and what is true."""

    def __init__(self, seed, decimals):
        self.rng = np.random.default_rng(seed)
        self.decimals = decimals
        self.files: dict[Path, dict] = {}
        self.labeled: set[int] = set()
        self.n_rows = self.n_names = self.n_changed = self.n_copies = 0

    def night(self, number):
        for _ in range(self.rng.integers(1, 3)):
            self.write(self.new_name(number), self.rows(int(self.rng.integers(5, 60))))
        for path in list(self.files):
            self.happen(path, self.rng.choice(8))

    def happen(self, path, what):
        file = self.files[path]
        if what == 0:
            self.write(path, file)  # labels came
        elif what == 1:
            more = self.rows(int(self.rng.integers(1, 20)))
            self.write(path, {key: np.concatenate([file[key], more[key]]) for key in file})
        elif what == 2:  # delivered again in another file and another order
            path.unlink()
            del self.files[path]
            order = self.rng.permutation(len(file["p"]))
            again = {key: values[order] for key, values in file.items()}
            self.change_labels(again)
            self.write(path.with_name(f"again-{self.next_name()}.csv"), again)
        elif what == 3:
            other = path.with_name(f"moved-{self.next_name()}.csv")
            path.rename(other)
            self.files[other] = self.files.pop(path)
        elif what == 4 and not self.n_copies:
            shutil.copy(path, path.with_name(f"copy-{self.next_name()}.csv"))
            self.n_copies += 1

    def next_name(self):
        self.n_names += 1
        return self.n_names

    def new_name(self, number):
        return Path(f"lake/day={day_name(number)}/{self.next_name()}.csv")

    def rows(self, n):
        p = self.rng.random(n)
        p = p if self.decimals is None else p.round(self.decimals)
        self.n_rows += n
        ids = np.arange(self.n_rows - n, self.n_rows)
        y = (self.rng.random(n) < p).astype(int)
        return {
            "id": ids,
            "p": p,
            "y": y,
            "known": self.rng.random(n) < self.rng.choice([0, 0.5, 1]),
        }

    def change_labels(self, file):
        counted = np.isin(file["id"], list(self.labeled)) & file["known"]
        chosen = counted & (self.rng.random(len(counted)) < 0.1)
        file["y"] = np.where(chosen, 1 - file["y"], file["y"])
        self.n_changed += int(chosen.sum())

    def write(self, path, file):
        file["known"] = file["known"] | (self.rng.random(len(file["p"])) < 0.3)
        self.files[path] = file
        y = [int(v) if k else None for v, k in zip(file["y"], file["known"], strict=True)]
        write(path, file["p"], y)

    def read(self):
        """What a run can see now."""
        for file in self.files.values():
            self.labeled |= set(file["id"][file["known"]].tolist())


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "decimals"), [(0, None), (1, None), (2, 1)])
def test_a_random_lake_is_counted_row_by_row(watch, seed, decimals):
    """Against the set of all rows that ever had a label."""
    lake, changed = RandomLake(seed, decimals), 0
    for night in range(12):
        lake.night(night)
        lake.read()
        result = watch("lake")
        changed += sum(rows for kind, _, rows in kinds(result) if kind == "changed")
        assert result.json["rows_total"] == len(lake.labeled)
    assert result.json["deliveries"]["duplicate"] == lake.n_copies == 1
    assert result.json["deliveries"]["withdrawn"] == 0
    if decimals is None:
        assert changed == lake.n_changed > 0


# ----- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("timed", [True, False])
def test_files_of_one_name_in_several_folders_are_different_files(watch, timed):
    for number in range(3):
        deliver(number)
    first = watch("lake", timed=timed)
    assert first.json["rows"] == 3 * PER_DAY
    assert len({line["period"] for line in first.json["periods"]}) == 3
    again = watch("lake", timed=timed)
    assert (again.code, again.json["rows"]) == (0, 3 * PER_DAY)
    assert "no new rows (3 files already read)" in again.err


def test_a_moved_file_is_not_counted_again_and_can_grow(watch):
    p, y = rows_of(0)
    write("a.csv", p, y, day_name(0))
    watch("a.csv")
    Path("a.csv").rename("b.csv")
    moved = watch("b.csv")
    assert moved.json["rows"] == PER_DAY
    assert "b.csv is a.csv under another name" in moved.err
    more = rows_of(1)
    write("b.csv", np.r_[p, more[0]], np.r_[y, more[1]], day_name(0))
    assert watch("b.csv").json["rows"] == 2 * PER_DAY


@pytest.mark.parametrize("names", [("b", "a", "new"), ("new", "older", "oldest")])
def test_files_that_are_rotated_are_not_counted_again(watch, names):
    """Each night the newest file gets the name of the one before, and that of an older one."""
    newest, older, oldest = (f"{name}.csv" for name in names)
    for night in range(4):
        for name, next_name in ((older, oldest), (newest, older)):
            if Path(name).exists():
                Path(name).rename(next_name)
        write(newest, *rows_of(night), day_name(night))
        result = watch("*.csv")
        assert result.json["rows"] == (night + 1) * PER_DAY
        assert [kind for kind, *_ in kinds(result)] == ["withdrawn"] * (night == 3)


def test_a_copy_of_a_file_is_counted_once_and_named_once(watch):
    for name in ("a.csv", "b.csv"):
        write(name, *rows_of(0), day_name(0))
    first = watch("?.csv", "--fail-on", "duplicate")
    assert (first.code, first.json["rows"]) == (5, PER_DAY)
    assert [event["file"] for event in first.json["events"]] == ["b.csv"]
    again = watch("?.csv", "--fail-on", "duplicate")
    assert (again.code, again.json["rows"], again.json["events"]) == (0, PER_DAY, [])


def test_equal_files_of_two_partitions_are_two_deliveries(watch):
    for number in (0, 1):
        write(f"lake/day={day_name(number)}/a.csv", [0.5], [0])
    assert watch("lake").json["rows"] == 2


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("room", [rows_seen.MOST_KEPT, 100])
def test_a_file_that_grows_is_read_from_where_it_ended(watch, monkeypatch, timed, room):
    """With and without room for the single rows of a file."""
    for module in (rows_seen, state):
        monkeypatch.setattr(module, "MOST_KEPT", room)
    p, y = rows_of(0, decimals=2)
    for end in (150, 151, 400):
        write("a.csv", p[:end], y[:end], day_name(0))
        result = watch("a.csv", timed=timed)
        assert (result.json["rows"], result.json["events"]) == (end, [])


def test_a_file_that_cannot_be_compared_is_named_and_not_counted_again(watch, monkeypatch):
    for module in (rows_seen, state):
        monkeypatch.setattr(module, "MOST_KEPT", 100)
    p, y = rows_of(0)
    write("a.csv", p, y, day_name(0))
    watch("a.csv")
    write("a.csv", p, 1 - y, day_name(0))
    result = watch("a.csv", "--fail-on", "changed")
    assert (result.code, result.json["rows"]) == (5, PER_DAY)
    assert kinds(result) == [("changed", None, PER_DAY)]


def test_rows_that_are_taken_back_are_named(watch):
    p, y = rows_of(0)
    write("a.csv", p, y, day_name(0))
    watch("a.csv")
    write("a.csv", p[30:], y[30:], day_name(0))
    result = watch("a.csv", "--fail-on", "withdrawn")
    assert (result.code, result.json["rows"]) == (5, PER_DAY)
    assert kinds(result) == [("withdrawn", None, 30)]


def test_a_second_file_of_a_day_whose_first_file_is_archived_is_new(watch):
    """Its scores, in per cents, equal some archived ones, but most of those are not there."""
    write("in/a.csv", *rows_of(0, decimals=2), day_name(0))
    watch("in")
    Path("in/a.csv").rename("archive.csv")
    write("in/b.csv", *rows_of(1, decimals=2, n=100), day_name(0))
    result = watch("in")
    assert (result.json["rows"], result.json["events"]) == (PER_DAY + 100, [])


def test_forgotten_files_are_not_counted_again(watch, monkeypatch):
    monkeypatch.setattr(state, "MOST_FILES", 3)
    for number in range(6):
        deliver(number)
        result = watch("lake")
    assert result.json["rows"] == 6 * PER_DAY
    result = watch("lake", "--fail-on", "late")
    assert result.json["rows"] == 6 * PER_DAY
    assert {kind for kind, *_ in kinds(result)} == {"late"}


# ----- dates ---------------------------------------------------------------------------------


def test_local_dates_are_refused_with_the_command_and_then_read_in_order(folder, watch):
    """31 August to 2 October, whose texts sort otherwise."""
    days = [FIRST + timedelta(days=number) for number in range(-31, 2)]
    for number, day in enumerate(days):
        write(f"in/{number}.csv", *rows_of(number, n=50), day.strftime("%d.%m.%Y"))
    refused = watch("in")
    assert refused.code == 1
    assert "such as '31.08.2026', which are not in ISO form" in refused.err
    assert "--time-format %d.%m.%Y" in refused.err.partition("Try: ")[2]
    assert not (folder / "s.json").exists()
    result = watch("in", "--time-format", "%d.%m.%Y")
    assert [line["period"] for line in result.json["periods"]] == [day.isoformat() for day in days]
    assert result.json["rows"] == 50 * len(days)


@pytest.mark.parametrize(
    ("day", "message"),
    [
        ("03/04/2026", "Both %d/%m/%Y and %m/%d/%Y fit them"),
        ("04/13/2026", "They read as %m/%d/%Y"),
        ("01-09-26", "format as --time-format"),
        ("01.09", "format as --time-format"),
        ("week 7", "format as --time-format"),
    ],
)
def test_texts_that_are_no_dates_are_never_sorted(watch, day, message):
    write("a.csv", *rows_of(0), day)
    result = watch("a.csv")
    assert result.code == 1
    assert message in result.err


def test_a_time_that_has_another_form_is_named(watch):
    write("a.csv", *rows_of(0), "2026-10-01")
    result = watch("a.csv", "--time-format", "%d.%m.%Y")
    assert result.code == 1
    assert "is not of the form %d.%m.%Y in 400 rows, such as '2026-10-01'" in result.err


def test_times_with_a_zone_are_compared_as_moments(watch):
    write("a.csv", *rows_of(0), "2026-10-01T23:30:00-02:00")
    assert [line["period"] for line in watch("a.csv").json["periods"]] == ["2026-10-02"]


@pytest.mark.parametrize("time", ["'infinity'::TIMESTAMP", "'nan'::DOUBLE", "NULL::DATE"])
def test_times_that_are_no_times_are_refused(folder, watch, time):
    import duckdb

    duckdb.sql(f"SELECT 0.5 AS p, 1 AS y, {time} AS day").write_parquet("a.parquet")
    result = watch("a.parquet")
    assert result.code == 1
    kind = "finite number" if "DOUBLE" in time else "time of the years 1 to 9999"
    assert f"the column of --time holds no {kind} in 1 rows" in result.err


def test_weekdays_without_rows_are_off_after_two_weeks(watch):
    for number in range(28):
        if (FIRST + timedelta(days=number)).weekday() < 5 and number != 25:
            write(f"in/{number}.csv", *rows_of(number, n=20), day_name(number))
    missing = watch("in").json["missing"]
    weekends = [n for n in range(14) if (FIRST + timedelta(days=n)).weekday() >= 5]
    assert missing == [f"{day_name(n)} 00:00:00" for n in [*weekends[:4], 25]]


def test_exit_codes_are_asked_for_by_kind(watch, run):
    deliver(0)
    deliver(2)
    assert watch("lake", "--fail-on", "late").code == 0
    deliver(1)
    assert watch("lake", "--fail-on", "missing").code == 0
    deliver(4)
    assert watch("lake", "--fail-on", "late", "--fail-on", "missing").code == 5
    deliver(3)
    assert watch("lake", "--fail-on", "late").code == 5
    assert watch("lake", "--fail-on", "late").code == 0
    wrong = watch("lake", "--fail-on", "everything")
    assert (wrong.code, "--fail-on must be one of late, missing" in wrong.err) == (2, True)
    help_text = " ".join(run("--help").out.split())
    assert "4 monitor, stream: alarm" in help_text


def test_an_earlier_until_does_not_count_rows_again(watch):
    """Rows after it were counted by a run without it, and their file has grown since."""
    (p, y), days = rows_of(0), np.repeat([day_name(0), day_name(2)], PER_DAY // 2)
    for end, words, expected in (
        (350, (), 350),
        (PER_DAY, ("--until", day_name(1)), 350),
        (PER_DAY, (), PER_DAY),
    ):
        table = pa.table({"p": p[:end], "y": y[:end], "day": days[:end].tolist()})
        pq.write_table(table, "a.parquet")
        result = watch("a.parquet", *words)
        assert result.json["rows"] == expected
        assert {kind for kind, *_ in kinds(result)} <= {"missing"}


# ----- alarms, states ------------------------------------------------------------------------


def test_an_acknowledged_alarm_is_kept_and_watching_goes_on(watch):
    for number in range(3):
        deliver(number, shift=1.2)
    assert watch("lake").code == 4
    assert watch("lake").code == 4
    for number in range(3, 6):
        deliver(number)
    after = watch("lake", "--acknowledge")
    assert (after.code, after.json["alarm"]) == (0, False)
    assert (after.json["rows"], after.json["rows_total"]) == (3 * PER_DAY, 6 * PER_DAY)
    (alarm,) = after.json["acknowledged"]
    assert (alarm["alarm_time"], alarm["rows"]) == (day_name(0), 3 * PER_DAY)
    assert alarm["at"] == json.loads(Path("s.json").read_text())["acknowledged"][0]["at"]
    assert "--acknowledge: there is no alarm" in watch("lake", "--acknowledge").err
    for number in range(6, 9):
        deliver(number, shift=1.2)
    assert watch("lake").code == 4


def test_lines_of_the_log_have_a_time(watch):
    deliver(0)
    deliver(2)
    lines = watch("lake").err.splitlines()
    assert lines
    for line in lines:
        assert line[:4].isdigit()
        assert line[19:21] == "Z "


def test_a_note_in_a_map_makes_no_other_map(watch):
    deliver(0)
    watch("lake")
    IdentityMap().with_metadata({"notes": "for the spring campaign"}).save("map.json")
    deliver(1)
    assert watch("lake").json["rows"] == 2 * PER_DAY


def test_a_state_that_another_run_has_changed_is_not_replaced(watch, monkeypatch):
    """As on a file system without locks."""
    deliver(0)
    watch("lake")
    theirs = Path("s.json").read_bytes().replace(b'"late":0', b'"late":7')

    def meanwhile(self):
        Path("s.json").write_bytes(theirs)
        return []

    deliver(1)
    monkeypatch.setattr(state.Watch, "newly_missing", meanwhile)
    result = watch("lake")
    assert result.code == 1
    assert "another run changed s.json in the meantime" in result.err
    assert Path("s.json").read_bytes() == theirs


def test_a_run_that_waits_too_long_counts_nothing(watch, monkeypatch):
    import fcntl

    monkeypatch.setattr("trueodds.cli.watch.reader.LOCK_SECONDS", 0.1)
    deliver(0)
    with Path(".s.json.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        result = watch("lake")
    assert result.code == 1
    assert "another run has been using s.json" in result.err
    assert watch("lake").json["rows"] == PER_DAY
    assert not Path(".s.json.lock").exists()


@pytest.mark.parametrize(
    "make", [lambda path: path.symlink_to("/dev/zero"), lambda path: os.mkfifo(path)]
)
def test_a_state_that_is_no_file_is_refused(watch, make):
    deliver(0)
    make(Path("s.json"))
    result = watch("lake")
    assert result.code == 1
    assert "s.json is not a regular file" in result.err


def test_long_names_and_texts_are_saved_so_that_they_can_be_read(folder, run):
    name, text = "t" * 3000, "g" * 1000
    table = pa.table({"p": [0.5] * 4, "y": [0, 1, 0, 1], name: [1, 2, 3, 4], "g": [text] * 4})
    pq.write_table(table, "a.parquet")
    words = ("monitor", "map.json", "a.parquet", *COLUMNS, "-t", name, "-g", "g")
    for _ in range(2):
        assert run(*words, "--state", "s.json").code == 0


def test_rows_appended_while_a_file_is_read_are_counted_by_the_next_run(watch, monkeypatch):
    """The append comes between the fingerprint and the rows; the last line is half written."""
    from trueodds.cli.watch import reader as module

    p, y = rows_of(0)
    write("a.csv", p[:300], y[:300], day_name(0))
    reader = module.read_once
    added = []

    def append(*arguments):
        found = reader(*arguments)
        if not added:
            added.append(f"{p[300]},{y[300]},{day_name(0)}\n0.9")
            with Path("a.csv").open("a") as stream:
                stream.write(added[0])
        return found

    monkeypatch.setattr(module, "read_once", append)
    assert watch("a.csv").json["rows"] == 300
    write("a.csv", p, y, day_name(0))
    result = watch("a.csv")
    assert (result.json["rows"], result.json["events"]) == (PER_DAY, [])


@pytest.mark.slow
def test_no_row_is_lost_by_appends_concurrent_runs_and_kills():
    found = run_all(appends=6, pairs=3, kills=10, seed=1)
    assert {kind: set(lost) for kind, lost in found.items() if lost} == {
        "appends": {0},
        "pairs": {0},
        "kills": {0},
    }


def test_a_file_from_before_1970_is_counted_once(watch):
    write("a.csv", *rows_of(0))
    os.utime("a.csv", (-1e8, -1e8))
    assert watch("a.csv", timed=False).json["rows"] == PER_DAY
    assert watch("a.csv", timed=False).json["rows"] == PER_DAY


def test_the_state_of_a_job_is_not_read_as_that_of_a_monitor(watch):
    write("a.csv", *rows_of(0))
    watch("a.csv", timed=False)
    with pytest.raises(StateFormatError, match=r"use trueodds.watch.Watch.load\(path\).monitor"):
        CalibrationMonitor.load("s.json")
