"""Rounds beyond T, for a vote that misses the bound: what they weigh and what they demand.

Theorem 1 assumes that a class missed by the vote is missed by more than half of the members. That can be false, so
the vote can end above ``1 - theta`` although every round reached its edge. The rounds added then are driven by the
vote itself:

- weights: Hedge again, from uniform weights and at the same rate, but with the *vote's* feedback (1 where the vote
  meets the bound), so a class gains weight for as long as the vote misses it;
- demand: the member must do better than the vote on every class the vote misses, and, so that it stays a fair
  member for the others, reach the usual edge under uniform class weights.
"""

from __future__ import annotations

import numpy as np

from worstclass.boosting.hedge import FloatArray, Hedge
from worstclass.boosting.rounds import BoostingRun, Demand


class Extension:
    """Weights and demands of the rounds that are added to a run."""

    def __init__(self, run: BoostingRun) -> None:
        self._run = run
        self._hedge = Hedge.start(run.labels.n_classes)

    def next_weight(self) -> FloatArray:
        """Take the vote's feedback and return the class weights of the next round."""
        self._hedge = self._hedge.update(~self._run.missed, self._run.plan.eta)
        return self._hedge.weights

    def demand(self) -> Demand:
        """Return what the next member must reach."""
        run = self._run
        totals, missed = run.labels.totals, run.missed
        better_than_vote = np.minimum(np.maximum(run.floors.vote_quota(totals), run.vote_correct + 1), totals)
        quota = np.where(missed, better_than_vote, run.floors.member_quota(totals))
        uniform = np.full(len(totals), 1 / len(totals))
        return Demand(uniform, quota, run.plan.needed_edge, required=missed)
