"""Fingerprints of rows: the BLAKE2b digest (8 bytes) of the canonical bytes of each row.

- **Numbers** become little-endian float32; -0 becomes 0, and every NaN the same NaN. So a row is the same as float64,
  float32 or whole numbers, as an array, a tensor or a data frame, flat or in the shape of an image.
- **Text** gives 8 bytes, its digest. A category stands for its value, whatever its code. Missing text has bytes too.
- **Sparse** rows of more than 8,192 columns are hashed by the positions and values of their entries other than 0.

Labels and the names of columns are no part of it; the order of the columns counts.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._typing import IntArray
from worstclass.data.map_style import is_map_dataset

Hashes = npt.NDArray[np.uint64]

#: columns up to which a sparse row is hashed as a dense one
MOST_DENSE_COLUMNS = 8_192
#: bytes that are made canonical at a time
CHUNK_BYTES = 1 << 24


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
