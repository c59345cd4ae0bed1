"""Cross-entropy, the loss that the others are built from."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from worstclass.losses.base import Criterion, Loss
from worstclass.losses.plain import PlainCriterion


def row_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return minus the log-probability of each row's class, shape (n,)."""
    return functional.cross_entropy(logits, target, reduction="none")


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
        """Return the criterion; the counts play no part."""
        return PlainCriterion(row_cross_entropy)
