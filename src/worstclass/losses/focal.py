"""Focal loss: rows that are right with confidence count for little."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from worstclass.losses.base import Criterion, Loss, PlainLoss, register_loss, require_at_least_0, row_cross_entropy


@register_loss("focal")
@dataclass(frozen=True)
class Focal(Loss):
    """``(1 - p)^gamma`` times the cross-entropy of each row, p the probability of the row's class.

    T.-Y. Lin, P. Goyal, R. Girshick, K. He, P. Dollár: "Focal Loss for Dense Object Detection", ICCV 2017; here for
    the softmax over K classes. The factor is part of the loss: gradients flow through it.

    Parameters
    ----------
    gamma : how fast the weight of confident rows falls; 0 is cross-entropy.

    Examples
    --------
    >>> criterion = Focal(gamma=1.0).bind(torch.tensor([9, 1]))
    >>> criterion(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))  # p = 1/2: half of ln 2
    tensor([0.3466])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        require_at_least_0(self, "gamma")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion; it does not depend on the counts."""
        return PlainLoss(partial(_focal, gamma=float(self.gamma))).bind(class_counts)


def _focal(logits: Tensor, target: Tensor, gamma: float) -> Tensor:
    losses = row_cross_entropy(logits, target)
    miss = -torch.expm1(-losses)  # 1 - p, without cancellation
    # Where p rounds to 1 the power has an infinite slope for gamma < 1, and infinity times no loss is NaN
    return miss.clamp_min(torch.finfo(miss.dtype).tiny) ** gamma * losses
