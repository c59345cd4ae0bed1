"""How a portfolio is trained: every member on every fold, or on what there is time for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joblib import effective_n_jobs

from worstclass._state import Checkpoint
from worstclass._text import n_of
from worstclass.boosting.callbacks import StepInfo
from worstclass.ensembles.combination import seconds_to_combine
from worstclass.ensembles.members import Candidate, HeldOutTask, ends_in_time, estimated_seconds, train_member
from worstclass.ensembles.portfolio import Portfolio, is_network
from worstclass.ensembles.schedule import FIRST_FOLD, Schedule
from worstclass.exceptions import CheckpointError
from worstclass.floors import Floors
from worstclass.learners.sklearn_learner import with_seed
from worstclass.randomness import SeedTree


@dataclass(eq=False)
class PortfolioTraining:
    """A portfolio and the rows to train it on.

    Parameters
    ----------
    portfolio : classifiers by name.
    task : the rows, and the folds.
    floors : accuracy floors, which change how long combining takes.
    schedule : what is trained, and what was left out.
    seeds : of members and folds.
    checkpoint : keeps finished folds.
    n_jobs : folds that are trained in parallel.
    keep_folds : the number of folds is the user's, so that members are left out where time is short.
    tell : called after every member.
    """

    portfolio: Portfolio
    task: HeldOutTask
    floors: Floors | None
    schedule: Schedule
    seeds: SeedTree
    checkpoint: Checkpoint
    n_jobs: int | None
    keep_folds: bool
    tell: Callable[[StepInfo], None]

    def run(self) -> list[Candidate]:
        """Train every member on every fold; with a time limit on the first, then on as many as there is time for."""
        schedule = self.schedule
        if schedule.time_limit is None:
            return self._train(self.task)
        share = FIRST_FOLD * schedule.time_limit / (len(self.portfolio) * schedule.folds)
        shared = {name: share for name, estimator in self.portfolio.items() if ends_in_time(estimator, share)}
        first = self._train(
            self.task.folds(0, 1),
            "first fold",
            lambda name: schedule.allows(name, lambda: shared.get(name) or self._probe(name)),
        )
        if schedule.folds == 1 or schedule.interrupted:
            return first
        notes, failures = list(schedule.notes), list(schedule.failures)
        others: list[Candidate] = []
        try:
            combining = seconds_to_combine([member.probability for member in first], first[0].target, self.floors)
            costs = {member.name: shared.get(member.name, member.seconds) for member in first}
            schedule.plan_folds(costs, combining, effective_n_jobs(self.n_jobs), keep=self.keep_folds)
            if schedule.folds == 1:
                return first
            others = self._train(self.task.folds(1, schedule.folds), n_of(schedule.folds - 1, "more fold"))
        except KeyboardInterrupt:
            schedule.interrupted = True
        if schedule.interrupted:
            schedule.folds, schedule.notes, schedule.failures = 1, notes, failures
            return first
        more = {member.name: member for member in others}
        return [member.with_more(more[member.name]) for member in first if member.name in more]

    def _train(
        self, task: HeldOutTask, part: str = "", allows: Callable[[str], bool] = lambda name: True
    ) -> list[Candidate]:
        """Train every member that is allowed; one that fails is left out, unless all fail."""
        schedule, candidates = self.schedule, list[Candidate]()
        errors: list[Exception] = []
        began = schedule.seconds
        try:
            members = list(schedule.members)
            last_network = max((i for i, name in enumerate(members, 1) if is_network(self.portfolio[name])), default=0)
            for number, name in enumerate(members, start=1):
                if not allows(name):
                    continue
                n_failed = len(errors)
                try:
                    candidates.append(self._member(name, task))
                except CheckpointError:
                    raise
                except Exception as error:  # a classifier of the user can fail in any way
                    errors.append(error)
                    schedule.failed(name, error)
                done, total, seconds = len(candidates), len(schedule.members), schedule.seconds
                left = None if number < last_network else (seconds - began) / number * (total - done)
                shown = f"{name} ({part})" if part else name
                self.tell(StepInfo(shown, done, total, seconds, left, failed=len(errors) > n_failed))
        except KeyboardInterrupt:
            if not candidates:
                raise
            schedule.interrupted = True
        if not candidates:
            raise errors[0]
        return candidates

    def _member(self, name: str, task: HeldOutTask) -> Candidate:
        place = list(self.portfolio).index(name)
        estimator: Any = with_seed(self.portfolio[name], self.seeds.seed(1, place))
        return train_member(name, estimator, task, self.n_jobs, self.checkpoint.child(f"member-{place + 1}"))

    def _probe(self, name: str) -> float:
        """Estimate the seconds of a member's first fold; infinity if there is no time to find out."""
        left, seed = self.schedule.left_to_try, self.seeds.seed(3)
        if left <= 0:
            return math.inf
        try:
            return estimated_seconds(name, with_seed(self.portfolio[name], seed), self.task, seed, left)
        except Exception:  # too few rows for it, perhaps; the first fold will tell
            return 0.0
