"""Calibration rows as they come: their labels, the order of their columns, and whether they were used before."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.certificates.requirement import kind, twin
from worstclass.data.map_style import is_map_dataset, labels_of
from worstclass.exceptions import DataError
from worstclass.fingerprints import Hashes, row_hashes, which_seen
from worstclass.labels import Labels, known_labels


def label_values(X: Any, y: Any, *, name: str, owner: str) -> npt.NDArray[Any]:
    """Return the labels as they came."""
    if y is None and not is_map_dataset(X):
        raise DataError(f"{owner} needs the labels of the calibration rows. Pass {name}.")
    values = np.asarray(labels_of(X) if y is None else y)
    if values.size == 0:
        raise DataError("There is no calibration row. Pass rows that were used for nothing else.")
    return values


def calibration_labels(X: Any, y: Any, classes: npt.NDArray[Any], *, name: str, owner: str) -> Labels:
    """Read labels, all of which must be among the classes; one that reads like a class is told apart from it."""
    values = label_values(X, y, name=name, owner=owner)
    try:
        return known_labels(X, y, classes, name)
    except DataError:
        mixed = isinstance(y, list | tuple) and len({kind(label) for label in y}) > 1
        if not mixed:
            refuse_twins(values.ravel().tolist(), classes.tolist(), f"{name} has")
        raise


def refuse_twins(labels: list[Any], classes: list[Any], who: str) -> None:
    """Refuse labels that read like classes but are of another type, as "1" and 1."""
    for label in dict.fromkeys(labels):
        same = None if label in classes else twin(label, classes)
        if same is not None:
            raise DataError(
                f"{who} the {kind(label)} {label!r} where the class is the {kind(same)} {same!r}. Make labels of one "
                f"type: np.asarray(labels).astype({'str' if kind(same) == 'text' else 'float'})."
            )


def columns_in_order(X: Any, names: Any) -> Any:
    """Return a data frame with its columns in the order of training; a file may have them in another.

    ``names`` are those of training, such as ``model.feature_names_in_``; None where there are none.
    """
    if names is None or not hasattr(X, "columns") or set(names) != set(X.columns):
        return X
    return X[list(names)]


def count_reuse(X: Any, seen: Hashes | None, *, force: bool) -> tuple[int | None, int | None]:
    """Count the rows that were seen before, and those that repeat others; refuse the former.

    Parameters
    ----------
    X : calibration rows.
    seen : sorted fingerprints of the rows that the model has seen; None where they are not known.
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
    return n_reused, n_repeated
