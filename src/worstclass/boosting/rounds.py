"""One round, and the state that rounds leave behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.boosting.callbacks import EpochInfo, FitPlan
from worstclass.boosting.hedge import Hedge, regret_bound
from worstclass.boosting.history import RoundRecord
from worstclass.boosting.vote import VoteTally
from worstclass.data.labels import Labels
from worstclass.floors import Floors
from worstclass.learners.base import Epoch, Inputs, Member, Trained, Training, Verdict
from worstclass.learners.budget import Meter
from worstclass.metrics import count_correct
from worstclass.randomness import SeedTree

#: the edge of a member, from its answers on the training rows and the classes whose floor it meets
EdgeOf = Callable[[IntArray, BoolArray], float]

#: sample_weight of a row of each class, from the class weights and the class sizes
WEIGHTINGS: dict[str, Callable[[FloatArray, IntArray], FloatArray]] = {
    "per-class-mean": lambda weight, totals: weight / totals,
    "per-instance": lambda weight, totals: weight,
}


@dataclass(frozen=True, eq=False)
class Mending:
    """What the member of an added round is to mend: rows that the vote loses, by the class that needs them."""

    lost: dict[int, IntArray]
    enough: float

    def share(self, predictions: IntArray) -> float:
        """Return the share of the lost rows that some answers have right, each class counting alike."""
        shares = [float((predictions[rows] == k).mean()) for k, rows in self.lost.items() if len(rows)]
        return sum(shares) / len(shares) if shares else 1.0


@dataclass(frozen=True, eq=False)
class Judged:
    """A pass, judged: right answers and floors met by class, the edge, and the share of what is to be mended."""

    correct: IntArray
    met: BoolArray
    edge: float
    nearness: float
    mended: float = 1.0


class Judge:
    """Says after each epoch whether the member is good enough, is still getting better, or is stuck.

    Good enough: it reaches the edge and, in an added round, mends enough. Once the edge is reached, mending has a tenth
    of ``patience`` left.
    """

    def __init__(
        self,
        labels: Labels,
        edge_of: EdgeOf,
        quota: IntArray,
        needed_edge: float,
        max_epochs: int,
        patience: int,
        meter: Meter,
        on_epoch_end: Callable[[int, Judged], None] | None,
        mending: Mending | None = None,
    ) -> None:
        self._labels = labels
        self._edge_of = edge_of
        self._quota = quota
        self._needed_edge = needed_edge
        self._max_epochs = max_epochs
        self._patience = patience
        self._meter = meter
        self._on_pass = on_epoch_end
        self._mending = mending
        self._epoch = 0
        self._since_progress = 0
        self._since_reached = 0
        self.best: Judged | None = None

    def __call__(self, done: Epoch) -> Verdict:
        """Judge the answers after one epoch."""
        judged = self._look(done.predictions)
        self._epoch += 1
        self._meter.count()
        if self._on_pass is not None:
            self._on_pass(self._epoch, judged)
        progress = self.best is None or judged.edge > self.best.edge
        better = self.best is None or self._rank(judged) > self._rank(self.best)
        self._since_progress = 0 if progress else self._since_progress + 1
        if better:
            self.best = judged
        self._since_reached += self.reached
        if self._good_enough or self._over:
            return Verdict.DONE if better else Verdict.GIVE_UP
        return Verdict.KEEP if better else Verdict.GO_ON

    @property
    def reached(self) -> bool:
        """Whether the best epoch reaches the edge."""
        return self.best is not None and self.best.edge >= self._needed_edge

    @property
    def _good_enough(self) -> bool:
        assert self.best is not None
        return self.reached and (self._mending is None or self.best.mended >= self._mending.enough)

    @property
    def _over(self) -> bool:
        if self._epoch >= self._max_epochs or self._meter.spent:
            return True
        return self._since_reached >= self._patience / 10 if self.reached else self._since_progress >= self._patience

    def _rank(self, judged: Judged) -> tuple[float, float, float, float]:
        """Order epochs: by the edge as far as it is needed, then by what is mended, then by nearness to the floors."""
        return min(judged.edge, self._needed_edge), judged.mended, judged.edge, judged.nearness

    def _look(self, predictions: IntArray) -> Judged:
        correct = count_correct(self._labels.index, predictions, self._labels.n_classes)
        met = correct >= self._quota
        nearness = float((np.minimum(correct, self._quota) / np.maximum(self._quota, 1)).sum())
        mended = 1.0 if self._mending is None else self._mending.share(predictions)
        return Judged(correct, met, self._edge_of(predictions, met), nearness, mended)


@dataclass(frozen=True, eq=False)
class RoundResult:
    """A trained member with its judgement, and whether it reached what was demanded."""

    trained: Trained
    judged: Judged
    reached: bool
    seconds: float


class BoostingRun:
    """The state of a fit: the members, their votes, and the history."""

    def __init__(
        self,
        *,
        training: Training,
        labels: Labels,
        floors: Floors,
        plan: FitPlan,
        weighting: str,
        max_epochs: int,
        patience: int,
        seeds: SeedTree,
        meter: Meter,
        validation: tuple[Inputs, Labels] | None,
        on_epoch_end: Callable[[EpochInfo], None] | None,
    ) -> None:
        self.training = training
        self.labels = labels
        self.floors = floors
        self.plan = plan
        self.weighting = weighting
        self.max_epochs = max_epochs
        self.patience = patience
        self.seeds = seeds
        self.meter = meter
        self.validation = validation
        self.on_epoch_end = on_epoch_end
        self.members: list[Member] = []
        self.history: list[RoundRecord] = []
        self.tally = VoteTally(len(labels.index), labels.n_classes)
        self.val_tally = None if validation is None else VoteTally(len(validation[0]), labels.n_classes)

    @property
    def next_round(self) -> int:
        """Number of the round to come."""
        return len(self.members) + 1

    def weak_learn(
        self, edge_of: EdgeOf, row_weight: FloatArray, phase: str, mending: Mending | None = None
    ) -> RoundResult:
        """Train one member on weighted rows until its edge is reached, or cannot be."""
        number = self.next_round
        totals = self.labels.totals

        def report(epoch: int, judged: Judged) -> None:
            errors = tuple((1 - judged.correct / totals).tolist())
            assert self.on_epoch_end is not None
            self.on_epoch_end(EpochInfo(number, phase, epoch, judged.edge, errors))

        judge = Judge(
            self.labels,
            edge_of,
            self.floors.member_quota(totals),
            self.plan.needed_edge,
            self.max_epochs,
            self.patience,
            self.meter,
            None if self.on_epoch_end is None else report,
            mending,
        )
        started = time.perf_counter()
        trained = self.training.train(row_weight, judge, self.seeds.seed(1, number))
        assert judge.best is not None
        return RoundResult(trained, judge.best, judge.reached, time.perf_counter() - started)

    def enlist(
        self, result: RoundResult, class_weight: FloatArray, phase: str, hedge: Hedge | None = None
    ) -> RoundRecord:
        """Let the member join the vote, and write the round down; ``hedge`` is its state where the round is Hedge's."""
        validation_counts = self._validation_counts(result.trained.member)
        self.members.append(result.trained.member)
        self.tally.add(result.trained.predictions)
        bound = None if hedge is None else regret_bound(len(self.members), self.plan.eta, hedge.n_experts)
        record = RoundRecord(
            round=len(self.members),
            phase=phase,
            class_weight=tuple(class_weight.tolist()),
            member_correct=tuple(result.judged.correct.tolist()),
            feedback=tuple(result.judged.met.astype(int).tolist()),
            edge=result.judged.edge,
            epochs=result.trained.epochs,
            seconds=result.seconds,
            class_totals=tuple(self.labels.totals.tolist()),
            vote_correct=tuple(self.vote_correct.tolist()),
            **validation_counts,
            regret=None if hedge is None else hedge.regret,
            regret_bound=bound,
        )
        self.history.append(record)
        return record

    @property
    def vote_correct(self) -> IntArray:
        """Training rows that the vote has right, by class."""
        return count_correct(self.labels.index, self.tally.winners, self.labels.n_classes)

    @property
    def shortfall(self) -> IntArray:
        """How many more rows of each class the vote must have right to meet the bound; 0 or less where it does."""
        return self.floors.vote_quota(self.labels.totals) - self.vote_correct

    def _validation_counts(self, member: Member) -> dict[str, tuple[int, ...]]:
        if self.validation is None or self.val_tally is None:
            return {}
        inputs, labels = self.validation
        self.val_tally.add(member.predict(inputs))
        correct = count_correct(labels.index, self.val_tally.winners, labels.n_classes)
        return {"val_totals": tuple(labels.totals.tolist()), "vote_val_correct": tuple(correct.tolist())}

    def row_weight(self, class_weight: FloatArray) -> FloatArray:
        """Return the weight of each training row, of mean 1."""
        weight = WEIGHTINGS[self.weighting](class_weight, self.labels.totals)[self.labels.index]
        return np.asarray(weight / weight.mean(), dtype=np.float64)
