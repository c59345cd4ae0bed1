"""Class-dependent temperatures: logits of small classes are made smaller while training."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from worstclass.losses.affine import AffineCriterion, prior_offsets, temperatures
from worstclass.losses.base import Criterion, Loss
from worstclass.losses.checks import require_non_negative


@dataclass(frozen=True)
class ClassDependentTemperatures(Loss):
    """Cross-entropy of ``logit_k * (n_k / n_max)^gamma``; predictions use the logits as they are.

    H.-J. Ye, H.-Y. Chen, D.-C. Zhan, W.-L. Chao: "Identifying and Compensating for Feature Deviation in Imbalanced
    Deep Learning", arXiv 2001.01385, 2020. Their temperature ``a_k = (n_max / n_k)^gamma`` divides the logit.

    Parameters
    ----------
    gamma : strength; 0 is cross-entropy.

    Examples
    --------
    >>> import torch
    >>> criterion = ClassDependentTemperatures(gamma=0.5).bind(torch.tensor([4, 1]))
    >>> criterion(torch.tensor([[0.0, 2.0]]), torch.tensor([1]))  # logit 2 counts as 1: ln(1 + 1/e)
    tensor([0.3133])
    """

    gamma: float = 0.4

    def __post_init__(self) -> None:
        require_non_negative(self, "gamma")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the temperatures of these counts."""
        return AffineCriterion(temperatures(class_counts, self.gamma), prior_offsets(class_counts, 0.0))
