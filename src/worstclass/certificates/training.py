"""What holds on the training rows, by count, and which assumptions of the paper's Theorem 1 held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from worstclass._text import percent, text_table
from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.history import RoundRecord
from worstclass.certificates.certificate import ClassRecord
from worstclass.exceptions import ParameterError
from worstclass.floors import Floors


@dataclass(frozen=True)
class ClassTraining:
    """One class on the training rows.

    Attributes
    ----------
    total, wrong, floor : its training rows, those that the vote gets wrong, and its theta.
    spare : how many more rows could be wrong with the bound still met; below 0, the rows by which it is missed.
    factor_two : twice the mean error of the members that vote, which the error of the vote never exceeds.
    majority_false : whether the vote of the T rounds misses the bound although at least half of them meet the floor.
        According to the majority step of the proof that cannot be.
    """

    name: str
    total: int
    wrong: int
    floor: float
    spare: int
    factor_two: float
    majority_false: bool

    derived: ClassVar[tuple[str, ...]] = ("met", "error")

    @property
    def met(self) -> bool:
        """Whether the error of the vote is strictly below ``1 - floor``."""
        return self.spare >= 0

    @property
    def error(self) -> float:
        """Training error of the vote."""
        return self.wrong / self.total


@dataclass(frozen=True)
class TrainingCertificate(ClassRecord):
    """Whether every class meets its floor on the training rows, and whether the theorem explains it.

    Attributes
    ----------
    classes : one ``ClassTraining`` per class, in the order of ``classes_``.
    n_rounds : T, as planned.
    n_boosted, n_extended : rounds of the T that were finished, and rounds added after them.
    n_voters : members that vote.
    needed_edge : 1/2 + gamma.
    n_edges_reached : finished rounds among the T that reached it.
    regret : Hedge's regret over the finished rounds; None if there is none.
    regret_bound : the bound of Hedge's theory, ``ln K / eta + eta t / 8``; None likewise.
    regret_allowed : the largest regret that the theorem allows, ``gamma T / 2``.
    compacted : whether ``compact`` has left members out. The theorem is about the vote of all T rounds, so it does not
        apply to a vote without them.
    """

    classes: tuple[ClassTraining, ...]
    n_rounds: int
    n_boosted: int
    n_extended: int
    n_voters: int
    needed_edge: float
    n_edges_reached: int
    regret: float | None
    regret_bound: float | None
    regret_allowed: float
    compacted: bool = False

    derived: ClassVar[tuple[str, ...]] = ("bound_met", "edges_held", "regret_held", "majority_held", "theorem_applies")

    @property
    def bound_met(self) -> bool:
        """Whether the vote meets the bound for every class."""
        return all(row.met for row in self.classes)

    @property
    def edges_held(self) -> bool:
        """Whether each of the T rounds reached its edge: the theorem's weak learnability, as observed."""
        return self.n_edges_reached == self.n_rounds

    @property
    def regret_held(self) -> bool:
        """Whether Hedge's regret over the T rounds is at most ``gamma T / 2``."""
        return self.n_boosted == self.n_rounds and self.regret is not None and self.regret <= self.regret_allowed

    @property
    def majority_held(self) -> bool:
        """Whether every class that the vote of the T rounds misses was missed by more than half of them."""
        return self.n_boosted == self.n_rounds and not any(row.majority_false for row in self.classes)

    @property
    def theorem_applies(self) -> bool:
        """Whether all assumptions of the theorem held, so that it proves the bound for the vote of the T rounds."""
        return self.edges_held and self.regret_held and self.majority_held

    def __str__(self) -> str:
        cells = [
            [
                row.name,
                *map(percent, (row.error, row.factor_two, row.floor)),
                *map(str, (row.wrong, row.total, row.spare)),
            ]
            for row in self.classes
        ]
        missed = [f"{row.name} by {-row.spare}" for row in self.classes if not row.met]
        bound = f"NOT met, in rows: {', '.join(missed)}" if missed else "met for every class"
        return "\n".join(
            [
                *text_table(["class", "error", "factor two", "floor", "wrong", "rows", "spare"], cells),
                f"Training bound of the vote of {self.n_voters} members, counted: {bound}.",
                *self._assumptions(),
                "In any case the error is at most 'factor two', twice the mean error of the members.",
            ]
        )

    def _assumptions(self) -> list[str]:
        if self.compacted:
            return ["The vote was compacted. The theorem is about the vote of all rounds, and does not apply here."]
        regret = "none" if self.regret is None else f"{self.regret:.2f} (Hedge's bound {self.regret_bound:.2f})"
        proof = "proves the bound for the vote of the T rounds" if self.theorem_applies else "does not apply here"
        return [
            "Assumptions of the theorem:",
            f"- edge {self.needed_edge:.4f} in each of {self.n_rounds} rounds, reached in {self.n_edges_reached}: "
            f"{_held(self.edges_held)}",
            f"- regret at most {self.regret_allowed:.2f}, was {regret}: {_held(self.regret_held)}",
            f"- majority step after T rounds: {_held(self.majority_held)}",
            f"The theorem {proof}.",
        ]


def training_certificate(booster: WorstClassBooster) -> TrainingCertificate:
    """Count what holds on the training rows, from the history of a fitted booster; nothing is predicted again.

    The vote is judged as it is used (after the choice of a prefix, with added rounds), and the assumptions of the
    theorem on the T rounds of the algorithm.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster
    >>> booster = WorstClassBooster(DecisionTreeClassifier(), 0.9, random_state=0).fit(*load_iris(return_X_y=True))
    >>> certificate = training_certificate(booster)
    >>> certificate.bound_met, certificate.edges_held, certificate.regret_held
    (True, True, True)
    """
    if not isinstance(booster, WorstClassBooster) or not hasattr(booster, "history_"):
        raise ParameterError("booster", "training_certificate", allowed="a fitted WorstClassBooster", got=booster)
    history = booster.history_
    boosted = [record for record in history if record.phase == "boost"]
    return TrainingCertificate(
        classes=_classes(booster, boosted),
        n_rounds=booster.n_rounds_,
        n_boosted=len(boosted),
        n_extended=sum(record.phase == "extend" for record in history),
        n_voters=booster.n_members_used_,
        needed_edge=0.5 + booster.gamma_,
        n_edges_reached=sum(record.edge >= 0.5 + booster.gamma_ for record in boosted),
        regret=boosted[-1].regret if boosted else None,
        regret_bound=boosted[-1].regret_bound if boosted else None,
        regret_allowed=booster.gamma_ * booster.n_rounds_ / 2,
        compacted=booster.compaction_ is not None,
    )


def _classes(booster: WorstClassBooster, boosted: Sequence[RoundRecord]) -> tuple[ClassTraining, ...]:
    voters = booster.history_[: booster.n_members_used_]
    floors = Floors.from_theta(booster.theta, booster.classes_)
    total, correct = np.array(voters[-1].class_totals), np.array(voters[-1].vote_correct)
    quota = floors.vote_quota(total)
    mean_error = (total - np.array([record.member_correct for record in voters])).mean(axis=0) / total
    false = np.zeros(len(quota), dtype=np.bool_)
    if boosted:
        n_met = np.array([record.feedback for record in boosted]).sum(axis=0)
        false = (np.array(boosted[-1].vote_correct) < quota) & (2 * n_met >= len(boosted))
    columns = (total, total - correct, np.array(floors.as_floats()), correct - quota, 2 * mean_error, false)
    names = map(str, booster.classes_.tolist())
    rows: Any = zip(names, *(column.tolist() for column in columns), strict=True)
    return tuple(ClassTraining(*row) for row in rows)


def _held(held: bool) -> str:
    return "held" if held else "did NOT hold"
