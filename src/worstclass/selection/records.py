"""What a search for theta gives back: a record of each fit, the nearest feasible floors, the selection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from worstclass._text import Shown, TextTable, n_of, percent, text_table
from worstclass.boosting.booster import WorstClassBooster

#: why a fit ended early, if epochs or time ran out
SPENT = "the budget was spent"


@dataclass(frozen=True)
class CandidateRecord:
    """The result of one fit of the search.

    Attributes
    ----------
    theta : the floor, or the floors by class.
    status : ``"feasible"``: the vote of all members, or of the first of them, meets every floor on the training rows,
        by exact counts. ``"infeasible"``: it does not. ``"failed"``: the network broke down in the first round.
        ``"interrupted"``: the user interrupted the fit; the finished rounds count.
    seconds, epochs : cost of the fit.
    rounds, planned_rounds : number of members, and T.
    worst_error, plain_error : validation error of the worst class, and over all rows; None without a finished round.
    bound_met : whether the members that vote meet every floor on the training rows.
    why : why the fit ended early; empty if it did not.
    """

    theta: Any
    status: str
    seconds: float
    why: str = ""
    rounds: int = 0
    planned_rounds: int = 0
    epochs: int = 0
    worst_error: float | None = None
    plain_error: float | None = None
    bound_met: bool = False

    def __str__(self) -> str:
        line = f"theta {short_theta(self.theta)}: {self.status}, {self.rounds} of {self.planned_rounds} rounds"
        if self.worst_error is not None:
            line += f", worst-class validation error {self.worst_error:.1%}"
        return f"{line} ({self.why})" if self.why else line


@dataclass(frozen=True, eq=False)
class FeasibleFloors:
    """The nearest feasible floors, and the classes that block the floors asked for.

    Attributes
    ----------
    asked, floors : floors asked for, and nearest feasible ones, by class.
    accuracy, rows_short : training accuracy of each class in the vote fitted at the floors asked for, and how many more
        of its rows would have to be correct.
    booster : its vote meets ``floors`` on the training rows, by exact counts; None if no vote has a correct row of
        every class, so that not even floors of 0 are met.
    """

    asked: dict[Any, float]
    floors: dict[Any, float]
    accuracy: dict[Any, float]
    rows_short: dict[Any, int]
    booster: WorstClassBooster | None

    @property
    def met(self) -> bool:
        """Whether the floors asked for are met as they are."""
        return self.booster is not None and self.floors == self.asked

    @property
    def blocking(self) -> list[Any]:
        """The classes that miss the floor asked for, or have to be lowered for others that do."""
        lowered = [k for k, floor in self.floors.items() if floor < self.asked[k] or self.rows_short[k]]
        return [] if self.met else lowered

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; classes become text."""
        names = ("asked", "floors", "accuracy", "rows_short", "met")
        return {name: text_keys(getattr(self, name)) for name in names} | {"blocking": [str(k) for k in self.blocking]}

    def __str__(self) -> str:
        if self.met:
            return "The floors asked for are met on the training rows."
        rows = [
            [str(k), f"{self.asked[k]:g}", percent(self.accuracy[k]), str(self.rows_short[k]), f"{self.floors[k]:g}"]
            for k in self.blocking
        ]
        lines = text_table(["blocking class", "floor", "reached", "rows short", "nearest feasible"], rows)
        if self.booster is None:
            lines.append("No feasible floors were found: no vote has a correct row of every class.")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class ThetaSelection(Shown):
    """The theta that was chosen, the booster fitted at it, and a record of every fit.

    ``str(selection)`` is a table for people, ``selection.to_dict()`` the same for files.

    Attributes
    ----------
    way : how theta was chosen: ``"grid"``, ``"baseline"``, ``"goal"`` or ``"best"``.
    booster : fitted at ``theta`` on the training rows; the validation rows chose how many of its members vote.
    candidates : one record for each fit: by increasing theta, or in the order of the fits for floors by class.
    chosen_by : which rows chose. ``certify`` refuses them.
    equal_rows_allowed : whether ``allow_equal_rows`` was needed to accept them.
    seconds : time of the whole search.
    observed_error : the baseline's worst-class validation error; None without one.
    nearest : for an infeasible goal, the classes that block it and the nearest feasible floors; else None.
    interrupted : whether the user interrupted the search. The selection is then the best so far.
    """

    way: str
    booster: WorstClassBooster
    candidates: tuple[CandidateRecord, ...]
    chosen_by: str
    seconds: float
    equal_rows_allowed: bool = False
    observed_error: float | None = None
    nearest: FeasibleFloors | None = None
    interrupted: bool = False

    @property
    def theta(self) -> Any:
        """The floor chosen. For an infeasible goal: the nearest feasible floors by class."""
        return self.booster.theta

    @property
    def met(self) -> bool:
        """Whether the search found what it looked for.

        ``"goal"``: the vote meets the goal on the training rows. ``"best"``: some theta is feasible. ``"grid"`` and
        ``"baseline"`` only compare: always True. False after an interruption.
        """
        compares = self.way in ("grid", "baseline")
        return not self.interrupted and (compares or (self.nearest is None and self.booster.bound_met_))

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return sum(self.booster.history_[0].class_totals)

    @property
    def epochs(self) -> int:
        """Epochs of all fits together."""
        return sum(record.epochs for record in self.candidates)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        names = ("way", "met", "interrupted", "chosen_by", "equal_rows_allowed", "n_train", "epochs", "seconds")
        validation: Any = self.booster.validation_report_
        return {
            "theta": text_keys(self.theta),
            **{name: getattr(self, name) for name in names},
            "select_on": self.booster.select_on,
            "observed_error": self.observed_error,
            "bound_met": self.booster.bound_met_,
            "training": self.booster.training_report_.to_dict(),
            "validation": validation.to_dict(),
            "candidates": [{**asdict(record), "theta": text_keys(record.theta)} for record in self.candidates],
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
        }

    def _headline(self) -> str:
        return f"theta {short_theta(self.theta)} by {self.way}, {n_of(len(self.candidates), 'fit')}"

    def _table(self) -> TextTable:
        head = ["  theta", "status", "rounds", "epochs", "worst", "all rows", "bound"]
        rows = [_cells(record, chosen=record.theta == self.theta) for record in self.candidates]
        return TextTable(head, rows, (0, 1, 6), ["", *self._summary()])

    def _summary(self) -> list[str]:
        lines = []
        if self.interrupted:
            lines.append("INTERRUPTED: this is the best so far, with the rounds that were finished.")
        if self.observed_error is not None:
            lines.append(f"the baseline's worst-class validation error: {self.observed_error:.1%}")
        if self.nearest is not None:
            spent = self.candidates[0].why.endswith(SPENT)
            lines.append("The goal was not reached within the budget." if spent else "The goal is infeasible.")
            lines.append(str(self.nearest))
        report: Any = self.booster.validation_report_
        errors = f"worst-class validation error {report.worst_text}, all rows {report.plain_error:.1%}"
        bound = f"the vote {'meets' if self.booster.bound_met_ else 'MISSES'} it on the training rows"
        never = "These rows chose; a certificate must rest on others."
        lines.append(f"theta {short_theta(self.theta)}: {errors}; {bound}")
        lines.append(f"{self.epochs:,} epochs in all. Chosen by {self.chosen_by}. {never}")
        return lines


def short_theta(theta: Any) -> str:
    """Write one floor, or floors by class; of more than four, the smallest and the largest.

    Examples
    --------
    >>> short_theta(0.8), short_theta({"mel": 0.95, "others": 0.8}), short_theta(dict.fromkeys("abcde", 0.5))
    ('0.8', 'mel 0.95, others 0.8', '0.5 to 0.5 by class')
    """
    if not isinstance(theta, Mapping):
        return f"{theta:g}"
    if len(theta) > 4:
        return f"{min(theta.values()):g} to {max(theta.values()):g} by class"
    return ", ".join(f"{label} {floor:g}" for label, floor in theta.items())


def text_keys(value: Any) -> Any:
    """Return numbers by class with text for keys, ready for JSON; other values as they are."""
    return {str(label): number for label, number in value.items()} if isinstance(value, Mapping) else value


def _cells(record: CandidateRecord, *, chosen: bool) -> list[str]:
    bound = "met" if record.bound_met else "missed"
    return [
        f"{'*' if chosen else ' '} {short_theta(record.theta)}",
        record.status,
        f"{record.rounds}/{record.planned_rounds}",
        f"{record.epochs:,}",
        percent(record.worst_error),
        percent(record.plain_error),
        f"{bound} ({record.why})" if record.why else bound,
    ]
