"""What a search for theta found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worstclass._checks import OTHERS
from worstclass.boosting.booster import WorstClassBooster
from worstclass.selection.candidate import BUDGET_SPENT, CandidateRecord
from worstclass.selection.nearest import FeasibleFloors

#: floors by class that a line of the table names one by one
MOST_NAMED = 4
_NEVER = "These rows chose; a certificate must rest on others."


@dataclass(frozen=True, eq=False)
class ThetaSelection:
    """The theta that was chosen, the booster fitted at it, and what became of every candidate.

    ``str(selection)`` is a table for people, ``selection.to_dict()`` the same for files.

    Attributes
    ----------
    way : how it was chosen: ``"grid"``, ``"baseline"``, ``"goal"`` or ``"best"``.
    theta : the floor that was chosen; for ``"goal"`` the goal itself, or where that is infeasible the nearest feasible
        floors by class.
    booster : fitted at ``theta`` on the training rows; the validation rows chose the prefix of its vote.
    met : whether the search found what it was after. For ``"grid"`` and ``"baseline"``, which only compare: always
        True. For ``"goal"``: whether the vote meets the goal on the training rows. For ``"best"``: whether any theta
        is feasible.
    candidates : one record for each theta that was tried, the smallest first.
    select_on : the validation error that chose, of the ``"worst"`` class or the ``"average"`` over all rows.
    chosen_by : which rows chose. They must not certify: the booster remembers them, and ``certify`` refuses them.
    n_train : rows that trained.
    epochs : over the training rows, made by all candidates together.
    seconds : time the whole search took.
    observed_error : the baseline's worst-class validation error; None without one.
    nearest : for a goal that is infeasible, what blocks it and the nearest feasible floors; else None.
    interrupted : whether the search was interrupted; this is then the best it had, with the rounds that were finished,
        and ``met`` is False.
    """

    way: str
    theta: Any
    booster: WorstClassBooster
    met: bool
    candidates: tuple[CandidateRecord, ...]
    select_on: str
    chosen_by: str
    n_train: int
    epochs: int
    seconds: float
    observed_error: float | None = None
    nearest: FeasibleFloors | None = None
    interrupted: bool = False

    @property
    def chosen(self) -> CandidateRecord | None:
        """The record of the theta that was chosen; None where nearest floors took its place."""
        return next((record for record in self.candidates if record.theta == self.theta), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        validation = self.booster.validation_report_
        return {
            "way": self.way,
            "theta": _plain(self.theta),
            "met": self.met,
            "interrupted": self.interrupted,
            "select_on": self.select_on,
            "chosen_by": self.chosen_by,
            "n_train": self.n_train,
            "epochs": self.epochs,
            "seconds": self.seconds,
            "observed_error": self.observed_error,
            "bound_met": self.booster.bound_met_,
            "training": self.booster.training_report_.to_dict(),
            "validation": None if validation is None else validation.to_dict(),
            "candidates": [record.to_dict() for record in self.candidates],
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
        }

    def __str__(self) -> str:
        lines = [*_table(self.candidates, self.theta), ""]
        if self.interrupted:
            lines.append("INTERRUPTED: this is the best so far, with the rounds that were finished.")
        if self.observed_error is not None:
            lines.append(f"the baseline's worst-class validation error: {self.observed_error:.1%}")
        if self.nearest is not None:
            spent = self.candidates[0].why.endswith(BUDGET_SPENT)
            lines += ["The goal was not reached within the budget." if spent else "The goal is infeasible."]
            lines += [str(self.nearest)]
        else:
            lines.append(self._sentence)
        lines.append(f"{self.epochs:,} epochs in all. Chosen by {self.chosen_by}. {_NEVER}")
        return "\n".join(lines)

    @property
    def _sentence(self) -> str:
        validation = self.booster.validation_report_
        assert validation is not None
        bound = "meets" if self.booster.bound_met_ else "MISSES"
        return (
            f"theta {short_theta(self.theta)}: worst-class validation error {validation.worst_error:.1%} "
            f"({validation.worst_class}), all rows {validation.plain_error:.1%}; the vote {bound} "
            f"{'its floor' if not isinstance(self.theta, Mapping) else 'its floors'} on the training rows"
        )


def _table(records: Sequence[CandidateRecord], chosen: Any) -> list[str]:
    names = [short_theta(record.theta) for record in records]
    width = max(len(name) for name in ["theta     ", *names])
    head = f"  {'theta':<{width}}  {'status':<10}  {'rounds':>9}  {'epochs':>8}  {'worst':>7}  {'all rows':>8}  bound"
    lines = [
        f"{'*' if record.theta == chosen else ' '} {name:<{width}}  {_line(record)}"
        for name, record in zip(names, records, strict=True)
    ]
    return [head, *lines]


def _line(record: CandidateRecord) -> str:
    worst, plain = ("-" if value is None else f"{value:.1%}" for value in (record.worst_error, record.plain_error))
    line = (
        f"{record.status:<10}  {record.rounds:>4}/{record.planned_rounds:<4}  {record.epochs:>8,}  {worst:>7}  "
        f"{plain:>8}  {'met' if record.bound_met else 'missed'}"
    )
    return f"{line}  ({record.why})" if record.why else line


def short_theta(theta: Any) -> str:
    """Name one floor, or those by class, the most common one last.

    Examples
    --------
    >>> short_theta(0.8), short_theta({"mel": 0.95, "nv": 0.8, "bkl": 0.8}), short_theta({"a": 0.1, "b": 0.2})
    ('0.8', 'mel 0.95, others 0.8', 'a 0.1, b 0.2')
    >>> short_theta({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4, "e": 0.5, "others": 0.7})
    'a 0.1, b 0.2, c 0.3, 2 more, others 0.7'
    """
    if not isinstance(theta, Mapping):
        return f"{theta:g}"
    floor, count = Counter(theta.values()).most_common(1)[0]
    rest = theta.get(OTHERS, floor if count > 1 else None)
    named = [f"{label} {floor:g}" for label, floor in theta.items() if floor != rest]
    if len(named) > MOST_NAMED:
        named[MOST_NAMED - 1 :] = [f"{len(named) - MOST_NAMED + 1} more"]
    return ", ".join(named if rest is None else [*named, f"others {rest:g}"])


def _plain(theta: Any) -> Any:
    return {str(label): float(floor) for label, floor in theta.items()} if isinstance(theta, Mapping) else float(theta)
