"""Rules that weight classes by their counts, and the loss that applies one. All weights sum to K."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache, partial

import torch
from torch import Tensor

from worstclass._checks import check_count, is_number
from worstclass.exceptions import ParameterError
from worstclass.losses.base import Criterion, Loss, require_kind, wide_counts


class WeightingRule(ABC):
    """Options of a rule, a frozen dataclass."""

    @abstractmethod
    def weights(self, class_counts: Tensor, epoch: int) -> Tensor:
        """Return the class weights of an epoch, shape (K,), which sum to K.

        Parameters
        ----------
        class_counts : training rows of every class, at least 1 each; int64, shape (K,), on the device to be used.
        epoch : number of the epoch, from 1.
        """


@dataclass(frozen=True)
class InverseFrequency(WeightingRule):
    """Weights in proportion to 1/n_k, so that every class has the same total weight.

    Examples
    --------
    >>> InverseFrequency().weights(torch.tensor([3, 1]), epoch=1).tolist()
    [0.5, 1.5]
    """

    def weights(self, class_counts: Tensor, epoch: int) -> Tensor:
        """Return the weights, the same in every epoch."""
        return _summing_to_n_classes(wide_counts(class_counts).reciprocal())


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
    >>> EffectiveNumber(beta=0.5).weights(torch.tensor([2, 1]), epoch=1)  # effective numbers 1.5 and 1
    tensor([0.8000, 1.2000], dtype=torch.float64)
    """

    beta: float = 0.9999

    def __post_init__(self) -> None:
        if not is_number(self.beta) or not 0 <= self.beta < 1:
            raise ParameterError("beta", "EffectiveNumber", allowed="a number in [0, 1)", got=self.beta)

    def weights(self, class_counts: Tensor, epoch: int) -> Tensor:
        """Return the weights, the same in every epoch."""
        log_beta = math.log1p(self.beta - 1) if self.beta > 0 else -math.inf
        # 1 - beta^n without cancellation; the factor 1 - beta is common to all classes
        return _summing_to_n_classes(-1 / torch.expm1(wide_counts(class_counts) * log_beta))


@dataclass(frozen=True)
class Deferred(WeightingRule):
    """No weighting up to and including epoch ``after``, then the rule: the "DRW" of Cao et al., NeurIPS 2019.

    Examples
    --------
    >>> rule, counts = Deferred(InverseFrequency(), after=160), torch.tensor([3, 1])
    >>> rule.weights(counts, epoch=160).tolist(), rule.weights(counts, epoch=161).tolist()
    ([1.0, 1.0], [0.5, 1.5])
    """

    rule: WeightingRule
    after: int

    def __post_init__(self) -> None:
        require_kind(self, "rule", WeightingRule, allowed="a WeightingRule, such as EffectiveNumber()")
        check_count(self.after, "after", "Deferred", least=0)

    def weights(self, class_counts: Tensor, epoch: int) -> Tensor:
        """Return 1 for every class at first, then the weights of the rule."""
        late = self.rule.weights(class_counts, epoch)
        return torch.ones_like(late) if epoch <= self.after else late


#: name -> rule with its default options
RULES: dict[str, type[WeightingRule]] = {"inverse-frequency": InverseFrequency, "effective-number": EffectiveNumber}


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

    @property
    def needs_features(self) -> bool:
        """Whether the loss needs them."""
        return self.loss.needs_features

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion of the loss and the weights for these counts."""
        criterion, weights = self.loss.bind(class_counts), lru_cache(1)(partial(self.rule.weights, class_counts))

        def losses(logits: Tensor, target: Tensor, features: Tensor | None = None, epoch: int = 1) -> Tensor:
            unweighted = criterion(logits, target, features, epoch)
            return unweighted * weights(epoch).to(unweighted)[target]

        return losses


def _summing_to_n_classes(weights: Tensor) -> Tensor:
    return weights * (len(weights) / weights.sum())
