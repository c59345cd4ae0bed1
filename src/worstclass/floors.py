"""The accuracy floor theta, decided on exact counts.

A floor is a decimal that the user wrote, so ``0.8`` means 8/10 and not the nearest binary number; a class
of five rows with four right meets it. Two questions are asked of the same floor, and both are answered here
and nowhere else:

- *A member meets class k* (its feedback ``r_k`` is 1) when it gets **at least** theta of the class right.
- *The vote meets the bound for class k* when its error is **strictly below** ``1 - theta``, which is the bound
  that the paper states. On a class of 100 rows with theta 0.75, 25 errors earn a member its feedback, but the
  vote needs 24 or fewer.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._checks import by_class
from worstclass._typing import IntArray
from worstclass.exceptions import ParameterError


@dataclass(frozen=True)
class Floors:
    """One exact floor per class, in the order of the classes.

    Examples
    --------
    >>> floors = Floors.from_theta(0.8, ["a", "b"])
    >>> floors.member_quota([5, 10]), floors.vote_quota([5, 10])
    (array([4, 8]), array([5, 9]))
    """

    theta: tuple[Fraction, ...]

    @classmethod
    def from_theta(
        cls,
        theta: float | Mapping[Any, float],
        classes: npt.ArrayLike,
        *,
        owner: str = "WorstClassBooster",
        parameter: str = "theta",
    ) -> Floors:
        """Read one floor for all classes, or a mapping with one per class; errors name the parameter of the owner."""
        labels = np.asarray(classes).tolist()

        def read(value: Any) -> Fraction:
            return exact_floor(value, owner=owner, parameter=parameter)

        return cls(tuple(by_class(theta, labels, read, parameter=parameter, owner=owner, noun="floor")))

    def member_quota(self, totals: npt.ArrayLike) -> IntArray:
        """The least number of right answers a class with which a member meets the floor."""
        return self._per_class(totals, lambda floor, n: math.ceil(floor * n))

    def vote_quota(self, totals: npt.ArrayLike) -> IntArray:
        """The least number of right answers a class with which the error is strictly below ``1 - theta``."""
        return self._per_class(totals, lambda floor, n: math.floor(floor * n) + 1)

    def as_floats(self) -> tuple[float, ...]:
        """Return the floors as floats, for reports and files."""
        return tuple(float(floor) for floor in self.theta)

    def _per_class(self, totals: npt.ArrayLike, rule: Any) -> IntArray:
        counts = np.asarray(totals).tolist()
        return np.array([rule(floor, n) for floor, n in zip(self.theta, counts, strict=True)], dtype=np.int64)


def exact_floor(theta: Any, *, owner: str = "WorstClassBooster", parameter: str = "theta") -> Fraction:
    """Read one floor as the decimal it was written as; refuse what lies outside [0, 1)."""
    is_number = isinstance(theta, numbers.Real) and not isinstance(theta, bool)
    if not is_number or not math.isfinite(theta) or not 0 <= theta < 1:
        raise ParameterError(
            parameter,
            owner,
            allowed="an accuracy floor in [0, 1), or a mapping from class to such a floor",
            got=theta,
            hint="A floor of 0.8 asks that at least 80% of every class is right.",
        )
    return theta if isinstance(theta, Fraction) else Fraction(str(theta))


def shortest_floor(floor: Fraction) -> float | Fraction:
    """Return a floor as the float it was written as, or exactly where no float says it.

    Examples
    --------
    >>> shortest_floor(Fraction(4, 5)), shortest_floor(Fraction(2, 3))
    (0.8, Fraction(2, 3))
    """
    return float(floor) if Fraction(str(float(floor))) == floor else floor
