"""Cross-entropy, the loss that the others are built from."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from worstclass.losses.base import Criterion, Loss, PlainLoss, register_loss, row_cross_entropy


@register_loss("cross-entropy")
@dataclass(frozen=True)
class CrossEntropy(Loss):
    """Minus the log-probability of the row's class.

    Examples
    --------
    >>> import torch
    >>> criterion = CrossEntropy().bind(torch.tensor([9, 1]))
    >>> criterion(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
    tensor([0.6931])
    """

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion; it does not depend on the counts."""
        return PlainLoss(row_cross_entropy).bind(class_counts)
