"""What holds on the training rows: counted, next to what the paper's theorem assumes and what always follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from worstclass._typing import IntArray
from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.history import RoundRecord
from worstclass.exceptions import ParameterError
from worstclass.floors import Floors


@dataclass(frozen=True)
class ClassTraining:
    """One class on the training rows.

    "Voters" are the members that the vote uses; "prefixes" are the first 1, 2, ... of the T rounds.

    Attributes
    ----------
    name : the class.
    total, wrong : its training rows, and those that the vote gets wrong.
    floor : its theta.
    spare : rows by which the bound is met: how many more could be wrong. Below 0: rows by which it is missed.
    voters_meeting : voters that meet the floor by themselves (feedback 1).
    voters_wrong : wrong answers of all voters together.
    factor_two : twice the mean error of the voters, which the error of the vote never exceeds.
    missed_prefixes : prefixes whose vote misses the bound.
    false_prefixes : of those, how many have at least half of their members meeting the floor. The proof's majority step
        says that there is none.
    false_at_end : whether the vote of all T rounds is one of them: then the proof fails on this class.
    """

    name: str
    total: int
    wrong: int
    floor: float
    spare: int
    voters_meeting: int
    voters_wrong: int
    factor_two: float
    missed_prefixes: int
    false_prefixes: int
    false_at_end: bool

    @property
    def met(self) -> bool:
        """Whether the error of the vote is strictly below ``1 - floor``."""
        return self.spare >= 0

    @property
    def error(self) -> float:
        """Training error of the vote."""
        return self.wrong / self.total


@dataclass(frozen=True)
class TrainingCertificate:
    """Whether every class meets its floor on the training rows, and why the theorem does or does not say so.

    Attributes
    ----------
    classes : one ``ClassTraining`` a class, in the order of ``classes_``.
    n_rounds : T, as planned.
    n_boosted, n_extended : rounds of the T that were finished, and rounds added after them.
    n_voters : members that the vote uses.
    needed_edge : 1/2 + gamma.
    n_edges_reached : finished rounds among the T whose edge reached it.
    regret : Hedge's regret over the finished rounds; None where there is none.
    regret_bound : what Hedge's theory allows, ``ln K / eta + eta t / 8``; None likewise.
    regret_allowed : what the theorem assumes at the most, ``gamma T / 2``.
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

    @property
    def bound_met(self) -> bool:
        """Whether the vote that is used meets the bound for every class."""
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
        return self.n_boosted == self.n_rounds and not any(row.false_at_end for row in self.classes)

    @property
    def theorem_applies(self) -> bool:
        """Whether all that the theorem assumes held, so that it proves the bound for the vote of the T rounds."""
        return self.edges_held and self.regret_held and self.majority_held

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        derived = ("bound_met", "edges_held", "regret_held", "majority_held", "theorem_applies")
        return {**asdict(self), **{name: getattr(self, name) for name in derived}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingCertificate:
        """Rebuild a certificate from what ``to_dict`` gave."""
        own = {name: values[name] for name in cls.__dataclass_fields__ if name != "classes"}
        return cls(classes=tuple(ClassTraining(**row) for row in values["classes"]), **own)

    def __str__(self) -> str:
        width = max(5, *(len(row.name) for row in self.classes))
        head = f"{'class':<{width}}  {'error':>7}  {'wrong':>7}  {'rows':>7}    floor  {'spare':>6}  {'factor two':>10}"
        lines = [
            f"{row.name:<{width}}  {row.error:>7.1%}  {row.wrong:>7}  {row.total:>7}  {row.floor:>7.1%}  "
            f"{row.spare:>6}  {row.factor_two:>10.1%}"
            for row in self.classes
        ]
        return "\n".join([head, *lines, *self._sentences()])

    def _sentences(self) -> list[str]:
        missed = [f"{row.name} by {-row.spare}" for row in self.classes if not row.met]
        bound = f"NOT met, in rows: {', '.join(missed)}" if missed else "met for every class"
        false = sum(row.false_prefixes for row in self.classes)
        premise = sum(row.missed_prefixes for row in self.classes)
        regret = "none" if self.regret is None else f"{self.regret:.2f} (Hedge's bound {self.regret_bound:.2f})"
        return [
            f"Training bound of the vote of {self.n_voters} members, counted: {bound}.",
            f"What the theorem assumes: edge {self.needed_edge:.4f} in each of {self.n_rounds} rounds, reached in "
            f"{self.n_edges_reached} ({_held(self.edges_held)}); regret at most {self.regret_allowed:.2f}, was "
            f"{regret} ({_held(self.regret_held)}); the majority step after T rounds ({_held(self.majority_held)}; "
            f"false in {false} of the {premise} cases of a prefix that misses a class).",
            "The theorem "
            + ("proves the bound for the vote of the T rounds." if self.theorem_applies else "does not apply here.")
            + " What always holds: the error is at most 'factor two', twice the mean error of the members.",
        ]


def training_certificate(booster: WorstClassBooster) -> TrainingCertificate:
    """Count what holds on the training rows, from the history of a fitted booster; nothing is predicted again.

    The vote is judged as it is used (after a choice of the prefix, with added rounds), the theorem's assumptions on the
    T rounds of the algorithm, which are all that it speaks of.

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
        classes=tuple(_classes(booster, boosted)),
        n_rounds=booster.n_rounds_,
        n_boosted=len(boosted),
        n_extended=sum(record.phase == "extend" for record in history),
        n_voters=booster.n_members_used_,
        needed_edge=0.5 + booster.gamma_,
        n_edges_reached=sum(record.edge >= 0.5 + booster.gamma_ for record in boosted),
        regret=boosted[-1].regret if boosted else None,
        regret_bound=boosted[-1].regret_bound if boosted else None,
        regret_allowed=booster.gamma_ * booster.n_rounds_ / 2,
    )


def _classes(booster: WorstClassBooster, boosted: Sequence[RoundRecord]) -> list[ClassTraining]:
    voters = booster.history_[: booster.n_members_used_]
    floors = Floors.from_theta(booster.theta, booster.classes_)
    total = np.array(voters[-1].class_totals)
    correct = np.array(voters[-1].vote_correct)
    quota = floors.vote_quota(total)
    wrong_answers = (total - np.array([record.member_correct for record in voters])).sum(axis=0)
    meeting = np.array([record.feedback for record in voters]).sum(axis=0)
    missed, false = _majority_step(boosted, quota)
    return [
        ClassTraining(
            name=str(label),
            total=int(total[k]),
            wrong=int(total[k] - correct[k]),
            floor=float(floors.theta[k]),
            spare=int(correct[k] - quota[k]),
            voters_meeting=int(meeting[k]),
            voters_wrong=int(wrong_answers[k]),
            factor_two=2 * int(wrong_answers[k]) / (len(voters) * int(total[k])),
            missed_prefixes=int(missed[:, k].sum()),
            false_prefixes=int(false[:, k].sum()),
            false_at_end=bool(false[-1:, k].any()),
        )
        for k, label in enumerate(booster.classes_.tolist())
    ]


def _majority_step(boosted: Sequence[RoundRecord], quota: IntArray) -> tuple[Any, Any]:
    """Tell for each prefix and class whether the vote misses it, and whether it does so against the proof.

    The proof says of a class that the vote of t rounds misses: more than half of the t rounds miss it. That is false
    where at least half of them meet it, 2 * met >= t.
    """
    shape = (len(boosted), len(quota))
    vote = np.array([record.vote_correct for record in boosted]).reshape(shape)
    met = np.array([record.feedback for record in boosted]).reshape(shape).cumsum(axis=0)
    missed = vote < quota
    return missed, missed & (2 * met >= np.arange(1, len(boosted) + 1)[:, None])


def _held(held: bool) -> str:
    return "held" if held else "did NOT hold"
