"""Checks that the losses share for the values of their options."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from worstclass.exceptions import ParameterError


def require_number(owner: object, parameter: str, *, allowed: str, meets: Callable[[float], bool]) -> None:
    """Raise unless the attribute of that name is a finite real number that ``meets`` accepts."""
    value: Any = getattr(owner, parameter)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not meets(float(value)):
        raise ParameterError(parameter, type(owner).__name__, allowed=allowed, got=value)


def require_non_negative(owner: object, parameter: str) -> None:
    """Raise unless the attribute of that name is a finite number >= 0."""
    require_number(owner, parameter, allowed="a number of at least 0", meets=lambda value: value >= 0)


def require_positive(owner: object, parameter: str) -> None:
    """Raise unless the attribute of that name is a finite number > 0."""
    require_number(owner, parameter, allowed="a positive number", meets=lambda value: value > 0)


def require_count(owner: object, parameter: str) -> None:
    """Raise unless the attribute of that name is a whole number >= 0."""
    value: Any = getattr(owner, parameter)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise ParameterError(parameter, type(owner).__name__, allowed="a whole number of at least 0", got=value)


def require_kind(owner: object, parameter: str, kind: type, *, allowed: str) -> None:
    """Raise unless the attribute of that name is an instance of ``kind``."""
    value: Any = getattr(owner, parameter)
    if not isinstance(value, kind):
        raise ParameterError(parameter, type(owner).__name__, allowed=allowed, got=value)
