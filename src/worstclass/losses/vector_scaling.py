"""Vector scaling: logit adjustment and class-dependent temperatures in one."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from worstclass.losses.affine import AffineCriterion, prior_offsets, temperatures
from worstclass.losses.base import Criterion, Loss
from worstclass.losses.checks import require_non_negative


@dataclass(frozen=True)
class VectorScaling(Loss):
    """Cross-entropy of ``logit_k * (n_k / n_max)^gamma + tau log(n_k / n)``; predictions use the logits as they are.

    G. R. Kini, O. Paraskevas, S. Oymak, C. Thrampoulidis: "Label-Imbalanced and Group-Sensitive Classification under
    Overparameterization", NeurIPS 2021, without class weights (for those, see ``Weighted``).

    Parameters
    ----------
    gamma : strength of the temperatures; 0 is ``LogitAdjustment(tau)``.
    tau : strength of the adjustment; 0 is ``ClassDependentTemperatures(gamma)``.

    Examples
    --------
    >>> import torch
    >>> criterion = VectorScaling(gamma=0.5, tau=1.0).bind(torch.tensor([4, 1]))
    >>> criterion(torch.tensor([[0.0, 2.0]]), torch.tensor([1]))  # ln(1 + 4/e)
    tensor([0.9048])
    """

    gamma: float = 0.15
    tau: float = 1.25

    def __post_init__(self) -> None:
        require_non_negative(self, "gamma")
        require_non_negative(self, "tau")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the temperatures and frequencies of these counts."""
        return AffineCriterion(temperatures(class_counts, self.gamma), prior_offsets(class_counts, self.tau))
