"""How a fit ended: which prefix of the members is used, and what is told of an edge or a bound that was missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from worstclass._typing import FloatArray
from worstclass.boosting.history import RoundRecord
from worstclass.boosting.rounds import BoostingRun, RoundResult
from worstclass.metrics import SELECTION, ClassCounts, ClassReport

#: what to do about floors that are too high, at the end of a message
NEAREST = "worstclass.nearest_feasible_floors (worstclass theta --way goal) finds the nearest floors that can be met."
#: blocking classes that a message names one by one
MOST_NAMED = 10


@dataclass(frozen=True)
class BlockingClass:
    """A class below its floor when the edge of a round was best: right answers, rows, and the floor."""

    label: Any
    correct: int
    total: int
    floor: float


@dataclass(frozen=True)
class UnmetEdgeRecord:
    """What is kept of a round that could not reach its edge.

    Attributes
    ----------
    round : its number, from 1.
    best_edge, needed_edge : the largest edge that it reached, and the one it had to reach.
    blocking : the classes below their floor when the edge was best, heaviest first; empty where nothing was trained.
    budget_spent : whether epochs or time were up, so that more of them might have reached it.
    """

    round: int
    best_edge: float
    needed_edge: float
    blocking: tuple[BlockingClass, ...]
    budget_spent: bool = False


@dataclass(frozen=True, eq=False)
class UnmetEdge:
    """A round that could not reach its edge; ``failed`` is None where its network broke down."""

    run: BoostingRun
    class_weight: FloatArray
    failed: RoundResult | None

    @property
    def best_edge(self) -> float:
        """The largest edge that the round reached."""
        return 0.0 if self.failed is None else self.failed.judged.edge

    @property
    def blocking(self) -> list[int]:
        """Indices of the classes below their floor when the edge was best, heaviest first."""
        if self.failed is None:
            return []
        missed = ~self.failed.judged.met
        return [int(k) for k in np.argsort(-self.class_weight, kind="stable") if missed[k]]

    @property
    def blocking_classes(self) -> tuple[Any, ...]:
        """The same classes by name."""
        return tuple(self.run.labels.classes[self.blocking].tolist())

    def record(self) -> UnmetEdgeRecord:
        """Return what is kept: numbers and names, without the run."""
        blocking: tuple[BlockingClass, ...] = ()
        if self.failed is not None:
            blocking = tuple(self._blocking_class(k, self.failed.judged.correct[k]) for k in self.blocking)
        needed, spent = self.run.plan.needed_edge, self.run.meter.spent
        return UnmetEdgeRecord(self.run.next_round, self.best_edge, needed, blocking, spent)

    def _blocking_class(self, k: int, correct: int) -> BlockingClass:
        labels, floor = self.run.labels, self.run.floors.theta[k]
        return BlockingClass(labels.classes.tolist()[k], int(correct), int(labels.totals[k]), float(floor))

    def message(self) -> str:
        """Say which round failed, why, what blocks it, what is kept and what to do."""
        n_finished = len(self.run.members)
        kept = f"The {n_finished} finished rounds are kept." if n_finished else "Its member alone is kept, as it is."
        sentences = [
            f"Round {self.run.next_round} could not reach its edge: {self._why()}.",
            *self._blocking_text(),
            kept,
            ("Lower theta for the blocking classes, give" if self.blocking else "Give")
            + " the learner more capacity or epochs, or lower gamma.",
        ]
        return " ".join(sentences)

    def _why(self) -> str:
        if self.failed is None:
            return "the network returned NaN or infinite logits"
        needed, epochs = self.run.plan.needed_edge, self.failed.trained.epochs
        return f"best edge {self.best_edge:.4f}, needed {needed:.4f}, after {epochs} epochs"

    def _blocking_text(self) -> list[str]:
        if self.failed is None or not self.blocking:
            return []
        parts = []
        for k in self.blocking[:MOST_NAMED]:
            error = 1 - self.failed.judged.correct[k] / self.run.labels.totals[k]
            allowed = 1 - float(self.run.floors.theta[k])
            parts.append(f"{self.run.labels.classes.tolist()[k]!r} (error {error:.1%}, allowed {allowed:.1%})")
        more = f" and {len(self.blocking) - MOST_NAMED} more" if len(self.blocking) > MOST_NAMED else ""
        return [f"Classes below their floor: {', '.join(parts)}{more}."]


def missed_bound_message(report: ClassReport, shortfall: Mapping[Any, int], n_members: int) -> str:
    """Say for which classes the vote misses the bound, by how much, and what to do."""
    rows = {row.name: row for row in report.rows}
    parts = []
    for label, short in shortfall.items():
        row = rows[str(label)]
        limit = 1 - (row.floor or 0)
        parts.append(f"{label!r} (error {row.error:.1%}, must be below {limit:.1%}, {short} of {row.total} rows short)")
    return f"The vote of {n_members} members misses the training bound for {', '.join(parts)}. {NEAREST}"


def best_prefix(history: Sequence[RoundRecord], select_on: str = "worst") -> int:
    """Return how many members give the least validation error, the longest of equals.

    Without validation rows: all of them.
    """
    error_of = SELECTION[select_on]
    errors = [
        error_of(ClassCounts(np.array(record.vote_val_correct), np.array(record.val_totals)))
        for record in history
        if record.vote_val_correct is not None
    ]
    if not errors:
        return len(history)
    return max(n for n, error in enumerate(errors, start=1) if error == min(errors))
