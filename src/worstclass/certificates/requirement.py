"""What is asked of a certificate: the floor wanted of each class, exactly, and delta."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from worstclass._checks import by_class
from worstclass.exceptions import ParameterError

OWNER = "certify"


def wanted_floors(
    require: float | Mapping[Any, float] | None, classes: npt.NDArray[Any]
) -> tuple[Fraction | None, ...]:
    """Read one floor for all classes or a mapping; None for a class of which nothing is wanted (a floor of 0).

    Examples
    --------
    >>> import numpy as np
    >>> wanted_floors({"malignant": 0.95, "others": 0}, np.array(["benign", "malignant"]))
    (None, Fraction(19, 20))
    """
    labels = classes.tolist()
    if require is None:
        return (None,) * len(labels)
    found = by_class(require, labels, _floor, parameter="require", owner=OWNER, noun="floor", nothing="0")
    return tuple(found)


def check_delta(delta: Any, *, owner: str) -> None:
    """Refuse a delta that is no probability between 0 and 1."""
    is_number = isinstance(delta, numbers.Real) and not isinstance(delta, bool)
    if not is_number or not 0 < delta < 1:
        raise ParameterError(
            "delta",
            owner,
            allowed="a number in (0, 1)",
            got=delta,
            hint="It is the probability with which a promise may fail: 0.05 for a confidence of 95%.",
        )


def _floor(value: Any) -> Fraction | None:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 <= value < 1:
        raise ParameterError(
            "require",
            OWNER,
            allowed="an accuracy floor in [0, 1), or a mapping from class to such a floor",
            got=value,
            hint="A floor of 0.8 asks for a proof that less than 20% of every class is wrong.",
        )
    floor = value if isinstance(value, Fraction) else Fraction(str(value))
    return floor or None
