"""The framework: tasks, resuming, parallel running, reports."""

import dataclasses
import datetime as dt
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import toy_study
from toy_study import STUDY
from trueodds.basics.signals import STOPPING, Terminated
from trueodds.exceptions import InputError
from trueodds_studies import (
    Claim,
    Figure,
    ReportContent,
    ResultStore,
    Scratch,
    Table,
    Task,
    available,
    beside,
    crossed,
    find_study,
    run_study,
    stable_seed,
)
from trueodds_studies._report import by_readings
from trueodds_studies._significance import significant_sign, units_needed, verdict_of_signs


@pytest.fixture
def work_log(tmp_path, monkeypatch):
    """What was computed, one line each."""
    path = tmp_path / "work.log"
    monkeypatch.setattr(toy_study, "LOG", str(path))
    return lambda: path.read_text().splitlines() if path.exists() else []


def test_a_finished_study_is_not_computed_again(tmp_path, work_log):
    first = run_study(STUDY, folder=tmp_path / "s")
    assert len(work_log()) == 12 + 24
    second = run_study(STUDY, folder=tmp_path / "s")
    assert len(work_log()) == 12 + 24
    pd.testing.assert_frame_equal(first.results.frame, second.results.frame, check_exact=True)


def test_a_new_method_costs_only_its_own_time(tmp_path, work_log):
    run_study(STUDY, folder=tmp_path / "s", profile="quick")
    before = len(work_log())
    report = run_study(STUDY, folder=tmp_path / "s", profile="standard")
    new = work_log()[before:]
    assert len(new) == 12
    assert all(line.startswith("task") and "max" in line for line in new)
    assert list(report.results.frame["method"].unique()) == ["mean", "median", "max"]


def test_a_new_version_computes_everything_again(tmp_path, work_log):
    run_study(STUDY, folder=tmp_path / "s")
    before = len(work_log())
    run_study(dataclasses.replace(STUDY, version=2), folder=tmp_path / "s")
    assert len(work_log()) == before + 24  # the scratch arrays have a version of their own


def test_history_leaves_no_trace_in_the_table(tmp_path):
    straight = run_study(STUDY, folder=tmp_path / "a", profile="standard")
    for profile in ("full", "quick"):
        run_study(STUDY, folder=tmp_path / "b", profile=profile)
    winding = run_study(STUDY, folder=tmp_path / "b", profile="standard")
    pd.testing.assert_frame_equal(straight.results.frame, winding.results.frame, check_exact=True)
    assert straight.results.frame["n"].dtype == np.int64
    assert straight.markdown == winding.markdown


@pytest.mark.parametrize("replaced", [False, True])
def test_a_signal_stops_a_study_and_keeps_what_it_has(tmp_path, replaced):
    """Parts are written all the time, and each could be taken for the end of the program."""
    units = []

    def run(todo, scratch):
        units.append(todo)
        rows = list(toy_study.run(todo, scratch))
        if len(units) == 3:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            except Terminated:
                if replaced:
                    raise RuntimeError("a library's own error") from None
                raise
        yield from rows

    study = dataclasses.replace(STUDY, run=run)
    with STOPPING.watched(), pytest.raises(RuntimeError if replaced else Terminated):
        run_study(study, folder=tmp_path, profile="full")
    assert len(units) == 3
    assert len(ResultStore(tmp_path).finished()) == len(units[0]) + len(units[1])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_killed_at_any_time_ends_in_the_same_table_bit_for_bit(tmp_path, n_jobs):
    """Two SIGKILLs of a real process, then a run to the end."""
    whole = run_study(STUDY, folder=tmp_path / "whole", profile="full")
    folder = tmp_path / "killed"
    log = tmp_path / "log"
    environment = {**os.environ, "TOY_PAUSE": "0.25", "TOY_LOG": str(log)}
    command = [sys.executable, toy_study.__file__, str(folder), str(n_jobs)]
    counts = []
    for _ in range(2):
        earlier = set(folder.glob("parts/[!.]*.parquet"))
        process = subprocess.Popen(command, env=environment, start_new_session=True)
        deadline = time.monotonic() + 120
        while len(set(folder.glob("parts/[!.]*.parquet")) - earlier) < 2:
            assert process.poll() is None, "the study ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        counts.append(len(ResultStore(folder).finished()))
    assert 0 < counts[0] < counts[1] < len(STUDY.tasks_of("full"))
    resumed = run_study(STUDY, folder=folder, profile="full")
    pd.testing.assert_frame_equal(whole.results.frame, resumed.results.frame, check_exact=True)
    assert whole.markdown == resumed.markdown
    assert not list(folder.glob("parts/*"))
    # Draws of units that had ended were not made again: at most what was running was lost.
    draws = [line for line in log.read_text().splitlines() if line.startswith("draw")]
    assert len(draws) <= 12 + 2 * n_jobs


def test_a_kill_between_compacting_and_removing_parts_loses_and_doubles_nothing(tmp_path):
    whole = run_study(STUDY, folder=tmp_path / "s")
    store = ResultStore(tmp_path / "s")
    rows = store.read().to_pylist()[:2]
    store.add(rows)  # parts that are in results.parquet already
    again = run_study(STUDY, folder=tmp_path / "s")
    pd.testing.assert_frame_equal(whole.results.frame, again.results.frame, check_exact=True)
    assert len(store.read()) == 24


def test_half_written_files_of_a_killed_run_are_ignored_and_swept(tmp_path):
    folder = tmp_path / "s"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / ".abc.parquet.1.tmp").write_bytes(b"PAR1 half")
    assert run_study(STUDY, folder=folder).results.n_missing == 0
    assert not list((folder / "parts").iterdir())


def test_two_processes_give_the_same_table_as_one(tmp_path):
    one = run_study(STUDY, folder=tmp_path / "one", profile="full")
    two = run_study(STUDY, folder=tmp_path / "two", profile="full", n_jobs=2)
    pd.testing.assert_frame_equal(one.results.frame, two.results.frame, check_exact=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_dask_cluster_gives_the_same_table(tmp_path):
    import joblib
    from distributed import Client, LocalCluster, get_worker

    def run(todo, scratch):
        place = get_worker().name  # an error outside the cluster
        return [(task, {**row, "place": str(place)}) for task, row in toy_study.run(todo, scratch)]

    one = run_study(STUDY, folder=tmp_path / "one", profile="full")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        there = dataclasses.replace(STUDY, run=run)
        two = run_study(there, folder=tmp_path / "two", profile="full")
    assert two.results.frame["place"].nunique() == 2
    pd.testing.assert_frame_equal(
        one.results.frame, two.results.frame.drop(columns="place"), check_exact=True
    )


def test_back_ends_that_return_lists_go_in_rounds(tmp_path, monkeypatch):
    from joblib.parallel import ThreadingBackend

    monkeypatch.setattr(ThreadingBackend, "supports_return_generator", False)
    import joblib

    one = run_study(STUDY, folder=tmp_path / "one", profile="full")
    with joblib.parallel_config(backend="threading", n_jobs=1):
        two = run_study(STUDY, folder=tmp_path / "two", profile="full")
    pd.testing.assert_frame_equal(one.results.frame, two.results.frame, check_exact=True)


def test_two_runs_in_one_folder_are_refused(tmp_path):
    with (
        ResultStore(tmp_path / "s").locked(),
        pytest.raises(InputError, match="another run is using"),
    ):
        run_study(STUDY, folder=tmp_path / "s")


def test_a_task_that_fails_is_reported_and_the_rest_goes_on_and_is_tried_again(tmp_path):
    def run(todo, scratch):
        for task, row in toy_study.run(todo, scratch):
            if task["n"] == 100 and task["replicate"] == 3 and task["method"] == "median":
                raise RuntimeError("no power")
            yield task, row

    broken = dataclasses.replace(STUDY, run=run)
    report = run_study(broken, folder=tmp_path / "s")
    assert report.results.n_missing == 1
    assert "1 of 24 tasks have no result" in report.markdown
    assert "RuntimeError: no power" in report.markdown
    assert len(report.results.frame) == 23
    assert run_study(STUDY, folder=tmp_path / "s").results.n_missing == 0


def test_a_row_may_not_shadow_an_option(tmp_path):
    bad = dataclasses.replace(STUDY, run=lambda todo, _: [(task, {"n": 1.0}) for task in todo])
    with pytest.raises(InputError, match=r"no results: .* a row may not hold \['n'\]"):
        run_study(bad, folder=tmp_path / "s")


def test_results_are_plain_parquet_that_other_programs_read(tmp_path):
    import duckdb

    run_study(STUDY, folder=tmp_path / "s")
    results = duckdb.read_parquet(str(tmp_path / "s" / "results.parquet"))
    counts = results.aggregate("method, count(*)")
    assert sorted(counts.fetchall()) == [("mean", 12), ("median", 12)]


def test_scratch_files_are_never_pickled_and_damage_is_repaired(tmp_path):
    scratch = Scratch(tmp_path)
    with pytest.raises(ValueError, match="allow_pickle"):
        scratch.arrays({"k": 1}, lambda: {"x": np.array([{}], dtype=object)})
    scratch.arrays({"k": 1}, lambda: {"x": np.arange(3)})
    (file,) = tmp_path.rglob("*.npz")
    file.write_bytes(file.read_bytes()[:40])
    assert scratch.arrays({"k": 1}, lambda: {"x": np.arange(4)})["x"].size == 4


def test_keys_and_seeds_depend_on_content_alone():
    a = Task("cv", {"set": "iris", "fold": 1})
    b = Task("cv", {"fold": 1, "set": "iris"})
    assert STUDY.key(a) == STUDY.key(b) == "10c42f7a099bc7c7491ee39eb372d816"
    assert STUDY.key(a) != STUDY.key(Task("cv", {"set": "iris", "fold": 2}))
    assert STUDY.key(a) != STUDY.key(Task("vc", dict(a.options)))
    assert stable_seed("abalone", 0) == 2466097537  # on every machine, for ever
    assert stable_seed("a", 1) != stable_seed("a", 1.5)


def test_tasks_hold_plain_values_only():
    with pytest.raises(InputError, match="'set' of part 'cv' is a list"):
        Task("cv", {"set": [1]})


def test_the_same_task_twice_is_an_error(tmp_path):
    twice = dataclasses.replace(STUDY, tasks=lambda _: crossed("draws", n=10) * 2)
    with pytest.raises(InputError, match="the same task twice"):
        run_study(twice, folder=tmp_path / "s")


def test_unknown_names_are_answered_with_what_there_is(tmp_path):
    with pytest.raises(InputError, match=r"there is no study 'gamma'; there are .*'beta'"):
        find_study("gamma")
    with pytest.raises(InputError, match=r"has the profiles 'quick', .*; got 'huge'"):
        run_study(STUDY, profile="huge", folder=tmp_path)
    report = run_study(STUDY, folder=tmp_path)
    with pytest.raises(InputError, match="no column 'model'"):
        report.results.table("value", rows="n", columns="method", model="x")


@pytest.mark.parametrize("name", available())
def test_every_study_describes_its_profiles_and_tasks(name):
    study = find_study(name)
    assert study.name == name
    assert set(study.profiles) == {"quick", "standard", "full"}
    for profile in study.profiles:
        keys = [study.key(task) for task in study.tasks_of(profile)]
        assert keys, profile
        assert len(set(keys)) == len(keys), profile


def test_a_report_is_saved_as_markdown_and_pictures(tmp_path):
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(1, 1))
    content = ReportContent("About <it>.", [], ["## More", Figure.of("dot", "A dot", canvas)])
    drawn = dataclasses.replace(STUDY, report=lambda _: content)
    path = run_study(drawn, folder=tmp_path / "s").save(tmp_path / "out")
    assert sorted(p.name for p in path.parent.iterdir()) == ["toy-dot.png", "toy.json", "toy.md"]
    assert "![A dot](toy-dot.png)" in path.read_text()


def test_claims_are_judged_in_three_words(tmp_path):
    markdown = run_study(STUDY, folder=tmp_path).markdown
    assert "trueodds-study toy --profile quick" in markdown
    assert "*confirmed*" in markdown
    assert "*not tested*" in markdown
    assert "Pigs fly \\| or not." in markdown
    assert Claim("", "", False, "").word == "not confirmed"


def test_a_run_knows_its_day_and_counts_the_time_of_a_task_once(tmp_path):
    def run(todo, scratch):
        del scratch
        for task in todo:
            until = time.process_time() + 0.02
            while time.process_time() < until:
                pass
            yield task, [{"value": 1.0}, {"value": 2.0}, {"value": 3.0}]

    results = run_study(
        dataclasses.replace(STUDY, run=run, report=_nothing), folder=tmp_path
    ).results
    assert results.cpu_seconds == pytest.approx(0.02 * results.n_tasks, rel=0.5)
    assert results.last_day == dt.datetime.now(dt.UTC).date().isoformat()
    assert not {"day", "seconds"} & set(results.frame.columns)


def _nothing(results):
    del results
    return ReportContent("Nothing.", [])


def test_our_numbers_stand_beside_the_papers():
    ours = pd.DataFrame({"beta": [0.1, 0.2], "grill": [0.3, 0.4]}, index=["iris", "zoo"])
    paper = pd.DataFrame({"beta": [0.5]}, index=["zoo"])
    table = beside("t", ours, paper, digits=1, mean=True)
    assert list(table.columns) == ["data set", "beta", "beta (paper)", "grill", "grill (paper)"]
    assert table.texts() == [
        ["iris", "0.1", "", "0.3", ""],
        ["zoo", "0.2", "0.5", "0.4", ""],
        ["mean of the 1 in both", "0.2", "0.5", "0.4", ""],
    ]
    with pytest.raises(InputError, match="the row 'x' has 1 cells"):
        Table("t", ["a", "b"], [["x"]])


def test_progress_is_silent_when_nobody_watches(tmp_path, capfd):
    run_study(STUDY, folder=tmp_path)
    assert capfd.readouterr() == ("", "")


def test_every_reading_of_a_claim_stays_visible():
    words = ("It is so.", "Table 1")
    text, program = Claim(*words, False, "0 of 3", "data"), Claim(*words, True, "3 of 3")
    unclear = Claim(*words, "inconclusive", "1 of 3", "protocol")

    def read(first, second, **options):
        return by_readings({"text": first, "program": second}, **options)

    by_program = read(text, program, program="program", reason="solver")
    assert by_program.verdict_and_reason == "confirmed with the authors' measure (solver)"
    assert by_program.evidence == "*Text:* 0 of 3. *Program:* 3 of 3"
    assert by_program.in_words == "text: not confirmed (data); program: confirmed"
    assert not by_program.by_every_reading
    assert read(text, unclear, program="program").verdict_and_reason == "not confirmed (data)"
    # A confirmation by the text does not hide that the program contradicts it.
    by_text = read(program, text, program="program")
    assert by_text.word == "confirmed"
    assert by_text.in_words == "text: confirmed; program: not confirmed (data)"
    assert not by_text.by_every_reading
    assert read(text, program).word == "not confirmed"  # a second solver decides nothing
    assert read(text, text, program="program") == text
    assert program.by_every_reading


def test_significance_is_student_s_test_over_units():
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 40):
        for _ in range(50):
            values = rng.normal(0.5, 1, n)
            test = ttest_1samp(values, 0)
            expected = int(np.sign(test.statistic)) if test.pvalue < 0.05 else 0
            error = values.std(ddof=1) / n**0.5
            assert significant_sign(values.mean(), error, n) == expected
    assert significant_sign(5.0, 0.0, 1) == 0
    assert significant_sign(5.0, float("inf"), 10) == 0
    assert significant_sign(5.0, 0.0, 3) == 1
    assert verdict_of_signs([1, 1]) is True
    assert verdict_of_signs([1, 0]) is None
    assert verdict_of_signs([1, 0, -1]) is False
    assert units_needed(2.8, 1.0, 10) == 10
    assert units_needed(0.0, 1.0, 10) == 10**9


def test_stored_results_are_judged_again_without_running_anything(tmp_path):
    def refuse(todo, scratch):
        raise AssertionError

    with pytest.raises(InputError, match="no results"):
        run_study(STUDY, folder=tmp_path, stored_only=True)
    first = run_study(STUDY, folder=tmp_path)
    again = run_study(dataclasses.replace(STUDY, run=refuse), folder=tmp_path, stored_only=True)
    assert again.markdown == first.markdown
    more = run_study(
        dataclasses.replace(STUDY, run=refuse), folder=tmp_path, profile="full", stored_only=True
    )
    assert f"**{more.results.n_missing} of {more.results.n_tasks} tasks have no result.**" in (
        more.markdown
    )


def test_one_worker_takes_the_cheapest_work_first(tmp_path):
    order = []

    def run(todo, scratch):
        del scratch
        for task in todo:
            order.append(task["n"])
            yield task, {"value": 1.0}

    run_study(dataclasses.replace(STUDY, run=run, report=_nothing), folder=tmp_path)
    assert order == sorted(order)


def test_no_place_of_this_machine_is_in_the_studies():
    sources = list(Path(toy_study.__file__).parents[1].glob("src/trueodds_studies/**/*.py"))
    assert sources
    for path in sources:
        assert "/work/" not in path.read_text(encoding="utf-8")
