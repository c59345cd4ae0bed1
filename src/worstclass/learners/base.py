"""What the booster asks of a weak learner.

The learner owns HOW to train, the booster owns WHEN to stop. A learner bound to one training sample is a
``Training``; it is asked once a round for a member, and after every epoch over the data it shows what it has to
``stop``, which says how to go on.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from worstclass._typing import FloatArray, IntArray
from worstclass.exceptions import DataError


class Verdict(enum.Enum):
    """What ``stop`` says after an epoch."""

    GO_ON = "train another epoch"
    KEEP = "the best so far: remember it, and train another epoch"
    DONE = "good enough: return this one"
    GIVE_UP = "no progress: return the one remembered"


class Inputs(ABC):
    """Rows in the form that a learner's members read."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def take(self, rows: IntArray) -> Inputs:
        """Return the rows of the given indices."""


class Encoder(ABC):
    """Turns what the user passes as X into ``Inputs``; fixed when training starts."""

    @abstractmethod
    def encode(self, X: Any) -> Inputs:
        """Return the inputs of X."""


class Member(ABC):
    """One trained hypothesis h_t.

    Attributes
    ----------
    state : what is stored of the member, from which ``WeakLearner.restored_members`` makes it again: tensors by name,
        or a fitted scikit-learn estimator.
    """

    state: Any

    @abstractmethod
    def predict(self, inputs: Any) -> IntArray:
        """Return the class index of each row."""

    def probabilities(self, inputs: Any) -> FloatArray:
        """Return the probability of each class, shape (n, K); only where the learner ``gives_probabilities``."""
        raise NotImplementedError(f"{type(self).__name__} answers with classes alone.")


@dataclass(frozen=True, eq=False)
class Epoch:
    """What a learner has after one epoch over the training sample.

    Attributes
    ----------
    predictions : the class index answered for each training row.
    ask : the class index of each row of some other inputs, as things stand now.
    snapshot : the member as it stands now; it may cost a copy.
    loss : mean training loss of the epoch; None for a learner without one.
    """

    predictions: IntArray
    ask: Callable[[Any], IntArray]
    snapshot: Callable[[], Member]
    loss: float | None = None


#: called after every epoch
Stop = Callable[[Epoch], Verdict]


@dataclass(frozen=True, eq=False)
class Trained:
    """The member of the best epoch, its answers on the training rows, and how many epochs were trained."""

    member: Member
    predictions: IntArray
    epochs: int


class Training(ABC):
    """A learner bound to one training sample."""

    inputs: Inputs
    encoder: Encoder

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an optimizer in one epoch over the sample."""
        return 1

    @abstractmethod
    def epochs(self, sample_weight: FloatArray, seed: int) -> Generator[Epoch, None, None]:
        """Train one member epoch by epoch, and yield what there is after each.

        Parameters
        ----------
        sample_weight : weights of the rows, of mean 1.
        seed : fixes what is random.
        """

    def train(self, sample_weight: FloatArray, stop: Stop, seed: int) -> Trained:
        """Train one member; ``stop`` judges each epoch."""
        best, n_epochs = None, 0
        with closing(self.epochs(sample_weight, seed)) as epochs:
            for done in epochs:
                n_epochs += 1
                verdict = stop(done)
                if best is None or verdict in (Verdict.DONE, Verdict.KEEP):
                    best = done.snapshot(), done.predictions
                if verdict in (Verdict.DONE, Verdict.GIVE_UP):
                    break
        assert best is not None, "a learner must make at least one epoch"
        return Trained(*best, n_epochs)


class WeakLearner(BaseEstimator, ABC):
    """Base class of learners: parameters only, as scikit-learn's ``clone`` wants them."""

    @property
    def gives_probabilities(self) -> bool:
        """Whether members have ``probabilities``; what learners of one's own must say for themselves."""
        return False

    @abstractmethod
    def check_X(self, X: Any) -> Any:
        """Return X in a form this learner can read, or raise an error that says what is wrong with it."""

    def _checked(self, X: Any, **options: Any) -> Any:
        """Return an array or sparse matrix that scikit-learn's ``check_array`` finds fit; a data frame as it is."""
        if hasattr(X, "iloc"):
            if len(X) == 0:
                raise DataError("X must have at least one row. Got a data frame with 0 sample(s).")
            return X
        try:
            return check_array(X, estimator="WorstClassBooster", input_name="X", **options)
        except ValueError as error:
            raise DataError(str(error)) from None

    @abstractmethod
    def bind(self, X: Any, y: IntArray, n_classes: int, seed: int) -> Training:
        """Bind the learner to a training sample.

        Parameters
        ----------
        X : what ``check_X`` returned.
        y : class index of each row, 0..n_classes-1.
        n_classes : number of classes.
        seed : fixes everything random that the rounds have in common.
        """

    def restored_members(self, encoder: Any, n_classes: int, states: Sequence[Any]) -> list[Member]:
        """Return members from the ``state`` of each; or, of tensors by name, from a function that reads it."""
        raise NotImplementedError(f"Members of {type(self).__name__} cannot be stored.")
