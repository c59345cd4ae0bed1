"""What all ways of choosing theta have in common: the booster to copy, the rows, and what may be spent."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from worstclass.boosting.base import Bound
from worstclass.boosting.booster import WorstClassBooster
from worstclass.selection.candidate import Candidate, CandidateRecord, Theta
from worstclass.selection.race import SelectionEvent, Tell
from worstclass.selection.rows import Rows
from worstclass.selection.shared import Work


@dataclass(eq=False)
class Search:
    """A search under way.

    Attributes
    ----------
    booster : the user's booster, which is left as it is.
    seed : of every candidate, a whole number.
    select_on : the validation error that chooses theta, and the prefix of every vote.
    cost_limit, hopeless_after : as of ``select_theta``.
    floors_first : whether floors that are met come before validation errors, when a prefix is chosen.
    candidates : every fit that was begun, in order.
    observed_error : the baseline's worst-class validation error, once it is known.
    """

    booster: WorstClassBooster
    rows: Rows
    seed: int
    select_on: str
    cost_limit: float | None
    hopeless_after: int | str | None
    floors_first: bool
    tell: Tell | None = None
    work: Work = field(default_factory=Work)
    candidates: list[Candidate] = field(default_factory=list)
    observed_error: float | None = None
    _shared: tuple[WorstClassBooster, Bound] | None = None

    def candidate(self, theta: Theta, *, patient: bool = False) -> Candidate:
        """Begin a fit at one theta; a patient one is never called hopeless."""
        booster, bound = self._bound(theta)
        after = None if patient else self.hopeless_after
        begun = Candidate(booster, booster._start(bound), self.work, after, floors_first=self.floors_first)
        self.candidates.append(begun)
        return begun

    def conclude(self, candidate: Candidate) -> WorstClassBooster:
        """Return the fitted booster of a candidate, with the parameters that were changed for the search put back."""
        fitted = candidate.conclude()
        fitted.callbacks = self.booster.callbacks
        fitted.on_unmet_edge = self.booster.on_unmet_edge
        return fitted

    @property
    def records(self) -> tuple[CandidateRecord, ...]:
        """What became of every candidate: the smallest theta first, floors by class in the order they were tried."""
        records = [candidate.record for candidate in self.candidates]
        numbers = all(isinstance(record.theta, float) for record in records)
        return tuple(sorted(records, key=lambda record: record.theta) if numbers else records)

    def news(self, kind: str, candidate: Candidate) -> None:
        """Tell of a candidate that runs alone."""
        if self.tell is not None:
            self.tell(SelectionEvent(kind, candidate.record, self.work.epochs, 0))

    def _bound(self, theta: Theta) -> tuple[WorstClassBooster, Bound]:
        """Return a booster at one theta, bound to the rows: once for all where no round depends on those before."""
        if self._shared is not None:
            booster = copy.copy(self._shared[0])
            booster.theta = theta
            return booster, self._shared[1]
        parameters: dict[str, Any] = self.booster.get_params(deep=False)
        own = {"theta": theta, "random_state": self.seed, "select_on": self.select_on}
        quiet = {"callbacks": None, "on_unmet_edge": "stop"}
        booster = type(self.booster)(**{**parameters, **own, **quiet})
        bound = booster._bind(self.rows.X, self.rows.y, self.rows.X_val, self.rows.y_val)
        if bound.training.forgets:
            self._shared = copy.copy(booster), bound
        return booster, bound
