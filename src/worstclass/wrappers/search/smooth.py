"""Offsets that rest on all rows rather than on a few: errors by class, smoothed as distributions are.

A row of class k is wrong where its *gap*, the largest other score less its own, exceeds zero. The error of the class
is thus one value of the distribution of its gaps. Counting estimates it in steps of one row; a kernel estimate
spreads every row over the distance within which its gap might as well have been, and has the smaller mean squared
error. Offsets that are best by counts often owe it to a row or two; those that are best by smoothed errors seldom do.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from worstclass._typing import FloatArray, IntArray
from worstclass.wrappers.search.problem import OffsetProblem

#: bandwidth of a logistic kernel for n normal values of deviation 1, times n^(1/3): the least mean squared error of
#: a distribution is reached at h^3 = 4 sqrt(pi) / (n (pi^2 / 3)^2)
BANDWIDTH = (4 * np.pi**0.5 / (np.pi**2 / 3) ** 2) ** (1 / 3)
#: interquartile range of a normal distribution of deviation 1
NORMAL_RANGE = 1.349
#: how sharply the largest of the smoothed errors counts: other classes have a say as far as they are near to it
SHARPNESS = 20.0
STEPS = 100


def steadier(problem: OffsetProblem, best: FloatArray, slack: float) -> FloatArray:
    """Move offsets towards those of the least smoothed error, for as long as the worst class stays near the least.

    Parameters
    ----------
    problem : the rows, some of every class.
    best : offsets with the least worst-class error, by counts.
    slack : by how many of its standard errors the worst-class error may exceed the least; it never exceeds that of
        zero offsets.
    """
    least = problem.merit_of(best).worst
    limit = min(least + slack * standard_error(problem, best), problem.merit_of(np.zeros_like(best)).worst)
    target = least_smoothed(problem, best)
    if not np.isfinite(target).all():  # scores beyond what can be squared
        return best
    for share in np.linspace(1, 0, STEPS + 1):
        offsets = best + share * (target - best)
        if problem.merit_of(offsets).worst <= limit:
            return np.asarray(offsets)
    return best


def least_smoothed(problem: OffsetProblem, best: FloatArray) -> FloatArray:
    """Return offsets of a small smoothed worst-class error: the better end of two descents, from zero and from best."""
    spread = spreads(problem, best)
    bandwidth = BANDWIDTH * spread * problem.totals ** (-1 / 3)
    unit = float(np.median(spread))  # descents are then the same on any scale of the scores

    def objective(steps: FloatArray) -> tuple[float, FloatArray]:
        value, slope = smoothed_worst(problem, steps * unit, bandwidth)
        return value, slope * unit

    starts = (np.zeros_like(best), best / unit)
    ends = [minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}) for start in starts]
    steps = min(ends, key=lambda end: end.fun).x
    return np.asarray((steps - steps.mean()) * unit + best.mean())


def smoothed_worst(problem: OffsetProblem, offsets: FloatArray, bandwidth: FloatArray) -> tuple[float, FloatArray]:
    """Return the smoothed largest of the smoothed errors of the classes, and its slope in each offset."""
    target, totals = problem.target, problem.totals
    gaps, rival = _gaps(problem, offsets)
    width = bandwidth[target]
    wrong = expit(gaps / width)
    errors = np.bincount(target, wrong, problem.n_classes) / totals
    share = softmax(SHARPNESS * errors)
    slope = wrong * (1 - wrong) / width * (share / totals)[target]
    lost = np.bincount(rival, slope, problem.n_classes) - np.bincount(target, slope, problem.n_classes)
    return float(logsumexp(SHARPNESS * errors)) / SHARPNESS, np.asarray(lost, dtype=np.float64)


def spreads(problem: OffsetProblem, offsets: FloatArray) -> FloatArray:
    """Return how widely the gaps of each class are spread, as a deviation that far values do not move."""
    gaps, _ = _gaps(problem, offsets)
    found = np.zeros(problem.n_classes)
    for k, own in enumerate(np.split(gaps, np.cumsum(problem.totals)[:-1])):
        low, high = np.percentile(own, [25, 75])
        with np.errstate(over="ignore"):
            deviation = own.std()
        found[k] = min((high - low) / NORMAL_RANGE, deviation) or deviation
    known = found[found > 0]
    found[found == 0] = np.median(known) if len(known) else problem.largest
    return found


def _gaps(problem: OffsetProblem, offsets: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the largest other score of each row less its own, and whose it is."""
    moved = problem.gaps + offsets
    rival = moved.argmax(axis=1)
    return moved[np.arange(len(rival)), rival] - offsets[problem.target], rival


def standard_error(problem: OffsetProblem, offsets: FloatArray) -> float:
    """Return the binomial standard error of the worst class, of several the one with the most rows.

    On an error of 0 or 1 as if half a row were otherwise.
    """
    wrong = problem.totals - problem.correct(offsets)
    errors = wrong / problem.totals
    n_rows = problem.totals[errors == errors.max()].max()
    rate = np.clip(errors.max(), 0.5 / n_rows, 1 - 0.5 / n_rows)
    return float(np.sqrt(rate * (1 - rate) / n_rows))
