"""How many threads BLAS and OpenMP use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread, for small work: several threads wait for each other longer than they work.

    On a busy machine they wait many times as long.
    """
    with _libraries().limit(limits=1):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
