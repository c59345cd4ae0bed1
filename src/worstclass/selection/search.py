"""Fits at several thetas, and which to choose: the best, the largest feasible one, or the nearest to a goal."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import clone

from worstclass._checks import check_share
from worstclass._state import Checkpoint
from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.history import RoundRecord, best_prefix
from worstclass.exceptions import ModuleError, ParameterError, WorstClassWarning
from worstclass.selection.records import SPENT, CandidateRecord, FeasibleFloors

Theta = float | Mapping[Any, float]
#: X, y, X_val, y_val
Data = tuple[Any, Any, Any, Any]


@dataclass
class ThetaSearch:
    """The fits of one search, and what it found so far, which is kept if the user interrupts it.

    ``floors_first`` prefers votes that meet every floor to votes that validate better. ``records`` are in the order of
    the fits. ``best`` is None before a fit has finished a round, ``nearest`` unless a goal was missed.
    """

    booster: WorstClassBooster
    data: Data
    floors_first: bool
    n_jobs: int | None
    progress: Callable[[CandidateRecord], None] | None
    checkpoint: Checkpoint
    records: list[CandidateRecord] = field(default_factory=list)
    best: WorstClassBooster | None = None
    nearest: FeasibleFloors | None = None

    def compare(self, thetas: Iterable[float]) -> None:
        """Fit at every theta, the largest first, since it costs most; the least error is the best."""
        for booster in self._fits(sorted(thetas, reverse=True)):
            self.best = booster if self.best is None else min(self.best, booster, key=_rank)

    def bisect(self, step: Fraction) -> None:
        """Find the largest theta that is feasible and does not cost validation error."""
        low, high, least = 0, math.ceil(1 / step), None
        while high - low > 1:
            middle, accepted = (low + high) // 2, False
            for booster in self._fits([float(middle * step)]):
                if booster.bound_met_:
                    least = booster if least is None else min(least, booster, key=_rank)
                    accepted = _rank(booster)[0] <= _error_limit(least)
                if accepted or least is None:
                    self.best = booster
            low, high = (middle, high) if accepted else (low, middle)

    def meet(self, goal: Theta, step: Fraction) -> None:
        """Fit at a goal; if it is missed, once more at the nearest floors that this fit meets.

        If a class has no correct row, the second fit is at half of the floors asked for.
        """
        for booster in self._fits([goal]):
            self.best = booster
        if self.best is None or self.best.bound_met_:
            return
        first, self.nearest = self.best, _nearest_floors([self.best], step)
        half = {label: float(Fraction(str(floor)) / 2 // step * step) for label, floor in self.nearest.asked.items()}
        second = self._fits([half if self.nearest.booster is None else self.nearest.floors])
        self.nearest = _nearest_floors([first, *second], step)
        self.best = self.nearest.booster or first

    def _fits(self, thetas: Sequence[Theta]) -> Iterator[WorstClassBooster]:
        """Fit a clone at every theta, in parallel if asked for; record each, and yield in order those with members."""
        n_workers = min(effective_n_jobs(self.n_jobs), len(thetas))
        if getattr(get_active_backend()[0], "supports_sharedmem", False):
            n_workers = 1  # threads would share the global generators, from which torch and scikit-learn draw
        run = Parallel(n_workers, return_as="generator")
        for fitted, record in run(map(self._task, thetas)):  # made one by one, so that no clone is kept
            self.records.append(record)
            if record.rounds:
                yield fitted
            if record.status == "interrupted":
                raise KeyboardInterrupt
            if self.progress is not None:
                self.progress(record)

    def _task(self, theta: Theta) -> Any:
        """Prepare a fit; its part of the checkpoint is found by theta."""
        name = f"theta-{blake2b(repr(theta).encode(), digest_size=6).hexdigest()}"
        same = clone(self.booster.set_params(theta=theta))
        return delayed(_fit)(same, self.data, self.floors_first, self.checkpoint.child(name))


def _fit(
    booster: WorstClassBooster, data: Data, floors_first: bool, checkpoint: Checkpoint
) -> tuple[WorstClassBooster, CandidateRecord]:
    """Fit a booster, in this process or in a worker; one that fails or is interrupted is returned, too."""
    started, status, why = time.perf_counter(), "", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)  # the record says what was missed
        try:
            booster.fit(*data, checkpoint=checkpoint)
        except ModuleError as error:
            status, why = "failed", str(error)
        except KeyboardInterrupt:
            status = "interrupted"
    seconds = time.perf_counter() - started
    if not hasattr(booster, "estimators_"):
        return booster, CandidateRecord(booster.theta, status, seconds, why)
    meeting = _prefix_meeting_floors(booster)
    if floors_first and meeting is not None:
        booster.n_members_used_ = meeting
        booster._report()
    report: Any = booster.validation_report_
    unmet = booster.unmet_edge_
    if unmet is not None:
        why = f"ended in round {unmet.round}: {SPENT if unmet.budget_spent else 'its edge was out of reach'}"
    return booster, CandidateRecord(
        theta=booster.theta,
        status=status or ("infeasible" if meeting is None else "feasible"),
        seconds=seconds,
        why=why,
        rounds=len(booster.estimators_),
        planned_rounds=booster.n_rounds_,
        epochs=booster.n_epochs_,
        worst_error=report.worst_error,
        plain_error=report.plain_error,
        bound_met=booster.bound_met_,
    )


def _rank(booster: Any) -> tuple[float, float, bool, float]:
    """Order fits: least error, least other error, floors met before floors missed, larger theta."""
    counts = booster.validation_report_.counts
    worst, plain = counts.worst_error, counts.plain_error
    error, other = (worst, plain) if booster.select_on == "worst" else (plain, worst)
    return error, other, not booster.bound_met_, -booster.theta


def _error_limit(booster: Any) -> float:
    """One standard error above the error that chooses; the standard error of 0 or 1 is that of half a row."""
    counts, error = booster.validation_report_.counts, _rank(booster)[0]
    n = counts.total[counts.worst_class] if booster.select_on == "worst" else counts.total.sum()
    rate = min(max(error, 0.5 / n), 1 - 0.5 / n)
    return error + math.sqrt(rate * (1 - rate) / n)


def nearest_feasible_floors(fitted: Any, *, resolution: float = 0.01) -> FeasibleFloors:
    """Find the classes that block the floors of a booster, by how much, and feasible floors near those asked for.

    They are the floors that its vote after some round meets, by exact counts on the training rows. Only the floors of
    the blocking classes are lowered. ``fitted`` is not changed. ``select_theta(..., way="goal")`` also fits there anew.

    Parameters
    ----------
    fitted : a fitted booster, or a ``ThetaSelection``, which carries one.
    resolution : floors are lowered to multiples of it.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = WorstClassBooster(DecisionTreeClassifier(max_depth=2), theta=0.7, gamma=0.1, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # the floor is missed
    ...     booster = booster.fit(X[:, :1], y)
    >>> nearest = nearest_feasible_floors(booster, resolution=0.05)
    >>> nearest.blocking, nearest.floors, nearest.booster.bound_met_
    ([1], {0: 0.7, 1: 0.45, 2: 0.7}, True)
    """
    owner, booster = "nearest_feasible_floors", getattr(fitted, "booster", fitted)
    if not isinstance(booster, WorstClassBooster) or not hasattr(booster, "estimators_"):
        allowed = "a fitted WorstClassBooster, or a ThetaSelection, which carries one"
        raise ParameterError("fitted", owner, allowed=allowed, got=fitted)
    check_share(resolution, "resolution", owner)
    return _nearest_floors([booster], Fraction(str(resolution)))


def _nearest_floors(boosters: Sequence[WorstClassBooster], step: Fraction) -> FeasibleFloors:
    """Find the floors nearest to those of the first booster that the vote of one of them meets after some round.

    A class that misses its floor gets the largest multiple of ``step`` that it meets; 0 if it has no correct row.
    """
    labels, last = boosters[0].classes_.tolist(), boosters[0].history_[-1]
    asked = boosters[0]._floors(boosters[0].classes_)

    def met(record: RoundRecord) -> list[Fraction]:
        reached = map(Fraction, record.vote_correct, record.class_totals)
        return [
            floor if share > floor else max(Fraction(0), (math.ceil(share / step) - 1) * step)
            for share, floor in zip(reached, asked.theta, strict=True)
        ]

    def by_class(values: Iterable[Any]) -> dict[Any, Any]:
        return dict(zip(labels, values, strict=True))

    votes = [(booster, record) for booster in boosters for record in booster.history_]
    booster, record = min(votes, key=lambda vote: (vote[1].vote_correct.count(0), -sum(met(vote[1]))))
    floors, meeting = by_class(map(float, met(record))), None
    if all(record.vote_correct):
        meeting = copy.copy(booster)
        meeting.theta = floors
        meeting.n_members_used_ = _prefix_meeting_floors(meeting) or record.round
        meeting._report()
    short = np.maximum(asked.vote_quota(last.class_totals) - last.vote_correct, 0)
    accuracy = by_class(np.divide(last.vote_correct, last.class_totals).tolist())
    return FeasibleFloors(by_class(asked.as_floats()), floors, accuracy, by_class(short.tolist()), meeting)


def _prefix_meeting_floors(booster: WorstClassBooster) -> int | None:
    """Return how many members, counted from the first, meet every floor on the training rows; None if no vote does.

    Of several votes it is the one with the least validation error, the longest of equals.
    """
    quota = booster._floors(booster.classes_).vote_quota(booster.history_[0].class_totals)
    meeting = [record for record in booster.history_ if (np.array(record.vote_correct) >= quota).all()]
    return meeting[best_prefix(meeting, booster.select_on) - 1].round if meeting else None
