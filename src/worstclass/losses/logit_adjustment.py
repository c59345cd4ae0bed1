"""Logit adjustment: the class frequencies are added to the logits while training."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from worstclass.losses.affine import AffineCriterion, prior_offsets, temperatures
from worstclass.losses.base import Criterion, Loss
from worstclass.losses.checks import require_non_negative


@dataclass(frozen=True)
class LogitAdjustment(Loss):
    """Cross-entropy of ``logit_k + tau log(n_k / n)``; predictions use the logits as they are.

    A. K. Menon, S. Jayasumana, A. S. Rawat, H. Jain, A. Veit, S. Kumar: "Long-tail learning via logit adjustment",
    ICLR 2021 (the logit adjusted softmax cross-entropy).

    Parameters
    ----------
    tau : strength; 0 is cross-entropy, 1 is consistent for the mean of the class errors.

    Examples
    --------
    >>> import torch
    >>> criterion = LogitAdjustment(tau=1.0).bind(torch.tensor([3, 1]))
    >>> criterion(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))  # ln 4: the class has a quarter of the rows
    tensor([1.3863])
    """

    tau: float = 1.0

    def __post_init__(self) -> None:
        require_non_negative(self, "tau")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the frequencies of these counts."""
        return AffineCriterion(temperatures(class_counts, 0.0), prior_offsets(class_counts, self.tau))
