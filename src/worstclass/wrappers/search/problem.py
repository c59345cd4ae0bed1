"""What offsets are judged by: whole rows, counted by class.

A row is right where ``argmax_k (score_k + offset_k)`` is its class. Each class has a *quota*, the number of its rows
that should be right: all of them where the worst class is to be as good as possible, or as many as its floor asks
for. What is missing to the quota, as a share of the rows of the class, is its *shortfall*; with all rows as quota it
is the error.

Shares are compared as quotients of whole numbers. Two different ones with denominators below 2^26 have different
quotients in double precision, in the right order, so no comparison depends on rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from worstclass._typing import FloatArray, IntArray
from worstclass.metrics import count_correct

#: offsets are told apart to this share of the largest score; scores nearer to each other than that count as tied
RESOLUTION = 2.0**-40


class Merit(NamedTuple):
    """How good offsets are, the less the better, compared from the first entry on."""

    #: the largest shortfall of a class, a share of its rows
    worst: float
    #: rows missing to the quotas, in all classes together
    missing: int
    #: wrong rows
    wrong: int


@dataclass(frozen=True, eq=False)
class OffsetProblem:
    """Rows for which offsets are sought, sorted by class.

    Parameters
    ----------
    scores : shape (n, K), finite.
    target : class indices, ascending, shape (n,).
    quota : how many rows of each class should be right, at most as many as there are; shape (K,).

    Examples
    --------
    >>> problem = OffsetProblem.of(np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), np.array([0, 1, 1]))
    >>> problem.merit(problem.correct(np.zeros(2)))
    Merit(worst=1.0, missing=2, wrong=2)
    >>> problem.merit(problem.correct(np.array([0.0, 2.5])))
    Merit(worst=0.0, missing=0, wrong=0)
    """

    scores: FloatArray
    target: IntArray
    quota: IntArray

    @classmethod
    def of(cls, scores: FloatArray, target: IntArray, quota: IntArray | None = None) -> OffsetProblem:
        """Sort the rows, and limit the quotas to what there is; without any, every row should be right."""
        order = np.argsort(target, kind="stable")
        totals = np.bincount(target, minlength=scores.shape[1])
        return cls(scores[order], target[order], totals if quota is None else np.minimum(quota, totals))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.scores.shape[1])

    @cached_property
    def totals(self) -> IntArray:
        """Rows of each class."""
        return np.bincount(self.target, minlength=self.n_classes)

    @cached_property
    def largest(self) -> float:
        """The largest score, by size; 1 where all are 0."""
        return float(np.abs(self.scores).max()) or 1.0

    @property
    def tolerance(self) -> float:
        """Differences of scores up to this one count as none."""
        return self.largest * RESOLUTION

    @cached_property
    def gaps(self) -> FloatArray:
        """By how much each score of a row exceeds that of its own class; -inf for its own class. Shape (n, K)."""
        rows = np.arange(len(self.target))
        gaps = self.scores - self.scores[rows, self.target][:, None]
        gaps[rows, self.target] = -np.inf
        return gaps

    @cached_property
    def gaps_by_class(self) -> list[FloatArray]:
        """Return the gaps of the rows of each class."""
        return np.split(self.gaps, np.cumsum(self.totals)[:-1])

    def correct(self, offsets: FloatArray) -> IntArray:
        """Count the right rows of each class; a tie goes to the first class, as in ``numpy.argmax``."""
        return count_correct(self.target, (self.scores + offsets).argmax(axis=1), self.n_classes)

    def merit(self, correct: IntArray) -> Merit:
        """Judge counts of right rows."""
        missing = np.maximum(self.quota - correct, 0)
        worst = (missing / np.maximum(self.totals, 1)).max()
        return Merit(float(worst), int(missing.sum()), int(self.totals.sum() - correct.sum()))

    def merit_of(self, offsets: FloatArray) -> Merit:
        """Judge offsets."""
        return self.merit(self.correct(offsets))

    def relaxed(self, missing: int, total: int) -> IntArray:
        """Return the quotas less a share ``missing / total`` of each class, rounded so that no class exceeds it."""
        return np.asarray(np.maximum(self.quota - missing * self.totals // total, 0))
