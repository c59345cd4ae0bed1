"""One frozen record a round: all that is known of it when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class RoundRecord:
    """What happened in one round.

    Counts are in the order of ``classes_``; ``class_totals`` and ``val_totals`` turn them into errors.

    Attributes
    ----------
    round : number of the round, from 1.
    phase : ``"boost"`` for the T rounds of the algorithm, ``"extend"`` for those added after them, ``"unmet"`` for a
        first round that missed its edge, whose member is kept because there is no other.
    class_weight : the class weights with which the member was trained: Hedge's w_t, or in added rounds those that
        follow what the vote misses.
    member_correct : training rows that the member has right, by class.
    feedback : r_t, 1 for a class of which the member met the floor; all 1 where there are no floors.
    edge : w_t . r_t, under these weights.
    epochs : epochs the learner made.
    seconds : time the round took.
    vote_correct : training rows that the vote of all members so far has right, by class.
    vote_val_correct : the same on the validation rows; None where none were given.
    regret : regret of Hedge so far; None for rounds that are not its own.
    regret_bound : what theory allows it to be; None likewise.
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
    def vote_errors(self) -> tuple[float, ...]:
        """Training error of the vote so far, by class."""
        return _errors(self.vote_correct, self.class_totals)

    @property
    def vote_val_errors(self) -> tuple[float | None, ...] | None:
        """Validation error of the vote so far, by class; None for a class without a validation row."""
        if self.vote_val_correct is None or self.val_totals is None:
            return None
        pairs = zip(self.vote_val_correct, self.val_totals, strict=True)
        return tuple((total - correct) / total if total else None for correct, total in pairs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RoundRecord:
        """Rebuild a record from what ``to_dict`` gave, lists in place of tuples allowed."""
        plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**plain)


def _errors(correct: tuple[int, ...], total: tuple[int, ...]) -> tuple[float, ...]:
    return tuple((n - c) / n for c, n in zip(correct, total, strict=True))
