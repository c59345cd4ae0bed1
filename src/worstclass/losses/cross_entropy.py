"""Cross-entropy, the loss that the others are built from, and its focal form."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worstclass.losses.base import Criterion, Loss, plain_criterion, row_cross_entropy


@dataclass(frozen=True)
class CrossEntropy(Loss, name="cross-entropy"):
    """Minus the log-probability of the row's class.

    Examples
    --------
    >>> criterion = CrossEntropy().bind(torch.tensor([9, 1]))
    >>> criterion(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
    tensor([0.6931])
    """

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion; it does not depend on the counts."""
        return plain_criterion(row_cross_entropy)


@dataclass(frozen=True)
class Focal(Loss, name="focal"):
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

    at_least_0 = ("gamma",)

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion; it does not depend on the counts."""
        return plain_criterion(self._losses)

    def _losses(self, logits: Tensor, target: Tensor) -> Tensor:
        losses = row_cross_entropy(logits, target)
        miss = -torch.expm1(-losses)  # 1 - p, without cancellation
        # Where p rounds to 1 the power has an infinite slope for gamma < 1, and infinity times no loss is NaN
        return miss.clamp_min(torch.finfo(miss.dtype).tiny) ** float(self.gamma) * losses
