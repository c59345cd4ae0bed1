"""The smallest possible largest shortfall, exactly and for any number of classes.

Raising the offset of class k can only help class k, and can only hurt every other class. So, given the offsets of the
others, there is a least offset of k with which its quota is met: with ``a_i = max_{j != k} (score_ij - score_ik +
b_j)`` over the rows i of class k, it is the q_k-th smallest a_i. Call the vector of these F(b). Offsets meet all
quotas, each of the rows counted with a margin of m, if and only if ``F(b) <= b - m``.

F is monotone, and adding a constant to b adds it to F(b). For such a map the largest margin is minus the *one* number r
with ``F(v) = r + v`` for some v, and every v bounds it: ``min_k (F(v) - v)_k <= r <= max_k (F(v) - v)_k``. It is
found by policy iteration: fix for each class the q_k rows that are nearest to being right; what they ask for are
difference constraints, whose largest slack is known (``potentials``); choose the rows anew with the offsets that
gives; and so on. It ends with offsets that meet the quotas, or with a v that proves that none do. A bisection over
the at most n values that a largest shortfall can have then gives the smallest.

References
----------
Cochet-Terrasson, Gaubert and Gunawardena, "A constructive fixed point theorem for min-max functions", Dynamics and
Stability of Systems 14, 1999 (the policy iteration, and its step where the slack stays the same).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worstclass._typing import FloatArray, IntArray
from worstclass.wrappers.search.potentials import eigenvector, max_cycle_mean
from worstclass.wrappers.search.problem import OffsetProblem

#: policies tried before a question is left open; a dozen is usual
MAX_POLICIES = 1_000


class Verdict(NamedTuple):
    """Offsets that meet the quotas; None where there are none, or (not ``proven``) where none were found."""

    offsets: FloatArray | None
    proven: bool


class LeastShortfall(NamedTuple):
    """Offsets with the smallest largest shortfall, ``missing / total``; ``proven`` unless a question was left open."""

    offsets: FloatArray
    missing: int
    total: int
    proven: bool


def meet_quotas(problem: OffsetProblem, quota: IntArray, start: FloatArray) -> Verdict:
    """Find offsets with which at least ``quota`` rows of each class are right, or prove that there are none.

    ``start`` only affects how long it takes. A class without a quota gets an offset with which it never wins.

    Examples
    --------
    >>> problem = OffsetProblem.of(np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), np.array([0, 1, 1]))
    >>> meet_quotas(problem, np.array([1, 2]), np.zeros(2))
    Verdict(offsets=array([-2.5,  0. ]), proven=True)
    """
    active = np.flatnonzero(quota > 0)
    v = np.full(problem.n_classes, -8 * problem.n_classes * problem.largest)
    if len(active) < 2:
        v[active] = 0.0
        return Verdict(v, proven=True)
    v[active] = start[active]
    policy, _ = _nearest_rows(problem, quota, active, v)
    mean, bias = np.inf, None
    for _ in range(MAX_POLICIES):
        last, mean = mean, max_cycle_mean(policy)
        bias = eigenvector(policy, mean, bias if mean >= last - problem.tolerance else None, problem.tolerance)
        v[active] = bias
        if mean < -problem.tolerance:
            return Verdict(v - v[active].max(), proven=True)
        policy, needed = _nearest_rows(problem, quota, active, v)
        if (needed - bias).min() >= -problem.tolerance:
            return Verdict(None, proven=True)
    return Verdict(None, proven=False)


def least_shortfall(problem: OffsetProblem) -> LeastShortfall:
    """Find offsets with the smallest possible largest shortfall, by bisection over all values it can have."""
    values, missing, total = _possible_shortfalls(problem)
    best = np.zeros(problem.n_classes)
    low, high = -1, int(np.searchsorted(values, problem.merit_of(best).worst))
    all_proven = True
    while high - low > 1:
        middle = (low + high) // 2
        relaxed = problem.relaxed(int(missing[middle]), int(total[middle]))
        offsets, proven = meet_quotas(problem, relaxed, best)
        if offsets is None:
            low, all_proven = middle, all_proven and proven
        else:
            best = offsets
            high = min(middle, int(np.searchsorted(values, problem.merit_of(best).worst)))
    return LeastShortfall(best, int(missing[high]), int(total[high]), all_proven)


def _nearest_rows(
    problem: OffsetProblem, quota: IntArray, active: IntArray, offsets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Choose for each class the rows nearest to being right; return what they constrain, and F(offsets)."""
    policy, needed = np.empty((len(active), len(active))), np.empty(len(active))
    for place, k in enumerate(active):
        distance = (problem.gaps_by_class[k] + offsets).max(axis=1)
        chosen = np.argpartition(distance, quota[k] - 1)[: quota[k]]
        policy[place] = problem.gaps_by_class[k][chosen].max(axis=0)[active]
        needed[place] = distance[chosen[-1]]
    return policy, needed


def _possible_shortfalls(problem: OffsetProblem) -> tuple[FloatArray, IntArray, IntArray]:
    """Return every quotient of missing rows and rows of a class, ascending, with both numbers."""
    totals = [int(total) for total in np.unique(problem.totals) if total > 0]
    missing = np.concatenate([np.arange(total + 1) for total in totals])
    total = np.concatenate([np.full(n + 1, n) for n in totals])
    values, first = np.unique(missing / total, return_index=True)
    return values, missing[first], total[first]
