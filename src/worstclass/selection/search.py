"""What all ways of choosing theta have in common: the booster to copy, the rows, and what may be spent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from worstclass.boosting.booster import WorstClassBooster
from worstclass.selection.candidate import Candidate, Theta
from worstclass.selection.race import SelectionEvent, Tell
from worstclass.selection.rows import Rows
from worstclass.selection.shared import Work


@dataclass(frozen=True, eq=False)
class Search:
    """A search under way.

    Attributes
    ----------
    booster : the user's booster, which is left as it is.
    seed : of every candidate, a whole number.
    select_on : the validation error that chooses theta, and the prefix of every vote.
    cost_limit, hopeless_after : as of ``select_theta``.
    """

    booster: WorstClassBooster
    rows: Rows
    seed: int
    select_on: str
    cost_limit: float | None
    hopeless_after: int | str | None
    tell: Tell | None = None
    work: Work = field(default_factory=Work)

    def candidate(self, theta: Theta, *, patient: bool = False) -> Candidate:
        """Begin a fit at one theta; a patient one is never called hopeless."""
        parameters: dict[str, Any] = self.booster.get_params(deep=False)
        own = {"theta": theta, "random_state": self.seed, "select_on": self.select_on}
        quiet = {"callbacks": None, "on_unmet_edge": "stop"}
        copied = type(self.booster)(**{**parameters, **own, **quiet})
        return Candidate(copied, self.rows, self.work, None if patient else self.hopeless_after)

    def conclude(self, candidate: Candidate) -> WorstClassBooster:
        """Return the fitted booster of a candidate, with the parameters that were changed for the search put back."""
        fitted = candidate.conclude()
        fitted.callbacks = self.booster.callbacks
        fitted.on_unmet_edge = self.booster.on_unmet_edge
        return fitted

    def news(self, kind: str, candidate: Candidate) -> None:
        """Tell of a candidate that runs alone."""
        if self.tell is not None:
            self.tell(SelectionEvent(kind, candidate.record, self.work.passes, 0))
