"""What a loss is: options (``Loss``), and those options bound to one training sample (``Criterion``).

Also what losses share: registration by name, checks of options, plain functions as losses, and numbers by class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from worstclass._checks import is_number
from worstclass.exceptions import DataError, ParameterError

#: from logits, shape (n, K), and class indices, shape (n,), to one loss per row, shape (n,)
RowLossFunction = Callable[[Tensor, Tensor], Tensor]


#: name -> loss
REGISTERED: dict[str, type[Loss]] = {}


class Criterion(Protocol):
    """A loss bound to one training sample: its class counts, and whatever state it keeps.

    It is called once for every training batch, and for nothing else: a call may change its state.
    """

    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None, epoch: int = 1) -> Tensor:
        """Return one loss per row, shape (n,).

        Parameters
        ----------
        logits : shape (n, K).
        target : class indices, shape (n,).
        features : what entered the last layer of the network, shape (n, d); None unless the loss ``needs_features``.
        epoch : the number of the epoch, from 1.
        """


class Loss(ABC):
    """Options of a loss, a frozen dataclass; knows nothing of the data until bound.

    A subclass with a ``name`` (``class Focal(Loss, name="focal")``) is known to ``build_loss`` by it. Options named in
    ``at_least_0`` must be numbers of at least 0.
    """

    at_least_0: ClassVar[tuple[str, ...]] = ()

    @property
    def needs_features(self) -> bool:
        """Whether its criterion must be given the features, i.e. what enters the last layer of the network."""
        return False

    def __init_subclass__(cls, name: str | None = None) -> None:
        if name is not None:
            REGISTERED[name] = cls

    def __post_init__(self) -> None:
        for name in self.at_least_0:
            value: Any = getattr(self, name)
            if not is_number(value) or value < 0:
                raise ParameterError(name, type(self).__name__, allowed="a number of at least 0", got=value)

    @abstractmethod
    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for a training sample, with state of its own.

        Parameters
        ----------
        class_counts : training rows of every class, at least 1 each; int64, shape (K,), on the device to be used.
        """


@dataclass(frozen=True)
class PlainLoss(Loss):
    """A function of the user's own, from (logits, class indices) to one loss per row.

    Examples
    --------
    >>> from torch.nn.functional import multi_margin_loss
    >>> loss = PlainLoss(lambda logits, target: multi_margin_loss(logits, target, reduction="none"))
    >>> criterion = loss.bind(torch.tensor([9, 1]))
    >>> criterion(torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1])).tolist()
    [0.0, 1.5]
    """

    function: RowLossFunction

    def __post_init__(self) -> None:
        require_kind(self, "function", Callable, allowed="a callable from (logits, class indices) to one loss per row")

    def bind(self, class_counts: Tensor) -> Criterion:
        """Return a criterion that asks the function."""
        return plain_criterion(self.function)


def plain_criterion(function: RowLossFunction) -> Criterion:
    """Return a criterion of the logits and the class indices alone."""
    return lambda logits, target, features=None, epoch=1: function(logits, target)


def row_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return minus the log-probability of each row's class, shape (n,)."""
    return functional.cross_entropy(logits, target, reduction="none")


def wide_counts(class_counts: Tensor) -> Tensor:
    """Return class counts as floats, in double precision where the device has it."""
    if class_counts.numel() == 0 or int(class_counts.min()) < 1:
        raise DataError(f"Every class must have at least one training row. Got counts {class_counts.tolist()}.")
    return class_counts.to(torch.float32 if class_counts.device.type == "mps" else torch.float64)


def class_means(values: Tensor, target: Tensor, n_classes: int) -> tuple[Tensor, Tensor]:
    """Return the mean of each class over a batch, 0 where it has no row, and its number of rows; both (K,).

    The sums are a matrix product: unlike an indexed addition it is deterministic on a GPU.

    Examples
    --------
    >>> means, n_rows = class_means(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([2, 0, 2]), n_classes=3)
    >>> means.tolist(), n_rows.tolist()
    ([2.0, 0.0, 3.5], [1, 0, 2])
    """
    is_of_class = target == torch.arange(n_classes, device=target.device)[:, None]
    n_rows = is_of_class.sum(dim=1)
    return (is_of_class.to(values.dtype) @ values) / n_rows.clamp_min(1), n_rows


def require_kind(owner: object, parameter: str, kind: Any, *, allowed: str) -> None:
    """Raise unless the attribute of that name is an instance of ``kind``."""
    value: Any = getattr(owner, parameter)
    if not isinstance(value, kind):
        raise ParameterError(parameter, type(owner).__name__, allowed=allowed, got=value)
