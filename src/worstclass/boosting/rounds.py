"""One round of boosting, and the run that the rounds add to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from worstclass._state import KEEPS_NOTHING, Checkpoint
from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.boosting.callbacks import EpochInfo, FitPlan
from worstclass.boosting.hedge import Hedge, edge, regret_bound
from worstclass.boosting.history import RoundRecord, UnmetEdge
from worstclass.boosting.vote import VoteTally
from worstclass.data.labels import Labels
from worstclass.exceptions import BudgetSpentWarning, ModuleError, UnmetEdgeWarning
from worstclass.floors import Floors
from worstclass.learners.base import Epoch, Inputs, Member, Trained, Training, Verdict
from worstclass.learners.budget import Meter
from worstclass.metrics import Shortfall, count_correct
from worstclass.randomness import SeedTree

#: a number that says what a member is worth, from its answers on the training rows
ScoreOf = Callable[[IntArray], float]
#: the share with which an added round is content
ENOUGH = 0.8


@dataclass(frozen=True, eq=False)
class EpochScore:
    """What a member is worth after one epoch.

    Attributes
    ----------
    correct : training rows that it has right, by class.
    feedback : r, whether it meets the floor of each class.
    edge : w . r.
    nearness : how near the classes are to their floors, to order epochs of the same edge.
    mended : share of the rows to mend that it has right.
    """

    correct: IntArray
    feedback: BoolArray
    edge: float
    nearness: float
    mended: float


@dataclass(eq=False)
class Round:
    """One round: it judges the member after each epoch, and in the end holds it with the score of its best epoch.

    Good enough: the member reaches the edge and, in an added round, mends enough. Once the edge is reached, mending has
    a tenth of ``patience`` left.

    Attributes
    ----------
    class_weight : w, the class weights of the round.
    phase : as in ``RoundRecord``.
    edge_of : the edge of a member; None for w . r, r saying which classes meet their floors.
    mended_of : in an added round, the share of the rows to mend that a member has right.
    best : the score of the best epoch.
    trained : the member at that epoch.
    seconds : time that the round took.
    """

    run: BoostingRun
    class_weight: FloatArray
    phase: str = "boost"
    edge_of: ScoreOf | None = None
    mended_of: ScoreOf | None = None
    best: EpochScore = field(init=False)
    trained: Trained = field(init=False)
    seconds: float = field(default=0.0, init=False)
    _started: float = field(default=0.0, init=False)
    _epoch: int = field(default=0, init=False)
    _since_progress: int = field(default=0, init=False)
    _since_reached: int = field(default=0, init=False)

    def train(self, row_weight: FloatArray) -> None:
        """Train the member on weighted rows until the round is content, or over."""
        run, number = self.run, self.run.next_round
        self._started, seed = time.perf_counter(), run.seeds.seed(1, number)
        repeats = run.training.repeats and self.mended_of is None and run.meter.max_epochs is None
        same = run.rounds_by_weight.setdefault(row_weight.tobytes(), self) if repeats else self
        if same is self:
            self.trained = run.training.train(row_weight, self, seed, run.checkpoint, f"round-{number:04d}")
        else:  # training would give the member of that round again, bit by bit
            self.best, self.trained = same.best, same.trained
            run.meter.credit(same.trained.epochs, 0.0)
        self.seconds += time.perf_counter() - self._started

    def state(self) -> dict[str, Any]:
        """Return what the round remembers of its epochs."""
        counts = self._epoch, self._since_progress, self._since_reached
        return {"best": self.best, "counts": counts, "seconds": self.seconds + time.perf_counter() - self._started}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Remember what the same round of an earlier run did."""
        self.best, self.seconds = state["best"], state["seconds"]
        self._epoch, self._since_progress, self._since_reached = state["counts"]
        self.run.meter.credit(self._epoch, self.seconds)

    def __call__(self, done: Epoch) -> Verdict:
        """Say after an epoch whether the member is good enough, is still improving, or is stuck."""
        found = self._look(done.predictions)
        self._epoch += 1
        self.run.meter.count()
        errors = tuple((1 - found.correct / self.run.labels.totals).tolist())
        self.run.tell("on_epoch_end", EpochInfo(self.run.next_round, self.phase, self._epoch, found.edge, errors))
        first = self._epoch == 1
        self._since_progress = 0 if first or found.edge > self.best.edge else self._since_progress + 1
        better = first or self._rank(found) > self._rank(self.best)
        if better:
            self.best = found
        self._since_reached += self.reached
        if (self.reached and self.best.mended >= ENOUGH) or self._over:
            return Verdict.DONE if better else Verdict.GIVE_UP
        return Verdict.KEEP if better else Verdict.GO_ON

    @property
    def reached(self) -> bool:
        """Whether the best epoch reaches the edge."""
        return self.best.edge >= self.run.plan.needed_edge

    @property
    def feedback(self) -> BoolArray:
        """r, whether the member meets the floor of each class."""
        return self.best.feedback

    @property
    def _over(self) -> bool:
        run = self.run
        if self._epoch >= run.max_epochs_per_round or run.meter.spent:
            return True
        return self._since_reached >= run.patience / 10 if self.reached else self._since_progress >= run.patience

    def _rank(self, found: EpochScore) -> tuple[float, float, float, float]:
        """Order epochs: by the edge as far as it is needed, then by the rows mended, then by nearness to the floors."""
        return min(found.edge, self.run.plan.needed_edge), found.mended, found.edge, found.nearness

    def _look(self, predictions: IntArray) -> EpochScore:
        labels, quota = self.run.labels, self.run.member_quota
        correct = count_correct(labels.index, predictions, labels.n_classes)
        feedback = correct >= quota
        nearness = float((np.minimum(correct, quota) / np.maximum(quota, 1)).sum())
        member_edge = edge(self.class_weight, feedback) if self.edge_of is None else self.edge_of(predictions)
        mended = 1.0 if self.mended_of is None else self.mended_of(predictions)
        return EpochScore(correct, feedback, member_edge, nearness, mended)


@dataclass(eq=False)
class BoostingRun:
    """The state of a fit: what is trained on, the members so far, their votes, and the history."""

    training: Training
    labels: Labels
    floors: Floors
    plan: FitPlan
    max_epochs_per_round: int
    patience: int
    seeds: SeedTree
    meter: Meter
    validation: tuple[Inputs, Labels] | None
    tell: Callable[[str, EpochInfo | RoundRecord], None]
    checkpoint: Checkpoint = KEEPS_NOTHING
    members: list[Member] = field(default_factory=list, init=False)
    history: list[RoundRecord] = field(default_factory=list, init=False)
    rounds_by_weight: dict[bytes, Round] = field(default_factory=dict, init=False)
    unmet: UnmetEdge | None = field(default=None, init=False)
    ended_by: Warning | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        n_classes, totals = self.labels.n_classes, self.labels.totals
        self.tally = VoteTally(len(self.labels.index), n_classes)
        self.val_tally = None if self.validation is None else VoteTally(len(self.validation[0]), n_classes)
        self.vote_quota = self.floors.vote_quota(totals)
        # the member of a single round is the vote, so it must meet what the vote must meet
        self.member_quota = self.vote_quota if self.plan.n_rounds == 1 else self.floors.member_quota(totals)

    @property
    def next_round(self) -> int:
        """Number of the round to come."""
        return len(self.members) + 1

    def weak_learn(self, row_weight: FloatArray, class_weight: FloatArray, **options: Any) -> Round | None:
        """Train one member on weighted rows until its edge is reached; ``options`` are those of ``Round``.

        None ends the boosting with the finished rounds: the edge cannot be reached, the budget is spent, or the network
        breaks down.
        """
        h = None
        if not self.members or not self.meter.spent:
            h = Round(self, class_weight, **options)
            try:
                h.train(row_weight)
            except ModuleError:
                if not self.members:
                    raise
                h = None
        if h is None or not h.reached:
            self._end_early(h)
            return None
        return h

    def enlist(self, h: Round, hedge: Hedge | None = None) -> None:
        """Let the member join the vote, and record the round; ``hedge`` is its state where the round is Hedge's."""
        validation = self._validation_counts(h.trained.member)
        t, eta = self.next_round, self.plan.eta
        self.members.append(h.trained.member)
        self.tally.add(h.trained.predictions)
        record = RoundRecord(
            round=t,
            phase=h.phase if h.reached else "unmet",
            class_weight=tuple(h.class_weight.tolist()),
            member_correct=tuple(h.best.correct.tolist()),
            feedback=tuple(h.feedback.astype(int).tolist()),
            edge=h.best.edge,
            epochs=h.trained.epochs,
            seconds=h.seconds,
            class_totals=tuple(self.labels.totals.tolist()),
            vote_correct=tuple(self.vote_correct.tolist()),
            **validation,
            regret=None if hedge is None else hedge.regret,
            regret_bound=None if hedge is None else regret_bound(t, eta, len(hedge.log_weights)),
        )
        self.history.append(record)
        self.tell("on_round_end", record)

    def _end_early(self, h: Round | None) -> None:
        """Record that a round could not reach its edge; keep its member if it is the first.

        ``h`` is None where nothing was trained.
        """
        number, needed, spent = self.next_round, self.plan.needed_edge, self.meter.spent
        self.unmet = unmet = UnmetEdge(number, 0.0, needed, 0, (), bool(spent))
        if h is not None:
            heaviest_first = np.argsort(-h.class_weight, kind="stable")
            blocking = tuple(self._shortfall(int(k), h) for k in heaviest_first if not h.feedback[k])
            self.unmet = unmet = replace(unmet, best_edge=h.best.edge, epochs=h.trained.epochs, blocking=blocking)
            if not self.members:
                self.enlist(h)
        self.ended_by = UnmetEdgeWarning(str(unmet))
        if spent:
            which = f"{number} of {self.plan.n_rounds}" if number <= self.plan.n_rounds else f"{number}, an added one,"
            message = f"The budget of {spent} was spent before round {which} was finished. {unmet.kept}"
            self.ended_by = BudgetSpentWarning(message)

    @property
    def vote_correct(self) -> IntArray:
        """Training rows that the vote has right, by class."""
        return count_correct(self.labels.index, self.tally.winners, self.labels.n_classes)

    @property
    def missed(self) -> BoolArray:
        """Whether the vote misses the bound, by class."""
        return np.asarray(self.vote_correct < self.vote_quota)

    def _shortfall(self, k: int, h: Round) -> Shortfall:
        correct = int(h.best.correct[k])
        label, floor, total = self.labels.classes.tolist()[k], float(self.floors.theta[k]), int(self.labels.totals[k])
        return Shortfall(label, floor, correct, total, rows_short=int(self.member_quota[k]) - correct)

    def _validation_counts(self, member: Member) -> dict[str, tuple[int, ...]]:
        if self.validation is None or self.val_tally is None:
            return {}
        inputs, labels = self.validation
        self.val_tally.add(member.predict(inputs))
        correct = count_correct(labels.index, self.val_tally.winners, labels.n_classes)
        return {"val_totals": tuple(labels.totals.tolist()), "vote_val_correct": tuple(correct.tolist())}
