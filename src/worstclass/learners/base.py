"""What the booster asks of a weak learner.

The learner owns HOW to train, the booster owns WHEN to stop. A learner bound to one training sample is a
``Training``; it is asked once a round for a member, and after every epoch over the data it shows what it has to
``stop``, which says how to go on.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from worstclass._state import KEEPS_NOTHING, Checkpoint
from worstclass._typing import FloatArray, IntArray
from worstclass.exceptions import DataError

#: name of what is noted of a training that goes on
UNDER_WAY = "training"


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
    ask : the class index of each row of some other inputs, as things stand now. A member that is asked before the
        training ends may disturb it: they can share a module.
    snapshot : the member as it stands now; it may cost a copy.
    loss : mean training loss of the epoch; None for a learner without one.
    standing : where the training stands, for ``Training.epochs`` to go on from; None for a learner that cannot.
    """

    predictions: IntArray
    ask: Callable[[Any], IntArray]
    snapshot: Callable[[], Member]
    loss: float | None = None
    standing: Callable[[], dict[str, Any]] | None = None


class Stop(Protocol):
    """Judges every epoch. What it remembers can be kept, and taken over by another one."""

    def __call__(self, done: Epoch) -> Verdict:
        """Say how to go on after an epoch."""

    def state(self) -> dict[str, Any]:
        """Return what it remembers of the epochs so far."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Remember what another one did."""


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

    @property
    def repeats(self) -> bool:
        """Whether equal row weights give the same member, so that it need not be trained twice."""
        return False

    @abstractmethod
    def epochs(self, sample_weight: FloatArray, seed: int, start: Any = None) -> Generator[Epoch, None, None]:
        """Train one member epoch by epoch, and yield what there is after each.

        Parameters
        ----------
        sample_weight : weights of the rows, of mean 1.
        seed : fixes what is random.
        start : the ``standing`` of an epoch to go on from; None starts anew.
        """

    def train(
        self,
        sample_weight: FloatArray,
        stop: Stop,
        seed: int,
        checkpoint: Checkpoint = KEEPS_NOTHING,
        name: str = "member",
    ) -> Trained:
        """Train one member; ``stop`` judges each epoch.

        A member that the checkpoint has under this name is taken from there, and a training under way goes on.
        """
        kept = checkpoint.read(name)
        if kept is None:
            trained = self._trained(sample_weight, stop, seed, checkpoint.child(name))
            self.take_over(trained.member, self.carried())
            checkpoint.keep(name, lambda: {**_result(trained, stop), "carried": self.carried()})
            return trained
        trained = self._taken(kept, stop)
        self.take_over(trained.member, kept["carried"])
        return trained

    def _trained(self, sample_weight: FloatArray, stop: Stop, seed: int, checkpoint: Checkpoint) -> Trained:
        best: Trained | None = None
        begun = checkpoint.read(UNDER_WAY)
        if begun is None:
            n_epochs, epochs = 0, self.epochs(sample_weight, seed)
        else:
            best = self._taken(begun, stop)
            n_epochs, epochs = best.epochs, self.epochs(sample_weight, seed, begun["start"])
        with closing(epochs):
            for done in epochs:
                n_epochs += 1
                verdict = stop(done)
                if best is None or verdict in (Verdict.DONE, Verdict.KEEP):
                    best = Trained(done.snapshot(), done.predictions, n_epochs)
                best = replace(best, epochs=n_epochs)
                if verdict in (Verdict.DONE, Verdict.GIVE_UP):
                    break
                if done.standing is not None:
                    checkpoint.note(UNDER_WAY, partial(_under_way, best, stop, done.standing))
        assert best is not None, "a learner must make at least one epoch"
        return best

    def _taken(self, kept: Mapping[str, Any], stop: Stop) -> Trained:
        """Return the member that a checkpoint keeps, and let ``stop`` remember its epochs."""
        stop.restore(kept["stop"])
        return Trained(self.member(kept["member"]), kept["predictions"], kept["epochs"])

    def member(self, state: Any) -> Member:
        """Return the member of a ``state``."""
        raise NotImplementedError(f"Members of {type(self).__name__} cannot be stored.")

    def carried(self) -> Any:
        """Return what the next member starts from, besides the member before it; None where there is nothing."""
        return None

    def take_over(self, member: Member, carried: Any) -> None:  # noqa: B027
        """Go on after a member that was trained earlier."""


def _result(trained: Trained, stop: Stop) -> dict[str, Any]:
    """Return what a checkpoint keeps of a member."""
    return {
        "stop": stop.state(),
        "member": trained.member.state,
        "predictions": trained.predictions,
        "epochs": trained.epochs,
    }


def _under_way(best: Trained, stop: Stop, standing: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return {**_result(best, stop), "start": standing()}


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
            return check_array(X, input_name="X", **options)
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
