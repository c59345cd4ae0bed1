"""The problem of decision offsets: how well offsets serve each class, by counts and by estimates that are smoother.

A row of class k is wrong where its *gap*, the largest other score minus its own, exceeds zero. Counting such rows
gives the error of a class in steps of one row, so offsets that are best by counts often owe it to a row or two. The
errors are therefore estimated in a way that uses more than the few rows of a small class:

1. **Every row counts for every class.** The scores, brought to scale on the same rows, tell how probable each class is
   for each row. The error of a class is the mean over all rows, weighted by that probability: many rows, but only as
   right as the probabilities. The mean over the rows labelled with the class is right, but of few rows. The estimate
   is a mixture of both, in which the former counts as much as ``PRIOR_ROWS`` labelled rows.
2. **Errors are smoothed.** A kernel estimate of the distribution of the gaps replaces the step from right to wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from worstclass._typing import FloatArray, IntArray
from worstclass.metrics import count_correct

#: bandwidth of a logistic kernel for n normal values of deviation 1, times n^(1/3): the least mean squared error of
#: an estimated distribution is reached at h^3 = 4 sqrt(pi) / (n (pi^2 / 3)^2)
BANDWIDTH = (4 * np.pi**0.5 / (np.pi**2 / 3) ** 2) ** (1 / 3)
#: interquartile range of a normal distribution of deviation 1
NORMAL_RANGE = 1.349
#: labelled rows that the estimate by probabilities is worth. At an error of 30% so many rows have a standard error of 5
#: points: the estimate is taken to be right to about that
PRIOR_ROWS = 80
#: weight of the squared offsets that bring the scores to scale, so that a class with few rows does not run away
RIDGE = 1e-3
#: scores, the largest of which is 1, count as tied if they are closer than this
RESOLUTION = 2.0**-38


class Merit(NamedTuple):
    """How good offsets are; smaller is better, the first number first.

    ``worst`` is the largest shortfall of a class as a share of its rows, ``soft`` the sum of the eighth powers of the
    shortfalls (it tells whether one class or several have the largest), ``wrong`` the number of wrong rows.
    """

    worst: float
    soft: float
    wrong: int


@dataclass(frozen=True, eq=False)
class OffsetProblem:
    """Scores of held-out rows, and how many rows of each class should be right.

    Parameters
    ----------
    scores : shape (n, K), finite.
    target : class indices, shape (n,); every class has a row.
    quota : how many rows of each class should be right, shape (K,). None: all, so that the shortfall of a class is its
        error.
    prior_rows : labelled rows that the estimate of a class error by probabilities is worth; 0 for labels alone.

    Examples
    --------
    >>> problem = OffsetProblem(np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), np.array([0, 1, 1]))
    >>> problem.merit(np.zeros(2)), problem.merit(np.array([0.0, 2.5]))
    (Merit(worst=1.0, soft=1.0, wrong=2), Merit(worst=0.0, soft=0.0, wrong=0))
    """

    scores: FloatArray
    target: IntArray
    quota: IntArray | None = None
    prior_rows: float = PRIOR_ROWS

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.scores.shape[1])

    @cached_property
    def totals(self) -> IntArray:
        """Rows of each class."""
        return np.bincount(self.target, minlength=self.n_classes)

    @cached_property
    def wanted(self) -> IntArray:
        """Rows of each class that should be right, at most as many as there are."""
        return self.totals if self.quota is None else np.minimum(self.quota, self.totals)

    @cached_property
    def calibrated(self) -> Calibrated:
        """The scores as probabilities."""
        return calibrate(self.scores, self.target)

    @cached_property
    def membership(self) -> FloatArray:
        """What each row contributes to the error of each class, shape (n, K); every column has the sum 1."""
        labelled = self.totals / (self.totals + self.prior_rows)
        probable = self.calibrated.probability
        found = probable * ((1 - labelled) / probable.sum(axis=0))
        found[np.arange(len(self.target)), self.target] += (labelled / self.totals)[self.target]
        return np.asarray(found)

    @cached_property
    def sharpness(self) -> float:
        """Of the soft maximum: errors count as equal within the standard error of the least known of them.

        That of n rows is at most 1 / (2 sqrt(n)). A maximum that is sharper would follow the noise.
        """
        return float(2 * np.sqrt(self.totals.min() + self.prior_rows))

    @cached_property
    def bandwidth(self) -> FloatArray:
        """Width of the kernel that smoothes the gaps of each class."""
        n_rows = 1 / (self.membership**2).sum(axis=0)  # as many equal contributions would vary as much
        return np.asarray(BANDWIDTH * self.spread * n_rows ** (-1 / 3))

    @cached_property
    def spread(self) -> FloatArray:
        """How widely the gaps of the rows of each class are spread, as a deviation that outliers do not move."""
        rows = np.arange(len(self.target))
        first, second = two_largest(self.scores)
        rival = np.where(first == self.target, second, first)
        gap = self.scores[rows, rival] - self.scores[rows, self.target]
        found = np.zeros(self.n_classes)
        for k in range(self.n_classes):
            own = gap[self.target == k]
            low, high = np.percentile(own, [25, 75])
            found[k] = min((high - low) / NORMAL_RANGE, own.std()) or own.std()
        known = found > RESOLUTION
        return np.where(known, found, np.median(found[known]) if known.any() else 1.0)

    def of_classes(self, present: IntArray) -> OffsetProblem:
        """Return the problem of those classes that have rows."""
        quota = None if self.quota is None else self.quota[present]
        scores = np.ascontiguousarray(self.scores[:, present])
        return OffsetProblem(scores, np.searchsorted(present, self.target), quota, self.prior_rows)

    def merits(self, right: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the three parts of the merit for counts of right rows by class, the last dimension."""
        short = np.maximum(self.wanted - right, 0) / np.maximum(self.totals, 1)
        return (
            short.max(axis=-1),
            (((short**2) ** 2) ** 2).sum(axis=-1).round(12),
            len(self.target) - right.sum(axis=-1),
        )

    def right(self, offsets: FloatArray) -> IntArray:
        """Count the right rows of each class; ties go to the first class, as in ``numpy.argmax``."""
        return count_correct(self.target, (self.scores + offsets).argmax(axis=1), self.n_classes)

    def merit(self, offsets: FloatArray) -> Merit:
        """Return the merit of offsets."""
        worst, soft, wrong = self.merits(self.right(offsets))
        return Merit(float(worst), float(soft), int(wrong))


class Calibrated(NamedTuple):
    """How probable each class is for each row, shape (n, K), and offsets that make the classes equally frequent."""

    probability: FloatArray
    even: FloatArray


def calibrate(scores: FloatArray, target: IntArray) -> Calibrated:
    """Turn scores into probabilities: the softmax of one factor times the scores plus one offset for each class.

    Factor and offsets are those of the largest likelihood on the rows.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.
    """
    n, K = scores.shape
    scale = float(np.abs(scores).mean()) or 1.0
    own = np.eye(K)[target]

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        factor, offsets = np.exp(parameters[0]) / scale, parameters[1:]
        logits = factor * scores + offsets
        probability, log_total = softmax_and_log(logits)
        excess = probability - own
        value = (log_total - logits[np.arange(n), target]).mean() + RIDGE * (offsets**2).sum()
        by_offset = excess.mean(axis=0) + 2 * RIDGE * offsets
        return float(value), np.append(factor * (excess * scores).sum() / n, by_offset)

    options = {"ftol": 1e-6}  # relative; the probabilities are rough anyway
    found = minimize(loss, np.append(np.log(scale), np.zeros(K)), jac=True, method="L-BFGS-B", options=options).x
    factor, offsets = np.exp(found[0]) / scale, found[1:]
    probability, _ = softmax_and_log(factor * scores + offsets)
    even = (offsets - np.log(probability.mean(axis=0))) / factor
    return Calibrated(probability, even - even.mean())


def softmax_and_log(logits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the softmax over the last axis, and the logarithm of the sum of exponentials that it is divided by.

    The descent asks for both thousands of times, often of few numbers; the functions of scipy take several times as
    long for these.

    Examples
    --------
    >>> shares, log_total = softmax_and_log(np.log([1.0, 3.0]))
    >>> shares.round(6).tolist(), round(float(np.exp(log_total)), 6)
    ([0.25, 0.75], 4.0)
    """
    largest = logits.max(axis=-1, keepdims=True)
    powers = np.exp(logits - largest)
    totals = powers.sum(axis=-1, keepdims=True)
    return powers / totals, (largest + np.log(totals))[..., 0]


def two_largest(scores: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the class of the largest score of each row, and that of the second largest."""
    first = scores.argmax(axis=1)
    rest = scores.copy()
    rest[np.arange(len(scores)), first] = -np.inf
    return first, rest.argmax(axis=1)
