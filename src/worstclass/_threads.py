"""How many threads BLAS and OpenMP use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread, for small work: several spend more time waiting for each other than working.

    On a busy machine they wait many times as long. Outside the main thread only OpenMP is limited: the limit of BLAS is
    that of the whole process, and threads that set it would undo each other's.
    """
    main = threading.current_thread() is threading.main_thread()
    with _libraries(None if main else "openmp").limit(limits=1):
        yield


@cache
def _libraries(only: str | None) -> ThreadpoolController:
    libraries = ThreadpoolController()
    return libraries if only is None else libraries.select(user_api=only)
