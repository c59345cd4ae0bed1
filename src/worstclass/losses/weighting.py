"""Rules that weight classes by their counts, and the loss that applies one. All weights sum to K."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from worstclass._checks import check_choice, check_count, is_number
from worstclass.exceptions import ParameterError
from worstclass.losses.base import Criterion, Loss, require_kind, wide_counts

#: from the number of an epoch, counted from 1, to the class weights, shape (K,)
EpochWeights = Callable[[int], Tensor]


class WeightingRule(ABC):
    """Options of a rule, a frozen dataclass; knows nothing of the data until bound."""

    @abstractmethod
    def bind(self, class_counts: Tensor) -> EpochWeights:
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

    def bind(self, class_counts: Tensor) -> EpochWeights:
        """Return the weights, the same in every epoch."""
        return _always(torch.ones_like(wide_counts(class_counts)))


@dataclass(frozen=True)
class InverseFrequency(WeightingRule):
    """Weights in proportion to 1/n_k, so that every class has the same total weight.

    Examples
    --------
    >>> InverseFrequency().bind(torch.tensor([3, 1]))(1).tolist()
    [0.5, 1.5]
    """

    def bind(self, class_counts: Tensor) -> EpochWeights:
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
        if not is_number(self.beta) or not 0 <= self.beta < 1:
            raise ParameterError("beta", "EffectiveNumber", allowed="a number in [0, 1)", got=self.beta)

    def bind(self, class_counts: Tensor) -> EpochWeights:
        """Return the weights, the same in every epoch."""
        log_beta = math.log1p(self.beta - 1) if self.beta > 0 else -math.inf
        # 1 - beta^n without cancellation; the factor 1 - beta is common to all classes
        return _always(_summing_to_n_classes(-1 / torch.expm1(wide_counts(class_counts) * log_beta)))


@dataclass(frozen=True)
class Deferred(WeightingRule):
    """No weighting up to and including epoch ``after``, then the rule: the "DRW" of Cao et al., NeurIPS 2019.

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
        check_count(self.after, "after", "Deferred", least=0)

    def bind(self, class_counts: Tensor) -> EpochWeights:
        """Return the weights of each epoch."""
        early, late = NoWeighting().bind(class_counts), self.rule.bind(class_counts)
        return lambda number: early(number) if number <= self.after else late(number)


#: name -> rule with its default options
RULES: dict[str, type[WeightingRule]] = {
    "none": NoWeighting,
    "inverse-frequency": InverseFrequency,
    "effective-number": EffectiveNumber,
}


def weighting_rule(weighting: str | WeightingRule) -> WeightingRule:
    """Return a rule by its name; a rule is returned as it is."""
    if isinstance(weighting, WeightingRule):
        return weighting
    if not isinstance(weighting, str):
        allowed = f"one of {list(RULES)}, a WeightingRule or None"
        raise ParameterError("weighting", "build_loss", allowed=allowed, got=weighting)
    check_choice(weighting, "weighting", "build_loss", RULES)
    return RULES[weighting]()


@dataclass(frozen=True)
class Weighted(Loss):
    """A loss whose rows are multiplied by the weight of their class.

    Parameters
    ----------
    loss : any loss.
    rule : the weights of the classes. With ``CrossEntropy``, ``InverseFrequency`` gives "wCE" and
        ``EffectiveNumber`` gives "CB".

    Examples
    --------
    >>> from worstclass.losses.cross_entropy import CrossEntropy
    >>> criterion = Weighted(CrossEntropy(), InverseFrequency()).bind(torch.tensor([3, 1]))  # weights 1/2 and 3/2
    >>> criterion(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))
    tensor([0.3466, 1.0397])
    """

    loss: Loss
    rule: WeightingRule

    def __post_init__(self) -> None:
        require_kind(self, "loss", Loss, allowed="a Loss, such as CrossEntropy()")
        require_kind(self, "rule", WeightingRule, allowed="a WeightingRule, such as EffectiveNumber()")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion of the loss and the weights for these counts."""
        return _WeightedCriterion(self.loss.bind(class_counts), self.rule.bind(class_counts))


class _WeightedCriterion(Criterion):
    def __init__(self, criterion: Criterion, weights: EpochWeights) -> None:
        self.needs_features = criterion.needs_features
        self._criterion = criterion
        self._weights = weights
        self._epoch = 1

    def begin_epoch(self, number: int, class_losses: Callable[[], Tensor]) -> None:
        self._epoch = number
        self._criterion.begin_epoch(number, class_losses)

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        losses = self._criterion(logits, target, features)
        return losses * self._weights(self._epoch).to(losses)[target]


def _always(weights: Tensor) -> EpochWeights:
    return lambda number: weights


def _summing_to_n_classes(weights: Tensor) -> Tensor:
    return weights * (len(weights) / weights.sum())
