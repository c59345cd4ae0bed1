"""Group DRO over classes: class weights that grow with the class's loss, trained along with the network."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worstclass.losses.base import (
    Criterion,
    Loss,
    class_means,
    register_loss,
    require_at_least_0,
    row_cross_entropy,
    wide_dtype,
)


@register_loss("class-dro")
@dataclass(frozen=True)
class ClassDRO(Loss):
    """Group distributionally robust optimisation, the groups being the classes.

    S. Sagawa, P. W. Koh, T. B. Hashimoto, P. Liang: "Distributionally Robust Neural Networks for Group Shifts: On the
    Importance of Regularization for Worst-Case Generalization", ICLR 2020, Algorithm 1. With L_k the mean
    cross-entropy of class k over the batch, every call first updates ``q_k <- q_k exp(step L_k)`` for the classes
    present, normalised over all classes; the mean of the row losses is then ``sum_k q_k L_k``. A class that is absent
    from the batch adds nothing to the sum. No gradient flows through q.

    The paper draws batches in which all groups are equally frequent. In batches drawn plainly a rare class is often
    absent, and its weight moves more slowly.

    Parameters
    ----------
    step : rate of the class weights; 0 leaves them at 1/K, which is the plain mean of the class losses.

    Examples
    --------
    >>> criterion = ClassDRO(step=1.0).bind(torch.tensor([3, 1]))
    >>> logits = torch.tensor([[0.0, 0.0], [0.0, 0.0], [50.0, 0.0]])  # losses ln 2, ln 2 and none
    >>> criterion(logits, torch.tensor([1, 1, 0])).mean()  # two thirds of ln 2, since class 1 gained exp(ln 2)
    tensor(0.4621)
    >>> criterion.weights
    tensor([0.3333, 0.6667], dtype=torch.float64)
    """

    step: float = 0.01

    def __post_init__(self) -> None:
        require_at_least_0(self, "step")

    def bind(self, class_counts: Tensor) -> ClassDROCriterion:
        """Return a criterion with equal class weights."""
        return ClassDROCriterion(self.step, len(class_counts), class_counts.device)


class ClassDROCriterion(Criterion):
    """Keeps the logarithms of the class weights q, so that none is lost to underflow."""

    def __init__(self, step: float, n_classes: int, device: torch.device) -> None:
        self._step = step
        self._log_weights = torch.zeros(n_classes, dtype=wide_dtype(device), device=device).log_softmax(0)

    @property
    def weights(self) -> Tensor:
        """The class weights q, shape (K,); they sum to 1."""
        return self._log_weights.exp()

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        """Update the class weights by this batch, and return one loss a row, shape (n,)."""
        losses = row_cross_entropy(logits, target)
        means, n_rows = class_means(losses.detach(), target, len(self._log_weights))
        self._log_weights = (self._log_weights + self._step * means.to(self._log_weights)).log_softmax(0)
        row_factors = self.weights * len(target) / n_rows.clamp_min(1)
        return losses * row_factors.to(losses)[target]
