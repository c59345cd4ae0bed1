"""Rows without labels, read from a file in chunks: memory does not grow with the file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worstclass._typing import IntArray
from worstclass.exceptions import DataError, DatasetError

if TYPE_CHECKING:
    import pandas as pd

#: rows of a chunk where nothing else is asked for, and the bytes that a chunk of arrays or images may have
CHUNK_ROWS, CHUNK_BYTES = 10_000, 64 << 20

#: of each column: "number", "text", or None for what may come as either
Kinds = Mapping[str, str | None]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows that follow each other in a file.

    Attributes
    ----------
    X : the rows that can be used: a data frame, or an array.
    numbers : their numbers in the file, from 1.
    ids : the columns carried over, of these rows.
    bad : the rows that cannot be used: their numbers, and why.
    bad_ids : the columns carried over, of those rows.
    done : share of the file that is read.
    """

    X: Any
    numbers: IntArray
    ids: pd.DataFrame
    bad: dict[int, str] = field(default_factory=dict)
    bad_ids: pd.DataFrame | None = None
    done: float = 0.0


@dataclass(frozen=True)
class RowFormat:
    """The form of the rows that a model takes.

    Attributes
    ----------
    columns : names of the columns in their order; None where the model knows none.
    kinds : what the columns hold; None where it is not known.
    n_columns : the number of columns; None for images.
    image_shape : channels, height and width; None for tables.
    """

    columns: Sequence[str] | None = None
    kinds: Kinds | None = None
    n_columns: int | None = None
    image_shape: tuple[int, int, int] | None = None

    @classmethod
    def of(cls, model: Any) -> RowFormat:
        """Return the form of the rows that a fitted classifier was trained on."""
        names = getattr(model, "feature_names_in_", None)
        columns = None if names is None else [str(name) for name in names]
        kinds = _inner(model, "_column_kinds") or _kinds_of_pipeline(model)
        shape: Sequence[int] = getattr(_inner(model, "encoder_"), "row_shape", ())
        if len(shape) == 3:
            return cls(image_shape=(shape[0], shape[1], shape[2]))
        known = None if columns is None or kinds is None else dict(zip(columns, kinds, strict=True))
        return cls(columns, known, getattr(model, "n_features_in_", None))


def _inner(model: Any, name: str) -> Any:
    """Return an attribute of a classifier, or of the classifier inside it."""
    while model is not None:
        value = getattr(model, name, None)
        if value is not None:
            return value
        model = getattr(model, "estimator_", None)
    return None


def _kinds_of_pipeline(model: Any) -> list[str | None] | None:
    """Return what the columns hold by the categories that the first step of a pipeline learned."""
    steps = _inner(model, "steps")
    categories = getattr(steps[0][1], "categories_", None) if steps else None
    if categories is None or len(categories) != model.n_features_in_:
        return None
    return [
        "number" if values is None else "text" if all(isinstance(value, str) for value in values) else None
        for values in categories
    ]


def iter_chunks(
    path: str | Path,
    rows: RowFormat,
    *,
    ids: Sequence[str] = (),
    chunk_rows: int | None = None,
    image_size: int | None = None,
) -> Iterator[Chunk]:
    r"""Read rows from a file, chunk by chunk; what is read does not depend on the size of the chunks.

    Parameters
    ----------
    path : a CSV, Parquet or npz file, a folder with ``X.npy``, or a folder or archive of images. Other columns than
        those asked for are ignored.
    rows : the form of the rows.
    ids : columns (of an npz file: arrays) to carry over. The paths of images are carried over as ``"file"``.
    chunk_rows : rows of a chunk; None for 10,000 rows or 64 MiB, whichever is less.
    image_size : side in pixels to which images are resized.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = file.write_text("id,size\nx1,3\nx2,wide\nx3,5\n")
    >>> for chunk in iter_chunks(file, RowFormat(["size"], {"size": "number"}), ids=["id"]):
    ...     print(chunk.X["size"].tolist(), chunk.ids["id"].tolist(), chunk.bad)
    [3.0, 5.0] ['x1', 'x3'] {2: "column 'size' holds 'wide', which is not a finite number"}
    """
    path = Path(path)
    if not path.exists():
        raise DatasetError(f"There is no file or folder {path}.")
    from worstclass.data.arrays import is_npy_folder
    from worstclass.data.tables import PARQUET_SUFFIXES
    from worstclass.data.trees import is_archive

    suffix = path.suffix.lower()
    if suffix == ".csv" or suffix in PARQUET_SUFFIXES:
        from worstclass.data.table_chunks import csv_chunks, parquet_chunks

        read = csv_chunks if suffix == ".csv" else parquet_chunks
        return read(path, rows, ids, chunk_rows or CHUNK_ROWS)
    from worstclass.data.array_chunks import array_chunks, image_chunks

    if suffix == ".npz" or (path.is_dir() and is_npy_folder(path)):
        return array_chunks(path, rows, ids, chunk_rows)
    if path.is_dir() or is_archive(path.name):
        return image_chunks(path, rows, ids, chunk_rows, image_size)
    raise DatasetError(
        f"{path} cannot be read: give a CSV, Parquet or npz file, a folder with X.npy, or a folder of images."
    )


def columns_by_name(X: Any, names: Sequence[str] | None) -> Any:
    """Return a data frame with the columns of training, in their order; others are left out.

    ``names`` are those of training, such as ``model.feature_names_in_``; None where there are none.
    """
    if names is None or not hasattr(X, "columns"):
        return X
    require_columns(X.columns, names, "The table")
    return X[list(names)]


def require_columns(there: Sequence[Any], wanted: Sequence[Any], who: str) -> None:
    """Refuse a table that lacks columns of training."""
    missing = [name for name in wanted if name not in set(there)]
    if missing:
        raise DataError(
            f"{who} lacks {len(missing)} of the {len(wanted)} columns that the model was trained on: {missing}. "
            f"It has {list(there)}."
        )


def rows_of_chunk(shape: Sequence[int], chunk_rows: int | None) -> int:
    """Return the number of rows of a chunk, for rows of a shape."""
    return chunk_rows or max(1, min(CHUNK_ROWS, CHUNK_BYTES // max(1, 4 * math.prod(shape))))
