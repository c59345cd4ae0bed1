"""What a loss is: options (``Loss``), and those options bound to one training sample (``Criterion``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor

#: from logits, shape (n, K), and class indices, shape (n,), to one loss a row, shape (n,)
RowLossFunction = Callable[[Tensor, Tensor], Tensor]


class Criterion(ABC):
    """A loss bound to one training sample: its class counts, and whatever state it keeps over the epochs.

    It is called once for every training batch, and for nothing else: a call may change its state.

    Attributes
    ----------
    needs_features : whether a call must be given the features, i.e. what enters the last layer of the network.
    """

    needs_features: bool = False

    def begin_epoch(self, number: int, class_losses: Callable[[], Tensor]) -> None:  # noqa: B027
        """Take notice that an epoch over the training sample begins.

        Parameters
        ----------
        number : the number of the epoch, from 1.
        class_losses : gives, when called, the mean cross-entropy of every class over the whole training sample as
            the network stands now, shape (K,), without a graph. It costs an evaluation of all rows.
        """

    @abstractmethod
    def __call__(self, logits: Tensor, target: Tensor, features: Tensor | None = None) -> Tensor:
        """Return one loss a row, shape (n,).

        Parameters
        ----------
        logits : shape (n, K).
        target : class indices, shape (n,).
        features : what entered the last layer of the network, shape (n, d); may be None unless ``needs_features``.
        """


class Loss(ABC):
    """Options of a loss, a frozen dataclass; knows nothing of the data until bound."""

    @abstractmethod
    def bind(self, class_counts: Tensor) -> Criterion:
        """Return the criterion for a training sample, with state of its own.

        Parameters
        ----------
        class_counts : training rows of every class, at least 1 each; int64, shape (K,), on the device to be used.
        """
