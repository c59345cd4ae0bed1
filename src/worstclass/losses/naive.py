"""The naive way to a small worst-class error: descend on the loss of the class that is worst now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from worstclass._checks import check_choice
from worstclass.exceptions import ParameterError
from worstclass.losses.base import Criterion, Loss, class_means, register_loss, row_cross_entropy, wide_counts

OVER = ("batch", "sample")


@register_loss("naive")
@dataclass(frozen=True)
class Naive(Loss):
    """The largest of the classes' mean cross-entropies: rows of the worst class carry it, the others nothing.

    The "Naive" method of Y. Saito, S. Matsuo, S. Uchida, D. Suehiro: "Bounding the Worst-class Error: A Boosting
    Approach".

    Parameters
    ----------
    over : where the worst class is looked for. ``"batch"``: anew among the classes present in each batch; the mean of
        the row losses is then exactly the largest class mean of the batch. ``"sample"``: over the whole training
        sample when an epoch begins, which costs an evaluation; the mean of the row losses is then an
        unbiased estimate of that class's mean over the sample, and a batch without the class teaches nothing.

    Examples
    --------
    >>> import torch
    >>> criterion = Naive().bind(torch.tensor([8, 4, 4]))
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> criterion(logits, torch.tensor([0, 2, 2]))  # class 2 is the worst of those present: 3/2 of its rows' losses
    tensor([0.0000, 3.3593, 0.3593])
    """

    over: str = "batch"

    def __post_init__(self) -> None:
        check_choice(self.over, "over", "Naive", OVER)

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for these counts."""
        return _WorstOfBatch(len(class_counts)) if self.over == "batch" else _WorstOfSample(class_counts)


class _WorstOfBatch(Criterion):
    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        losses = row_cross_entropy(logits, target)
        means, n_rows = class_means(losses.detach(), target, self._n_classes)
        worst = means.masked_fill(n_rows == 0, -1.0).argmax()  # absent classes are below any cross-entropy
        return losses * (target == worst) * (len(target) / n_rows[worst].to(losses))


class _WorstOfSample(Criterion):
    def __init__(self, class_counts: Tensor) -> None:
        counts = wide_counts(class_counts)
        self._factors = counts.sum() / counts
        self._worst: Tensor | None = None

    def begin_epoch(self, number: int, class_losses: Callable[[], Tensor]) -> None:
        self._worst = class_losses().argmax()

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        if self._worst is None:
            allowed = "'batch' where no epoch was begun: the worst class of the sample is chosen in begin_epoch"
            raise ParameterError("over", "Naive", allowed=allowed, got="sample")
        losses = row_cross_entropy(logits, target)
        return losses * (target == self._worst) * self._factors.to(losses)[target]
