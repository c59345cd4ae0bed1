"""Exact search along a line of offsets.

Along ``offsets + t * direction`` every row is right on one open interval of t. So the counts of all classes, between any
two neighbouring ends of such intervals, come from one sort: nothing is sampled and no end is missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worstclass.floors import IntArray
from worstclass.offsets.potentials import FloatArray
from worstclass.offsets.problem import OffsetProblem


class Step(NamedTuple):
    """The best stretch of a line: rows missing to the quotas, wrong rows, and how far its middle lies."""

    missing: int
    wrong: int
    length: float
    offsets: FloatArray


class _Changes(NamedTuple):
    """What happens to one class along the line: at ``places``, ascending, counts change by so much."""

    places: FloatArray
    right: IntArray
    missing: IntArray
    below: IntArray
    #: right rows, rows missing to the quota, and whether the count is below ``least``, before the first place
    before: tuple[int, int, int]


def best_along(problem: OffsetProblem, least: IntArray, offsets: FloatArray, direction: FloatArray) -> Step | None:
    """Find the stretch of the line with the fewest rows missing to the quotas, then the fewest wrong rows.

    Only stretches on which every class has ``least`` rows right or more are looked at. Of equals the nearest is taken.

    Examples
    --------
    Two classes, scores 0 and s, where s is 1, 2, 4 for the rows of the first class and 3, 5 for those of the second: with
    an offset between -3 and -2 for the second class, one row is wrong.

    >>> scores = np.array([[0.0, s] for s in (1, 2, 4, 3, 5)])
    >>> problem = OffsetProblem(scores, np.array([0, 0, 0, 1, 1]), np.array([3, 2]))
    >>> best_along(problem, np.array([0, 0]), np.zeros(2), np.array([0.0, 1.0]))
    Step(missing=1, wrong=1, length=2.5, offsets=array([ 0. , -2.5]))
    """
    classes = [_changes(problem, least, offsets, direction, k) for k in range(problem.n_classes)]
    places = np.concatenate([each.places for each in classes])
    if len(places) == 0:
        return None
    order = np.argsort(places, kind="stable")
    places = places[order]
    before = np.array([each.before for each in classes]).sum(axis=0)
    right, missing, below = (
        np.cumsum(np.concatenate([[start], np.concatenate([each[column] for each in classes])[order]]))
        for start, column in zip(before, (1, 2, 3), strict=True)
    )
    reach = float(np.abs(problem.scores).max()) + 1
    ends = np.concatenate([[places[0] - reach], places, [places[-1] + reach]])
    middles = (ends[1:] + ends[:-1]) / 2
    allowed = np.flatnonzero((below == 0) & (np.diff(ends) > 4 * problem.tolerance))
    if len(allowed) == 0:
        return None
    best = allowed[np.lexsort((np.abs(middles[allowed]), -right[allowed], missing[allowed]))[0]]
    length = float(middles[best])
    wrong = int(problem.totals.sum() - right[best])
    return Step(int(missing[best]), wrong, abs(length), offsets + length * direction)


def _changes(
    problem: OffsetProblem, least: IntArray, offsets: FloatArray, direction: FloatArray, k: int
) -> _Changes:
    since, until = _right_between(problem.gaps[k], offsets - offsets[k], direction - direction[k])
    lasting = until - since > problem.tolerance
    since, until = since[lasting], until[lasting]
    starts, ends = since[np.isfinite(since)], until[np.isfinite(until)]
    places = np.concatenate([starts, ends])
    order = np.argsort(places, kind="stable")
    change = np.concatenate([np.ones(len(starts), dtype=np.int64), -np.ones(len(ends), dtype=np.int64)])[order]
    first = len(since) - len(starts)
    right = np.concatenate([[first], first + np.cumsum(change)])
    missing = np.maximum(problem.quota[k] - right, 0)
    below = (right < least[k]).astype(np.int64)
    return _Changes(places[order], change, np.diff(missing), np.diff(below), (first, int(missing[0]), int(below[0])))


def _right_between(gaps: FloatArray, offsets: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each row the ends of the interval on which no other class reaches its own; empty where none is."""
    lead = gaps + offsets  # right where lead + t * slopes < 0 in every column
    rising, falling = slopes > 0, slopes < 0
    until = (lead[:, rising] / -slopes[rising]).min(axis=1, initial=np.inf)
    since = (lead[:, falling] / -slopes[falling]).max(axis=1, initial=-np.inf)
    never = (lead[:, slopes == 0] >= 0).any(axis=1)
    return np.where(never, np.inf, since), np.where(never, -np.inf, until)
