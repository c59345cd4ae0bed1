"""``--theta`` and ``--goal`` on the command line: one floor for all classes, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.cli.by_class import numbers_by_class
from worstclass.cli.sources import is_named
from worstclass.data.registry import named_dataset
from worstclass.data.splits import Splits
from worstclass.exceptions import ParameterError
from worstclass.floors import Floors


def parse_theta(
    texts: Sequence[str], data: str, splits: Splits, *, owner: str, option: str = "--theta"
) -> float | dict[Any, float]:
    """Read one number, or class=number; the text of a class finds the label it stands for.

    A named data set has the paper's floor for a default. ``option`` is what the user wrote the texts with.
    """
    if not texts:
        default = named_dataset(data).settings.get("booster", {}).get("theta") if is_named(data) else None
        if default is not None:
            return float(default)
        raise ParameterError(option, owner, allowed="given: the accuracy floor that every class must meet", got=None)
    return parse_floors(texts, np.unique(splits.train.y), owner=owner, option=option)


def parse_floors(
    texts: Sequence[str], classes: npt.NDArray[Any], *, owner: str, option: str = "--theta"
) -> float | dict[Any, float]:
    """Read one number, or class=number, for classes that are known; at least one text."""
    floors = numbers_by_class(texts, classes.tolist(), owner=owner, option=option, allowed="a number in [0, 1)")
    if isinstance(floors, dict):
        Floors.from_theta(floors, classes.tolist(), owner=owner, parameter=option)
    return floors
