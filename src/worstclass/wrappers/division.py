"""Rows that a classifier was not trained on: what is known of them, and how they are divided."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from worstclass._typing import BoolArray, IntArray
from worstclass.data.labels import Labels


class HeldOut(NamedTuple):
    """A fitted classifier, rows it was not trained on with their labels, and how many were used before or repeat."""

    model: Any
    X: Any
    labels: Labels
    n_reused: int | None
    n_repeated: int | None


def divide(target: IntArray, share: float, rng: np.random.Generator | None) -> BoolArray:
    """Mark a share of the rows of each class, rounded to whole rows: drawn at random, or spread evenly.

    Examples
    --------
    >>> divide(np.array([0, 0, 0, 0, 1]), 0.5, None).tolist()
    [True, False, True, False, True]
    """
    marked = np.zeros(len(target), dtype=np.bool_)
    for k in np.unique(target).tolist():
        rows = np.flatnonzero(target == k)
        if rng is not None:
            rows = rng.permutation(rows)
        steps = np.floor(np.arange(len(rows) + 1) * share + 0.5)
        marked[rows[np.diff(steps) > 0]] = True
    return marked
