"""How far long loops are, for whoever listens. Nothing is shown here, and without a listener nothing is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

#: the listener, and which share of the work is under way: from where to where
_UNDER_WAY: ContextVar[tuple[Callable[[float], None], float, float] | None] = ContextVar("under way", default=None)


@contextmanager
def heard(listener: Callable[[float], None]) -> Iterator[None]:
    """Tell a listener which share of the work is done; 0 whenever a loop starts that is not inside another."""
    token = _UNDER_WAY.set((listener, 0.0, 1.0))
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)


@contextmanager
def part(start: float, end: float) -> Iterator[None]:
    """Do a part of the work under way; loops inside it are shares of this part."""
    under_way = _UNDER_WAY.get()
    if under_way is None:
        yield
        return
    tell, low, high = under_way
    start, end = (low + share * (high - low) for share in (start, end))
    token = _UNDER_WAY.set((tell, start, end))
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)
        tell(end)


def steps(things: Iterable[T], total: int) -> Iterator[T]:
    """Yield things, ``total`` at the most, each of which is an equal part of the work under way.

    Examples
    --------
    >>> with heard(print):
    ...     for _ in steps("ab", 2):
    ...         for _ in steps("xy", 2):
    ...             pass
    0.0
    0.25
    0.5
    0.5
    0.75
    1.0
    1.0
    """
    under_way = _UNDER_WAY.get()
    if under_way is None:
        yield from things
        return
    tell, low, high = under_way
    if (low, high) == (0.0, 1.0):
        tell(0.0)
    for number, thing in enumerate(things):
        with part(number / total, (number + 1) / total):
            yield thing
