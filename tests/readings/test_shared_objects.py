"""Threads and processes that share an object get what one thread gets."""

import copy
import http.client
import http.server
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from support import threads_under_load as load
from trueodds import (
    BetaCalibrator,
    CalibrationMonitor,
    OnlineCalibrator,
    ScoreTable,
    compare_calibrators,
)
from trueodds.basics.threads import Locked
from trueodds.basics.warned import collected_warnings, ignored_warnings
from trueodds.exceptions import InputError, TrueoddsWarning
from trueodds.metrics import confidence_interval, log_loss
from trueodds.monitoring import ForecastComparison

pytestmark = pytest.mark.filterwarnings("ignore:Warning in river")

OBJECTS = list(load.objects())
LEARNING = [shared for shared in OBJECTS if shared.learn is not None]
rng = np.random.default_rng(3)
P = rng.random(300)
Y = (rng.random(300) < P**2).astype(int)


@pytest.mark.parametrize("shared", OBJECTS, ids=lambda shared: shared.name)
@pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")
def test_readers_get_what_one_thread_gets(shared):
    found = load.read_together(shared, calls=len(shared.reads))
    assert found.calls == load.N_THREADS * len(shared.reads)
    assert found.wrong == []


@pytest.mark.parametrize("n_writers", [1, load.N_THREADS])
@pytest.mark.parametrize("shared", LEARNING, ids=lambda shared: shared.name)
def test_what_is_learned_and_read_meanwhile_is_what_one_thread_learns(shared, n_writers):
    serial = load.serial_answers(shared, steps=12)
    found = load.learn_together(shared, n_writers, serial, steps=12)
    assert found.wrong == []


def test_every_class_that_learns_is_tried():
    tried = {type(shared.make()) for shared in LEARNING}
    assert {kind for kind in Locked.__subclasses__() if "trueodds" in kind.__module__} == tried


def learners():
    online = OnlineCalibrator().update(P, Y)
    online.ask(P[:5], ids=list("abcde"))
    monitor = CalibrationMonitor().update(P, Y, time=np.arange(300), group=np.where(P > 0.5, 1, 2))
    return [online, monitor, ForecastComparison().update(P, P**2, Y)]


def learn(item):
    if isinstance(item, ForecastComparison):
        return item.update(P, P**2, Y)
    if isinstance(item, CalibrationMonitor):
        return item.update(P, Y, group=np.where(P > 0.5, 1, 2))
    return item.update(P, Y)


@pytest.mark.parametrize("item", learners(), ids=lambda item: type(item).__name__)
@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        lambda o: pickle.loads(pickle.dumps(o)),  # noqa: S301
        lambda o: clone(o, safe=False),
    ],
    ids=["copy", "deepcopy", "pickle", "clone"],
)
def test_a_copy_learns_for_itself_and_has_a_lock_of_its_own(item, copied):
    before = item.to_dict()
    other = copied(item)
    assert other.to_dict() == before
    learn(other)
    assert item.to_dict() == before
    assert other.n_rows == item.n_rows + 300
    with item._lock:  # another thread can still use the copy
        load.in_threads([lambda: learn(other)])
    assert type(other) is type(item)


def test_a_pickle_without_a_lock_can_be_loaded():
    monitor = CalibrationMonitor().update(P, Y)
    again = CalibrationMonitor.__new__(CalibrationMonitor)  # as pickles of earlier versions do
    again.__dict__.update(vars(monitor))
    assert again.update(P, Y).n_rows == 600


def test_a_state_that_is_saved_during_updates_is_one_between_two_updates(tmp_path):
    for item in learners()[:2]:
        path = tmp_path / f"{type(item).__name__}.json"
        serial = copy.deepcopy(item)
        allowed = [item.to_dict(), *(learn(serial).to_dict() for _ in range(20))]
        states = []

        def save(item=item, path=path, states=states):
            for _ in range(5):
                item.save(path)
                states.append(type(item).load(path).to_dict())

        load.in_threads([save, lambda item=item: [learn(item) for _ in range(20)]])
        assert all(state in allowed for state in states)
        assert item.to_dict() == allowed[-1]


FORKED = """
import os, threading, warnings
import numpy as np
from trueodds import CalibrationMonitor, OnlineCalibrator
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
p = rng.random(500)
y = (rng.random(500) < p).astype(int)
items = [OnlineCalibrator(), CalibrationMonitor()]
stop = threading.Event()
def work(item):
    while not stop.is_set():
        item.update(p, y)
threads = [threading.Thread(target=work, args=(item,)) for item in items * 2]
for thread in threads:
    thread.start()
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            whole = [item.n_rows % 500 == 0 and item.update(p, y) is item for item in items]
            again = [type(item).from_dict(item.to_dict()).n_rows == item.n_rows for item in items]
            code = 0 if all(whole + again) else 2
        finally:
            os._exit(code)
    children.append(child)
stop.set()
for thread in threads:
    thread.join()
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(codes, items[0].update(0.3, 1) is items[0])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_during_updates_has_whole_states_and_free_locks():
    found = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout.strip() == f"{[0] * 8} True", found.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12: threads, fork
def test_a_child_computes_what_another_thread_was_computing_at_the_fork(monkeypatch):
    entered, left = threading.Event(), threading.Event()
    weight = vars(ScoreTable)["weight"]

    def slowly(table):
        if threading.current_thread() is not threading.main_thread():
            entered.set()
            left.wait(20)
        return 0.5

    monkeypatch.setattr(weight, "func", slowly)
    thread = threading.Thread(target=lambda: ScoreTable.from_arrays(P, Y).weight)
    thread.start()
    assert entered.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that waits for ever
        os._exit(0 if ScoreTable.from_arrays(P, Y).weight == 0.5 else 1)
    left.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def spoil(online):
    """Make the state finite and useless: a precision of 0 gives an infinite variance."""
    online._streams[0].arrays["line_precision"][0] = 0.0
    return online


@pytest.mark.parametrize("classes", [2, 3])
def test_an_update_that_is_not_finite_is_refused_as_a_whole(classes):
    table = P if classes == 2 else np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    labels = Y if classes == 2 else np.arange(300) % 3
    online = OnlineCalibrator().update(table, labels)
    online.ask(table[:3], ids=[1, 2, 3])
    spoil(online)
    before = online.to_dict()
    with pytest.raises(InputError, match="the labels were not learned"):
        online.update(table, labels)
    with pytest.raises(InputError, match="the labels were not learned"):
        online.answer([2, 1], [1, 0])
    if classes == 2:
        with pytest.raises(InputError, match="the labels were not learned"):
            online.update(0.3, 1)
    assert online.to_dict() == before
    with pytest.raises(InputError, match="no finite forecast"):
        online.ask(table[5:7], ids=["x", "y"])
    assert online.to_dict() == before


def test_a_state_without_a_finite_forecast_gives_none():
    online = spoil(OnlineCalibrator().update(P, Y))
    for forecast in (
        lambda: online.predict_proba(0.3),
        lambda: online.predict_proba(P),
        lambda: online.map_,
    ):
        with pytest.raises(InputError, match="no finite forecast"):
            forecast()


def test_dropped_rows_are_counted_and_their_generation_ends():
    online = OnlineCalibrator(max_pending=3).update(P, Y)
    online.ask(P[:2], ids=[0, 1])
    online.ask(P[2:7], ids=[2, 3, 4, 5, 6])
    assert (online.n_dropped, online.n_pending) == (4, 3)
    assert [online.waits_for(i) for i in range(7)] == [False] * 4 + [True] * 3
    assert OnlineCalibrator.from_dict(online.to_dict()).answer([4, 5, 6], [1, 0, 1]) == 3


def test_a_monitor_refuses_what_is_not_finite_and_errors_count_no_row():
    monitor = CalibrationMonitor().update(P, Y)
    before = monitor.to_dict()
    with pytest.raises(InputError, match="y must hold labels"):
        monitor.update(P, np.full(300, 7))
    assert monitor.to_dict() == before
    monitor._bets.clock[1] = np.nan
    with pytest.raises(InputError, match="the rows were not counted"):
        monitor.update(P, Y)
    assert monitor.n_rows == 300


# Warnings ----------------------------------------------------------------------------------------


def test_filters_of_the_process_are_as_before_after_work_in_threads():
    before = warnings.showwarning, list(warnings.filters)
    with joblib.parallel_config(backend="threading"):
        for _ in range(3):
            compare_calibrators(P, Y, calibrators=["beta", "isotonic", "bbq"], n_jobs=4, cv=3)
    confidence_interval(log_loss, Y, P, n_resamples=64, n_jobs=4, random_state=0)
    assert (warnings.showwarning, list(warnings.filters)) == before


def test_a_thread_that_ignores_warnings_hides_those_of_no_other():
    inside, seen = threading.Event(), threading.Event()
    quiet = []

    def ignore():
        with ignored_warnings():
            inside.set()
            assert seen.wait(20)
            warnings.warn("of the quiet thread", UserWarning, stacklevel=1)
            quiet.append(True)

    def be_heard():
        assert inside.wait(20)
        with pytest.raises(UserWarning, match="of the other"):  # warnings are errors in tests
            warnings.warn("of the other", UserWarning, stacklevel=1)
        seen.set()

    load.in_threads([ignore, be_heard])
    assert quiet == [True]


def test_contexts_that_end_in_another_order_than_they_began_leave_the_filters_as_they_were():
    before = warnings.showwarning, list(warnings.filters)
    first, second, ended = threading.Event(), threading.Event(), threading.Event()
    found = []

    def one():
        with collected_warnings() as caught:
            first.set()
            assert second.wait(20)
            warnings.warn("one", UserWarning, stacklevel=1)
        found.append([str(each.message) for each in caught])
        ended.set()

    def two():
        assert first.wait(20)
        with collected_warnings() as caught:
            second.set()
            assert ended.wait(20)
            warnings.warn("two", UserWarning, stacklevel=1)
        found.append([str(each.message) for each in caught])

    load.in_threads([one, two])
    assert found == [["one"], ["two"]]
    assert (warnings.showwarning, list(warnings.filters)) == before


def test_only_warnings_of_the_category_and_the_beginning_are_ignored():
    with ignored_warnings(UserWarning, "The least"):
        warnings.warn("The least populated class", UserWarning, stacklevel=1)
        with pytest.raises(UserWarning, match="Another"):
            warnings.warn("Another", UserWarning, stacklevel=1)
        with pytest.raises(RuntimeWarning, match="The least"):
            warnings.warn("The least", RuntimeWarning, stacklevel=1)
    with collected_warnings() as outer, collected_warnings(TrueoddsWarning) as inner:
        warnings.warn("ours", TrueoddsWarning, stacklevel=1)
        warnings.warn("another", UserWarning, stacklevel=1)
    assert [str(each.message) for each in inner] == ["ours"]
    assert [str(each.message) for each in outer] == ["another"]


# A service ---------------------------------------------------------------------------------------


class Service(http.server.BaseHTTPRequestHandler):
    """A map, an online calibrator and a monitor, which all threads of the server share."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(length))
        answer = json.dumps(getattr(self.server, self.path[1:])(**body)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.daemon_threads = True
    server.map = BetaCalibrator().fit(P, Y).map_
    server.still = OnlineCalibrator().update(P, Y)
    server.online, server.monitor = OnlineCalibrator(max_pending=5000), CalibrationMonitor()
    server.calibrate = lambda p: server.map(p).tolist()
    server.forecast = lambda p: server.still.predict_proba(p)[:, 1].tolist()
    server.ask = lambda p, ids: server.online.ask(p, ids)[:, 1].tolist()
    server.recall = lambda ids: server.online.recall(ids)[:, 1].tolist()
    server.answer = lambda ids, y: server.online.answer(ids, y)
    server.watch = lambda p, y: server.monitor.update(p, y).alpha
    return server


def test_a_service_under_load_answers_right(tmp_path):
    server = serve()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    wrong, rounds, rows = [], 8, 40
    expected = {
        "calibrate": BetaCalibrator().fit(P, Y).map_,
        "forecast": lambda p: OnlineCalibrator().update(P, Y).predict_proba(p)[:, 1],
    }

    def client(k):
        own = np.random.default_rng(k)
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)

        def post(path, **body):
            connection.request("POST", f"/{path}", json.dumps(body))
            return json.loads(connection.getresponse().read())

        for turn in range(rounds):
            p = own.random(int(own.choice([1, rows]))).tolist()
            wrong.extend(
                path for path, right in expected.items() if post(path, p=p) != right(p).tolist()
            )
            ids = [f"{k} {turn} {i}" for i in range(len(p))]
            if post("ask", p=p, ids=ids) != post("recall", ids=ids):
                wrong.append("recall")
            y = (own.random(len(p)) < p).astype(int).tolist()
            if post("answer", ids=ids, y=y) != len(p):
                wrong.append("answer")
            post("watch", p=p, y=y)
            asked[k] += len(p)
        connection.close()

    asked = [0] * load.N_THREADS
    try:
        load.in_threads([lambda k=k: client(k) for k in range(load.N_THREADS)])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert wrong == []
    assert server.online.n_rows == server.monitor.n_rows == sum(asked)
    assert (server.online.n_pending, server.online.n_unknown) == (0, 0)
    for item in (server.online, server.monitor):
        item.save(tmp_path / "state.json")
        assert type(item).load(tmp_path / "state.json").to_dict() == item.to_dict()
