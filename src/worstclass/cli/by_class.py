"""Numbers by class on the command line: one for all classes, or ``class=number``, repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worstclass._checks import OTHERS
from worstclass.exceptions import ParameterError


def numbers_by_class(
    texts: Sequence[str],
    classes: Sequence[Any],
    *,
    owner: str,
    option: str,
    allowed: str,
    class_names: Sequence[str] = (),
) -> float | dict[Any, float]:
    """Read one number for all classes, or class=number; a number among those stands for the other classes.

    Parameters
    ----------
    texts : what was given with the option, at least one text.
    classes : labels; a class is named as its label reads.
    owner, option : the command and its option, for errors.
    allowed : the numbers that are allowed, for errors.
    class_names : other names of the labels 0, 1, ...
    """

    def number(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise ParameterError(option, owner, allowed=f"{allowed}, or class=number", got=text) from None

    if len(texts) == 1 and "=" not in texts[0]:
        return number(texts[0])
    labels = {**{name: k for k, name in enumerate(class_names)}, **{str(label): label for label in classes}}
    found: dict[Any, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        key = labels.get(name, name) if equals else OTHERS
        if key in found:
            raise ParameterError(option, owner, allowed="given once for each class", got=list(texts))
        found[key] = number(value)
    return found
