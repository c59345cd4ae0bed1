"""The search: plain fits of one booster at several thetas, and what follows from their counts."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import clone

from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.history import RoundRecord
from worstclass.exceptions import ModuleError, WorstClassWarning
from worstclass.floors import Floors
from worstclass.metrics import SELECTION
from worstclass.selection.result import SPENT, CandidateRecord, FeasibleFloors, Theta

#: X, y, X_val, y_val
Data = tuple[Any, Any, Any, Any]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted booster; one without members if its network broke down, or it was interrupted, in the first round."""

    booster: WorstClassBooster
    record: CandidateRecord

    @property
    def errors(self) -> tuple[float, float]:
        """Validation errors: the one that chooses, and the other."""
        errors = self.record.worst_error or 0.0, self.record.plain_error or 0.0
        return errors if self.booster.select_on == "worst" else errors[::-1]

    @property
    def rank(self) -> tuple[float, float, bool, float]:
        """Order fits: least error, least other error, floors met before floors missed, larger theta."""
        return *self.errors, not self.record.bound_met, -self.record.theta

    @property
    def error_limit(self) -> float:
        """One standard error above the error that chooses; the standard error of 0 or 1 is that of half a row."""
        report = self.booster.validation_report_
        assert report is not None  # its first row is that of the worst class
        n = report.rows[0].total if self.booster.select_on == "worst" else sum(row.total for row in report.rows)
        rate = min(max(self.errors[0], 0.5 / n), 1 - 0.5 / n)
        return self.errors[0] + math.sqrt(rate * (1 - rate) / n)


@dataclass(eq=False)
class Search:
    """Fits of one booster on the same rows. ``best`` is what is returned, also after an interruption."""

    booster: WorstClassBooster
    data: Data
    step: Fraction
    floors_first: bool
    n_jobs: int | None = None
    progress: Callable[[CandidateRecord], None] | None = None
    records: list[CandidateRecord] = field(default_factory=list)
    best: Fit | None = None

    def compare(self, thetas: Sequence[float]) -> None:
        """Fit at every theta, the largest first, since it costs most; keep the best."""
        for fit in self.fits(sorted(thetas, reverse=True)):
            if self.best is not None and fit.record.rounds and fit.rank < self.best.rank:
                self.best = fit

    def bisect(self) -> None:
        """Find the largest theta that is feasible and does not cost validation error."""
        low, high, tried = 0, math.ceil(1 / self.step), list[Fit]()
        while high - low > 1:
            middle = (low + high) // 2
            fit = self.fit(float(middle * self.step))
            tried += [fit] if fit.record.rounds else []
            feasible = [other for other in tried if other.record.status == "feasible"]
            limit = min(feasible, key=lambda fit: fit.rank).error_limit if feasible else 0.0
            accepted = [other for other in feasible if other.errors[0] <= limit]
            low, high = (middle, high) if fit in accepted else (low, middle)
            if tried:
                self.best = (max if accepted else min)(accepted or tried, key=lambda fit: fit.record.theta)

    def fit(self, theta: Theta) -> Fit:
        """Fit at one theta."""
        (fit,) = self.fits([theta])
        return fit

    def fits(self, thetas: Sequence[Theta]) -> Iterator[Fit]:
        """Fit at every theta, in parallel if asked for; yield the fits in order."""
        n_workers = min(effective_n_jobs(self.n_jobs), len(thetas))
        if getattr(get_active_backend()[0], "supports_sharedmem", False):
            n_workers = 1  # threads would share the global generators, from which torch and scikit-learn draw
        run = Parallel(n_workers, return_as="generator")
        for fit in run(delayed(_fit)(self._at(theta), self.data, self.floors_first) for theta in thetas):
            fit.booster.callbacks = self.booster.callbacks
            if fit.record.rounds or fit.record.status == "failed":
                self.records.append(fit.record)
            if self.best is None and fit.record.rounds:
                self.best = fit
            yield fit
            if fit.record.status == "interrupted":
                raise KeyboardInterrupt
            if self.progress is not None:
                self.progress(fit.record)

    def _at(self, theta: Theta) -> WorstClassBooster:
        """Return a clone at another theta, which calls no callback."""
        changes = {"theta": theta, "callbacks": None}
        same: WorstClassBooster = clone(type(self.booster)(**{**self.booster.get_params(deep=False), **changes}))
        return same


def _fit(booster: WorstClassBooster, data: Data, floors_first: bool) -> Fit:
    """Fit a booster, in this process or in a worker; a fit that fails or is interrupted is returned, too."""
    started, status, why = time.perf_counter(), "", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)  # the record says what was missed
        try:
            booster.fit(*data)
        except ModuleError as error:
            status, why = "failed", str(error)
        except KeyboardInterrupt:
            status = "interrupted"
    seconds = time.perf_counter() - started
    if not hasattr(booster, "estimators_"):
        return Fit(booster, CandidateRecord(booster.theta, status, seconds, why))
    meeting = _prefix_meeting_floors(booster)
    if floors_first and meeting is not None:
        booster.n_members_used_ = meeting
        booster._report()
    report, unmet = booster.validation_report_, booster.unmet_edge_
    if unmet is not None:
        why = f"ended in round {unmet.round}: {SPENT if unmet.budget_spent else 'its edge was out of reach'}"
    record = CandidateRecord(
        theta=booster.theta,
        status=status or ("infeasible" if meeting is None else "feasible"),
        seconds=seconds,
        why=why,
        rounds=len(booster.estimators_),
        planned_rounds=booster.n_rounds_,
        epochs=booster.n_epochs_,
        worst_error=None if report is None else report.worst_error,
        plain_error=None if report is None else report.plain_error,
        bound_met=booster.bound_met_,
    )
    return Fit(booster, record)


def _prefix_meeting_floors(booster: WorstClassBooster) -> int | None:
    """Return how many members, counted from the first, meet every floor on the training rows; None if no vote does.

    Of several votes it is the one with the least validation error, the longest of equals.
    """

    def rank(record: RoundRecord) -> tuple[float, int]:
        counts = record.validation
        return 0.0 if counts is None else SELECTION[booster.select_on](counts), -record.round

    quota = Floors.from_theta(booster.theta, booster.classes_).vote_quota(booster.history_[0].class_totals)
    meeting = [record for record in booster.history_ if (np.array(record.vote_correct) >= quota).all()]
    return min(meeting, key=rank).round if meeting else None


def nearest_floors(booster: WorstClassBooster, step: Fraction, search: Search | None = None) -> FeasibleFloors:
    """Find feasible floors near those of a booster: the ones that its vote meets, or that of one refit at them.

    If a class has no correct row, the refit is at half of the floors asked for.
    """
    labels, last = booster.classes_.tolist(), booster.history_[-1]

    def by_class(values: Any) -> dict[Any, Any]:
        return dict(zip(labels, values, strict=True))

    asked = Floors.from_theta(booster.theta, labels)
    best = _nearest_met(booster, asked.theta, step)
    if search is not None and best.lowered:
        trial = [floor / 2 // step * step for floor in asked.theta] if best.n_empty else best.floors
        fit = search.fit(by_class(map(float, trial)))
        if fit.record.rounds:
            best = min(best, _nearest_met(fit.booster, asked.theta, step), key=lambda met: met[:2])
    floors, found = by_class(map(float, best.floors)), None
    if not best.n_empty:
        found = copy.copy(best.booster)
        found.theta = floors
        found.n_members_used_ = _prefix_meeting_floors(found) or len(found.history_)
        found._report()
    short = np.maximum(asked.vote_quota(last.class_totals) - np.array(last.vote_correct), 0)
    accuracy = by_class(np.divide(last.vote_correct, last.class_totals).tolist())
    return FeasibleFloors(by_class(asked.as_floats()), floors, accuracy, by_class(short.tolist()), found)


class _Met(NamedTuple):
    """Floors that the vote of a booster meets, the distance from those asked for, and classes with no correct row."""

    n_empty: int
    lowered: Fraction
    floors: tuple[Fraction, ...]
    booster: WorstClassBooster


def _nearest_met(booster: WorstClassBooster, asked: Sequence[Fraction], step: Fraction) -> _Met:
    """Return the floors nearest to those asked for that the vote after some round meets.

    A class that misses its floor gets the largest multiple of ``step`` that it meets; 0 if it has no correct row.
    """

    def floor_met(correct: int, total: int, floor: Fraction) -> Fraction:
        accuracy = Fraction(correct, total)
        return floor if accuracy > floor else max(Fraction(0), (math.ceil(accuracy / step) - 1) * step)

    found = []
    for record in booster.history_:
        floors = tuple(map(floor_met, record.vote_correct, record.class_totals, asked))
        found.append(_Met(record.vote_correct.count(0), sum(asked, -sum(floors, Fraction(0))), floors, booster))
    return min(found, key=lambda met: met[:2])
