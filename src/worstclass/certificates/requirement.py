"""What is asked of a certificate: the floor wanted of each class, exactly, and delta."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from worstclass.exceptions import ParameterError, UnknownNameError
from worstclass.floors import OTHERS

OWNER = "certify"

Value = TypeVar("Value")


def wanted_floors(
    require: float | Mapping[Any, float] | None, classes: npt.NDArray[Any]
) -> tuple[Fraction | None, ...]:
    """Read one floor for all classes or a mapping; None for a class of which nothing is wanted (a floor of 0).

    Examples
    --------
    >>> wanted_floors({"malignant": 0.95, "others": 0}, np.array(["benign", "malignant"]))
    (None, Fraction(19, 20))
    """
    labels = classes.tolist()
    if require is None:
        return (None,) * len(labels)
    return tuple(by_class(require, labels, _floor, parameter="require", owner=OWNER, hint="0 where nothing is wanted"))


def by_class(
    given: Any, labels: list[Any], read: Callable[[Any], Value], *, parameter: str, owner: str, hint: str
) -> list[Value]:
    """Read one number for all classes, or a mapping with one for each, in which ``"others"`` stands for the rest.

    Parameters
    ----------
    given : a number or a mapping.
    labels : the classes.
    read : checks a number and makes of it what is returned.
    parameter, owner : whose it is, for errors.
    hint : the number that asks for nothing.

    Returns
    -------
    One value a class.
    """
    if not isinstance(given, Mapping):
        return [read(given)] * len(labels)
    values = {key.item() if isinstance(key, np.generic) else key: read(value) for key, value in given.items()}
    _refuse_unknown(values, labels, parameter, owner)
    missing = [label for label in labels if label not in values]
    if missing and (OTHERS not in values or OTHERS in labels):
        raise ParameterError(
            parameter,
            owner,
            allowed=f"one number for every class when it is a mapping; without one: {missing}",
            got=dict(given),
            hint=f"Name them, or give the rest a common number with the key {OTHERS!r} ({hint}).",
        )
    return [values[label] if label in values else values[OTHERS] for label in labels]


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


def twin(label: Any, classes: list[Any]) -> Any:
    """Return the class that reads like a label but is of another type, such as 1 for "1"; None where there is none."""
    return next((known for known in classes if kind(known) != kind(label) and _reads_like(known, label)), None)


def kind(label: Any) -> str:
    """Say what a label is: text or a number."""
    return "text" if isinstance(label, str) else "number"


def _reads_like(one: Any, other: Any) -> bool:
    if str(one) == str(other):
        return True
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return False


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


def _refuse_unknown(given: Mapping[Any, Any], labels: list[Any], parameter: str, owner: str) -> None:
    for key in given:
        if key in labels or key == OTHERS:
            continue
        known = twin(key, labels)
        if known is not None:
            raise ParameterError(
                parameter,
                owner,
                allowed=f"a mapping by the model's own classes, of which {known!r} is a {kind(known)}",
                got=key,
                hint=f"Write {known!r} in place of {key!r}.",
            )
        raise UnknownNameError(parameter, owner, key, [*labels, OTHERS])
