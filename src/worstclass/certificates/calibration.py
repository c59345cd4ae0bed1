"""Calibration rows as they come: their labels, the order of their columns, and whether they were used before."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.labels import Labels, known_labels
from worstclass.data.map_style import is_map_dataset, labels_of
from worstclass.data.seen_rows import Hashes, row_hashes, which_seen
from worstclass.exceptions import DataError


def label_values(X: Any, y: Any, *, name: str, owner: str) -> npt.NDArray[Any]:
    """Return the labels as they came."""
    if y is None and not is_map_dataset(X):
        raise DataError(f"{owner} needs the labels of the calibration rows. Pass {name}.")
    values = np.asarray(labels_of(X) if y is None else y)
    if values.size == 0:
        raise DataError("There is no calibration row. Pass rows that were used for nothing else.")
    return values


def calibration_labels(X: Any, y: Any, classes: npt.NDArray[Any], *, name: str, owner: str) -> Labels:
    """Read labels, of which there must be some, all among the classes."""
    label_values(X, y, name=name, owner=owner)
    return known_labels(X, y, classes, name)


def known_rows(model: Any) -> tuple[Hashes | None, bool]:
    """Return the fingerprints of the rows that a model is known to have seen, and whether those are all."""
    seen = getattr(model, "row_hashes_", None)
    return seen, seen is not None and getattr(model, "training_rows_known_", True)


def count_reuse(X: Any, seen: Hashes | None, whole: bool = True, *, force: bool) -> tuple[int | None, int | None]:
    """Count the rows that were seen before, and those that repeat others; refuse the former.

    Parameters
    ----------
    X : calibration rows.
    seen : sorted fingerprints of the rows that the model is known to have seen; None where there are none.
    whole : whether these are all that it has seen.
    force : count, and do not refuse.

    Returns
    -------
    Rows seen before, and copies of other calibration rows; None for what cannot be known.
    """
    hashes = row_hashes(X, read_items=seen is not None)
    if hashes is None:
        return None, None
    n_repeated = len(hashes) - len(np.unique(hashes))
    if seen is None:
        return None, n_repeated
    n_reused = int(which_seen(hashes, seen).sum())
    if n_reused and not force:
        raise DataError(
            f"The model was trained or validated on {n_reused} of the {len(hashes)} calibration rows, which therefore "
            "prove nothing. Pass rows that were used for nothing else, or force=True (--force) for a certificate that "
            "says so."
        )
    return n_reused if n_reused or whole else None, n_repeated
