"""Logits stretched and shifted by class while training: logit adjustment, temperatures, and both (vector scaling)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from worstclass.losses.base import (
    Criterion,
    Loss,
    register_loss,
    require_at_least_0,
    row_cross_entropy,
    wide_counts,
)


@register_loss("logit-adjustment")
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
        require_at_least_0(self, "tau")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the frequencies of these counts."""
        return _AdjustedCriterion(class_counts, gamma=0.0, tau=self.tau)


@register_loss("class-dependent-temperatures")
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
        require_at_least_0(self, "gamma")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the temperatures of these counts."""
        return _AdjustedCriterion(class_counts, gamma=self.gamma, tau=0.0)


@register_loss("vector-scaling")
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
        require_at_least_0(self, "gamma", "tau")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the temperatures and frequencies of these counts."""
        return _AdjustedCriterion(class_counts, gamma=self.gamma, tau=self.tau)


class _AdjustedCriterion(Criterion):
    """Cross-entropy of ``logit_k * (n_k / n_max)^gamma + tau log(n_k / n)``."""

    def __init__(self, class_counts: Tensor, *, gamma: float, tau: float) -> None:
        counts = wide_counts(class_counts)
        self._scale = (counts / counts.max()) ** gamma
        self._shift = tau * (counts.log() - counts.sum().log())

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        return row_cross_entropy(self._scale.to(logits) * logits + self._shift.to(logits), target)
