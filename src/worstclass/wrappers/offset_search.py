"""Search for decision offsets: smoothed descent, then, where floors are given, exact line search by counts.

The soft maximum of the smoothed class errors of ``offset_problem``, and a share of their mean, is differentiable in the
offsets and is minimised by L-BFGS, from zero offsets or from those that make all classes equally frequent, whichever is
better. With floors, a line search by counts follows: while one class is moved, every row is right on one half-line, so
one sort gives the counts of all classes between neighbouring thresholds (at most ``MOST_CHANGES`` of them if there are
more than two classes). The search takes the best move until none improves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from worstclass._threads import one_thread
from worstclass._typing import FloatArray, IntArray
from worstclass.wrappers.offset_problem import RESOLUTION, Merit, OffsetProblem, softmax_and_log, two_largest

#: weight of the mean class error beside the largest: of offsets that serve the worst class alike, those with fewer
#: errors are taken
MEAN_WEIGHT = 0.2
#: the descent ends when a step lowers the smoothed error by less than this share of it (L-BFGS-B's own default)
PRECISION = 2.2e-9
#: steps in which the way from one vector of offsets to another is tried
STEPS = 100
#: moves of the line search, for each class, at most
MAX_MOVES = 10
#: changes of one offset that are tried, with more than two classes, at most
MOST_CHANGES = 1_000


@one_thread()
def find_offsets(scores: FloatArray, target: IntArray, quota: IntArray | None = None) -> FloatArray:
    """Find offsets b for which ``argmax_k (score_k + b_k)`` serves the worst class.

    Without quotas, the worst-class error on new rows should be small; with quotas, the largest shortfall on these rows
    is small, then the number of wrong rows. On these rows the worst class is never worse than with zero offsets, which
    are kept where no better ones are found. With two classes and quotas, no offsets have a smaller shortfall.

    Parameters
    ----------
    scores : shape (n, K), finite; of probabilities, ``scores.log_probabilities``.
    target : class indices, shape (n,). A class without a row keeps the offset 0, the mean of the others.
    quota : how many rows of each class should be right, shape (K,); for floors, their ``vote_quota``. None: no floors.

    Returns
    -------
    Offsets with mean 0, shape (K,).

    Examples
    --------
    >>> scores = np.array([[0.0, s] for s in (1, 2, 4, 3, 5)])
    >>> target = np.array([0, 0, 0, 1, 1])
    >>> (scores + find_offsets(scores, target, quota=np.bincount(target))).argmax(axis=1).tolist()
    [0, 0, 1, 1, 1]
    """
    scores = scores - scores.max(axis=1, keepdims=True)  # a constant for each row changes nothing
    scale = 2.0 ** np.frexp(np.abs(scores).max())[1]
    scores = scores / scale
    everyone = OffsetProblem(scores, target, quota)
    zero, present = np.zeros(everyone.n_classes), np.flatnonzero(everyone.totals > 0)
    if len(present) < 2:
        return zero
    problem = everyone.of_classes(present)
    found = zero.copy()
    found[present] = least_smoothed(problem)[0] if quota is None else _by_counts(problem)
    found[present] -= found[present].mean()
    merit, at_zero = everyone.merit(found), everyone.merit(zero)
    better = merit.worst <= at_zero.worst and merit != at_zero if quota is None else merit[::2] < at_zero[::2]
    return found * scale if better else zero


@one_thread()
def smoothed_offsets(
    scores: FloatArray,
    target: IntArray,
    quota: IntArray | None = None,
    start: FloatArray | None = None,
    precision: float = PRECISION,
) -> tuple[FloatArray, float]:
    """Find the offsets that make the *smoothed* worst-class error least.

    Parameters
    ----------
    scores, target, quota : as of ``find_offsets``.
    start : offsets to start from, shape (K,); None for 0.
    precision : the descent ends when a step lowers the error by less than this share of it.

    Returns
    -------
    Offsets with mean 0, shape (K,), 0 for a class without a row; and the smoothed error that they leave (with quotas
    the smoothed shortfall), with a share of the mean class error.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> target = np.repeat([0, 1], 500)
    >>> scores = np.column_stack([rng.normal(1, 1, 1000), rng.normal(2 * target, 1)])
    >>> offsets, error = smoothed_offsets(scores, target)
    >>> bool(np.abs(offsets).max() < 0.1), round(error, 2)
    (True, 0.3)
    """
    everyone = OffsetProblem(scores - scores.max(axis=1, keepdims=True), target, quota)
    present = np.flatnonzero(everyone.totals > 0)
    offsets = np.zeros(everyone.n_classes)
    if len(present) < 2:
        return offsets, 0.0
    first = None if start is None else start[present]
    offsets[present], error = least_smoothed(everyone.of_classes(present), first, precision)
    return offsets, error


def _by_counts(problem: OffsetProblem) -> FloatArray:
    """Find a small largest shortfall, then few wrong rows: line searches from three starts."""
    smooth, zero = least_smoothed(problem)[0], np.zeros(problem.n_classes)
    between = towards(problem, smooth, zero, problem.merit(smooth).worst)
    ends = [climb(problem, start) for start in (smooth, between, zero)]
    return min(ends, key=problem.merit)


def towards(problem: OffsetProblem, start: FloatArray, end: FloatArray, limit: float) -> FloatArray:
    """Return the offsets nearest to ``end``, on the way from ``start``, whose largest shortfall is within a limit."""
    for share in np.linspace(1, 0, STEPS + 1):
        offsets = start + share * (end - start)
        if problem.merit(offsets).worst <= limit:
            return np.asarray(offsets)
    return start


# smoothed descent


def least_smoothed(
    problem: OffsetProblem, start: FloatArray | None = None, precision: float = PRECISION
) -> tuple[FloatArray, float]:
    """Minimise the smoothed largest shortfall; return the offsets and the shortfall they leave."""
    unit = float(np.median(problem.spread))  # makes the descent independent of the scale of the scores

    def objective(steps: FloatArray) -> tuple[float, FloatArray]:
        value, slope = smoothed_worst(problem, steps * unit, problem.bandwidth)
        return value, slope * unit

    zero = np.zeros(problem.n_classes)
    starts = [zero, problem.calibrated.even] if start is None else [start]
    first = min((start / unit for start in starts), key=lambda steps: objective(steps)[0])
    options = {"maxiter": 200, "ftol": precision}
    found = minimize(objective, first, jac=True, method="L-BFGS-B", options=options)
    if not np.isfinite(found.x).all():
        return zero, objective(zero)[0]
    return np.asarray(found.x - found.x.mean()) * unit, float(found.fun)


def smoothed_worst(problem: OffsetProblem, offsets: FloatArray, bandwidth: FloatArray) -> tuple[float, FloatArray]:
    """Return the soft maximum of the smoothed shortfalls plus a share of their mean, and the derivative by offset."""
    moved, K = problem.scores + offsets, problem.n_classes
    rows = np.arange(len(moved))
    first, second = two_largest(moved)
    gap = moved[rows, first][:, None] - moved  # to the largest other score of each row
    gap[rows, first] = moved[rows, second] - moved[rows, first]
    wrong = expit(gap / bandwidth)
    allowed = (problem.totals - problem.wanted) / problem.totals
    errors = (problem.membership * wrong).sum(axis=0) - allowed
    shares, log_total = softmax_and_log(problem.sharpness * errors)
    worst, share = float(log_total) / problem.sharpness, shares + MEAN_WEIGHT / K
    slope = problem.membership * wrong * (1 - wrong) * (share / bandwidth)
    of_first = slope[rows, first]
    against = np.bincount(first, slope.sum(axis=1) - of_first, K) + np.bincount(second, of_first, K)
    return worst + MEAN_WEIGHT * float(errors.mean()), np.asarray(against - slope.sum(axis=0))


# line search by counts


class Move(NamedTuple):
    """The best move along one class: its merit, its length, the class, and by how much its offset changes."""

    merit: Merit
    length: float
    k: int
    change: float


def climb(problem: OffsetProblem, offsets: FloatArray) -> FloatArray:
    """Take the best move along one class, by counts, until none improves the merit."""
    offsets, merit = offsets.copy(), problem.merit(offsets)
    for _ in range(MAX_MOVES * problem.n_classes):
        move = min(best_moves(problem, offsets))
        moved = offsets.copy()
        moved[move.k] += move.change
        reached = problem.merit(moved)
        if reached >= merit:
            break
        offsets, merit = moved, reached
    return offsets


def best_moves(problem: OffsetProblem, offsets: FloatArray) -> Iterator[Move]:
    """Yield the best move along each class; of equally good ones, the shortest.

    Examples
    --------
    Two classes, scores 0 and s, where s is 1, 2, 4 for the rows of the first class and 3, 5 for those of the second:
    with an offset between -3 and -2 for the second class, one row is wrong.

    >>> problem = OffsetProblem(np.array([[0.0, s] for s in (1, 2, 4, 3, 5)]), np.array([0, 0, 0, 1, 1]))
    >>> list(best_moves(problem, np.zeros(2)))[1]
    Move(merit=Merit(worst=0.3333333333333333, soft=0.00015241579, wrong=1), length=2.5, k=1, change=-2.5)
    """
    moved = problem.scores + offsets
    rows = np.arange(len(moved))
    first, second = two_largest(moved)
    top, next_top = moved[rows, first], moved[rows, second]
    for k in range(problem.n_classes):
        others_best = np.where(first == k, second, first)
        threshold = np.where(first == k, next_top, top) - moved[:, k]  # class k wins the row above this change
        own = problem.target == k
        counted = own | (others_best == problem.target)  # no change of class k makes the other rows right
        yield _best_move(problem, k, threshold[counted], problem.target[counted])


def _best_move(problem: OffsetProblem, k: int, threshold: FloatArray, target: IntArray) -> Move:
    """Count all classes between neighbouring thresholds: rows of class k are right above theirs, others below."""
    places, K = np.sort(threshold), problem.n_classes
    reach = np.ptp(places) + 1
    ends = np.concatenate([[places[0] - reach], places, [places[-1] + reach]])
    wide = np.flatnonzero(np.diff(ends) > RESOLUTION)
    if K > 2 and len(wide) > MOST_CHANGES:
        wide = wide[np.linspace(0, len(wide) - 1, MOST_CHANGES).astype(np.int64)]
    changes = (ends[wide] + ends[wide + 1]) / 2
    own = target == k
    cells = np.searchsorted(changes, threshold) * K + target  # the first change beyond the threshold, and the class
    steps = np.bincount(cells, np.where(own, 1, -1), (len(changes) + 1) * K).reshape(-1, K).cumsum(axis=0)[:-1]
    right = np.bincount(target[~own], minlength=K) + steps.astype(np.int64)
    worst, soft, wrong = problem.merits(right)
    best = np.lexsort((np.abs(changes), wrong, soft, worst))[0]
    merit, change = Merit(float(worst[best]), float(soft[best]), int(wrong[best])), float(changes[best])
    return Move(merit, abs(change), k, change)
