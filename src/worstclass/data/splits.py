"""Training, validation, calibration and test rows, kept apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.disk import copy_rows
from worstclass.data.stratified import check_shares
from worstclass.exceptions import DataError

PARTS = ("val", "cal", "test")

#: what folders and arrays of a split are called -> what the split is for
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "cal": "cal",
    "calibration": "cal",
    "test": "test",
    "testing": "test",
}

#: the part of rows that are not split yet
ALL = "all"


@dataclass(frozen=True, eq=False)
class Part:
    """Rows and their labels."""

    X: Any
    y: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Splits:
    """The parts of a data set, by what they are used for; a part that is not there is None.

    ``train`` fits, ``val`` chooses (the prefix, theta), ``cal`` certifies and is used for nothing else, ``test``
    measures. ``class_names`` are names for labels that are numbers from 0; empty where labels speak for themselves.
    """

    train: Part
    val: Part | None = None
    cal: Part | None = None
    test: Part | None = None
    class_names: tuple[str, ...] = ()

    @classmethod
    def from_parts(cls, parts: Mapping[str, Part | None], class_names: tuple[str, ...] = ()) -> Splits:
        """Return splits of parts by name; ``train`` must be among them."""
        train = parts["train"]
        assert train is not None
        return cls(train, parts.get("val"), parts.get("cal"), parts.get("test"), class_names)

    def with_names(self) -> Splits:
        """Return the same splits with the names of classes for labels, where names say more than numbers.

        Of classes with the same name, the numbers tell which is which.

        Examples
        --------
        >>> splits = Splits(Part([[0], [1]], np.array([0, 1])), class_names=("benign", "malignant"))
        >>> splits.with_names().train.y.tolist()
        ['benign', 'malignant']
        """
        names = self.class_names
        if all(name == str(number) for number, name in enumerate(names)):
            return self
        labels = np.array([name if names.count(name) == 1 else f"{name} ({k})" for k, name in enumerate(names)])
        parts = {
            name: None if part is None else Part(part.X, labels[part.y])
            for name, part in (("train", self.train), ("val", self.val), ("cal", self.cal), ("test", self.test))
        }
        return Splits.from_parts(parts)


def make_splits(
    X: Any,
    y: npt.ArrayLike,
    *,
    val: float = 0.0,
    cal: float = 0.0,
    test: float = 0.2,
    seed: int = 0,
    memory_bytes: int | None = None,
) -> Splits:
    """Split rows by class, at random, each class in the given shares.

    The shares of a class are rounded to whole rows, and training keeps at least one row of every class; so a class
    with very few rows may be absent from the other parts.

    Parameters
    ----------
    X : rows: an array, sparse matrix or data frame.
    y : labels, shape (n,).
    val, cal, test : share of each part; training gets the rest.
    seed : fixes the draw.
    memory_bytes : rows of an array that lies on disk are copied to disk again where they have more bytes; None for
        ``worstclass.data.disk.MEMORY_BYTES``.

    Examples
    --------
    >>> splits = make_splits(np.arange(20).reshape(10, 2), ["a"] * 5 + ["b"] * 5, test=0.2)
    >>> len(splits.train), len(splits.test), splits.val
    (8, 2, None)
    """
    shares = dict(zip(PARTS, (val, cal, test), strict=True))
    check_shares(shares, "make_splits")
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise DataError(f"y must be one label a row, shape (n,), of at least one row. Got shape {labels.shape}.")
    if any(label is None or label != label for label in labels.tolist()):
        raise DataError("y must have a label for every row. Got None or NaN among them; leave those rows out.")
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != len(labels):
        raise DataError(f"X and y must have one label for each row. Got {n_rows} rows and {len(labels)} labels.")
    rows = _rows_by_part(labels, shares, np.random.default_rng(seed))
    parts = {
        name: Part(take_rows(X, index, memory_bytes), labels[index]) if len(index) else None
        for name, index in rows.items()
    }
    return Splits.from_parts(parts)


def columns_in_order(X: Any, names: Any) -> Any:
    """Return a data frame with its columns in the order of training; a file may have them in another.

    ``names`` are those of training, such as ``model.feature_names_in_``; None where there are none.
    """
    if names is None or not hasattr(X, "columns") or set(names) != set(X.columns):
        return X
    return X[list(names)]


def take_rows(X: Any, index: npt.NDArray[np.int64], memory_bytes: int | None = None) -> Any:
    """Return rows of an array, a sparse matrix, a data frame or a list.

    Rows of an array that lies on disk are copied to disk where they have more than ``memory_bytes``.
    """
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if isinstance(X, np.memmap):
        return copy_rows(X, index, memory_bytes)
    if not hasattr(X, "shape"):
        return [X[i] for i in index.tolist()]
    return X.tocsr()[index] if hasattr(X, "tocsr") else X[index]


def _rows_by_part(
    labels: npt.NDArray[Any], shares: dict[str, float], rng: np.random.Generator
) -> dict[str, npt.NDArray[np.int64]]:
    chosen: dict[str, list[npt.NDArray[np.int64]]] = {"train": [], **{name: [] for name in PARTS}}
    for label in np.unique(labels):
        index = rng.permutation(np.flatnonzero(labels == label))
        for name, share in shares.items():
            count = min(round(share * int((labels == label).sum())), len(index) - 1)
            chosen[name].append(index[:count])
            index = index[count:]
        chosen["train"].append(index)
    return {name: np.sort(np.concatenate(parts)) for name, parts in chosen.items()}
