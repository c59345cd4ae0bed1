"""Rounds added after T, while the vote misses the bound.

The theorem's proof assumes that a class missed by the vote is missed by more than half of the members. That can be
false, so the vote can end at or above ``1 - theta`` although every round reached its edge. The rounds added then ask
the vote itself, twice.

Class by class: a class gains weight for as long as the vote misses it and loses it again once the vote does not. The
weights forget, so that a class that has been mended does not go on taking votes from the others.

Row by row: a class may err on some of its rows, so each class lets go of those that the vote loses by the most, and the
member is trained on the rest. Half of a class's weight goes to the rows that are lost, or won by next to nothing.
A member of such a round must reach its edge, as always, and is then trained on until it has most of the lost rows right
that the missed classes need: only such votes close the gap.
"""

from __future__ import annotations

import numpy as np

from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.boosting.rounds import BoostingRun, ScoreOf

#: how far a log-weight can rise above that of a class which the vote meets: weights differ by e^2 at the most
LIMIT = 2.0
#: share of a class's weight that goes to its close rows
FOCUS = 0.5
#: a row is close when its lead is at most this share of the votes
CLOSE = 0.02
#: share of the rows which a class may have wrong that it keeps all the same, so that there is a choice
SPARE = 0.1


def vote_driven(log_weights: FloatArray, missed: BoolArray, eta: float) -> FloatArray:
    """Return log-weights of the classes after a look at which of them the vote misses.

    A missed class gains ``eta``, Hedge's own rate, and every class forgets the share ``eta / LIMIT``.

    Examples
    --------
    >>> log_weights = np.zeros(4)
    >>> for _ in range(100):
    ...     log_weights = vote_driven(log_weights, np.array([True, False, False, False]), eta=0.2)
    >>> log_weights.round(3)
    array([2., 0., 0., 0.])
    """
    gain = min(eta, LIMIT)
    return np.asarray((1 - gain / LIMIT) * log_weights + gain * missed)


def mending(run: BoostingRun, row_weight: FloatArray) -> tuple[FloatArray, ScoreOf]:
    """Return the row weights of an added round, and what share of the rows to mend its member has right."""
    index = run.labels.index
    lead, kept = needed_rows(run.tally.counts.astype(np.int64), index, run.vote_quota)
    lost = {int(k): np.flatnonzero(kept & (lead <= 0) & (index == k)) for k in np.flatnonzero(run.missed)}

    def mended_of(predictions: IntArray) -> float:
        shares = [float((predictions[rows] == k).mean()) for k, rows in lost.items() if len(rows)]
        return sum(shares) / len(shares) if shares else 1.0  # each class counts alike

    return shifted(row_weight, index, kept, kept & (lead <= CLOSE * run.tally.n_votes)), mended_of


def needed_rows(counts: IntArray, index: IntArray, quota: IntArray) -> tuple[IntArray, BoolArray]:
    """Return by how much the vote has each row right, and which rows each class needs to meet the bound.

    Parameters
    ----------
    counts : votes of each row and class, shape (n, K).
    index : class of each row.
    quota : rows of each class that must be right.

    Returns
    -------
    The votes of the row's own class beyond those of the strongest other, negative where the row is lost, and whether
    its class keeps the row. A tie may go either way.
    """
    rows = np.arange(len(index))
    others = counts.copy()
    others[rows, index] = -1
    lead = counts[rows, index] - others.max(axis=1)
    kept = np.zeros(len(index), dtype=bool)
    for k, needed in enumerate(quota):
        of_class = np.flatnonzero(index == k)
        spare = int(np.ceil(SPARE * (len(of_class) - needed)))
        nearest = np.argsort(-lead[of_class], kind="stable")
        kept[of_class[nearest[: int(needed) + spare]]] = True
    return lead, kept


def shifted(row_weight: FloatArray, index: IntArray, kept: BoolArray, close: BoolArray) -> FloatArray:
    """Shift the weights of rows within their class; the weight of a class as a whole stays as it is."""
    weight = np.zeros_like(row_weight)
    for k in np.unique(index):
        of_class = index == k
        all_kept, focus = of_class & kept, of_class & close
        share = FOCUS if focus.any() else 0.0
        total = row_weight[of_class].sum()
        weight[all_kept] += (1 - share) * total / all_kept.sum()
        weight[focus] += share * total / max(focus.sum(), 1)
    return weight
