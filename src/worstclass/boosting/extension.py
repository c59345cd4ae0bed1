"""Rounds beyond T, for a vote that misses the bound: what they weigh and what they demand.

Theorem 1 assumes that a class missed by the vote is missed by more than half of the members. That can be false, so
the vote can end at or above ``1 - theta`` although every round reached its edge. The algorithm then simply goes on,
Hedge's weights and all, with two things added for the classes that the vote misses: a share of the training weight is
shifted to them, and the member must do better on each of them than the vote does.
"""

from __future__ import annotations

import numpy as np

from worstclass.boosting.hedge import FloatArray
from worstclass.boosting.rounds import BoostingRun, Demand

#: share of the training weight that goes to the classes which the vote misses
TILT = 0.75


def tilted(weight: FloatArray, run: BoostingRun) -> FloatArray:
    """Return class weights to train with: Hedge's, shifted towards the classes that the vote misses."""
    missed = run.missed / run.missed.sum()
    return np.asarray((1 - TILT) * weight + TILT * missed, dtype=np.float64)


def extended_demand(weight: FloatArray, run: BoostingRun) -> Demand:
    """Return what a member must reach: the edge, and more right answers than the vote on what the vote misses."""
    totals, missed = run.labels.totals, run.missed
    better_than_vote = np.maximum(run.floors.vote_quota(totals), run.vote_correct + 1)
    quota = np.where(missed, better_than_vote, run.floors.member_quota(totals))
    return Demand(weight, quota, run.plan.needed_edge, required=missed)
