"""Influence-balanced loss: every row of a class has a gradient of the same norm on the last layer."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from worstclass._checks import check_count, check_positive
from worstclass.losses.base import Criterion, Loss, require_kind, row_cross_entropy, wide_counts
from worstclass.losses.cross_entropy import CrossEntropy

#: added to the influence, so that a row without any has a finite factor
EPSILON = 1e-3


@dataclass(frozen=True)
class InfluenceBalanced(Loss, name="influence-balanced"):
    """A loss divided by the influence of the row: ``lambda_y / (|p - e_y|_1 |h|_1 + 0.001)`` times the base loss.

    S. Park, J. Lim, Y. Jeon, J. Y. Choi: "Influence-Balanced Loss for Imbalanced Visual Classification", ICCV 2021.
    Here p is the softmax of the row's logits, e_y the indicator of its class, and h its features: what enters the
    last layer. ``|p - e_y|_1 |h|_1`` is the L1 norm of the gradient of cross-entropy with respect to that layer's
    weights. The class part is the paper's ``lambda_k = alpha (1/n_k) / sum_j (1/n_j)``.

    The factor is a weight, and no gradient flows through it: only then has the gradient of every row the norm
    lambda_y that the derivation aims at. (The authors' program differentiates the factor as well, which also
    rewards features for being large; and its lambda is K times the paper's, so its alpha of 1000 is 1000 K here.)

    Parameters
    ----------
    alpha : scale of the loss; best such that the loss keeps the size it has in the warm-up.
    base : the loss that is divided: ``CrossEntropy()``, or ``Focal()`` for "IB+Focal".
    after : epochs of the plain base loss, with equal classes, before balancing starts.
    class_factor : whether lambda_k goes by 1/n_k. If not it is ``alpha / K`` for every class, for use in ``Weighted``
        with a rule in its place: with ``InverseFrequency`` that gives the same loss again, with ``EffectiveNumber``
        it gives "IB+CB". A rule weights the warm-up too, unless it is ``Deferred`` by as many epochs.

    Examples
    --------
    >>> criterion = InfluenceBalanced(alpha=1.0).bind(torch.tensor([3, 1]))  # lambda: 1/4 and 3/4
    >>> logits, features = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, -2.0]])
    >>> criterion(logits, torch.tensor([1]), features)  # ln 2 * 0.75 / (1 * 3 + 0.001)
    tensor([0.1732])

    IB+CB, with 50 epochs of plain cross-entropy first:

    >>> from worstclass.losses.weighting import Deferred, EffectiveNumber, Weighted
    >>> ib_cb = Weighted(InfluenceBalanced(after=50, class_factor=False), Deferred(EffectiveNumber(), after=50))
    """

    alpha: float = 1000.0
    base: Loss = field(default_factory=CrossEntropy)
    after: int = 0
    class_factor: bool = True

    needs_features = True

    def __post_init__(self) -> None:
        check_positive(self.alpha, "alpha", "InfluenceBalanced")
        require_kind(self, "base", Loss, allowed="a Loss, such as CrossEntropy()")
        check_count(self.after, "after", "InfluenceBalanced", least=0)
        require_kind(self, "class_factor", bool, allowed="True or False")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for the class factors of these counts."""
        base, shares = self.base.bind(class_counts), wide_counts(class_counts).reciprocal()
        if not self.class_factor:
            shares = torch.ones_like(shares)
        factors = self.alpha * shares / shares.sum()

        def losses(logits: Tensor, target: Tensor, features: Tensor | None = None, epoch: int = 1) -> Tensor:
            assert features is not None, "the training loop passes features where needs_features is set"
            of_base = base(logits, target, features, epoch)
            return of_base if epoch <= self.after else of_base * _row_factors(factors, logits, target, features)

        return losses


@torch.no_grad()
def _row_factors(class_factors: Tensor, logits: Tensor, target: Tensor, features: Tensor) -> Tensor:
    residual = -2 * torch.expm1(-row_cross_entropy(logits, target))  # |p - e_y|_1 is twice 1 - p_y
    influence = residual * features.abs().sum(dim=1)
    return class_factors.to(logits)[target] / (influence + EPSILON)
