"""Offsets for scores: the smallest largest shortfall, then the fewest wrong rows, then the safest place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worstclass._typing import FloatArray, IntArray
from worstclass.wrappers.search.descent import descend, starts
from worstclass.wrappers.search.feasibility import least_shortfall
from worstclass.wrappers.search.potentials import max_cycle_mean, nearest_to_zero
from worstclass.wrappers.search.problem import Merit, OffsetProblem
from worstclass.wrappers.search.smooth import steadier

#: a share of the largest score: as far as this, offsets may always go into a cell that begins at zero
NEAR = 2.0**-20


@dataclass(frozen=True, eq=False)
class Solution:
    """Offsets, and how good they are on the rows they were found with.

    Attributes
    ----------
    offsets : one a class; 0 for a class that need not be moved.
    merit : largest shortfall, rows missing to the quotas, wrong rows.
    merit_of_zero : the same of zero offsets; its largest shortfall is never smaller.
    least : the least largest shortfall that offsets can have; None where a class has no row, since it is not sought.
    proven : whether the least largest shortfall is known, and these offsets have it or are within the slack of it.
        Always so but for classes without a row, for scores that are tied to within 2^-40 of the largest, and where a
        question was left open after 1,000 policies.
    """

    offsets: FloatArray
    merit: Merit
    merit_of_zero: Merit
    least: float | None
    proven: bool


def best_offsets(
    scores: FloatArray, target: IntArray, quota: IntArray | None = None, slack: float | None = None
) -> Solution:
    """Find offsets b for which ``argmax_k (score_k + b_k)`` serves the worst class best.

    In this order: the largest shortfall of a class, to its quota and as a share of its rows, is as small as possible
    (exact); then the rows missing to the quotas, then the wrong rows, are few (exact for two classes, else a search).
    Zero offsets are kept where they are as good as any found. Otherwise the least margin of the right rows is as
    large as possible, yet not larger than zero offsets are far, and classes are moved from zero as little as this
    allows. A class without a row keeps the offset 0, and those of the others have the mean 0 then.

    Parameters
    ----------
    scores : shape (n, K), finite.
    target : class indices, shape (n,).
    quota : how many rows of each class should be right. None: all, so that the shortfall of a class is its error.
    slack : None: as told. A number, for all rows as quota: instead of the fewest wrong rows, a small smoothed error,
        with offsets whose largest error may exceed the least by so many of its standard errors (``smooth.py``).

    Examples
    --------
    >>> scores = np.array([[0.0, s] for s in (1, 2, 4, 3, 5)])
    >>> solution = best_offsets(scores, np.array([0, 0, 0, 1, 1]))
    >>> solution.offsets, solution.merit, solution.merit_of_zero.worst
    (array([ 1.25, -1.25]), Merit(worst=0.3333333333333333, missing=1, wrong=1), 1.0)
    """
    judged = np.bincount(target, minlength=scores.shape[1]) > 0
    if not judged.all():
        return _beside_unjudged(scores, target, quota, slack, judged)
    problem = OffsetProblem.of(scores, target, quota)
    zero = np.zeros(problem.n_classes)
    at_zero = problem.merit_of(zero)
    first = least_shortfall(problem)
    least = problem.relaxed(first.missing, first.total)
    found = [placed(problem, descend(problem, least, start)) for start in starts(problem, least, first.offsets)]
    merits = [problem.merit_of(offsets) for offsets in found]
    best = min(range(len(found)), key=lambda i: (merits[i], float(np.abs(found[i]).max())))
    if at_zero <= merits[best]:
        return Solution(zero, at_zero, at_zero, at_zero.worst, first.proven)
    least_worst = merits[best].worst
    if slack is None:
        return Solution(found[best], merits[best], at_zero, least_worst, first.proven)
    steady = steadier(problem, found[best], slack)
    return Solution(steady, problem.merit_of(steady), at_zero, least_worst, first.proven)


def _beside_unjudged(
    scores: FloatArray, target: IntArray, quota: IntArray | None, slack: float | None, judged: npt.NDArray[np.bool_]
) -> Solution:
    """Find offsets for the classes that have rows, and leave the others where they are, in the middle of those.

    Nobody can tell what a class without a row would lose, so it must not be lowered for the sake of the others, which
    is what the least error on their rows would ask for. What is found is thus not proven to be the least.
    """
    problem = OffsetProblem.of(scores, target, quota)
    zero = np.zeros(problem.n_classes)
    found, at_zero = zero.copy(), problem.merit_of(zero)
    if judged.sum() > 1:
        index = np.cumsum(judged) - 1
        among = best_offsets(scores[:, judged], index[target], None if quota is None else quota[judged], slack)
        found[judged] = among.offsets - among.offsets.mean()
    merit = problem.merit_of(found)
    if at_zero <= merit:
        return Solution(zero, at_zero, at_zero, None, proven=False)
    return Solution(found, merit, at_zero, None, proven=False)


def placed(problem: OffsetProblem, offsets: FloatArray) -> FloatArray:
    """Return the offsets, of those with which the same rows are right, that are safest and nearest to zero."""
    bounds = _bounds_of_right_rows(problem, offsets)
    active = np.flatnonzero((bounds > -np.inf).any(axis=1))
    if len(active) < 2:
        return offsets
    margin = -max_cycle_mean(bounds[np.ix_(active, active)])
    distance = max(float(bounds.max()), problem.largest * NEAR)
    moved = nearest_to_zero(bounds + min(margin, distance))
    return moved if problem.merit_of(moved) <= problem.merit_of(offsets) else offsets


def _bounds_of_right_rows(problem: OffsetProblem, offsets: FloatArray) -> FloatArray:
    """Return G with ``b_k - b_j > G[k, j]`` where the rows that are right now stay right."""
    bounds = np.full((problem.n_classes, problem.n_classes), -np.inf)
    for k, gaps in enumerate(problem.gaps_by_class):
        right = (gaps + (offsets - offsets[k]) < 0).all(axis=1)
        if right.any():
            bounds[k] = gaps[right].max(axis=0)
    return bounds
