"""Losses that turn to the classes that are worst now: the worst alone, or all by weights that grow with their loss."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worstclass.losses.base import Criterion, Loss, class_means, plain_criterion, row_cross_entropy, wide_counts


@dataclass(frozen=True)
class Naive(Loss, name="naive"):
    """The largest of the classes' mean cross-entropies: rows of the worst class carry it, the others nothing.

    The worst class is looked for anew among the classes present in each batch, so the mean of the row losses is exactly
    the largest class mean of the batch.

    The "Naive" method of Y. Saito, S. Matsuo, S. Uchida, D. Suehiro: "Bounding the Worst-class Error: A Boosting
    Approach".

    Examples
    --------
    >>> criterion = Naive().bind(torch.tensor([8, 4, 4]))
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> criterion(logits, torch.tensor([0, 2, 2]))  # class 2 is the worst of those present: 3/2 of its rows' losses
    tensor([0.0000, 3.3593, 0.3593])
    """

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion; it does not depend on the counts."""
        return plain_criterion(_worst_of_batch)


def _worst_of_batch(logits: Tensor, target: Tensor) -> Tensor:
    losses = row_cross_entropy(logits, target)
    means, n_rows = class_means(losses.detach(), target, logits.shape[1])
    worst = means.masked_fill(n_rows == 0, -1.0).argmax()  # absent classes are below any cross-entropy
    return losses * (target == worst) * (len(target) / n_rows[worst].to(losses))


@dataclass(frozen=True)
class ClassDRO(Loss, name="class-dro"):
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

    at_least_0 = ("step",)

    def bind(self, class_counts: Tensor) -> ClassDROCriterion:
        """Return a criterion with equal class weights."""
        return ClassDROCriterion(self.step, torch.zeros_like(wide_counts(class_counts.clamp_min(1))))


class ClassDROCriterion:
    """Keeps the logarithms of the class weights q, so that none is lost to underflow."""

    def __init__(self, step: float, log_weights: Tensor) -> None:
        self._step = step
        self._log_weights = log_weights.log_softmax(0)

    @property
    def weights(self) -> Tensor:
        """The class weights q, shape (K,); they sum to 1."""
        return self._log_weights.exp()

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None, epoch: int = 1) -> Tensor:
        """Update the class weights by this batch, and return one loss per row, shape (n,)."""
        losses = row_cross_entropy(logits, target)
        means, n_rows = class_means(losses.detach(), target, len(self._log_weights))
        self._log_weights = (self._log_weights + self._step * means.to(self._log_weights)).log_softmax(0)
        row_factors = self.weights * len(target) / n_rows.clamp_min(1)
        return losses * row_factors.to(losses)[target]
