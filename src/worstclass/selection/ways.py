"""The four ways to theta: a grid, from a baseline, from a goal, and the best that can be attained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from worstclass.boosting.booster import WorstClassBooster
from worstclass.exceptions import ModuleError
from worstclass.floors import Floors
from worstclass.selection.candidate import Candidate, CandidateRecord, Theta
from worstclass.selection.nearest import FeasibleFloors, find_nearest
from worstclass.selection.prefixes import prefix_meeting
from worstclass.selection.race import Race
from worstclass.selection.search import Search


@dataclass(frozen=True, eq=False)
class Found:
    """What a way came to: theta, the booster fitted at it, whether that is what was sought, and what was tried."""

    theta: Any
    booster: WorstClassBooster
    met: bool
    records: tuple[CandidateRecord, ...]
    nearest: FeasibleFloors | None = None


def race(search: Search, thetas: Sequence[float]) -> Found:
    """Choose the theta of the least validation error among candidates."""
    candidates = [search.candidate(theta) for theta in thetas]
    best = Race(candidates, search.work, search.cost_limit, search.tell).run()
    return Found(best.theta, search.conclude(best), True, _records(candidates))


def for_goal(search: Search, goal: Theta, *, resolution: float, max_fits: int) -> Found:
    """Fit at the goal; where it is infeasible, look for the nearest feasible floors."""
    candidate = search.candidate(goal, patient=True)
    candidate.finish()
    search.news("ended", candidate)
    booster = with_bound(search.conclude(candidate))
    if booster.bound_met_:
        return Found(goal, booster, True, _records([candidate]))
    tried = [candidate]

    def fit(floors: dict[Any, float]) -> WorstClassBooster | None:
        again = search.candidate(floors)
        tried.append(again)
        _run_alone(search, again)
        return search.conclude(again) if again.run.members else None

    nearest = find_nearest(booster, fit, resolution=resolution, max_fits=max_fits)
    records = (candidate.record, *(again.record for again in tried[1:]))
    if nearest.booster is None:
        return Found(goal, booster, False, records, nearest)
    return Found(nearest.floors, nearest.booster, False, records, nearest)


def best_attainable(search: Search, resolution: float) -> Found:
    """Find the largest theta that is feasible and does not cost validation error, by bisection.

    A theta is taken where its fit is feasible and its validation error is at most one standard error above the
    least that any feasible fit before has shown; then larger ones are tried, else smaller ones.
    """
    step = Fraction(str(resolution))
    low, high = 0, int(-(-1 // step))
    tried: list[Candidate] = []
    while high - low > 1:
        middle = (low + high) // 2
        candidate = search.candidate(float(middle * step))
        tried.append(candidate)
        _run_alone(search, candidate)
        if candidate in acceptable(tried):
            low = middle
        else:
            high = middle
    kept = acceptable(tried)
    if not kept:
        lowest = min(tried, key=lambda candidate: candidate.theta)
        lowest.finish()
        return Found(lowest.theta, search.conclude(lowest), lowest.feasible, _records(tried))
    best = max(kept, key=lambda candidate: candidate.theta)
    return Found(best.theta, with_bound(search.conclude(best)), True, _records(tried))


def acceptable(tried: Sequence[Candidate]) -> list[Candidate]:
    """Return the feasible candidates whose validation error is within a standard error of the least among them."""
    feasible = [candidate for candidate in tried if candidate.ended and candidate.feasible]
    if not feasible:
        return []
    best = min(feasible, key=lambda candidate: candidate.rank)
    limit = best.errors[0] + best.standard_error
    return [candidate for candidate in feasible if candidate.errors[0] <= limit]


def with_bound(booster: WorstClassBooster) -> WorstClassBooster:
    """Let the best prefix vote among those that meet every floor, if any do: floors first, then validation."""
    used = prefix_meeting(booster.history_, Floors.from_theta(booster.theta, booster.classes_), booster.select_on)
    if used is not None and used != booster.n_members_used_:
        booster.n_members_used_ = used
        booster._report()
    return booster


def _run_alone(search: Search, candidate: Candidate) -> None:
    """Run a candidate to its end; one that gets stuck, or breaks down at once, is abandoned with the rounds it has."""
    try:
        while not candidate.ended and not candidate.aside:
            candidate.advance()
    except ModuleError as error:
        candidate.abandon(str(error))
    if candidate.aside:
        candidate.give_up()
    search.news("ended" if candidate.ended else "abandoned", candidate)


def _records(candidates: Sequence[Candidate]) -> tuple[CandidateRecord, ...]:
    return tuple(candidate.record for candidate in sorted(candidates, key=lambda candidate: candidate.theta))
