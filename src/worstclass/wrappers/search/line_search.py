"""Exact search along lines of offsets.

Along ``offsets + t * direction`` every row is right on one open interval of t. So the counts of all classes, between
any two neighbouring ends of such intervals, come from one sort: nothing is sampled and no end is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from worstclass._typing import FloatArray, IntArray
from worstclass.wrappers.search.problem import OffsetProblem


class Step(NamedTuple):
    """The best stretch of a line: rows missing to the quotas, wrong rows, and how far its middle lies."""

    missing: int
    wrong: int
    length: float
    offsets: FloatArray


class _Intervals(NamedTuple):
    """Where along a line each row is right: from ``since`` to ``until``; nowhere if the latter is not greater."""

    since: FloatArray
    until: FloatArray


def best_along(problem: OffsetProblem, least: IntArray, offsets: FloatArray, direction: FloatArray) -> Step | None:
    """Find the stretch of the line with the fewest rows missing to the quotas, then the fewest wrong rows.

    Only stretches on which every class has ``least`` rows right or more are looked at. Of equals the nearest is taken.

    Examples
    --------
    Two classes, scores 0 and s, where s is 1, 2, 4 for the rows of the first class and 3, 5 for those of the second:
    with an offset between -3 and -2 for the second class, one row is wrong.

    >>> problem = OffsetProblem.of(np.array([[0.0, s] for s in (1, 2, 4, 3, 5)]), np.array([0, 0, 0, 1, 1]))
    >>> best_along(problem, np.array([0, 0]), np.zeros(2), np.array([0.0, 1.0]))
    Step(missing=1, wrong=1, length=2.5, offsets=array([ 0. , -2.5]))
    """
    lead = problem.gaps + (offsets - offsets[problem.target, None])  # right where lead + t * slope < 0 in all columns
    slope = direction - direction[problem.target, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = lead / -slope
    until = crossing.min(axis=1, where=slope > 0, initial=np.inf)
    since = crossing.max(axis=1, where=slope < 0, initial=-np.inf)
    never = ((slope == 0) & (lead >= 0)).any(axis=1)
    return _best_stretch(problem, least, offsets, direction, _Intervals(since, np.where(never, -np.inf, until)))


def best_for_each_class(problem: OffsetProblem, least: IntArray, offsets: FloatArray) -> Iterator[Step | None]:
    """Find the best stretch along the offset of each class in turn, as ``best_along`` does, at less cost."""
    lead = problem.gaps + (offsets - offsets[problem.target, None])
    rows = np.arange(len(lead))
    leader = lead.argmax(axis=1)
    ahead = lead[rows, leader]
    others = lead.copy()
    others[rows, leader] = -np.inf
    second = others.max(axis=1)
    for k, direction in enumerate(np.eye(problem.n_classes)):
        own = problem.target == k
        never = ~own & (np.where(leader == k, second, ahead) >= 0)
        since = np.where(own, ahead, -np.inf)
        until = np.where(own, np.inf, np.where(never, -np.inf, -lead[:, k]))
        yield _best_stretch(problem, least, offsets, direction, _Intervals(since, until))


def _best_stretch(
    problem: OffsetProblem, least: IntArray, offsets: FloatArray, direction: FloatArray, intervals: _Intervals
) -> Step | None:
    places, right, missing, below = _counts(problem, least, intervals)
    if len(places) == 0:
        return None
    reach = 2 * problem.largest
    ends = np.concatenate([[places[0] - reach], places, [places[-1] + reach]])
    allowed = np.flatnonzero((below == 0) & (np.diff(ends) > 4 * problem.tolerance))
    if len(allowed) == 0:
        return None
    middles = (ends[allowed] + ends[allowed + 1]) / 2
    best = np.lexsort((np.abs(middles), -right[allowed], missing[allowed]))[0]
    at, length = allowed[best], float(middles[best])
    wrong = int(problem.totals.sum() - right[at])
    return Step(int(missing[at]), wrong, abs(length), offsets + length * direction)


def _counts(
    problem: OffsetProblem, least: IntArray, intervals: _Intervals
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Count right rows, rows missing to the quotas and classes below ``least``, before and after each place."""
    since, until = intervals
    lasting = since + problem.tolerance < until
    opens, closes = lasting & np.isfinite(since), lasting & np.isfinite(until)
    places = np.concatenate([since[opens], until[closes]])
    target = np.concatenate([problem.target[opens], problem.target[closes]])
    change = np.repeat(np.array([1, -1], dtype=np.int64), [opens.sum(), closes.sum()])
    first = np.bincount(problem.target[lasting & ~opens], minlength=problem.n_classes)

    by_class = np.lexsort((places, target))
    of, steps = target[by_class], change[by_class]
    changes_of_class = np.bincount(of, weights=steps, minlength=problem.n_classes).astype(np.int64)
    base = first - (np.cumsum(changes_of_class) - changes_of_class)
    after = np.cumsum(steps) + base[of]  # right rows of the class, after each of its places
    order = np.argsort(places[by_class], kind="stable")
    return (
        places[by_class][order],
        _running(int(first.sum()), steps[order]),
        _running(*_changes(first, after, steps, of, lambda n, k: np.maximum(problem.quota[k] - n, 0), order)),
        _running(*_changes(first, after, steps, of, lambda n, k: (n < least[k]).astype(np.int64), order)),
    )


def _changes(
    first: IntArray,
    after: IntArray,
    steps: IntArray,
    of: IntArray,
    rule: Callable[[IntArray, IntArray], IntArray],
    order: IntArray,
) -> tuple[int, IntArray]:
    """Return a sum over classes of ``rule(right rows, class)`` before the first place, and its changes in ``order``."""
    start = rule(first, np.arange(len(first))).sum()
    return int(start), (rule(after, of) - rule(after - steps, of))[order]


def _running(start: int, changes: IntArray) -> IntArray:
    return np.cumsum(np.concatenate([[start], changes]))
