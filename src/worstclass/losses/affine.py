"""Cross-entropy of logits that are stretched and shifted by class: what LA, CDT and VS have in common."""

from __future__ import annotations

from torch import Tensor

from worstclass.losses.base import Criterion
from worstclass.losses.cross_entropy import row_cross_entropy
from worstclass.losses.per_class import wide_counts


def temperatures(class_counts: Tensor, gamma: float) -> Tensor:
    """Return ``(n_k / n_max)^gamma``, shape (K,): 1 for the largest class, less for the smaller."""
    counts = wide_counts(class_counts)
    return (counts / counts.max()) ** gamma


def prior_offsets(class_counts: Tensor, tau: float) -> Tensor:
    """Return ``tau log(n_k / n)``, shape (K,)."""
    counts = wide_counts(class_counts)
    return tau * (counts.log() - counts.sum().log())


class AffineCriterion(Criterion):
    """Cross-entropy of ``scale_k * logit_k + shift_k``."""

    def __init__(self, scale: Tensor, shift: Tensor) -> None:
        self._scale = scale
        self._shift = shift

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        """Return one loss a row, shape (n,)."""
        return row_cross_entropy(self._scale.to(logits) * logits + self._shift.to(logits), target)
