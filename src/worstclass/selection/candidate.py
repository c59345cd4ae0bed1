"""One theta, and how far its fit has come: rounds are run one at a time, and it may wait between two of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from worstclass.boosting.booster import WorstClassBooster, edge_under
from worstclass.boosting.callbacks import EpochInfo
from worstclass.boosting.hedge import Hedge
from worstclass.boosting.history import RoundRecord
from worstclass.boosting.rounds import BoostingRun, Judge, Judged
from worstclass.exceptions import ModuleError, WorstClassWarning
from worstclass.learners.budget import Meter
from worstclass.metrics import SELECTION, ClassCounts, count_correct
from worstclass.selection.prefixes import meets
from worstclass.selection.shared import CountedTraining, Request, Work
from worstclass.selection.watch import Watch, resolve_after

Theta = float | Mapping[Any, float]

#: why a fit ended early, where epochs or time were up
BUDGET_SPENT = "the budget was spent"

FEASIBLE, INFEASIBLE, ABANDONED, RUNNING = "feasible", "infeasible", "abandoned", "running"


@dataclass(frozen=True)
class CandidateRecord:
    """What became of one theta.

    Attributes
    ----------
    theta : the floor, or the floors by class.
    status : ``"feasible"``: its fit ran to its end, and the vote of its members, or of a prefix of them, meets every
        floor on the training rows, by exact counts. ``"infeasible"``: it ran to its end, and no such vote does.
        ``"abandoned"``: it was stopped before; what is said of it holds for the rounds it had. ``"running"`` while
        the search goes on, and where it was interrupted.
    rounds, planned_rounds : members, and T; more than T where rounds were added, fewer where it ended early.
    epochs : over the training sample, as a fit of its own would have counted them up to here. Fewer were made where
        candidates shared them.
    seconds : time spent on it; that of shared epochs is counted for the largest theta that shared them.
    worst_error, plain_error : on the validation rows, of the prefix that votes: the best for ``select_on`` so far, for
        ``"goal"`` and ``"best"`` among those that meet every floor, if any does; None before the first member.
    worst_class : the class of ``worst_error``.
    members_used : length of that prefix.
    bound_met : whether that prefix meets every floor on the training rows.
    why : why it ended early or was abandoned; empty where it did not.
    """

    theta: Any
    status: str
    rounds: int
    planned_rounds: int
    epochs: int
    seconds: float
    worst_error: float | None
    plain_error: float | None
    worst_class: str | None
    members_used: int
    bound_met: bool
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; classes become text."""
        theta = self.theta
        if isinstance(theta, Mapping):
            theta = {str(label): float(floor) for label, floor in theta.items()}
        return {**asdict(self), "theta": theta}


class Candidate:
    """The fit of a booster at one theta, one round at a time.

    Parameters
    ----------
    booster : a booster of this candidate's own, with its theta and a whole number as its seed.
    run : its fit, which has validation rows and has not begun its first round.
    work : counts epochs, for all candidates together.
    hopeless_after : as of ``select_theta``.
    floors_first : let the best prefix vote among those that meet every floor, if any does; else the best of all.

    Attributes
    ----------
    ended : whether the fit ran to its end.
    aside : why it was set aside, and waits; empty where it does not.
    abandoned : why it was stopped for good; empty where it was not.
    broken : what its network raised in the first round; None where nothing did.
    stuck, lost_passes : whether it was set aside in the middle of a round, and the epochs of rounds so dropped.
    validation, errors : validation counts of the prefix that votes, and the two errors they give, the one that chooses
        first. While there is no finished round, those of a first member whose round was dropped, or infinite ones.
    feasible : whether the vote after some round met every floor on the training rows.
    bound_met : whether the prefix that votes does.
    """

    def __init__(
        self,
        booster: WorstClassBooster,
        run: BoostingRun,
        work: Work,
        hopeless_after: int | str | None,
        *,
        floors_first: bool = False,
    ) -> None:
        self.booster = booster
        self.theta: Any = booster.theta
        self.run = run
        self.training = CountedTraining(self.run.training, work)
        self.run.training = self.training
        self.run.on_epoch_end = self._on_pass
        self.ended = self.stuck = self.feasible = self.bound_met = False
        self.aside = self.abandoned = ""
        self.broken: ModuleError | None = None
        self.lost_passes = 0
        self.validation: ClassCounts | None = None
        self.errors: tuple[float, float] = (np.inf, np.inf)
        self._after = resolve_after(hopeless_after, self.run.patience)
        self._watch = self._new_watch()
        self._rounds = booster._rounds(self.run)
        self._hedge = Hedge.start(self.run.labels.n_classes)
        self._floors_first = floors_first
        self._n_used = 0
        self._lost_seconds = 0.0
        self.run.meter.pause()

    def advance(self) -> None:
        """Run the next round, or find that there is none.

        A round that is stuck is dropped, and sets this aside. A network that breaks down in the first round ends this
        for good; in a later one it ends the fit, with the rounds that are finished.
        """
        meter = self.run.meter
        before = meter.epochs, meter.seconds
        meter.go_on()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WorstClassWarning)  # the record tells of what was missed
                record = next(self._rounds, None)
        except _StuckError:
            self._set_stuck_round_aside(*before)
            return
        except ModuleError as error:
            self.broken = error
            self.abandon(str(error))
            return
        finally:
            meter.pause()  # a budget of seconds is for this fit alone, not for those that run in between
        if record is None:
            self.ended = True
            return
        self._note(record)
        self.ended = record.phase == "unmet"  # a first member that is kept because there is no other
        if record.phase == "boost":
            self._hedge = self._hedge.update(np.array(record.feedback, dtype=np.bool_), self.run.plan.eta)

    def finish(self) -> None:
        """Run all rounds that are left, with the booster's own patience."""
        self.resume()
        while not self.ended and not self.abandoned:
            self.advance()

    def resume(self) -> None:
        """Go on after having been set aside; a round that was dropped starts again, and none is called stuck now."""
        self.aside, self.abandoned, self._after = "", "", None
        if self.stuck:
            self._rounds, self.stuck = self.booster._rounds(self.run), False

    def abandon(self, why: str) -> None:
        """Stop for good, and let go of the members."""
        self.abandoned, self.aside = why, ""
        self.run.members.clear()
        self.training.best_member = None

    def give_up(self) -> None:
        """Stop after having been set aside, with the rounds that are finished; ``finish`` may still go on."""
        self.abandoned, self.aside = self.aside, ""

    def conclude(self) -> WorstClassBooster:
        """Return the booster, fitted with what was run."""
        self.run.on_epoch_end = None
        self.booster._conclude(self.run)
        if self.booster.n_members_used_ != self._n_used:
            self.booster.n_members_used_ = self._n_used
            self.booster._report()
        return self.booster

    @property
    def request(self) -> Request | None:
        """The next round, where others may share it: one of the T rounds, of a learner that forgets rounds before."""
        run = self.run
        if not self.training.forgets or self.n_rounds >= run.plan.n_rounds or run.meter.max_seconds is not None:
            return None
        w, watch, totals = self._hedge.weights, self._new_watch(), run.labels.totals
        meter = Meter(run.meter.max_epochs)
        meter.epochs = run.meter.epochs
        if run.members and meter.spent:
            return None

        def look(_: int, judged: Judged) -> None:
            watch.stuck(judged.edge, tuple((1 - judged.correct / totals).tolist()))

        quota, needed = run.floors.member_quota(totals), run.plan.needed_edge
        judge = Judge(run.labels, edge_under(w), quota, needed, run.max_epochs, run.patience, meter, look)
        return Request(self.training, run.row_weight(w), run.seeds.seed(1, run.next_round), judge, watch)

    @property
    def n_rounds(self) -> int:
        """Rounds finished so far."""
        return len(self.run.history)

    @property
    def epochs(self) -> int:
        """Passes that a fit of its own would have made so far, those of a round that was dropped included."""
        return self.run.meter.epochs + self.lost_passes

    @property
    def rank(self) -> tuple[float, float, bool, float]:
        """Order candidates: by the error that chooses, by the other, floors met before missed, the larger theta."""
        return *self.errors, not self.bound_met, -self.theta

    @property
    def standard_error(self) -> float:
        """Binomial standard error of the error that chooses; on a rate of 0 or 1 as if half a row were otherwise."""
        counts = self.validation
        if counts is None:
            return np.inf
        worst = self.booster.select_on == "worst"
        n = int(counts.total[counts.worst_class] if worst else counts.total.sum())
        rate = min(max(self.errors[0], 0.5 / n), 1 - 0.5 / n)
        return float(np.sqrt(rate * (1 - rate) / n))

    @property
    def record(self) -> CandidateRecord:
        """What became of it so far."""
        counts = self.validation
        return CandidateRecord(
            theta=self.theta,
            status=self._status,
            rounds=self.n_rounds,
            planned_rounds=self.run.plan.n_rounds,
            epochs=self.epochs,
            seconds=self.run.meter.seconds + self._lost_seconds + self.training.seconds,
            worst_error=None if counts is None else counts.worst_error,
            plain_error=None if counts is None else counts.plain_error,
            worst_class=None if counts is None else str(self.run.labels.classes.tolist()[counts.worst_class]),
            members_used=self._n_used,
            bound_met=self.bound_met,
            why=self._why,
        )

    @property
    def _status(self) -> str:
        if self.abandoned:
            return ABANDONED
        if not self.ended:
            return RUNNING
        return FEASIBLE if self.feasible else INFEASIBLE

    @property
    def _why(self) -> str:
        unmet = self.booster.unmet_edge_
        if self.abandoned or self.aside or not self.ended or unmet is None:
            return self.abandoned or self.aside
        cause = BUDGET_SPENT if unmet.budget_spent else "its edge was out of reach"
        return f"ended in round {unmet.round}: {cause}"

    def _note(self, record: RoundRecord) -> None:
        """Take a finished round into account: the best prefix is the one of the least error, the longest of equals."""
        met = meets(record, self.run.floors)
        self.feasible = self.feasible or met
        counts = ClassCounts(np.array(record.vote_val_correct), np.array(record.val_totals))
        rank = self._floors_first and not met, SELECTION[self.booster.select_on](counts)
        if self._n_used == 0 or rank <= (self._floors_first and not self.bound_met, self.errors[0]):
            self._n_used, self.bound_met = record.round, met
            self._score(counts)

    def _score(self, counts: ClassCounts) -> None:
        other = next(name for name in SELECTION if name != self.booster.select_on)
        self.validation = counts
        self.errors = SELECTION[self.booster.select_on](counts), SELECTION[other](counts)

    def _new_watch(self) -> Watch:
        return Watch(self.run.plan.theta, self._after)

    def _on_pass(self, info: EpochInfo) -> None:
        if info.epoch == 1:
            self._watch = self._new_watch()
        if info.phase == "boost" and self._watch.stuck(info.edge, info.member_errors):
            raise _StuckError

    def _set_stuck_round_aside(self, passes_before: int, seconds_before: float) -> None:
        meter = self.run.meter
        lost = meter.epochs - passes_before
        self.lost_passes += lost
        self._lost_seconds += meter.seconds - seconds_before
        meter.set_back(passes_before, seconds_before)
        self.stuck = True
        self.aside = f"round {self.run.next_round} was stuck after {lost} epochs"
        member, validation = self.training.best_member, self.run.validation
        if not self.run.members and member is not None and validation is not None:
            inputs, labels = validation
            correct = count_correct(labels.index, member.predict(inputs), labels.n_classes)
            self._score(ClassCounts(correct, labels.totals))


class _StuckError(Exception):
    """Leaves a round that gets nowhere; it never leaves this module."""
