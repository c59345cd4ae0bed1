"""A row-wise function of logits and classes as a loss."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from worstclass.exceptions import ParameterError
from worstclass.losses.base import Criterion, Loss, RowLossFunction


@dataclass(frozen=True)
class PlainLoss(Loss):
    """A function of the user's own, from (logits, class indices) to one loss a row.

    Examples
    --------
    >>> import torch
    >>> from torch.nn.functional import multi_margin_loss
    >>> loss = PlainLoss(lambda logits, target: multi_margin_loss(logits, target, reduction="none"))
    >>> criterion = loss.bind(torch.tensor([9, 1]))
    >>> criterion(torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1])).tolist()
    [0.0, 1.5]
    """

    function: RowLossFunction

    def __post_init__(self) -> None:
        if not callable(self.function):
            allowed = "a callable from (logits, class indices) to one loss a row"
            raise ParameterError("function", "PlainLoss", allowed=allowed, got=self.function)

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return a criterion that asks the function and keeps no state."""
        return PlainCriterion(self.function)


class PlainCriterion(Criterion):
    """Asks a function that needs neither class counts nor features."""

    def __init__(self, function: RowLossFunction) -> None:
        self._function = function

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        """Return one loss a row, shape (n,)."""
        return self._function(logits, target)
