"""The four ways to theta: a grid, from a baseline, from a goal, and the best that can be attained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from worstclass.boosting.booster import WorstClassBooster
from worstclass.selection.candidate import Candidate, Theta
from worstclass.selection.nearest import FeasibleFloors, find_nearest
from worstclass.selection.race import Race
from worstclass.selection.search import Search


@dataclass(frozen=True, eq=False)
class Found:
    """What a way came to: theta, the booster fitted at it, whether that is what was sought, and floors near a goal."""

    theta: Any
    booster: WorstClassBooster
    met: bool
    nearest: FeasibleFloors | None = None


def race(search: Search, thetas: Sequence[float]) -> Found:
    """Choose the theta of the least validation error among candidates."""
    candidates = [search.candidate(theta) for theta in thetas]
    best = Race(candidates, search.work, search.cost_limit, search.tell).run()
    return Found(best.theta, search.conclude(best), met=True)


def for_goal(search: Search, goal: Theta, *, resolution: float, max_fits: int) -> Found:
    """Fit at the goal; where it is infeasible, look for the nearest feasible floors."""
    candidate = search.candidate(goal, patient=True)
    candidate.finish()
    if candidate.broken is not None:
        raise candidate.broken
    search.news("ended", candidate)
    booster = search.conclude(candidate)
    if booster.bound_met_:
        return Found(goal, booster, met=True)

    def fit(floors: dict[Any, float]) -> WorstClassBooster | None:
        again = search.candidate(floors)
        _run_alone(search, again)
        return search.conclude(again) if again.run.members else None

    nearest = find_nearest(booster, fit, resolution=resolution, max_fits=max_fits)
    if nearest.booster is None:
        return Found(goal, booster, met=False, nearest=nearest)
    return Found(nearest.floors, nearest.booster, met=False, nearest=nearest)


def best_attainable(search: Search, resolution: float) -> Found:
    """Find the largest theta that is feasible and does not cost validation error, by bisection.

    A theta is taken where its fit is feasible and its validation error is at most one standard error above the
    least that any feasible fit before has shown; then larger ones are tried, else smaller ones.
    """
    step = Fraction(str(resolution))
    low, high = 0, int(-(-1 // step))
    while high - low > 1:
        middle = (low + high) // 2
        candidate = search.candidate(float(middle * step))
        _run_alone(search, candidate)
        if candidate in acceptable(search.candidates):
            low = middle
        else:
            high = middle
    kept = acceptable(search.candidates)
    if kept:
        best = max(kept, key=lambda candidate: candidate.theta)
        return Found(best.theta, search.conclude(best), met=True)
    lowest = min(search.candidates, key=lambda candidate: (candidate.broken is not None, candidate.theta))
    if lowest.broken is not None:
        raise lowest.broken
    lowest.finish()
    return Found(lowest.theta, search.conclude(lowest), met=lowest.feasible)


def acceptable(tried: Sequence[Candidate]) -> list[Candidate]:
    """Return the feasible candidates whose validation error is within a standard error of the least among them."""
    feasible = [candidate for candidate in tried if candidate.ended and candidate.feasible]
    if not feasible:
        return []
    best = min(feasible, key=lambda candidate: candidate.rank)
    limit = best.errors[0] + best.standard_error
    return [candidate for candidate in feasible if candidate.errors[0] <= limit]


def so_far(search: Search, way: str) -> Found | None:
    """Return the best that a search has when it is interrupted, with the rounds that are finished; None without any."""
    begun = [candidate for candidate in search.candidates if candidate.run.members]
    if not begun:
        return None
    if way == "goal":
        best = begun[0]
    elif way == "best" and (kept := acceptable(begun)):
        best = max(kept, key=lambda candidate: candidate.theta)
    else:
        best = min(begun, key=lambda candidate: candidate.rank)
    return Found(best.theta, search.conclude(best), met=False)


def _run_alone(search: Search, candidate: Candidate) -> None:
    """Run a candidate to its end; one that gets stuck before its floors are met keeps the rounds it has."""
    while not candidate.ended and not candidate.abandoned:
        candidate.advance()
        if candidate.aside and candidate.feasible:
            candidate.resume()
        elif candidate.aside:
            candidate.give_up()
    search.news("ended" if candidate.ended else "abandoned", candidate)
