"""The risk that is asked for, class by class."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._checks import by_class
from worstclass.exceptions import ParameterError


def risk_limits(risk: Any, classes: npt.NDArray[Any], *, owner: str) -> npt.NDArray[np.float64]:
    """Read one limit for all classes, or a mapping with one a class; 1 asks for nothing.

    Examples
    --------
    >>> risk_limits({"b": 0.05, "others": 1}, np.array(["a", "b"]), owner="AbstainingClassifier").tolist()
    [1.0, 0.05]
    """

    def read(value: Any) -> float:
        return _limit(value, owner)

    found = by_class(risk, classes.tolist(), read, parameter="risk", owner=owner, noun="limit", nothing="1")
    limits = np.array(found)
    if (limits == 1).all():
        allowed, hint = "below 1 for at least one class", "A limit of 1 asks for nothing, so nothing would be proven."
        raise ParameterError("risk", owner, allowed=allowed, got=risk, hint=hint)
    return limits


def _limit(value: Any, owner: str) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 < value <= 1:
        raise ParameterError(
            "risk",
            owner,
            allowed="a limit in (0, 1], or a mapping from class to such a limit",
            got=value,
            hint="A risk of 0.05 asks that less than 5% of the answered rows of every class are wrong.",
        )
    return float(value)
