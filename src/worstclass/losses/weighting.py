"""Rules that weight classes by their counts. All weights sum to K, so that a rule leaves the loss's size alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from worstclass.losses.checks import require_count, require_kind, require_number
from worstclass.losses.per_class import wide_counts

#: from the number of an epoch, counted from 1, to the class weights, shape (K,)
PassWeights = Callable[[int], Tensor]


class WeightingRule(ABC):
    """Options of a rule, a frozen dataclass; knows nothing of the data until bound."""

    @abstractmethod
    def bind(self, class_counts: Tensor) -> PassWeights:
        """Return a function from the number of an epoch, from 1, to the class weights, shape (K,), which sum to K.

        Parameters
        ----------
        class_counts : training rows of every class, at least 1 each; int64, shape (K,), on the device to be used.
        """


@dataclass(frozen=True)
class NoWeighting(WeightingRule):
    """A weight of 1 for every class.

    Examples
    --------
    >>> NoWeighting().bind(torch.tensor([3, 1]))(1).tolist()
    [1.0, 1.0]
    """

    def bind(self, class_counts: Tensor) -> PassWeights:
        """Return the weights, the same in every epoch."""
        return _always(torch.ones_like(wide_counts(class_counts)))


@dataclass(frozen=True)
class InverseFrequency(WeightingRule):
    """Weights in proportion to 1/n_k, so that every class has the same say in total.

    Examples
    --------
    >>> InverseFrequency().bind(torch.tensor([3, 1]))(1).tolist()
    [0.5, 1.5]
    """

    def bind(self, class_counts: Tensor) -> PassWeights:
        """Return the weights, the same in every epoch."""
        return _always(_summing_to_n_classes(wide_counts(class_counts).reciprocal()))


@dataclass(frozen=True)
class EffectiveNumber(WeightingRule):
    """Weights in proportion to ``(1 - beta) / (1 - beta^n_k)``, one over the effective number of rows.

    Y. Cui, M. Jia, T.-Y. Lin, Y. Song, S. Belongie: "Class-Balanced Loss Based on Effective Number of Samples",
    CVPR 2019.

    Parameters
    ----------
    beta : in [0, 1). At 0 all classes weigh 1; towards 1 the rule becomes ``InverseFrequency``.

    Examples
    --------
    >>> EffectiveNumber(beta=0.5).bind(torch.tensor([2, 1]))(1)  # effective numbers 1.5 and 1
    tensor([0.8000, 1.2000], dtype=torch.float64)
    """

    beta: float = 0.9999

    def __post_init__(self) -> None:
        require_number(self, "beta", allowed="a number in [0, 1)", meets=lambda beta: 0 <= beta < 1)

    def bind(self, class_counts: Tensor) -> PassWeights:
        """Return the weights, the same in every epoch."""
        log_beta = math.log1p(self.beta - 1) if self.beta > 0 else -math.inf
        # 1 - beta^n without cancellation; the factor 1 - beta is common to all classes
        return _always(_summing_to_n_classes(-1 / torch.expm1(wide_counts(class_counts) * log_beta)))


@dataclass(frozen=True)
class Deferred(WeightingRule):
    """No weighting up to and including pass ``after``, then the rule: the "DRW" of Cao et al., NeurIPS 2019.

    Examples
    --------
    >>> weights = Deferred(InverseFrequency(), after=160).bind(torch.tensor([3, 1]))
    >>> weights(160).tolist(), weights(161).tolist()
    ([1.0, 1.0], [0.5, 1.5])
    """

    rule: WeightingRule
    after: int

    def __post_init__(self) -> None:
        require_kind(self, "rule", WeightingRule, allowed="a WeightingRule, such as EffectiveNumber()")
        require_count(self, "after")

    def bind(self, class_counts: Tensor) -> PassWeights:
        """Return the weights of each epoch."""
        early, late = NoWeighting().bind(class_counts), self.rule.bind(class_counts)
        return lambda number: early(number) if number <= self.after else late(number)


def _always(weights: Tensor) -> PassWeights:
    return lambda number: weights


def _summing_to_n_classes(weights: Tensor) -> Tensor:
    return weights * (len(weights) / weights.sum())
