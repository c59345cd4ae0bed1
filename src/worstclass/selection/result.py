"""What a search for theta found: records, and tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from worstclass._checks import OTHERS
from worstclass._text import percent, text_table
from worstclass.boosting.booster import WorstClassBooster

#: why a fit ended early, if epochs or time ran out
SPENT = "the budget was spent"

Theta = float | Mapping[Any, float]


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
    worst_error, plain_error : validation error of the worst class, and over all rows; None for a fit that failed.
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; classes become text."""
        return {**asdict(self), "theta": plain(self.theta)}

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
    n_fits : number of refits.
    """

    asked: dict[Any, float]
    floors: dict[Any, float]
    accuracy: dict[Any, float]
    rows_short: dict[Any, int]
    booster: WorstClassBooster | None
    n_fits: int

    @property
    def lowered_by(self) -> dict[Any, float]:
        """How far the floor of each class has to come down."""
        return {k: float(Fraction(str(asked)) - Fraction(str(self.floors[k]))) for k, asked in self.asked.items()}

    @property
    def blocking(self) -> list[Any]:
        """The classes that miss the floor asked for, or have to be lowered for others that do, the furthest first."""
        lowered = self.lowered_by
        if self.booster is not None and not any(lowered.values()):
            return []
        return sorted((k for k in lowered if lowered[k] or self.rows_short[k]), key=lambda k: -lowered[k])

    @property
    def met(self) -> bool:
        """Whether the floors asked for are met as they are."""
        return not self.blocking

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; classes become text."""
        names = ("asked", "floors", "lowered_by", "accuracy", "rows_short", "met", "n_fits")
        blocking = [str(label) for label in self.blocking]
        values = {name: plain(getattr(self, name)) for name in names}
        return {**values, "blocking": blocking, "found": self.booster is not None}

    def __str__(self) -> str:
        if self.met:
            return "The floors asked for are met on the training rows."
        lines, nearest = ["Classes that block:"], []
        for k in self.blocking:
            short = f"{self.rows_short[k]} rows short" if self.rows_short[k] else "lowered for the sake of the others"
            lines.append(f"  {k}: floor {self.asked[k]:.1%}, reached {self.accuracy[k]:.1%}, {short}")
            nearest.append(f"{k} {self.floors[k]:g} (lowered by {self.lowered_by[k]:g})")
        if self.booster is None:
            return "\n".join([*lines, "No feasible floors were found: no vote has a correct row of every class."])
        rest = "; the other classes as asked" if len(nearest) < len(self.floors) else ""
        return "\n".join([*lines, f"Nearest feasible floors: {', '.join(nearest)}{rest}."])


@dataclass(frozen=True, eq=False)
class ThetaSelection:
    """The theta that was chosen, the booster fitted at it, and a record of every fit.

    ``str(selection)`` is a table for people, ``selection.to_dict()`` the same for files.

    Attributes
    ----------
    way : how theta was chosen: ``"grid"``, ``"baseline"``, ``"goal"`` or ``"best"``.
    booster : fitted at ``theta`` on the training rows; the validation rows chose how many of its members vote.
    candidates : one record for each fit: by increasing theta, or in the order of the fits for floors by class.
    chosen_by : which rows chose. ``certify`` refuses them.
    equal_rows_allowed : whether ``allow_equal_rows`` was needed to accept them.
    n_train : number of training rows.
    seconds : time of the whole search.
    observed_error : the baseline's worst-class validation error; None without one.
    nearest : for an infeasible goal, the classes that block it and the nearest feasible floors; else None.
    interrupted : whether the user interrupted the search. The selection is then the best so far.
    """

    way: str
    booster: WorstClassBooster
    candidates: tuple[CandidateRecord, ...]
    chosen_by: str
    n_train: int
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
    def epochs(self) -> int:
        """Epochs of all fits together."""
        return sum(record.epochs for record in self.candidates)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        names = ("way", "met", "interrupted", "chosen_by", "equal_rows_allowed", "n_train", "epochs", "seconds")
        validation = self.booster.validation_report_
        return {
            "theta": plain(self.theta),
            **{name: getattr(self, name) for name in names},
            "select_on": self.booster.select_on,
            "observed_error": self.observed_error,
            "bound_met": self.booster.bound_met_,
            "training": self.booster.training_report_.to_dict(),
            "validation": None if validation is None else validation.to_dict(),
            "candidates": [record.to_dict() for record in self.candidates],
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
        }

    def __str__(self) -> str:
        lines = [*self._table(), ""]
        if self.interrupted:
            lines.append("INTERRUPTED: this is the best so far, with the rounds that were finished.")
        if self.observed_error is not None:
            lines.append(f"the baseline's worst-class validation error: {self.observed_error:.1%}")
        if self.nearest is not None:
            spent = self.candidates[0].why.endswith(SPENT)
            lines.append("The goal was not reached within the budget." if spent else "The goal is infeasible.")
        lines.append(self._outcome() if self.nearest is None else str(self.nearest))
        never = "These rows chose; a certificate must rest on others."
        return "\n".join([*lines, f"{self.epochs:,} epochs in all. Chosen by {self.chosen_by}. {never}"])

    def _table(self) -> list[str]:
        rows = [
            (
                f"{'*' if record.theta == self.theta else ' '} {short_theta(record.theta)}",
                record.status,
                f"{record.rounds}/{record.planned_rounds}",
                f"{record.epochs:,}",
                percent(record.worst_error),
                percent(record.plain_error),
                f"{'met' if record.bound_met else 'missed'}{f' ({record.why})' if record.why else ''}",
            )
            for record in self.candidates
        ]
        return text_table(["  theta", "status", "rounds", "epochs", "worst", "all rows", "bound"], rows, left=(0, 1, 6))

    def _outcome(self) -> str:
        report = self.booster.validation_report_
        assert report is not None
        bound = "meets" if self.booster.bound_met_ else "MISSES"
        return (
            f"theta {short_theta(self.theta)}: worst-class validation error {percent(report.worst_error)} "
            f"({report.worst_class}), all rows {percent(report.plain_error)}; the vote {bound} "
            f"{'its floors' if isinstance(self.theta, Mapping) else 'its floor'} on the training rows"
        )


def short_theta(theta: Any) -> str:
    """Write one floor, or floors by class with the most common one last.

    Examples
    --------
    >>> short_theta(0.8), short_theta({"mel": 0.95, "nv": 0.8, "bkl": 0.8}), short_theta({"a": 0.1, "b": 0.2})
    ('0.8', 'mel 0.95, others 0.8', 'a 0.1, b 0.2')
    >>> short_theta({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4, "e": 0.5, "others": 0.7})
    'a 0.1, b 0.2, c 0.3, 2 more, others 0.7'
    """
    if not isinstance(theta, Mapping):
        return f"{theta:g}"
    common, count = Counter(theta.values()).most_common(1)[0]
    rest = theta.get(OTHERS, common if count > 1 else None)
    named = [f"{label} {floor:g}" for label, floor in theta.items() if floor != rest]
    if len(named) > 4:
        named[3:] = [f"{len(named) - 3} more"]
    return ", ".join(named if rest is None else [*named, f"others {rest:g}"])


def plain(value: Any) -> Any:
    """Return floors by class with text for keys, ready for JSON; other values as they are."""
    return {str(label): number for label, number in value.items()} if isinstance(value, Mapping) else value
