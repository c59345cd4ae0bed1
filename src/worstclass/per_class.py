"""Numbers by class, as a user gives them: one for all classes, or a mapping; and labels mistaken for their twins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from worstclass.exceptions import ParameterError, UnknownNameError

#: in a mapping, stands for every class that is not named
OTHERS = "others"

Value = TypeVar("Value")


def by_class(
    given: Any,
    labels: list[Any],
    read: Callable[[Any], Value],
    *,
    parameter: str,
    owner: str,
    noun: str,
    nothing: str = "",
) -> list[Value]:
    """Read one number for all classes, or a mapping with one for each, in which ``"others"`` stands for the rest.

    Parameters
    ----------
    given : a number or a mapping.
    labels : the classes.
    read : checks a number and makes of it what is returned.
    parameter, owner : whose it is, for errors.
    noun : what a number is called there.
    nothing : the number that asks for nothing, if there is one.

    Returns
    -------
    One value a class.

    Examples
    --------
    >>> by_class({"mel": 0.95, "others": 0.8}, ["bcc", "mel", "nv"], float, parameter="theta", owner="f", noun="floor")
    [0.8, 0.95, 0.8]
    """
    if not isinstance(given, Mapping):
        return [read(given)] * len(labels)
    values = {plain(key): read(value) for key, value in given.items()}
    _refuse_unknown(values, labels, parameter, owner)
    missing = [label for label in labels if label not in values]
    if missing and (OTHERS not in values or OTHERS in labels):
        hint = f"Name them, or give the rest a common {noun} with the key {OTHERS!r}"
        if OTHERS in labels:
            hint = f"Name them: {OTHERS!r} is a class here, and cannot stand for the rest"
        raise ParameterError(
            parameter,
            owner,
            allowed=f"one {noun} for every class when it is a mapping; without one: {missing}",
            got=dict(given),
            hint=f"{hint} ({nothing} asks for nothing)." if nothing else f"{hint}.",
        )
    return [values[label] if label in values else values[OTHERS] for label in labels]


def plain(label: Any) -> Any:
    """Return a label as Python's own type."""
    return label.item() if isinstance(label, np.generic) else label


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


def _refuse_unknown(given: Mapping[Any, Any], labels: list[Any], parameter: str, owner: str) -> None:
    for key in given:
        if key in labels or key == OTHERS:
            continue
        known = twin(key, labels)
        if known is not None:
            raise ParameterError(
                parameter,
                owner,
                allowed=f"a mapping by the classes themselves, of which {known!r} is a {kind(known)}",
                got=key,
                hint=f"Write {known!r} in place of {key!r}.",
            )
        raise UnknownNameError(parameter, owner, key, [*labels, OTHERS])
