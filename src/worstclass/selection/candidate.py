"""One theta, and how far its fit has come: rounds are run one at a time, and it may wait between two of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from worstclass.boosting.booster import WorstClassBooster, edge_under
from worstclass.boosting.callbacks import PassInfo
from worstclass.boosting.hedge import Hedge
from worstclass.boosting.outcome import best_prefix
from worstclass.boosting.rounds import Judge, Judged
from worstclass.exceptions import WorstClassWarning
from worstclass.learners.budget import Meter
from worstclass.metrics import SELECTION, ClassCounts, count_correct
from worstclass.selection.rows import Rows
from worstclass.selection.shared import CountedTraining, Request, Work
from worstclass.selection.watch import Watch, resolve_after

Theta = float | Mapping[Any, float]

FEASIBLE, INFEASIBLE, ABANDONED, RUNNING = "feasible", "infeasible", "abandoned", "running"


@dataclass(frozen=True)
class CandidateRecord:
    """What became of one theta.

    Attributes
    ----------
    theta : the floor, or the floors by class.
    status : ``"feasible"``: its fit ran to its end, and the vote of all its members meets every floor on the training
        rows, by exact counts. ``"infeasible"``: it ran to its end, and the vote misses a floor. ``"abandoned"``: it was
        stopped before; what is said of it holds for the rounds it had. ``"running"`` while the search goes on.
    rounds, planned_rounds : members, and T; more than T where rounds were added, fewer where it ended early.
    passes : over the training sample, as a fit of its own would have counted them up to here. Fewer were made where
        candidates shared them.
    seconds : time spent on it; that of shared passes is counted for the largest theta that shared them.
    worst_error, plain_error : on the validation rows, of the prefix that is best for ``select_on`` so far; None before
        the first member.
    worst_class : the class of ``worst_error``.
    members_used : length of that prefix.
    bound_met : whether that prefix meets every floor on the training rows.
    why : why it ended early or was abandoned; empty where it did not.
    """

    theta: Any
    status: str
    rounds: int
    planned_rounds: int
    passes: int
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
    rows : what trains, and what chooses.
    work : counts passes, for all candidates together.
    hopeless_after : as of ``select_theta``.
    """

    def __init__(self, booster: WorstClassBooster, rows: Rows, work: Work, hopeless_after: int | str | None) -> None:
        self.booster = booster
        self.theta: Any = booster.theta
        self.run = booster._begin(rows.X, rows.y, rows.X_val, rows.y_val)
        self.training = CountedTraining(self.run.training, work)
        self.run.training = self.training
        self.run.on_pass = self._on_pass
        self.aside = ""
        self.abandoned = ""
        self.ended = False
        self._after = resolve_after(hopeless_after, self.run.patience)
        self._watch = self._new_watch()
        self._rounds = booster._rounds(self.run)
        self._interrupted = False
        self._hedge = Hedge.start(self.run.labels.n_classes)
        self._first: ClassCounts | None = None
        self._lost_passes = 0
        self._seconds = 0.0

    def advance(self) -> None:
        """Run the next round, or find that there is none; a round that is stuck is dropped, and sets this aside."""
        before, started = self.run.meter.passes, time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WorstClassWarning)  # the record tells of what was missed
                record = next(self._rounds, None)
        except _StuckError:
            self._set_stuck_round_aside(before)
            return
        finally:
            self._seconds += time.perf_counter() - started
        if record is None:
            self.ended = True
        elif record.phase == "boost":
            self._hedge = self._hedge.update(np.array(record.feedback, dtype=np.bool_), self.run.plan.eta)

    def finish(self) -> None:
        """Run all rounds that are left, with the booster's own patience."""
        self.resume()
        while not self.ended:
            self.advance()

    def resume(self) -> None:
        """Go on after having been set aside; a round that was dropped starts again, and is not called stuck any more."""
        self.aside, self._after = "", None
        if self._interrupted:
            self._rounds, self._interrupted = self.booster._rounds(self.run), False

    def abandon(self, why: str) -> None:
        """Stop for good, and let go of the members."""
        self.abandoned, self.aside = why, ""
        self.run.members.clear()
        self.training.best_member = None

    def conclude(self) -> WorstClassBooster:
        """Return the booster, fitted with what was run."""
        self.run.on_pass = None
        self.booster._conclude(self.run)
        return self.booster

    @property
    def request(self) -> Request | None:
        """The next round, where others may share it: one of the T rounds, of a learner that forgets rounds before."""
        run = self.run
        if not self.training.shareable or self.n_rounds >= run.plan.n_rounds or run.meter.max_seconds is not None:
            return None
        w, watch, totals = self._hedge.weights, self._new_watch(), run.labels.totals
        meter = Meter(run.meter.max_passes)
        meter.passes = run.meter.passes
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
    def passes(self) -> int:
        """Passes that a fit of its own would have made so far, those of a round that was dropped included."""
        return self.run.meter.passes + self._lost_passes

    @property
    def lost_passes(self) -> int:
        """Passes of rounds that were dropped."""
        return self._lost_passes

    @property
    def feasible(self) -> bool:
        """Whether the vote of all members so far meets every floor on the training rows."""
        return self._meets(self.n_rounds)

    @property
    def validation(self) -> ClassCounts | None:
        """Validation counts of the best prefix so far, or of a first member whose round was dropped."""
        if not self.run.history:
            return self._first
        record = self.run.history[best_prefix(self.run.history, self.booster.select_on) - 1]
        return ClassCounts(np.array(record.vote_val_correct), np.array(record.val_totals))

    @property
    def errors(self) -> tuple[float, float]:
        """The validation error that chooses, and the other; infinite before there is one."""
        counts = self.validation
        if counts is None:
            return np.inf, np.inf
        other = next(name for name in SELECTION if name != self.booster.select_on)
        return SELECTION[self.booster.select_on](counts), SELECTION[other](counts)

    @property
    def rank(self) -> tuple[float, float, bool, float]:
        """Order candidates: by the error that chooses, by the other, the feasible before others, the larger theta."""
        return *self.errors, not self.feasible, -self.theta

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
        counts, history = self.validation, self.run.history
        used = best_prefix(history, self.booster.select_on) if history else 0
        return CandidateRecord(
            theta=self.theta,
            status=self._status,
            rounds=self.n_rounds,
            planned_rounds=self.run.plan.n_rounds,
            passes=self.passes,
            seconds=self._seconds + self.training.seconds,
            worst_error=None if counts is None else counts.worst_error,
            plain_error=None if counts is None else counts.plain_error,
            worst_class=None if counts is None else str(self.run.labels.classes.tolist()[counts.worst_class]),
            members_used=used,
            bound_met=self._meets(used),
            why=self._why,
        )

    def _meets(self, n_members: int) -> bool:
        if not n_members:
            return False
        quota = self.run.floors.vote_quota(self.run.labels.totals)
        return bool((np.array(self.run.history[n_members - 1].vote_correct) >= quota).all())

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
        cause = "the budget was spent" if unmet.budget_spent else "its edge was out of reach"
        return f"ended in round {unmet.round}: {cause}"

    def _new_watch(self) -> Watch:
        return Watch(self.run.plan.theta, self._after)

    def _on_pass(self, info: PassInfo) -> None:
        if info.epoch == 1:
            self._watch = self._new_watch()
        if info.phase == "boost" and self._watch.stuck(info.edge, info.member_errors):
            raise _StuckError

    def _set_stuck_round_aside(self, passes_before: int) -> None:
        lost = self.run.meter.passes - passes_before
        self.run.meter.passes = passes_before
        self._lost_passes += lost
        self._interrupted = True
        self.aside = f"round {self.run.next_round} was stuck after {lost} passes"
        member, validation = self.training.best_member, self.run.validation
        if not self.run.members and member is not None and validation is not None:
            inputs, labels = validation
            correct = count_correct(labels.index, member.predict(inputs), labels.n_classes)
            self._first = ClassCounts(correct, labels.totals)


class _StuckError(Exception):
    """Leaves a round that gets nowhere; it never leaves this module."""
