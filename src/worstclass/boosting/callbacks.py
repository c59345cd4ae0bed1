"""Watch a fit from outside. The library never prints: a callback shows, logs or stores what it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worstclass.boosting.history import RoundRecord

if TYPE_CHECKING:
    from worstclass.boosting.booster import WorstClassBooster


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
    ``seconds_left`` is an estimate for what has started.
    """

    name: str
    done: int
    total: int
    seconds: float
    seconds_left: float
    failed: bool = False


class Callback:
    """Does nothing; override what you want to hear of. Exceptions raised in a callback end the fit."""

    def on_fit_start(self, booster: WorstClassBooster, plan: FitPlan) -> None:
        """Before the first round."""

    def on_epoch_end(self, booster: WorstClassBooster, info: EpochInfo) -> None:
        """After every epoch of the learner."""

    def on_round_end(self, booster: WorstClassBooster, record: RoundRecord) -> None:
        """After a round has been finished and its member has joined the vote."""

    def on_step_end(self, estimator: Any, info: StepInfo) -> None:
        """After ``WorstClassClassifier`` has trained a member of its portfolio."""

    def on_fit_end(self, booster: WorstClassBooster) -> None:
        """After the last round; the booster is fitted."""
