"""Training, validation, calibration and test rows, kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.exceptions import DataError, ParameterError

PARTS = ("val", "cal", "test")


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
    measures.
    """

    train: Part
    val: Part | None = None
    cal: Part | None = None
    test: Part | None = None


def make_splits(
    X: Any, y: npt.ArrayLike, *, val: float = 0.0, cal: float = 0.0, test: float = 0.2, seed: int = 0
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

    Examples
    --------
    >>> splits = make_splits(np.arange(20).reshape(10, 2), ["a"] * 5 + ["b"] * 5, test=0.2)
    >>> len(splits.train), len(splits.test), splits.val
    (8, 2, None)
    """
    shares = dict(zip(PARTS, (val, cal, test), strict=True))
    for name, share in shares.items():
        if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 <= share < 1:
            raise ParameterError(name, "make_splits", allowed="a share in [0, 1)", got=share)
    if sum(Fraction(str(share)) for share in shares.values()) >= 1:
        raise ParameterError("val, cal, test", "make_splits", allowed="less than 1 together", got=shares)
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise DataError(f"y must be one label a row, shape (n,), of at least one row. Got shape {labels.shape}.")
    if any(label is None or label != label for label in labels.tolist()):
        raise DataError("y must have a label for every row. Got None or NaN among them; leave those rows out.")
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != len(labels):
        raise DataError(f"X and y must have one label for each row. Got {n_rows} rows and {len(labels)} labels.")
    rows = _rows_by_part(labels, shares, np.random.default_rng(seed))
    parts = {name: Part(take_rows(X, index), labels[index]) if len(index) else None for name, index in rows.items()}
    train = parts.pop("train")
    assert train is not None
    return Splits(train, **parts)


def take_rows(X: Any, index: npt.NDArray[np.int64]) -> Any:
    """Return rows of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
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
