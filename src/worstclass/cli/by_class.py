"""Numbers by class on the command line: one for all classes, or ``class=number``, repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worstclass._checks import OTHERS
from worstclass.exceptions import ParameterError

FLOOR = "a number in [0, 1)"
RISK = "a number in (0, 1]"


def numbers_by_class(
    texts: Sequence[str], classes: Sequence[Any], option: str, allowed: str, class_names: Sequence[str] = ()
) -> float | dict[Any, float]:
    """Read one number for all classes, or class=number; a number alone among those is for the other classes.

    Parameters
    ----------
    texts : what was given with the option, at least one text.
    classes : labels; a class is named by the text of its label.
    option : the option, for errors.
    allowed : which numbers are allowed, for errors.
    class_names : other names of the labels 0, 1, ...
    """

    def number(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise ParameterError(option, "the command", allowed=f"{allowed}, or class=number", got=text) from None

    if len(texts) == 1 and "=" not in texts[0]:
        return number(texts[0])
    labels = {**{name: k for k, name in enumerate(class_names)}, **{str(label): label for label in classes}}
    found: dict[Any, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        key = labels.get(name, name) if equals else OTHERS
        if key in found:
            raise ParameterError(option, "the command", allowed="given once for each class", got=list(texts))
        found[key] = number(value)
    return found


def floors_by_class(texts: Sequence[str], classes: Sequence[Any], option: str = "--theta") -> float | dict[Any, float]:
    """Read accuracy floors, and refuse classes that are unknown or without a floor."""
    from worstclass.floors import Floors

    floors = numbers_by_class(texts, classes, option, FLOOR)
    Floors.from_theta(floors, classes, owner="the command", parameter=option)
    return floors


def floors_given(texts: Sequence[str] | None, data: str, labels: Any) -> float | dict[Any, float]:
    """Return the floors of --theta for the classes of the labels, else the paper's floor of a named data set."""
    import numpy as np

    from worstclass.cli.data import paper_settings
    from worstclass.cli.errors import MissingOption

    if texts:
        return floors_by_class(texts, np.unique(labels).tolist())
    default = paper_settings(data).get("booster", {}).get("theta")
    if default is None:
        raise MissingOption("--theta", "Give the accuracy floor, for example --theta 0.8.")
    return float(default)
