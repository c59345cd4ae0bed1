"""Rows that a model has seen: their fingerprints, one record on every fitted estimator, and one policy.

``check_unseen`` is the policy: rows that a model was trained on, or that chose something, prove nothing about it. A row
is recognised by its fingerprint, the BLAKE2b digest (8 bytes) of its canonical bytes:

- **Numbers** become little-endian float32, in C order; -0 becomes 0, and every NaN the same NaN. So a row is the same
  as float64, float32 or whole numbers, as an array, a tensor or a data frame, flat or in the shape of an image. Two
  rows that differ only beyond float32 count as one.
- **Text** columns give 8 bytes a value, the digest of the text. A category stands for its value, whatever its code; a
  category whose values are numbers is a column of numbers. A missing value in a column of text has a digest of its own.
- **Sparse** rows of up to 8,192 columns are hashed as if they were dense. Longer ones are hashed by the positions and
  values of their entries other than 0, and are then not the same as dense ones.
- Labels are no part of it, nor are the names of columns: the order of the columns counts.

Of n new rows and m seen rows, two different ones share a fingerprint with a probability of at most n m / 2^64: one in a
billion for 10,000 and a million. Equal rows need not be the same row: ``equal_rows`` tells coincidence from reuse.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.equal_rows import CHANCE, REUSED, UNDECIDED, UNKNOWN, judge_equal_rows
from worstclass.data.map_style import is_map_dataset
from worstclass.exceptions import DataError

Hashes = npt.NDArray[np.uint64]

#: columns up to which a sparse row is hashed as a dense one
MOST_DENSE_COLUMNS = 8_192
#: bytes that are made canonical at a time
CHUNK_BYTES = 1 << 24

#: what rows can have been used for
ROLES = ("training", "validation", "calibration")

_SIZE = 8
_MISSING = b"missing"


def row_hashes(X: Any, *, read_items: bool = False) -> Hashes | None:
    """Return the fingerprint of each row, shape (n,); None where the rows cannot be read as numbers and text.

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
    >>> row_hashes([["red", 1], ["blue", 2]]).dtype
    dtype('uint64')
    """
    if is_map_dataset(X):
        return _dataset_hashes(X, read_items)
    if hasattr(X, "iloc"):
        return _frame_hashes(X)
    if hasattr(X, "tocsr"):
        return _sparse_hashes(X)
    try:
        array = _as_array(X)
    except ValueError:  # rows of different shapes
        return None
    return _array_hashes(array)


def seen_hashes(*parts: Any) -> Hashes | None:
    """Return the sorted fingerprints of all rows of some parts, each once; None where a part cannot be hashed.

    A part that is None has no rows.

    Examples
    --------
    >>> seen_hashes(np.zeros((3, 2)), None, np.ones((1, 2))).shape
    (2,)
    """
    hashed = [row_hashes(part) for part in parts if part is not None]
    known = [hashes for hashes in hashed if hashes is not None]
    return np.unique(np.concatenate(known)) if known and len(known) == len(hashed) else None


def which_seen(hashes: Hashes, seen: Hashes) -> npt.NDArray[np.bool_]:
    """Tell of each fingerprint whether it is among the sorted ones of ``seen``."""
    if len(seen) == 0:
        return np.zeros(len(hashes), dtype=np.bool_)
    places = np.minimum(np.searchsorted(seen, hashes), len(seen) - 1)
    return np.asarray(seen[places] == hashes, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Fingerprints of the rows that a model has seen, by what they were used for.

    Attributes
    ----------
    training : of the rows that trained it, sorted, repeated rows as often as they occur; None where rows cannot be
        hashed, or are not known.
    validation : of the rows that chose something (an epoch, a prefix, theta, offsets); None likewise.
    calibration : of the rows that proved something; None likewise.
    complete : whether these are all the rows it has seen.
    """

    training: Hashes | None = None
    validation: Hashes | None = None
    calibration: Hashes | None = None
    complete: bool = True

    @classmethod
    def of(cls, training: Any = None, validation: Any = None, calibration: Any = None) -> SeenRows:
        """Hash the rows of each role; None stands for no rows."""
        parts = {"training": training, "validation": validation, "calibration": calibration}
        hashed = {name: None if X is None else row_hashes(X) for name, X in parts.items()}
        complete = all(hashed[name] is not None for name, X in parts.items() if X is not None)
        return cls(
            **{name: None if found is None else np.sort(found) for name, found in hashed.items()}, complete=complete
        )

    def also(self, other: SeenRows) -> SeenRows:
        """Return the rows of both records; rows that both hold in the same role are kept once."""
        both = {name: _joined([getattr(self, name), getattr(other, name)]) for name in ROLES}
        return SeenRows(**both, complete=self.complete and other.complete)

    def rows_of(self, roles: Iterable[str] = ROLES) -> Hashes:
        """Return the fingerprints of all rows in some roles, sorted; rows with several roles once."""
        joined = _joined([getattr(self, role) for role in roles])
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

    def __str__(self) -> str:
        if self.n_equal is None:
            return "Seen rows: unknown, so it was not checked whether the model has seen any of these rows."
        counted = f"Seen rows: {self.n_equal} of {self.n_rows} rows equal a row that the model has seen"
        if not self.n_equal:
            return f"{counted}."
        counted += f", about {self.n_expected:.0f} expected by chance"
        if self.verdict == CHANCE:
            return f"{counted}."
        flagged = "; the user allowed equal rows (allow_equal_rows)" if self.allowed else ""
        return f"{counted}: {self.verdict}{flagged}."


def check_unseen(
    X: Any,
    seen: SeenRows | None,
    *,
    roles: Iterable[str] = ROLES,
    owner: str,
    allow_equal_rows: bool = False,
) -> RowOverlap:
    """Refuse rows that were used before.

    Equal rows are no proof of reuse: in a table of few columns with few values, independent rows are equal by chance.
    ``worstclass.data.equal_rows`` says how the two are told apart, and docs/theory.md with which error rates.

    Parameters
    ----------
    X : the rows, in a form that ``row_hashes`` reads.
    seen : the record of the model, its ``seen_rows_``; None where it has none.
    roles : the roles in which rows must not have been used: a part of ``ROLES``.
    owner : the function that needs unseen rows, for the message.
    allow_equal_rows : accept rows of which it cannot be decided. Rows that were clearly used before are refused all the
        same.

    Raises
    ------
    DataError : where rows were used before, or where that cannot be decided and is not allowed.

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
    hashes = row_hashes(X, read_items=seen is not None)
    if hashes is None:
        return RowOverlap(n_rows=len(X))
    counts: dict[str, Any] = {"n_rows": len(hashes), "n_repeated": len(hashes) - len(np.unique(hashes))}
    if seen is None:
        return RowOverlap(**counts)
    n_equal, n_expected, verdict = judge_equal_rows(hashes, seen.rows_of(roles))
    found = RowOverlap(**counts, n_equal=n_equal, n_expected=n_expected, verdict=verdict)
    if verdict == REUSED or (verdict == UNDECIDED and not allow_equal_rows):
        raise DataError(_refusal(found, owner))
    if verdict == UNDECIDED:
        return replace(found, allowed=True)
    return found if seen.complete else RowOverlap(**counts)


def _refusal(found: RowOverlap, owner: str) -> str:
    counted = (
        f"{owner} needs rows that the model has not seen. Of the {found.n_rows} rows, {found.n_equal} equal rows that "
        f"trained the model or chose something for it; about {found.n_expected:.0f} would by chance."
    )
    if found.verdict == REUSED:
        return f"{counted} Pass rows that were used for nothing else. To count errors on any rows, use evaluate."
    return (
        f"{counted} Whether these rows were used before cannot be decided. If you know that they were not, pass "
        "allow_equal_rows=True (--allow-equal-rows); the result records it."
    )


def _joined(parts: Iterable[Hashes | None]) -> Hashes | None:
    """Join sorted fingerprints. A part that another one contains is the same rows, in another role or record."""
    joined: Hashes | None = None
    for part in parts:
        if part is None or (joined is not None and _contains(joined, part)):
            continue
        keep = joined is not None and not _contains(part, joined)
        joined = np.sort(np.concatenate([joined, part])) if keep and joined is not None else part
    return joined


def _contains(hashes: Hashes, part: Hashes) -> bool:
    """Tell whether each fingerprint of a part occurs at least as often in others; both are sorted."""
    values, counts = np.unique(part, return_counts=True)
    found = np.searchsorted(hashes, values, "right") - np.searchsorted(hashes, values, "left")
    return bool((found >= counts).all())


def _dataset_hashes(dataset: Any, read_items: bool) -> Hashes | None:
    if hasattr(dataset, "dataset") and hasattr(dataset, "indices"):  # a torch Subset
        of_all = _dataset_hashes(dataset.dataset, read_items=False)
        if of_all is not None:
            return np.asarray(of_all[np.asarray(dataset.indices, dtype=np.int64)])
    elif hasattr(dataset, "tensors"):
        return row_hashes(dataset.tensors[0])
    if not read_items:
        return None
    rows = (item[0] if isinstance(item, tuple | list) else item for item in (dataset[i] for i in range(len(dataset))))
    return _digests(_canonical(_as_array(row)) for row in rows)


def _frame_hashes(X: Any) -> Hashes | None:
    if X.ndim == 1:
        return _column_hashes([X], len(X))
    if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in X.dtypes):
        return _array_hashes(X.to_numpy())
    return _column_hashes([X.iloc[:, j] for j in range(X.shape[1])], len(X))


def _as_array(X: Any) -> npt.NDArray[Any]:
    if hasattr(X, "detach"):
        X = X.detach().cpu()
        return np.asarray(X.float() if X.dtype.is_floating_point else X)
    if isinstance(X, list | tuple) and any(isinstance(value, str) for row in X[:1] for value in _values(row)):
        return np.array(X, dtype=object)  # numpy would make the numbers beside a text into text
    return np.asarray(X)


def _values(row: Any) -> Iterable[Any]:
    return row if isinstance(row, list | tuple) else (row,)


def _array_hashes(array: npt.NDArray[Any]) -> Hashes | None:
    if array.ndim == 0 or array.dtype.kind in "cV":
        return None
    flat = array.reshape(len(array), -1) if len(array) else array.reshape(0, 1)
    if array.dtype.kind in "biuf":
        return _digests(row for part in _chunks(flat) for row in _canonical(part))
    return _column_hashes([flat[:, j] for j in range(flat.shape[1])], len(flat))


def _chunks(matrix: Any) -> Iterator[Any]:
    """Yield groups of rows that have at most ``CHUNK_BYTES`` as float32."""
    step = max(1, CHUNK_BYTES // (4 * max(1, matrix.shape[1])))
    for start in range(0, matrix.shape[0], step):
        yield matrix[start : start + step]


def _canonical(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return numbers as they are hashed; a copy where they were floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        canonical = np.ascontiguousarray(values, dtype="<f4")
    if values.dtype.kind == "f":
        canonical = canonical + np.float32(0)  # -0 becomes 0
        canonical[np.isnan(canonical)] = np.nan
    return canonical


def _digests(rows: Iterable[Any]) -> Hashes:
    return np.frombuffer(b"".join(blake2b(row, digest_size=_SIZE).digest() for row in rows), dtype="<u8")


def _column_hashes(columns: list[Any], n_rows: int) -> Hashes | None:
    """Hash rows given by columns: 4 bytes a number, 8 a text, in the order of the columns."""
    try:
        parts = [_column_bytes(column) for column in columns]
    except (TypeError, ValueError):  # cells that are lists and the like
        return None
    if not parts or not n_rows:
        return _digests(b"" for _ in range(n_rows))
    return _digests(np.concatenate(parts, axis=1))


def _column_bytes(column: Any) -> npt.NDArray[np.uint8]:
    import pandas as pd

    series = column if isinstance(column, pd.Series) else pd.Series(column)
    if not isinstance(series.dtype, pd.CategoricalDtype) and pd.api.types.is_numeric_dtype(series):
        return _bytes(_canonical(series.to_numpy(dtype=np.float64, na_value=np.nan)))
    codes, found = pd.factorize(series)  # a missing value has the code -1
    values = list(found)
    if all(isinstance(value, numbers.Real | np.bool_) for value in values):
        table = _canonical(np.array([*values, np.nan], dtype=np.float64))
        return _bytes(table[codes])
    digests = _digests([*(_value_bytes(value) for value in values), _MISSING])
    return _bytes(digests[codes])


def _bytes(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), values.itemsize)


def _value_bytes(value: Any) -> bytes:
    """Tell a number from its text, in a column that has both."""
    if isinstance(value, numbers.Real | np.bool_):
        return b"number" + _canonical(np.array([value], dtype=np.float64)).tobytes()
    return b"text" + (value if isinstance(value, bytes) else str(value).encode())


def _sparse_hashes(X: Any) -> Hashes:
    rows = X.tocsr()
    if rows.shape[1] <= MOST_DENSE_COLUMNS:
        return _digests(row for part in _chunks(rows) for row in _canonical(part.toarray()))
    if not rows.has_canonical_format or (rows.data == 0).any():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    places, values = rows.indices.astype("<i8"), _canonical(rows.data)
    ends = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    return _digests(b"sparse" + places[a:b].tobytes() + values[a:b].tobytes() for a, b in ends)
