"""Watch a fit from outside. The library never prints: a callback shows, logs or stores what it is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worstclass.boosting.history import RoundRecord
from worstclass.exceptions import ParameterError

if TYPE_CHECKING:
    from worstclass.boosting.booster import WorstClassBooster


CALLBACKS = "a list of Callback objects"


@dataclass(frozen=True)
class FitPlan:
    """What is known before the first round."""

    classes: tuple[Any, ...]
    theta: tuple[float, ...]
    n_rounds: int
    max_extra_rounds: int
    gamma: float
    eta: float

    @property
    def needed_edge(self) -> float:
        """The edge that every round must reach."""
        return 0.5 + self.gamma


@dataclass(frozen=True)
class EpochInfo:
    """What is known after one epoch of the learner within a round."""

    round: int
    phase: str
    epoch: int
    edge: float
    member_errors: tuple[float, ...]


@dataclass(frozen=True)
class StepInfo:
    """What is known after one member of a portfolio was trained.

    With a time limit, members are trained on the first fold, then on others: ``done`` and ``total`` start again, and
    ``seconds_left`` is an estimate for what has started; None while a network is still to come, since it takes many
    times as long as the classifiers before it.
    """

    name: str
    done: int
    total: int
    seconds: float
    seconds_left: float | None
    failed: bool = False


@dataclass(frozen=True)
class NetworkEpochInfo:
    """What is known after one epoch of ``NetworkClassifier`` or ``DeepEnsemble``.

    Attributes
    ----------
    classes : the classes, in the order of the errors.
    member : number of the network, from 1.
    epoch : number of the epoch of this network, from 1.
    done, total : epochs of all networks so far, and at the most; None where only time or patience ends the training.
    errors, val_errors : training and validation error of each class; the latter None without validation rows.
    loss : mean training loss of the epoch.
    """

    classes: tuple[Any, ...]
    member: int
    epoch: int
    done: int
    total: int | None
    errors: tuple[float, ...]
    val_errors: tuple[float, ...] | None
    loss: float | None


class Callback:
    """Does nothing; override what you want to hear of. Exceptions raised in a callback end the fit.

    ``WorstClassBooster`` and the other boosters tell of fits, epochs and rounds, ``NetworkClassifier`` and
    ``DeepEnsemble`` of the epochs of their networks, ``WorstClassClassifier`` of the members of its portfolio.
    """

    def on_fit_start(self, booster: WorstClassBooster, plan: FitPlan) -> None:
        """Before the first round."""

    def on_epoch_end(self, booster: WorstClassBooster, info: EpochInfo) -> None:
        """After every epoch of a booster's learner; a round that takes the member of an equal one trains none."""

    def on_round_end(self, booster: WorstClassBooster, record: RoundRecord) -> None:
        """After a round has been finished and its member has joined the vote."""

    def on_step_end(self, estimator: Any, info: StepInfo) -> None:
        """After ``WorstClassClassifier`` has trained a member of its portfolio."""

    def on_network_epoch_end(self, estimator: Any, info: NetworkEpochInfo) -> None:
        """After every epoch of ``NetworkClassifier`` and ``DeepEnsemble``."""

    def on_fit_end(self, estimator: Any) -> None:
        """After the fit of a booster, of networks or of a portfolio; the estimator is fitted."""

    def on_fit_failed(self, estimator: Any) -> None:
        """After an error or an interrupt that ends the fit, in place of ``on_fit_end``."""


def check_callbacks(callbacks: Any, owner: str) -> None:
    """Refuse what is no list of callbacks."""
    if isinstance(callbacks, Callback):
        raise ParameterError("callbacks", owner, allowed=CALLBACKS, got=callbacks, hint="Put it into a list.")
    for callback in callbacks or ():
        if not isinstance(callback, Callback):
            raise ParameterError("callbacks", owner, allowed=CALLBACKS, got=callback)


def tell(callbacks: Sequence[Callback] | None, event: str, *news: Any) -> None:
    """Call a method of every callback."""
    for callback in callbacks or ():
        getattr(callback, event)(*news)


@contextmanager
def failures_told(estimator: Any) -> Iterator[None]:
    """Tell the callbacks of an estimator if what follows, its fit, ends with an error or an interrupt."""
    try:
        yield
    except BaseException:
        given = estimator.callbacks if isinstance(estimator.callbacks, Iterable) else ()
        known = [callback for callback in given if isinstance(callback, Callback)]
        tell(known, "on_fit_failed", estimator)
        raise
