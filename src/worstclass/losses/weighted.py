"""Any loss, its rows weighted by class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from worstclass.losses.base import Criterion, Loss
from worstclass.losses.checks import require_kind
from worstclass.losses.weighting import PassWeights, WeightingRule


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
    >>> import torch
    >>> from worstclass.losses.cross_entropy import CrossEntropy
    >>> from worstclass.losses.weighting import InverseFrequency
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
    def __init__(self, criterion: Criterion, weights: PassWeights) -> None:
        self.needs_features = criterion.needs_features
        self._criterion = criterion
        self._weights = weights
        self._pass = 1

    def begin_epoch(self, number: int, class_losses: Callable[[], Tensor]) -> None:
        self._pass = number
        self._criterion.begin_epoch(number, class_losses)

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        losses = self._criterion(logits, target, features)
        return losses * self._weights(self._pass).to(losses)[target]
