"""Logits changed by class while training: shifted, stretched, both (vector scaling), or by a margin (LDAM)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from worstclass._checks import check_positive
from worstclass.losses.base import Criterion, Loss, plain_criterion, row_cross_entropy, wide_counts


@dataclass(frozen=True)
class VectorScaling(Loss, name="vector-scaling"):
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

    at_least_0 = ("gamma", "tau")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the temperatures and frequencies of these counts."""
        counts = wide_counts(class_counts)
        scale, shift = (counts / counts.max()) ** self.gamma, self.tau * (counts.log() - counts.sum().log())
        return plain_criterion(lambda logits, y: row_cross_entropy(scale.to(logits) * logits + shift.to(logits), y))


@dataclass(frozen=True)
class LogitAdjustment(Loss, name="logit-adjustment"):
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

    at_least_0 = ("tau",)

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the frequencies of these counts."""
        return VectorScaling(gamma=0.0, tau=self.tau).bind(class_counts)


@dataclass(frozen=True)
class ClassDependentTemperatures(Loss, name="class-dependent-temperatures"):
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

    at_least_0 = ("gamma",)

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the temperatures of these counts."""
        return VectorScaling(gamma=self.gamma, tau=0.0).bind(class_counts)


@dataclass(frozen=True)
class LDAM(Loss, name="ldam"):
    """Cross-entropy of ``scale * logit_k``, after a margin is taken off the logit of the row's class.

    K. Cao, C. Wei, A. Gaidon, N. Arechiga, T. Ma: "Learning Imbalanced Datasets with Label-Distribution-Aware Margin
    Loss", NeurIPS 2019. The margin of class k is ``C / n_k^(1/4)``, with C such that the smallest class has
    ``max_margin``. Their training, which starts to weight classes late (DRW), is
    ``Weighted(LDAM(), Deferred(EffectiveNumber(), after=160))``.

    The logits are meant to be cosines in [-1, 1]: margins and scale have no fixed meaning otherwise. A network gets
    such logits from ``worstclass.networks.heads.with_cosine_head``.

    Parameters
    ----------
    max_margin : margin of the smallest class.
    scale : multiplies the logits after the margin.

    Examples
    --------
    >>> import torch
    >>> criterion = LDAM(max_margin=0.5, scale=2.0).bind(torch.tensor([16, 1]))  # margins 1/4 and 1/2
    >>> criterion(torch.tensor([[0.0, 0.5]]), torch.tensor([1]))  # 0.5 - 0.5 against 0: ln 2
    tensor([0.6931])
    """

    max_margin: float = 0.5
    scale: float = 30.0

    at_least_0 = ("max_margin",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.scale, "scale", "LDAM")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the margins of these counts."""
        counts = wide_counts(class_counts)
        margins = self.max_margin * (counts.min() / counts) ** 0.25

        def losses(logits: Tensor, target: Tensor) -> Tensor:
            margin = margins.to(logits)[target][:, None]
            return row_cross_entropy(self.scale * logits.scatter_add(1, target[:, None], -margin), target)

        return plain_criterion(losses)
