"""Rounds beyond T, for a vote that misses the bound: which classes they weigh.

Theorem 1 assumes that a class missed by the vote is missed by more than half of the members. That can be false, so
the vote can end at or above ``1 - theta`` although every round reached its edge. The rounds added then ask the vote
itself: a class gains weight for as long as the vote misses it and loses it again once the vote does not. The weights
forget, so that a class that has been mended does not go on taking votes from the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from worstclass.boosting.hedge import BoolArray, FloatArray

#: how far a log-weight can rise above that of a class which the vote meets: weights differ by e^2 at the most
LIMIT = 2.0


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
