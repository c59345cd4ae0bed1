"""Training, validation, calibration and test rows, kept apart; how rows are cut apart class by class.

The rounding of the paper: of n rows, a share s is cut off as ``ceil(s * n)`` rows. So 7:3 of 20,431 rows are 14,301
and 6,130. The rows that are kept are shared among the classes by largest remainder: each class gets its share rounded
down, and the rows still missing go to the classes that lost most by that.

A balanced set is thinned to a long tail: class k of K keeps ``floor(n_k * rho ** (-k / (K - 1)))`` of its n_k rows. The
first class keeps all, and the last one in rho.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._checks import check_count, is_number
from worstclass._typing import IntArray
from worstclass.data.map_style import is_map_dataset
from worstclass.exceptions import DataError, ParameterError

PARTS = ("val", "cal", "test")

#: share of the official training rows that the paper validates on
VALIDATION_SHARE = 0.3
#: share of the rows of a table without official parts that validates, and that tests
TABLE_SHARE = 0.2
#: rows of the first class of a long tail for one of the last
RHO = 10.0

# what a seed of a named data set is used for; a number, once given, stays
CUTS = {"val": 0, "cal": 1, "test": 4}
THIN_TRAINING, THIN_TEST = 2, 3

#: what folders and arrays of a split are called -> what the split is for
SPLIT_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation"), "val"),
    **dict.fromkeys(("cal", "calibration"), "cal"),
    **dict.fromkeys(("test", "testing"), "test"),
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

    def rows(self, index: IntArray) -> Part:
        """Return some of the rows."""
        return Part(take_rows(self.X, index), self.y[index])


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

    @property
    def parts(self) -> dict[str, Part]:
        """The parts that are there, by name."""
        named = {"train": self.train, "val": self.val, "cal": self.cal, "test": self.test}
        return {name: part for name, part in named.items() if part is not None}

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
        named: dict[str, Any] = {name: Part(part.X, labels[part.y]) for name, part in self.parts.items()}
        return Splits(**named)


def make_splits(
    X: Any, y: npt.ArrayLike, *, val: float = 0.0, cal: float = 0.0, test: float = 0.2, seed: int = 0
) -> Splits:
    """Split rows by class, at random, each class in the given shares.

    The shares of a class are rounded to whole rows, and training keeps at least one row of every class; so a class
    with very few rows may be absent from the other parts.

    Parameters
    ----------
    X : rows: an array, sparse matrix, data frame or map-style torch data set.
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
    check_shares(shares, "make_splits")
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise DataError(f"y must be one label per row, shape (n,), of at least one row. Got shape {labels.shape}.")
    if any(label is None or label != label for label in labels.tolist()):
        raise DataError("y must have a label for every row. Got None or NaN among them; leave those rows out.")
    n_rows = count_rows(X)
    if n_rows != len(labels):
        raise DataError(f"X and y must have one label for each row. Got {n_rows} rows and {len(labels)} labels.")
    rows = _rows_by_part(labels, shares, np.random.default_rng(seed))
    parts: dict[str, Any] = {name: Part(X, labels).rows(index) for name, index in rows.items() if len(index)}
    return Splits(**parts)


def at_most(part: Part, n_rows: int | None, seed: int) -> Part:
    """Return the part, or a draw of the same share of every class, with at least one row of each."""
    if n_rows is None or len(part) <= n_rows:
        return part
    return make_splits(part.X, part.y, test=1 - n_rows / len(part), seed=seed).train


def columns_in_order(X: Any, names: Any) -> Any:
    """Return a data frame with its columns in the order of training; a file may have them in another.

    ``names`` are those of training, such as ``model.feature_names_in_``; None where there are none.
    """
    if names is None or not hasattr(X, "columns") or set(names) != set(X.columns):
        return X
    return X[list(names)]


def count_rows(X: Any) -> int:
    """Return the number of rows of an array, a sparse matrix, a data frame or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, index: IntArray) -> Any:
    """Return rows of an array, a sparse matrix, a data frame, a list or a map-style torch data set."""
    if is_map_dataset(X):
        from torch.utils.data import Subset

        return Subset(X, index.tolist())
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if not hasattr(X, "shape"):
        return [X[i] for i in index.tolist()]
    return X.tocsr()[index] if hasattr(X, "tocsr") else X[index]


def _rows_by_part(labels: npt.NDArray[Any], shares: dict[str, float], rng: np.random.Generator) -> dict[str, IntArray]:
    chosen: dict[str, list[IntArray]] = {name: [] for name in ("train", *PARTS)}
    for label in np.unique(labels):
        index = rng.permutation(np.flatnonzero(labels == label))
        total = len(index)
        for name, share in shares.items():
            count = min(round(share * total), len(index) - 1)
            chosen[name].append(index[:count])
            index = index[count:]
        chosen["train"].append(index)
    return {name: np.sort(np.concatenate(parts)) for name, parts in chosen.items()}


def allot(counts: IntArray, total: int) -> IntArray:
    """Share ``total`` rows among classes in proportion to ``counts``, by largest remainder.

    A class that has rows gets at least one, as long as there are rows for all. Equal remainders go to the first class.

    Examples
    --------
    >>> allot(np.array([5, 5, 5]), 7).tolist(), allot(np.array([100, 1]), 50).tolist()
    ([3, 2, 2], [49, 1])
    """
    n_rows = int(counts.sum())
    if not 0 <= total <= n_rows:
        raise DataError(f"{total} rows cannot be taken of {n_rows}.")
    if total == n_rows:
        return counts.copy()
    given, remainder = np.divmod(counts * total, n_rows)
    missing = total - int(given.sum())
    given[np.argsort(-remainder, kind="stable")[:missing]] += 1
    if total >= np.count_nonzero(counts):
        for empty in np.flatnonzero((given == 0) & (counts > 0)):
            given[np.argmax(given)] -= 1
            given[empty] += 1
    return given


def cut(labels: npt.NDArray[Any], n_off: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Cut ``n_off`` rows off, each class in its proportion, at random within a class.

    Returns
    -------
    The rows that are kept and those that are cut off, each in ascending order.

    Examples
    --------
    >>> kept, off = cut(np.repeat([0, 1], [6, 4]), share_of(0.3, 10), np.random.default_rng(0))
    >>> len(kept), len(off), set(kept) & set(off)
    (7, 3, set())
    """
    _, label, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = draw(label, allot(counts, len(labels) - n_off), rng)
    return kept, np.setdiff1d(np.arange(len(labels)), kept, assume_unique=True)


def share_of(share: float, n_rows: int) -> int:
    """Return ``ceil(share * n_rows)``, with the share as the decimal it was written as."""
    return math.ceil(Fraction(str(share)) * n_rows)


def cut_parts(
    labels: npt.NDArray[Any], *, seed: int, val: float = 0.0, cal: float = 0.0, test: float = 0.0
) -> dict[str, IntArray]:
    """Cut parts off the rows of a named data set, by the rounding of the paper; the rest is ``"train"``.

    Parameters
    ----------
    labels : of all rows.
    seed : fixes the draws. Each part is drawn apart: with another ``cal``, the same rows validate.
    val, test : shares of all rows.
    cal : share of the rows that are left after that.

    Examples
    --------
    >>> rows = cut_parts(np.arange(50_000) % 10, seed=0, val=0.3, cal=0.1)
    >>> {part: len(index) for part, index in rows.items()}
    {'train': 31500, 'val': 15000, 'cal': 3500}
    """
    n_test, n_val = share_of(test, len(labels)), share_of(val, len(labels))
    n_cal = share_of(cal, len(labels) - n_test - n_val)
    rows = {"train": np.arange(len(labels))}
    for part, n_off in (("test", n_test), ("val", n_val), ("cal", n_cal)):
        if n_off:
            kept, off = cut(labels[rows["train"]], n_off, generator(seed, CUTS[part]))
            rows["train"], rows[part] = rows["train"][kept], rows["train"][off]
    return rows


def draw(label: npt.NDArray[np.integer], counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw ``counts[k]`` rows of each class k at random; return them in ascending order."""
    drawn = [rng.permutation(np.flatnonzero(label == k))[:count] for k, count in enumerate(counts.tolist())]
    return np.sort(np.concatenate(drawn)) if drawn else np.empty(0, np.int64)


def generator(seed: int, *path: int) -> np.random.Generator:
    """Return the generator of one use of a seed; other uses do not shift it."""
    check_count(seed, "seed", "load_dataset", least=0)
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=path))


def check_shares(shares: Mapping[str, float], owner: str) -> None:
    """Refuse shares outside of [0, 1), and shares that leave nothing to train on."""
    for name, share in shares.items():
        if not is_number(share) or not 0 <= share < 1:
            raise ParameterError(name, owner, allowed="a share in [0, 1)", got=share)
    if sum(Fraction(str(share)) for share in shares.values()) >= 1:
        raise ParameterError(", ".join(shares), owner, allowed="less than 1 together", got=dict(shares))


def long_tail_counts(counts: npt.ArrayLike, rho: float) -> IntArray:
    """Return how many of its rows each class of a long tail keeps.

    Parameters
    ----------
    counts : rows of each class, in the order of the labels.
    rho : rows of the first class for one of the last, at least 1.

    Examples
    --------
    >>> long_tail_counts([5000] * 10, rho=10).tolist()
    [5000, 3871, 2997, 2320, 1796, 1391, 1077, 834, 645, 500]
    """
    if not is_number(rho) or rho < 1:
        raise ParameterError("rho", "the imbalanced set", allowed="a number of at least 1", got=rho)
    rows = np.asarray(counts)
    place = np.arange(len(rows)) / max(len(rows) - 1, 1)
    # rounded first: of 49 rows and rho = 49 the last class keeps 1, where floating point gives 0.9999999999999999
    return np.floor(np.round(rows * float(rho) ** -place, 9)).astype(np.int64)
