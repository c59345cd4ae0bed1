"""One thread for small work, and the threads of the caller afterwards."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import worstclass.ensembles.portfolio  # noqa: F401  loads the OpenMP of scikit-learn
from worstclass._threads import _libraries, one_thread


@pytest.fixture(autouse=True)
def all_libraries():
    """Look again for what is loaded: an earlier test may have loaded torch since."""
    _libraries.cache_clear()


def threads(*kinds):
    """The threads of the libraries that are loaded, or of some kinds of them."""
    return {library["num_threads"] for library in threadpool_info() if not kinds or library["user_api"] in kinds}


def test_one_thread_inside_and_as_many_as_before_afterwards():
    with threadpool_limits(2):
        with one_thread():
            assert threads() == {1}
            with one_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == {2}


def test_an_error_leaves_the_threads_as_they_were():
    with threadpool_limits(2):
        with pytest.raises(ValueError, match="inside"), one_thread():
            raise ValueError("inside")
        assert threads() == {2}


def test_threads_that_leave_in_another_order_than_they_came():
    here, there, leaving = threading.Event(), threading.Event(), threading.Event()

    def first():
        with one_thread():
            here.set()
            there.wait(20)

    def second():
        here.wait(20)
        with threadpool_limits(2, "openmp"):
            assert threads("openmp") == {2}
            with one_thread():
                there.set()
                leaving.wait(20)
                assert threads("openmp") == {1}
            assert threads("openmp") == {2}

    before = threads("blas")
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(first), pool.submit(second)
        one.result(30)
        leaving.set()
        other.result(30)
    assert threads("blas") == before
