"""Rows that a model has seen: their fingerprints, one record on every fitted estimator, and one policy.

``check_unseen`` is the policy: rows that a model was trained on, or that chose something, prove nothing about it. A row
is recognised by its fingerprint, the BLAKE2b digest (8 bytes) of its canonical bytes:

- **Numbers** become little-endian float32; -0 becomes 0, and every NaN the same NaN. So a row is the same as float64,
  float32 or whole numbers, as an array, a tensor or a data frame, flat or in the shape of an image.
- **Text** gives 8 bytes, its digest. A category stands for its value, whatever its code. Missing text has bytes too.
- **Sparse** rows of more than 8,192 columns are hashed by the positions and values of their entries other than 0.

Labels and the names of columns are no part of it; the order of the columns counts.
"""

from __future__ import annotations

import itertools
import numbers
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._typing import IntArray
from worstclass.data.equal_rows import REUSED, UNDECIDED, UNKNOWN, judge_equal_rows
from worstclass.data.map_style import is_map_dataset
from worstclass.data.splits import count_rows
from worstclass.exceptions import DataError

Hashes = npt.NDArray[np.uint64]

#: columns up to which a sparse row is hashed as a dense one
MOST_DENSE_COLUMNS = 8_192
#: bytes that are made canonical at a time
CHUNK_BYTES = 1 << 24

#: what rows can have been used for
ROLES = ("training", "validation", "calibration")


def row_hashes(X: Any, *, read_items: bool = False) -> Hashes | None:
    """Return the fingerprint of each row, shape (n,); None if the rows cannot be read as numbers and text.

    Parameters
    ----------
    X : an array, tensor, data frame, sparse matrix, list of rows, or map-style torch ``Dataset``.
    read_items : read a data set item by item. Without it only one that holds tensors is hashed, since reading another
        may cost as much as training on it.

    Examples
    --------
    >>> rows = np.array([[1.5, 2.0], [0.0, -0.0]])
    >>> bool((row_hashes(rows) == row_hashes(rows.astype("float32"))).all())
    True
    """
    if is_map_dataset(X):
        return _dataset_hashes(X, read_items)
    if hasattr(X, "tocsr"):
        return _number_hashes(X.tocsr()) if X.shape[1] <= MOST_DENSE_COLUMNS else _entry_hashes(X.tocsr().copy())
    try:
        if hasattr(X, "iloc"):
            plain = X.ndim == 2 and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in X.dtypes)
            return _array_hashes(X.to_numpy()) if plain else _table_hashes(X)
        return _array_hashes(_as_array(X))
    except (TypeError, ValueError):  # rows of different shapes, cells that are lists and the like
        return None


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Fingerprints of the rows that a model has seen, by what they were used for.

    Attributes
    ----------
    training : of the rows that trained it, sorted, repeated rows as often as they occur; None where not known.
    validation, calibration : of the rows that chose something (an epoch, theta, offsets), and that proved something.
    complete : whether these are all the rows it has seen.
    """

    training: Hashes | None = None
    validation: Hashes | None = None
    calibration: Hashes | None = None
    complete: bool = True

    @classmethod
    def of(cls, training: Any = None, validation: Any = None, calibration: Any = None) -> SeenRows:
        """Hash the rows of each role; None stands for no rows."""
        given = (training, validation, calibration)
        hashed = [None if X is None else row_hashes(X) for X in given]
        complete = all(X is None or found is not None for X, found in zip(given, hashed, strict=True))
        trained, chose, proved = (None if found is None else np.sort(found) for found in hashed)
        return cls(trained, chose, proved, complete)

    def also(self, other: SeenRows) -> SeenRows:
        """Return the rows of both records; a part that the other record contains is kept once."""
        both = {name: _joined(getattr(self, name), getattr(other, name)) for name in ROLES}
        return SeenRows(**both, complete=self.complete and other.complete)

    def rows_of(self, roles: Iterable[str] = ROLES) -> Hashes:
        """Return the fingerprints of all rows in some roles, sorted; rows with several roles once."""
        joined = _joined(*(getattr(self, role) for role in roles))
        return np.empty(0, dtype=np.uint64) if joined is None else joined


@dataclass(frozen=True)
class RowOverlap:
    """How many of some rows equal rows that a model has seen, and what was made of it.

    Attributes
    ----------
    n_rows : the rows.
    n_equal : rows that equal a seen row; None where that is unknown.
    n_expected : rows of which this is expected by chance; None likewise.
    n_repeated : rows that are copies of another of these rows; None where they cannot be hashed.
    verdict : ``"none"`` (no equal rows), ``"chance"`` (chance explains them), ``"undecided"`` (chance or reuse),
        ``"reused"`` or ``"unknown"`` (nothing is known about the seen rows, or the rows cannot be hashed).
    allowed : whether the rows were undecided and the user allowed them.
    """

    n_rows: int
    n_equal: int | None = None
    n_expected: float | None = None
    n_repeated: int | None = None
    verdict: str = UNKNOWN
    allowed: bool = False

    @property
    def n_reused(self) -> int:
        """The rows that equal a seen row, if chance cannot explain so many; otherwise 0."""
        return self.n_equal or 0 if self.verdict == REUSED else 0

    def __str__(self) -> str:
        copies = f" {self.n_repeated} rows are copies of others among these rows." if self.n_repeated else ""
        if self.n_equal is None or self.n_expected is None:
            return f"Not checked: whether the model has seen any of these {self.n_rows} rows.{copies}"
        if self.n_equal == 0:
            return f"The model has seen none of these {self.n_rows} rows.{copies}"
        allowed = (
            "; coincidence and reuse cannot be told apart, and the user allowed equal rows" if self.allowed else ""
        )
        text = f"{self.n_equal} of these {self.n_rows} rows equal rows that the model has seen"
        return f"{text}, about {self.n_expected:.0f} expected by chance{allowed}.{copies}"


def check_unseen(
    X: Any, seen: SeenRows | None, *, owner: str, roles: Iterable[str] = ROLES, allow_equal_rows: bool = False
) -> RowOverlap:
    """Refuse rows that were used before with a ``DataError``; ``equal_rows`` says how they are told from equal ones.

    Parameters
    ----------
    X : the rows, in a form that ``row_hashes`` reads.
    seen : the record of the model, its ``seen_rows_``; None where it has none.
    owner : the function that needs unseen rows, for the message.
    roles : the roles in which rows must not have been used: a part of ``ROLES``.
    allow_equal_rows : accept rows of which it cannot be decided; rows clearly used before are refused all the same.

    Examples
    --------
    >>> rows = np.arange(40.0).reshape(20, 2)
    >>> check_unseen(rows[15:], SeenRows.of(rows[:15]), owner="certify").verdict
    'none'
    >>> check_unseen(rows, SeenRows.of(rows), owner="certify")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    worstclass.exceptions.DataError: certify needs rows that the model has not seen. Of the 20 rows, 20 equal rows...
    """
    found = row_overlap(X, seen, roles)
    if found.verdict == REUSED or (found.verdict == UNDECIDED and not allow_equal_rows):
        advice = (
            "Pass rows that were used for nothing else. To count errors on any rows, use evaluate."
            if found.verdict == REUSED
            else "Whether these rows were used before cannot be decided. If you know that they were not, pass "
            "allow_equal_rows=True (--allow-equal-rows); the result records it."
        )
        raise DataError(
            f"{owner} needs rows that the model has not seen. Of the {found.n_rows} rows, {found.n_equal} equal rows "
            f"that trained the model or chose something for it; about {found.n_expected:.0f} would by chance. {advice}"
        )
    if found.verdict == UNDECIDED:
        return replace(found, allowed=True)
    is_known = seen is not None and seen.complete
    return found if is_known else RowOverlap(found.n_rows, n_repeated=found.n_repeated)


def row_overlap(X: Any, seen: SeenRows | None, roles: Iterable[str] = ROLES) -> RowOverlap:
    """Compare rows with those that a model has seen in some roles; nothing is refused.

    Examples
    --------
    >>> rows = np.arange(40.0).reshape(20, 2)
    >>> [row_overlap(new, SeenRows.of(rows[:15])).n_reused for new in (rows, rows[15:])]
    [15, 0]
    """
    hashes = row_hashes(X, read_items=seen is not None)
    if hashes is None:
        return RowOverlap(count_rows(X))
    n_rows, n_repeated = len(hashes), len(hashes) - len(np.unique(hashes))
    if seen is None:
        return RowOverlap(n_rows, n_repeated=n_repeated)
    n_equal, n_expected, verdict = judge_equal_rows(hashes, seen.rows_of(roles))
    return RowOverlap(n_rows, n_equal, n_expected, n_repeated, verdict)


def _joined(*parts: Hashes | None) -> Hashes | None:
    """Join fingerprints. A part that a longer one contains is the same rows, in another role or record."""
    known = sorted((part for part in parts if part is not None), key=len, reverse=True)
    if len(known) < 2:
        return known[0] if known else None
    joined: Counter[int] = Counter()
    for counts in (Counter(part.tolist()) for part in known):
        joined += Counter() if counts <= joined else counts
    return np.sort(np.fromiter(joined.elements(), dtype=np.uint64))


def _dataset_hashes(dataset: Any, read_items: bool) -> Hashes | None:
    if hasattr(dataset, "tensors"):
        return row_hashes(dataset.tensors[0])
    if hasattr(getattr(dataset, "dataset", None), "tensors"):  # a torch Subset
        return row_hashes(dataset.dataset.tensors[0][list(dataset.indices)])
    if not read_items:
        return None
    items = (dataset[i] for i in range(len(dataset)))
    return _digests(_canonical(_as_array(item[0] if isinstance(item, tuple | list) else item)) for item in items)


def _as_array(X: Any) -> npt.NDArray[Any]:
    if hasattr(X, "detach"):
        X = X.detach().cpu()
        return np.asarray(X.float() if X.dtype.is_floating_point else X)
    array = np.asarray(X)
    if array.dtype.kind == "U" and isinstance(X, list | tuple):
        return np.array(X, dtype=object)  # numpy has made the numbers beside a text into text
    return array


def _array_hashes(array: npt.NDArray[Any]) -> Hashes | None:
    if array.ndim == 0 or array.dtype.kind in "cV":
        return None
    flat = array.reshape(len(array), -1) if len(array) else array.reshape(0, 1)
    return _number_hashes(flat) if array.dtype.kind in "biuf" else _table_hashes(flat)


def _number_hashes(matrix: Any) -> Hashes:
    """Hash rows of numbers, dense or sparse, in parts of at most ``CHUNK_BYTES`` as float32."""
    step = max(1, CHUNK_BYTES // (4 * max(1, matrix.shape[1])))
    parts = (matrix[start : start + step] for start in range(0, matrix.shape[0], step))
    dense = (part.toarray() if hasattr(part, "toarray") else part for part in parts)
    return _digests(row for part in dense for row in _canonical(part))


def _canonical(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore", invalid="ignore"):
        canonical = np.ascontiguousarray(values, dtype="<f4")
    if values.dtype.kind == "f":
        canonical = canonical + np.float32(0)  # -0 becomes 0
        canonical[np.isnan(canonical)] = np.nan
    return canonical


def _digests(rows: Iterable[Any]) -> Hashes:
    return np.frombuffer(b"".join(blake2b(row, digest_size=8).digest() for row in rows), dtype="<u8")


def _table_hashes(table: Any) -> Hashes:
    """Hash rows column by column: 4 bytes for a number, 8 for a text."""
    import pandas as pd

    frame = pd.DataFrame(table)
    parts = [_column_bytes(*pd.factorize(frame.iloc[:, j])) for j in range(frame.shape[1])]
    return _digests(np.concatenate(parts, axis=1) if parts and len(frame) else [b""] * len(frame))


def _column_bytes(codes: IntArray, found: Iterable[Any]) -> npt.NDArray[np.uint8]:
    """Return the bytes of each cell; ``codes`` are places among the values found, and -1 for a missing one."""
    values = [float(value) if isinstance(value, numbers.Real | np.bool_) else value for value in found]
    table: npt.NDArray[Any]
    if all(isinstance(value, float) for value in values):
        table = _canonical(np.array([*values, np.nan]))
    else:
        table = _digests([*(f"{type(value).__name__} {value}".encode() for value in values), b"missing"])
    return np.ascontiguousarray(table[codes]).view(np.uint8).reshape(len(codes), table.itemsize)


def _entry_hashes(rows: Any) -> Hashes:
    rows.sum_duplicates()
    rows.eliminate_zeros()
    places, values = rows.indices.astype("<i8"), _canonical(rows.data)
    ends = itertools.pairwise(rows.indptr.tolist())
    return _digests(b"sparse" + places[a:b].tobytes() + values[a:b].tobytes() for a, b in ends)
