"""``--theta`` on the command line: one floor for all classes, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worstclass.cli.sources import is_named
from worstclass.data.registry import named_dataset
from worstclass.data.splits import Splits
from worstclass.exceptions import ParameterError
from worstclass.floors import OTHERS, Floors


def parse_theta(texts: Sequence[str], data: str, splits: Splits, *, owner: str) -> float | dict[Any, float]:
    """Read one number, or class=number; the text of a class finds the label it stands for.

    A named data set has the paper's floor for a default.
    """
    if not texts:
        default = named_dataset(data).settings.get("booster", {}).get("theta") if is_named(data) else None
        if default is not None:
            return float(default)
        raise ParameterError("--theta", owner, allowed="given: the accuracy floor that every class must meet", got=None)
    if len(texts) == 1 and "=" not in texts[0]:
        return _number(texts[0], owner)
    labels = {str(label): label for label in np.unique(splits.train.y).tolist()}
    floors: dict[Any, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        key = labels.get(name, name) if equals else OTHERS
        if key in floors:
            raise ParameterError("--theta", owner, allowed="given once for each class", got=list(texts))
        floors[key] = _number(value, owner)
    Floors.from_theta(floors, list(labels.values()), owner=owner)
    return floors


def _number(text: str, owner: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError("--theta", owner, allowed="a number in [0, 1), or class=number", got=text) from None
