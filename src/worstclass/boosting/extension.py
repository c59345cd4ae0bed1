"""Rounds beyond T, for a vote that misses the bound: which classes they weigh, and which rows of them.

Theorem 1 assumes that a class missed by the vote is missed by more than half of the members. That can be false, so
the vote can end at or above ``1 - theta`` although every round reached its edge. The rounds added then ask the vote
itself: a class gains weight for as long as the vote misses it and loses it again once the vote does not. The weights
forget, so that a class that has been mended does not go on taking votes from the others. Within a missed class, half of
its weight goes to the rows by which it can be mended: those that the vote loses by the fewest votes, twice as many as
the class is short of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from worstclass.boosting.hedge import BoolArray, FloatArray
from worstclass.boosting.rounds import BoostingRun
from worstclass.floors import IntArray

#: how far a log-weight can rise above that of a class which the vote meets: weights differ by e^2 at the most
LIMIT = 2.0
#: share of the weight of a missed class that goes to its narrowly lost rows
FOCUS = 0.5
#: narrowly lost rows attended to, for each row that a class is short of
ROWS_PER_SHORT_ROW = 2


@dataclass(frozen=True, eq=False)
class VoteDrivenWeights:
    """Class weights that follow what the vote misses.

    Examples
    --------
    >>> state = VoteDrivenWeights.start(4)
    >>> for _ in range(100):
    ...     state = state.update(np.array([True, False, False, False]), eta=0.2)
    >>> state.weights.round(3)  # e^2 to 1
    array([0.711, 0.096, 0.096, 0.096])
    """

    log_weights: FloatArray

    @classmethod
    def start(cls, n_classes: int) -> VoteDrivenWeights:
        """Uniform weights."""
        return cls(np.zeros(n_classes))

    def update(self, missed: BoolArray, eta: float) -> VoteDrivenWeights:
        """Return the state after a look at which classes the vote misses.

        A missed class gains ``eta``, Hedge's own rate, and every class forgets the share ``eta / LIMIT``.
        """
        gain = min(eta, LIMIT)
        return VoteDrivenWeights((1 - gain / LIMIT) * self.log_weights + gain * missed)

    @property
    def weights(self) -> FloatArray:
        """The distribution over classes."""
        scaled = np.exp(self.log_weights)
        return np.asarray(scaled / scaled.sum(), dtype=np.float64)


def focused_row_weight(weight: FloatArray, run: BoostingRun) -> FloatArray:
    """Return the weight of each training row, of mean 1, with a focus on what the vote loses narrowly.

    The weight of a class as a whole stays as it is.
    """
    rows = run.row_weight(weight)
    for k in np.flatnonzero(run.shortfall > 0):
        members = run.labels.index == k
        focus = narrowly_lost(run, int(k))
        total = rows[members].sum()
        rows[members] *= 1 - FOCUS
        rows[focus] += FOCUS * total / len(focus)
    return rows


def narrowly_lost(run: BoostingRun, k: int) -> IntArray:
    """Return the rows of class k that the vote loses by the fewest votes, at most twice as many as k is short of."""
    lost = np.flatnonzero((run.labels.index == k) & (run.tally.winners != k))
    counts = run.tally.counts[lost]
    deficit = counts.max(axis=1) - counts[:, k]
    nearest = np.argsort(deficit, kind="stable")[: ROWS_PER_SHORT_ROW * int(run.shortfall[k])]
    return np.asarray(lost[nearest], dtype=np.int64)
