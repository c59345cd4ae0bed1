"""The risk that is asked for, class by class."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.exceptions import ParameterError, UnknownNameError
from worstclass.floors import OTHERS


def risk_limits(risk: Any, classes: npt.NDArray[Any], *, owner: str) -> npt.NDArray[np.float64]:
    """Read one limit for all classes, or a mapping with one a class; 1 asks for nothing.

    Examples
    --------
    >>> risk_limits({"b": 0.05, "others": 1}, np.array(["a", "b"]), owner="AbstainingClassifier").tolist()
    [1.0, 0.05]
    """
    labels = classes.tolist()
    if not isinstance(risk, Mapping):
        return np.full(len(labels), _limit(risk, owner))
    given = {key.item() if isinstance(key, np.generic) else key: _limit(value, owner) for key, value in risk.items()}
    for key in given:
        if key not in labels and key != OTHERS:
            raise UnknownNameError("risk", owner, key, [*labels, OTHERS])
    missing = [label for label in labels if label not in given]
    if missing and (OTHERS not in given or OTHERS in labels):
        raise ParameterError(
            "risk",
            owner,
            allowed=f"one limit for every class when it is a mapping; without one: {missing}",
            got=dict(risk),
            hint=f"Name them, or give the rest a common limit with the key {OTHERS!r} (1 where nothing is asked).",
        )
    return np.array([given[label] if label in given else given[OTHERS] for label in labels])


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
