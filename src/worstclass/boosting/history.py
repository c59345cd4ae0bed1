"""One frozen record per round, one for a round that could not reach its edge, and one of a vote made smaller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worstclass._text import n_of
from worstclass.metrics import SELECTION, ClassCounts, Shortfall

#: blocking classes that a message names one by one
MOST_NAMED = 10


@dataclass(frozen=True)
class RoundRecord:
    """What happened in one round.

    Counts are in the order of ``classes_``; ``class_totals`` and ``val_totals`` turn them into errors.

    Attributes
    ----------
    round : number of the round, from 1.
    phase : ``"boost"`` for the T rounds of the algorithm, ``"extend"`` for rounds added after them, ``"unmet"`` for a
        first round that missed its edge, whose member is kept because there is no other.
    class_weight : the class weights with which the member was trained: Hedge's w_t, or in added rounds the weights that
        follow the classes that the vote misses.
    member_correct : training rows that the member has right, by class.
    feedback : r_t, 1 for each class of which the member met the floor; all 1 without floors.
    edge : w_t . r_t, under these weights.
    epochs : epochs that the learner trained.
    seconds : time the round took.
    vote_correct : training rows that the vote of all members so far has right, by class.
    vote_val_correct : the same on the validation rows; None without validation rows.
    regret : regret of Hedge so far; None for rounds that are not its own.
    regret_bound : the limit that theory gives for it; None likewise.
    """

    round: int
    phase: str
    class_weight: tuple[float, ...]
    member_correct: tuple[int, ...]
    feedback: tuple[int, ...]
    edge: float
    epochs: int
    seconds: float
    class_totals: tuple[int, ...]
    vote_correct: tuple[int, ...]
    val_totals: tuple[int, ...] | None = None
    vote_val_correct: tuple[int, ...] | None = None
    regret: float | None = None
    regret_bound: float | None = None

    @property
    def training(self) -> ClassCounts:
        """Counts of the vote so far on the training rows."""
        return ClassCounts(np.array(self.vote_correct), np.array(self.class_totals))

    @property
    def validation(self) -> ClassCounts | None:
        """Counts of the vote so far on the validation rows; None without validation rows."""
        if self.vote_val_correct is None or self.val_totals is None:
            return None
        return ClassCounts(np.array(self.vote_val_correct), np.array(self.val_totals))

    @property
    def vote_errors(self) -> tuple[float, ...]:
        """Training error of the vote so far, by class."""
        return tuple(self.training.errors.tolist())


@dataclass(frozen=True)
class UnmetEdge:
    """A round that could not reach its edge.

    Attributes
    ----------
    round : its number, from 1.
    best_edge, needed_edge : the largest edge that it reached, and the one it had to reach.
    epochs : epochs that it trained; 0 where its network broke down.
    blocking : the classes below their floor when the edge was best, heaviest first; empty where nothing was trained.
    budget_spent : whether epochs or time were up, so that more of them might have reached the edge.
    """

    round: int
    best_edge: float
    needed_edge: float
    epochs: int
    blocking: tuple[Shortfall, ...]
    budget_spent: bool = False

    @property
    def kept(self) -> str:
        """Say which members the fit keeps."""
        return f"The {self.round - 1} finished rounds are kept." if self.round > 1 else "Its member is kept as it is."

    def __str__(self) -> str:
        why = f"best edge {self.best_edge:.4f}, needed {self.needed_edge:.4f}, after {self.epochs} epochs"
        if not self.epochs:
            why = "the network returned NaN or infinite logits"
        named = [f"{row.label!r} (error {row.error:.1%}, allowed {1 - row.floor:.1%})" for row in self.blocking]
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        below = f" Classes below their floor: {', '.join(named[:MOST_NAMED])}{more}." if named else ""
        lower = "Lower theta for the blocking classes, give" if named else "Give"
        what_to_do = f"{lower} the learner more capacity or epochs, or lower gamma."
        return f"Round {self.round} could not reach its edge: {why}.{below} {self.kept} {what_to_do}"


@dataclass(frozen=True)
class Compaction:
    """What ``compact`` made of a vote.

    Attributes
    ----------
    n_before, n_after : members that voted before, and that vote now.
    n_rows, n_changed : training and validation rows, and those that are answered otherwise.
    drift : how far the shares of the votes moved, as ``compact`` measures it.
    """

    n_before: int
    n_after: int
    n_rows: int
    n_changed: int
    drift: float

    def __str__(self) -> str:
        answers = f"{self.n_changed:,} of {n_of(self.n_rows, 'row')} answered otherwise"
        kept = f"{self.n_after} of {n_of(self.n_before, 'member')} kept"
        return f"{kept}, {answers}, vote shares moved by {self.drift:.3f}"


def best_prefix(history: Sequence[RoundRecord], select_on: str = "worst") -> int:
    """Return how many members give the least validation error, the longest of equals.

    Without validation rows: all of them.
    """
    counts = [record.validation for record in history]
    errors = [SELECTION[select_on](found) for found in counts if found is not None]
    if not errors:
        return len(history)
    return max(n for n, error in enumerate(errors, start=1) if error == min(errors))
