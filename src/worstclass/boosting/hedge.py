"""The arithmetic of class-weighted Hedge: rounds, rate, gamma, edge and update. Pure functions of numbers.

The paper's symbols: K classes, T rounds, weights w over classes, feedback r_k in {0, 1} (1: the member meets
the floor of class k), rate eta, and gamma, by which the edge ``w . r`` must exceed one half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worstclass._checks import is_number
from worstclass._typing import BoolArray, FloatArray
from worstclass.exceptions import ParameterError

#: subtracted from an attainable gamma, so that rounding cannot put the edge just out of reach (the paper's epsilon)
EPSILON = 0.0005
#: the share of classes that a first member must meet; the paper's value for its real data sets
DEFAULT_P = 0.8


def attainable_gammas(n_classes: int) -> tuple[float, ...]:
    """All values of ``m / K - 1/2 - 0.0005`` that are positive: m classes of K met in round 1.

    Examples
    --------
    >>> [round(gamma, 4) for gamma in attainable_gammas(5)]
    [0.0995, 0.2995, 0.4995]
    """
    values = (m / n_classes - 0.5 - EPSILON for m in range(n_classes // 2 + 1, n_classes + 1))
    return tuple(value for value in values if value > 0)


def resolve_gamma(gamma: float | str, n_classes: int, *, owner: str = "WorstClassBooster") -> float:
    """Read the ``gamma`` parameter: a number in (0, 0.5], or ``"auto"``.

    ``"auto"`` is the paper's rule with p = 0.8, ``floor(p K) / K - 1/2 - 0.0005``: at least a share p of the classes is
    met in round 1. Where that gives nothing positive (K = 2), it is the least attainable value.

    Examples
    --------
    >>> round(resolve_gamma("auto", 10), 4), round(resolve_gamma("auto", 62), 4), round(resolve_gamma("auto", 2), 4)
    (0.2995, 0.2898, 0.4995)
    """
    if isinstance(gamma, str) and gamma == "auto":
        # a hair is added before the floor because 0.7 * 10 is 6.999999999999999 in binary
        found = math.floor(DEFAULT_P * n_classes + 1e-9) / n_classes - 0.5 - EPSILON
        return found if found > 0 else attainable_gammas(n_classes)[0]
    if not is_number(gamma) or not 0 < float(gamma) <= 0.5:
        values = attainable_gammas(n_classes)
        shown = [f"{value:.4f}" for value in values[:6]] + (["..."] if len(values) > 6 else [])
        hint = f"Attainable with {n_classes} classes: {', '.join(shown)}."
        raise ParameterError("gamma", owner, allowed="'auto' or a number in (0, 0.5]", got=gamma, hint=hint)
    return float(gamma)


def n_rounds_for(gamma: float, n_experts: int) -> int:
    """Return ``ceil(2 ln K / gamma^2)``: the least T for which Hedge's regret is at most ``gamma T / 2``.

    Examples
    --------
    >>> n_rounds_for(0.2995, 10), n_rounds_for(0.0995, 5), n_rounds_for(0.0995, 4)
    (52, 326, 281)
    """
    return math.ceil(2 * math.log(n_experts) / gamma**2)


def hedge_rate(n_rounds: int, n_experts: int) -> float:
    """Return ``eta = sqrt(8 ln K / T)``."""
    return math.sqrt(8 * math.log(n_experts) / n_rounds)


def regret_bound(n_rounds: int, eta: float, n_experts: int) -> float:
    """Return ``ln K / eta + eta t / 8``, which bounds Hedge's regret after any t rounds at a fixed rate.

    At ``t = T`` with ``eta = sqrt(8 ln K / T)`` it is ``sqrt(T ln K / 2)``.
    """
    return math.log(n_experts) / eta + eta * n_rounds / 8


def edge(weights: FloatArray, feedback: BoolArray) -> float:
    """Return ``w . r``, as one minus the weight of what is missed: exactly 1.0 when nothing is."""
    return max(0.0, 1.0 - math.fsum(weights[~feedback]))


@dataclass(frozen=True, eq=False)
class Hedge:
    """The state of Hedge: log-weights up to a constant, and what its regret is made of.

    Examples
    --------
    >>> state = Hedge.start(4)
    >>> state = state.update(np.array([True, True, True, False]), eta=np.log(2))
    >>> state.weights.round(3)
    array([0.2, 0.2, 0.2, 0.4])
    """

    log_weights: FloatArray
    earned: float
    feedback_sums: npt.NDArray[np.int64]

    @classmethod
    def start(cls, n_experts: int) -> Hedge:
        """Uniform weights, nothing earned."""
        return cls(np.zeros(n_experts), 0.0, np.zeros(n_experts, dtype=np.int64))

    @property
    def weights(self) -> FloatArray:
        """The distribution over experts; computed from differences, so it cannot underflow as a whole."""
        scaled = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(scaled / scaled.sum(), dtype=np.float64)

    def update(self, feedback: BoolArray, eta: float) -> Hedge:
        """Return the state after ``w_k <- w_k exp(-eta r_k)``, normalised."""
        log_weights = self.log_weights - eta * feedback
        return Hedge(
            log_weights - log_weights.max(),
            self.earned + edge(self.weights, feedback),
            self.feedback_sums + feedback,
        )

    @property
    def regret(self) -> float:
        """What the weights earned beyond the single expert with the least feedback."""
        return self.earned - int(self.feedback_sums.min())
