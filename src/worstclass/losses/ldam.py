"""LDAM: the smaller a class, the larger the margin it must win by."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from worstclass._checks import check_positive
from worstclass.losses.base import (
    Criterion,
    Loss,
    register_loss,
    require_at_least_0,
    row_cross_entropy,
    wide_counts,
)


@register_loss("ldam")
@dataclass(frozen=True)
class LDAM(Loss):
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

    def __post_init__(self) -> None:
        require_at_least_0(self, "max_margin")
        check_positive(self.scale, "scale", "LDAM")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the margins of these counts."""
        counts = wide_counts(class_counts)
        return _LDAMCriterion(self.max_margin * (counts.min() / counts) ** 0.25, self.scale)


class _LDAMCriterion(Criterion):
    def __init__(self, margins: Tensor, scale: float) -> None:
        self._margins = margins
        self._scale = scale

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        margin = self._margins.to(logits)[target]
        return row_cross_entropy(self._scale * logits.scatter_add(1, target[:, None], -margin[:, None]), target)
