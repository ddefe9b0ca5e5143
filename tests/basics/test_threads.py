"""Work in blocks: every row once, in order, whatever the number of threads."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from trueodds import (
    BayesianSmoothCalibrator,
    BayesianStructuredCalibrator,
    DirichletCalibrator,
    MatrixCalibrator,
)
from trueodds.basics import threads
from trueodds.basics.threads import BLOCK_ROWS, in_blocks, in_threads, single_threaded_blas


@pytest.mark.parametrize(
    "n_rows", [1, BLOCK_ROWS, BLOCK_ROWS + 1, 9 * BLOCK_ROWS, 23 * BLOCK_ROWS + 5]
)
@pytest.mark.parametrize("cores", [1, 2, 3])
def test_blocks_are_the_same_on_any_number_of_cores(monkeypatch, n_rows, cores):
    monkeypatch.setattr(threads, "_cores", lambda: cores)
    blocks = in_blocks(lambda rows: (rows.start, rows.stop), n_rows)
    starts = list(range(0, n_rows, BLOCK_ROWS))
    assert blocks == [(begin, min(begin + BLOCK_ROWS, n_rows)) for begin in starts]


def test_many_rows_are_shared_among_threads_and_few_are_not(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    both = threading.Barrier(2, timeout=20)  # passed only if two threads are at work at once
    done = []

    def work(rows):
        if threading.get_ident() not in done:
            done.append(threading.get_ident())
            both.wait()

    in_blocks(work, 8 * BLOCK_ROWS)
    assert len(done) == 2
    names = in_blocks(lambda rows: threading.current_thread().name, 7 * BLOCK_ROWS)
    assert set(names) == {threading.current_thread().name}


def test_an_error_in_any_thread_is_raised(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)

    def work(rows):
        if rows.start >= 8 * BLOCK_ROWS:
            raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        in_blocks(work, 10 * BLOCK_ROWS)


def test_an_index_error_of_a_task_is_raised_like_any_other(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    with pytest.raises(IndexError, match="out of range"):
        in_threads([lambda: [][0], lambda: [][0]], n_rows=10**6)


def blas_threads():
    """The threads of each library, as a fresh look at the process finds them."""
    found = ThreadpoolController().info()
    return {one["filepath"]: one["num_threads"] for one in found if one["user_api"] == "blas"}


@pytest.fixture
def three_threads():
    """BLAS with three threads, which is neither one nor the number of cores here."""
    np.eye(2) @ np.ones(2)  # a library must have been loaded
    with threadpool_limits(3, user_api="blas"):
        assert set(blas_threads().values()) == {3}
        yield


def test_blas_has_one_thread_inside_and_what_it_had_outside(three_threads):
    with single_threaded_blas():
        assert set(blas_threads().values()) == {1}
        with single_threaded_blas():
            assert set(blas_threads().values()) == {1}
        assert set(blas_threads().values()) == {1}
    assert set(blas_threads().values()) == {3}


def test_contexts_that_overlap_give_blas_its_threads_back(three_threads):
    entered, left = threading.Event(), threading.Event()

    def second():
        with single_threaded_blas():
            entered.set()
            left.wait(20)
            assert set(blas_threads().values()) == {1}

    with ThreadPoolExecutor(1) as pool:
        with single_threaded_blas():
            other = pool.submit(second)
            assert entered.wait(20)
        left.set()  # the first to enter was the first to leave
        other.result(timeout=20)
    assert set(blas_threads().values()) == {3}


def test_eight_threads_that_fit_at_once_leave_blas_as_they_found_it(three_threads):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    alone = BayesianSmoothCalibrator().fit(p, y).predict_proba(p)
    with ThreadPoolExecutor(8) as pool:
        fits = [pool.submit(BayesianSmoothCalibrator().fit, p, y) for _ in range(48)]
        for fit in fits:
            np.testing.assert_array_equal(fit.result().predict_proba(p), alone)
    assert set(blas_threads().values()) == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12: threads, fork
def test_a_process_forked_while_another_thread_fits_has_the_threads_of_blas(three_threads):
    entered, left = threading.Event(), threading.Event()

    def fit():
        with single_threaded_blas():
            entered.set()
            left.wait(20)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(fit)
        assert entered.wait(20)
        child = os.fork()
        if child == 0:
            os._exit(max(blas_threads().values()))
        left.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_a_library_that_is_loaded_inside_a_fit_is_limited_in_the_same_fit():
    script = """
import sys
import numpy as np
from threadpoolctl import ThreadpoolController
from trueodds import BayesianStructuredCalibrator
from trueodds.numerics.structured_softmax.pool import Posterior

def watched(self, *arguments):
    import scipy.linalg
    found = ThreadpoolController().select(user_api="blas").info()
    seen.update(one["num_threads"] for one in found)
    return climb(self, *arguments)

seen = set()
climb, Posterior.climb = Posterior.climb, watched
assert "scipy.linalg" not in sys.modules
rng = np.random.default_rng(0)
BayesianStructuredCalibrator().fit(rng.dirichlet([1, 1, 1], 60), rng.integers(0, 3, 60))
print(sorted(seen))
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[1]"


def test_maps_of_several_classes_do_not_depend_on_the_threads_of_blas():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0] * 6, 300)
    y = rng.integers(0, 6, 300)
    for kind in (BayesianStructuredCalibrator, MatrixCalibrator, DirichletCalibrator):
        found = []
        for n_threads in (1, 3):
            with threadpool_limits(n_threads, user_api="blas"):
                found.append(kind().fit(p, y).map_.to_dict())
        assert found[0]["parameters"] == found[1]["parameters"], kind.__name__
