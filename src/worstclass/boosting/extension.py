"""Rounds beyond T, for a vote that misses the bound: which rows their members attend to.

Theorem 1 assumes that a class missed by the vote is missed by more than half of the members. That can be false, so
the vote can end at or above ``1 - theta`` although every round reached its edge. The algorithm then simply goes on,
with Hedge's weights and the same edge, and with half of the training weight shifted to where the vote can be mended:
in each class that it misses, the lost rows that it loses by the fewest votes, twice as many as the class is short of.
"""

from __future__ import annotations

import numpy as np

from worstclass.boosting.hedge import FloatArray
from worstclass.boosting.rounds import BoostingRun
from worstclass.floors import IntArray

#: share of the training weight that goes to the rows to be mended
TILT = 0.5
#: rows attended to, for each row that a class is short of
ROWS_PER_SHORT_ROW = 2


def tilted_class_weight(weight: FloatArray, run: BoostingRun) -> FloatArray:
    """Return the class weights that the tilt amounts to."""
    missed = run.shortfall > 0
    return np.asarray((1 - TILT) * weight + TILT * missed / missed.sum(), dtype=np.float64)


def tilted_row_weight(weight: FloatArray, run: BoostingRun) -> FloatArray:
    """Return the weight of each training row, of mean 1: Hedge's, tilted towards the rows to be mended."""
    focus = np.zeros(len(run.labels.index))
    for k in np.flatnonzero(run.shortfall > 0):
        rows = narrowly_lost(run, int(k))
        focus[rows] = 1 / len(rows)
    return np.asarray((1 - TILT) * run.row_weight(weight) + TILT * focus / focus.mean(), dtype=np.float64)


def narrowly_lost(run: BoostingRun, k: int) -> IntArray:
    """Return the rows of class k that the vote loses by the fewest votes, at most twice as many as k is short of."""
    lost = np.flatnonzero((run.labels.index == k) & (run.tally.winners != k))
    counts = run.tally.counts[lost]
    deficit = counts.max(axis=1) - counts[:, k]
    nearest = np.argsort(deficit, kind="stable")[: ROWS_PER_SHORT_ROW * int(run.shortfall[k])]
    return np.asarray(lost[nearest], dtype=np.int64)
