"""Floors that cannot be met: which classes block them, by how much, and which floors near them can be met.

What a vote meets is known by counting, so every fit, whether or not it met what was asked, bears witness to some floors
that are feasible: for each class the largest one below the accuracy that the vote has on its training rows, and no more
than was asked. The nearest feasible floors lie between those of the best witness and those asked for. Refits at floors
half way between narrow that down; only classes that block are lowered. A vote that has no row of some class right bears
no witness: then all floors are halved until one does.
"""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from worstclass.boosting.base import is_count
from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.history import RoundRecord
from worstclass.data.labels import training_labels
from worstclass.exceptions import DataError, ParameterError, WorstClassWarning
from worstclass.floors import Floors
from worstclass.selection.prefixes import meets, prefix_meeting

OWNER = "nearest_feasible_floors"

Floor = Fraction
#: fits at floors by class; None where not even the first round was finished
Fit = Callable[[dict[Any, float]], WorstClassBooster | None]


@dataclass(frozen=True)
class BlockedFloor:
    """A class that misses the floor asked for.

    Attributes
    ----------
    label : the class.
    asked : its floor as asked for.
    accuracy : training accuracy of the class in the vote that was fitted at the floors asked for.
    rows_short : how many more of its training rows would have had to be right.
    floor : its floor among the nearest feasible ones.
    edge_accuracy : its training accuracy in the best epoch of the round that could not reach its edge, where that class
        was one of those that blocked it; else None.
    """

    label: Any
    asked: float
    accuracy: float
    rows_short: int
    floor: float
    edge_accuracy: float | None = None

    @property
    def lowered_by(self) -> float:
        """How far the floor has to come down."""
        return float(Fraction(str(self.asked)) - Fraction(str(self.floor)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; the class becomes text."""
        return {**asdict(self), "label": str(self.label), "lowered_by": self.lowered_by}


@dataclass(frozen=True, eq=False)
class FeasibleFloors:
    """The nearest feasible floors, and what blocks the ones asked for.

    Attributes
    ----------
    asked, floors : by class.
    blocking : the classes that miss the floor asked for, furthest first.
    booster : its vote meets ``floors`` on the training rows, by exact counts; None where no vote that was seen has a
        row of every class right, so that not even floors of 0 are met.
    n_fits : fits that were made to find them.
    """

    asked: dict[Any, float]
    floors: dict[Any, float]
    blocking: tuple[BlockedFloor, ...]
    booster: WorstClassBooster | None
    n_fits: int

    @property
    def met(self) -> bool:
        """Whether the floors asked for are met as they are."""
        return not self.blocking

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; classes become text."""
        return {
            "asked": {str(label): floor for label, floor in self.asked.items()},
            "floors": {str(label): floor for label, floor in self.floors.items()},
            "blocking": [row.to_dict() for row in self.blocking],
            "met": self.met,
            "found": self.booster is not None,
            "n_fits": self.n_fits,
        }

    def __str__(self) -> str:
        if self.met:
            return "The floors asked for are met on the training rows."
        lines = ["Classes that block:"]
        for row in self.blocking:
            edge = "" if row.edge_accuracy is None else f", {row.edge_accuracy:.1%} in the round that failed"
            rows = f"{row.rows_short} {'row' if row.rows_short == 1 else 'rows'} short"
            rows = rows if row.rows_short else "gives way to the others"
            lines.append(f"  {row.label}: floor {row.asked:.1%}, reached {row.accuracy:.1%}, {rows}{edge}")
        if self.booster is None:
            return "\n".join([*lines, "No feasible floors were found: no vote has a row of every class right."])
        lowered = [f"{row.label} {row.floor:g} (lowered by {row.lowered_by:g})" for row in self.blocking]
        rest = "; the other classes as asked" if len(lowered) < len(self.floors) else ""
        return "\n".join([*lines, f"Nearest feasible floors: {', '.join(lowered)}{rest}."])


def nearest_feasible_floors(
    fitted: Any,
    X: Any = None,
    y: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    *,
    resolution: float = 0.01,
    max_fits: int = 6,
) -> FeasibleFloors:
    """Say which classes block the floors of a booster, by how much, and which floors near them are feasible.

    Lowers the floors of the blocking classes alone, unless not even one row of some class is right; then all. A fit
    meets floors when its vote does, on the training rows and by exact counts. Nothing is changed in ``fitted``.

    Parameters
    ----------
    fitted : a fitted booster, or what carries one: a ``WeakLearningError`` or a ``ThetaSelection``.
    X, y, X_val, y_val : the rows it was fitted on, for the refits. Without X no refit is made, and the floors are those
        that its own vote meets.
    resolution : floors are multiples of it.
    max_fits : refits at the most; each halves the gap between floors that are known to be feasible and those asked for.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = WorstClassBooster(DecisionTreeClassifier(max_depth=2), theta=0.8, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # the floor is missed, and told of
    ...     booster = booster.fit(X[:, :1], y)
    >>> nearest = nearest_feasible_floors(booster, X[:, :1], y, resolution=0.05)
    >>> nearest.floors, nearest.booster.bound_met_
    ({0: 0.8, 1: 0.55, 2: 0.75}, True)
    """
    booster = getattr(fitted, "booster", fitted)
    if not isinstance(booster, WorstClassBooster) or not hasattr(booster, "estimators_"):
        allowed = "a fitted WorstClassBooster, or a WeakLearningError or ThetaSelection that carries one"
        raise ParameterError("fitted", OWNER, allowed=allowed, got=fitted)
    check_steps(resolution, max_fits, owner=OWNER)
    if X is not None and not hasattr(fitted, "chosen_by"):  # a selection may have cut validation rows off its own
        _require_same_rows(booster, X, y)
    fit = None if X is None else _refits_of(booster, X, y, X_val, y_val)
    return find_nearest(booster, fit, resolution=resolution, max_fits=max_fits)


def find_nearest(
    booster: WorstClassBooster, fit: Fit | None, *, resolution: float = 0.01, max_fits: int = 6
) -> FeasibleFloors:
    """Do the work of ``nearest_feasible_floors``, with refits made by ``fit``."""
    step = Fraction(str(resolution))
    asked = Floors.from_theta(booster.theta, booster.classes_).theta
    best, high, n_fits = Witness.of(booster, asked, step), asked, 0
    while fit is not None and best.lowering and n_fits < max_fits:
        trial = best.towards(high, step) if best.complete else _scaled(asked, n_fits + 1, step)
        if trial == best.floors:
            break
        n_fits += 1
        refitted = fit(_by_class(booster, trial))
        if best.complete and (refitted is None or not any(meets(r, Floors(trial)) for r in refitted.history_)):
            high = trial
        if refitted is not None:
            best = min(best, Witness.of(refitted, asked, step), key=lambda witness: witness.distance)
    return _summary(booster, asked, best, n_fits)


@dataclass(frozen=True, eq=False)
class Witness:
    """A fit, and the floors nearest to those asked for that a vote of it meets.

    ``reached`` has None for a class that the vote has no row of right.
    """

    booster: WorstClassBooster
    asked: Sequence[Floor]
    reached: tuple[Floor | None, ...]

    @classmethod
    def of(cls, booster: WorstClassBooster, asked: Sequence[Floor], step: Floor) -> Witness:
        """Look at the vote after every round; take the nearest."""
        seen = (cls(booster, asked, _floors_met(record, asked, step)) for record in booster.history_)
        return min(seen, key=lambda witness: witness.distance)

    @property
    def complete(self) -> bool:
        """Whether the vote has a row of every class right, so that there are floors for all."""
        return None not in self.reached

    @property
    def floors(self) -> tuple[Floor, ...]:
        """The floors; 0 where none is met."""
        return tuple(Fraction(0) if floor is None else floor for floor in self.reached)

    @property
    def lowering(self) -> Fraction:
        """How far all floors together are below those asked for."""
        return sum((asked - floor for asked, floor in zip(self.asked, self.floors, strict=True)), Fraction(0))

    @property
    def distance(self) -> tuple[int, Fraction]:
        """Order witnesses: by the classes without a right row, then by how far the floors are lowered."""
        return self.reached.count(None), self.lowering

    def towards(self, high: Sequence[Floor], step: Floor) -> tuple[Floor, ...]:
        """Return floors half way to higher ones that were missed, in whole steps; never below these.

        For a class whose floor is not below the one that was missed, others were to blame: half way to the one asked.
        """
        return tuple(
            max(low, (low + (up if up > low else asked)) / 2 // step * step)
            for low, up, asked in zip(self.floors, high, self.asked, strict=True)
        )


def _scaled(floors: Sequence[Floor], halvings: int, step: Floor) -> tuple[Floor, ...]:
    """Return all floors halved so many times, in whole steps."""
    return tuple(floor / 2**halvings // step * step for floor in floors)


def _floors_met(record: RoundRecord, asked: Sequence[Floor], step: Floor) -> tuple[Floor | None, ...]:
    """Return for each class the floor asked for where the vote meets it, else the largest step that it meets."""
    met: list[Floor | None] = []
    for correct, total, floor in zip(record.vote_correct, record.class_totals, asked, strict=True):
        accuracy = Fraction(correct, total)
        if accuracy > floor:
            met.append(floor)
        elif correct == 0:
            met.append(None)
        else:
            steps = accuracy // step
            met.append((steps - 1) * step if steps * step == accuracy else steps * step)
    return tuple(met)


def _summary(booster: WorstClassBooster, asked: Sequence[Floor], best: Witness, n_fits: int) -> FeasibleFloors:
    labels = booster.classes_.tolist()
    record = booster.history_[-1]
    quota = Floors(tuple(asked)).vote_quota(np.array(record.class_totals))
    unmet = booster.unmet_edge_
    in_edge = {} if unmet is None else {row.label: row.correct / row.total for row in unmet.blocking}
    blocking = [
        BlockedFloor(
            label=label,
            asked=float(asked[k]),
            accuracy=record.vote_correct[k] / record.class_totals[k],
            rows_short=max(0, int(quota[k]) - record.vote_correct[k]),
            floor=float(best.floors[k]),
            edge_accuracy=in_edge.get(label),
        )
        for k, label in enumerate(labels)
        if best.lowering and (record.vote_correct[k] < quota[k] or best.floors[k] < asked[k])
    ]
    floors = _by_class(booster, best.floors)
    return FeasibleFloors(
        asked=_by_class(booster, asked),
        floors=floors,
        blocking=tuple(sorted(blocking, key=lambda row: -row.lowered_by)),
        booster=_at_floors(best, floors) if best.complete else None,
        n_fits=n_fits,
    )


def _at_floors(witness: Witness, floors: dict[Any, float]) -> WorstClassBooster:
    """Return the booster of a witness at the floors that it bears witness to, with a vote that meets them."""
    booster = copy.copy(witness.booster)
    booster.theta = floors
    used = prefix_meeting(booster.history_, Floors(witness.floors), booster.select_on)
    assert used is not None
    booster.n_members_used_ = used
    booster._report()
    return booster


def _require_same_rows(booster: WorstClassBooster, X: Any, y: Any) -> None:
    """Refuse rows that cannot be those of the fit: rows that are short are counted there, and floors found here."""
    labels = training_labels(X, y)
    same = labels.classes.tolist() == booster.classes_.tolist()
    if not same or labels.totals.tolist() != list(booster.history_[0].class_totals):
        raise DataError(
            f"X and y must be the rows that the booster was fitted on, of which each class has "
            f"{list(booster.history_[0].class_totals)}. Got {labels.totals.tolist()} of {labels.classes.tolist()}."
        )


def _refits_of(booster: WorstClassBooster, X: Any, y: Any, X_val: Any, y_val: Any) -> Fit:
    def fit(floors: dict[Any, float]) -> WorstClassBooster:
        parameters: dict[str, Any] = booster.get_params(deep=False)
        again = type(booster)(**{**parameters, "theta": floors, "on_unmet_edge": "stop"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorstClassWarning)
            return again.fit(X, y, X_val, y_val)

    return fit


def _by_class(booster: WorstClassBooster, floors: Sequence[Floor]) -> dict[Any, float]:
    return {label: float(floor) for label, floor in zip(booster.classes_.tolist(), floors, strict=True)}


def check_steps(resolution: Any, max_fits: Any, *, owner: str) -> None:
    """Refuse a resolution that is no number in (0, 1), and a number of fits that is no whole number."""
    if isinstance(resolution, bool) or not isinstance(resolution, numbers.Real) or not 0 < float(resolution) < 1:
        raise ParameterError("resolution", owner, allowed="a number in (0, 1)", got=resolution)
    if not is_count(max_fits, least=0):
        raise ParameterError("max_fits", owner, allowed="a whole number, 0 or more", got=max_fits)
