"""Work in blocks: every row once, in order, whatever the number of threads."""

import threading

import numpy as np
import pytest

from trueodds.basics import threads
from trueodds.basics.threads import BLOCK, in_blocks, side_by_side, single_threaded_blas


@pytest.mark.parametrize("n_rows", [1, BLOCK, BLOCK + 1, 9 * BLOCK, 23 * BLOCK + 5])
@pytest.mark.parametrize("cores", [1, 2, 3])
def test_blocks_are_the_same_on_any_number_of_cores(monkeypatch, n_rows, cores):
    monkeypatch.setattr(threads, "_cores", lambda: cores)
    blocks = in_blocks(lambda rows: (rows.start, rows.stop), n_rows)
    starts = list(range(0, n_rows, BLOCK))
    assert blocks == [(begin, min(begin + BLOCK, n_rows)) for begin in starts]


def test_many_rows_are_shared_among_threads_and_few_are_not(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    both = threading.Barrier(2, timeout=20)  # passed only if two threads are at work at once
    done = []

    def work(rows):
        if threading.get_ident() not in done:
            done.append(threading.get_ident())
            both.wait()

    in_blocks(work, 8 * BLOCK)
    assert len(done) == 2
    names = in_blocks(lambda rows: threading.current_thread().name, 7 * BLOCK)
    assert set(names) == {threading.current_thread().name}


def test_an_error_in_any_thread_is_raised(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)

    def work(rows):
        if rows.start >= 8 * BLOCK:
            raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        in_blocks(work, 10 * BLOCK)


def test_nobody_waits_for_a_thread_that_does_not_start(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    monkeypatch.setattr(threads, "start_new_thread", lambda work, arguments: None)
    assert in_blocks(lambda rows: rows.start, 9 * BLOCK) == [k * BLOCK for k in range(9)]

    def none_left(work, arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "start_new_thread", none_left)
    assert side_by_side([lambda: 1, lambda: 2], n_rows=10**6) == [1, 2]


def test_an_index_error_of_a_task_is_raised_like_any_other(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    with pytest.raises(IndexError, match="out of range"):
        side_by_side([lambda: [][0], lambda: [][0]], n_rows=10**6)


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    np.eye(2) @ np.ones(2)  # a library must have been loaded

    def numbers():
        known = threads._blas().info()
        return [found["num_threads"] for found in known if found["user_api"] == "blas"]

    before = numbers()
    with single_threaded_blas():
        assert set(numbers()) == {1}
    assert numbers() == before
