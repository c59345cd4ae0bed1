"""Rows without labels, read from a file in chunks; every column has the type that it had in training."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worstclass._typing import BoolArray, IntArray
from worstclass.data.arrays import ROWS, Arrays, channels_first, require_numbers, role_of
from worstclass.data.pictures import decode_picture, is_picture
from worstclass.data.sources import ARRAYS, MISSING, TABLE, kind_of, refuse_other_separators, table_errors
from worstclass.data.trees import FileTree
from worstclass.exceptions import DataError, DatasetError, UnknownNameError

#: rows of a chunk where nothing else is asked for, and the bytes that a chunk of arrays or images may have
CHUNK_ROWS, CHUNK_BYTES = 10_000, 64 << 20

#: rows at the top of a CSV file that tell numbers from text, where the model does not
HEAD_ROWS = 1_000

#: the column with the paths of images
FILE = "file"

#: of each column: "number", "text", or None for what may come as either
Kinds = Mapping[str, str | None]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows that follow each other in a file.

    Attributes
    ----------
    X : the rows that can be used: a data frame, or an array.
    ids : the columns carried over, of all rows, with the numbers of the rows (from 1) as index.
    bad : the rows that cannot be used: their numbers, and why.
    done : share of the file that is read.
    """

    X: Any
    ids: pd.DataFrame
    bad: dict[int, str]
    done: float

    @property
    def numbers(self) -> IntArray:
        """The numbers of the rows that can be used."""
        return self.ids.index.drop(list(self.bad)).to_numpy()


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
        kinds = _inner(model, "_column_kinds")
        shape: Sequence[int] = _inner(model, "row_shape") or ()
        if len(shape) == 3:
            return cls(image_shape=(shape[0], shape[1], shape[2]))
        known = None if columns is None or kinds is None else dict(zip(columns, kinds, strict=True))
        return cls(columns, known, getattr(model, "n_features_in_", None))


def _inner(model: Any, name: str) -> Any:
    """Return an attribute of a classifier, of its encoder, or of the classifier or first step inside it."""
    while model is not None:
        for owner in (model, getattr(model, "encoder_", None)):
            if (value := getattr(owner, name, None)) is not None:
                return value
        steps, members = getattr(model, "steps", None), getattr(model, "estimators_", None)
        inner = getattr(model, "estimator_", None)
        model = steps[0][1] if steps else members[0] if inner is None and isinstance(members, list) else inner
    return None


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
    [3.0, 5.0] ['x1', 'x2', 'x3'] {2: "column 'size' holds 'wide', which is not a finite number"}
    """
    path = Path(path)
    kind = kind_of(path)
    if kind == TABLE:
        return _numbered(_table_blocks(path, rows, ids, chunk_rows or CHUNK_ROWS))
    if kind == ARRAYS:
        return _numbered(_array_blocks(path, rows, ids, chunk_rows))
    return _numbered(_image_blocks(path, rows, ids, chunk_rows, image_size))


#: the rows that can be used, the columns carried over of all rows, the bad rows by place, share of the file read
_Block = tuple[Any, pd.DataFrame, dict[int, str], float]


def _numbered(blocks: Iterator[_Block]) -> Iterator[Chunk]:
    start = 1
    for X, ids, bad, done in blocks:
        numbered = ids.set_axis(range(start, start + len(ids)))
        yield Chunk(X, numbered, {start + place: bad[place] for place in sorted(bad)}, done)
        start += len(ids)


def columns_by_name(X: Any, names: Sequence[str] | None) -> Any:
    """Return a data frame with the columns of training, in their order; others are left out.

    ``names`` are those of training, such as ``model.feature_names_in_``; None where there are none.
    """
    if names is None or not hasattr(X, "columns"):
        return X
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise DataError(
            f"The table lacks {len(missing)} of the {len(names)} columns that the model was trained on: {missing}. "
            f"It has {list(X.columns)}."
        )
    return X[list(names)]


def _table_blocks(path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int) -> Iterator[_Block]:
    """Give the columns of a table their types."""
    read = _csv_tables if path.suffix.lower() == ".csv" else _parquet_tables
    with table_errors(path):
        for table, kinds, bad, done in read(path, rows, ids, chunk_rows):
            typed = {}
            for name, kind in kinds.items():
                typed[name], strange, why = _typed(table[name], kind)
                for place in np.flatnonzero(strange).tolist():
                    bad.setdefault(place, f"column {name!r} holds {table[name].iloc[place]!r}, {why}")
            good = np.setdiff1d(np.arange(len(table)), list(bad))
            X = pd.DataFrame(typed).iloc[good]
            X = X.astype({name: "category" for name in X.columns if X[name].dtype == object})
            yield X if rows.columns is not None else X.to_numpy(), table[list(ids)], bad, done


#: a table, what the columns of the model hold, bad rows by place, share of the file read
_Table = tuple[pd.DataFrame, Kinds, dict[int, str], float]


def _csv_tables(path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int) -> Iterator[_Table]:
    """Read every cell as text; where the model does not tell numbers from text, the top of the file does."""
    head = pd.read_csv(
        path, nrows=HEAD_ROWS, index_col=False, na_values=MISSING, keep_default_na=False, on_bad_lines="skip"
    )
    header, numbers = head.columns.tolist(), head.select_dtypes("number").columns
    refuse_other_separators(path, header)
    columns = _columns(header, rows, ids, path)
    by_head = {name: "number" if name in numbers or rows.columns is None else "text" for name in columns}
    kinds = rows.kinds or by_head
    with path.open("rb") as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as text:
        lines = (line for line in csv.reader(text) if line)
        next(lines)
        while block := list(itertools.islice(lines, chunk_rows)):
            bad = {
                place: f"it has {len(line)} fields, and the first line names {len(header)}"
                for place, line in enumerate(block)
                if len(line) != len(header)
            }
            padded = [(line + [""] * len(header))[: len(header)] for line in block]
            table = pd.DataFrame(padded, columns=header, dtype=object)
            for name in [name for name in columns if kinds[name] is None]:
                table[name] = table[name].map(_open)
            yield table, kinds, bad, raw.tell() / path.stat().st_size


def _parquet_tables(path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int) -> Iterator[_Table]:
    """Read batches, with the types of the file."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    with parquet.ParquetFile(path) as file:
        columns = _columns(file.schema_arrow.names, rows, ids, path)
        kinds = rows.kinds or dict.fromkeys(columns)
        n_read = 0
        for batch in file.iter_batches(chunk_rows, columns=list(dict.fromkeys([*columns, *ids]))):
            n_read += batch.num_rows
            yield batch.to_pandas(types_mapper=pd.ArrowDtype), kinds, {}, n_read / file.metadata.num_rows


def _columns(there: Sequence[str], rows: RowFormat, ids: Sequence[str], path: Path) -> list[str]:
    """Return the columns that the model takes: by name, or all but the ids."""
    for name in ids:
        if name not in there:
            raise UnknownNameError("id", f"the table {path.name}", name, there)
    if rows.image_shape is not None:
        raise DataError(f"The model takes images of shape {rows.image_shape}, and {path} is a table.")
    if rows.columns is not None:
        return list(columns_by_name(pd.DataFrame(columns=list(there)), rows.columns))
    columns = [name for name in there if name not in ids]
    if rows.n_columns is not None and len(columns) != rows.n_columns:
        raise DataError(f"{path} has {len(columns)} columns, and the model takes {rows.n_columns}: {columns}.")
    return columns


def _typed(column: pd.Series[Any], kind: str | None) -> tuple[Any, BoolArray, str]:
    """Return a column of one kind, the rows in which that is not possible, and why."""
    cells = column.astype(object)
    missing = cells.isna() | cells.isin(MISSING)
    values = cells.mask(missing, None)
    if kind == "number":
        found = pd.to_numeric(values, errors="coerce").astype("float64")
        strange = (found.isna() & ~missing) | np.isinf(found)
        return found, strange.to_numpy(dtype=bool), "which is not a finite number"
    if kind == "text":
        is_text = values.map(lambda value: value is None or isinstance(value, str))
        return values, ~is_text.to_numpy(dtype=bool), "which is not text as in the training rows"
    return values.infer_objects(), np.zeros(len(column), dtype=bool), ""


def _open(value: str) -> bool | float | str:
    """Read a cell of a column that held neither numbers nor text alone, such as true and false."""
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    try:
        return float(value)
    except ValueError:
        return value


def _array_blocks(path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int | None) -> Iterator[_Block]:
    """Take slices of the rows of an npz file, or of a folder of npy files."""
    if rows.columns is not None:
        raise DataError(
            f"The model takes columns by name, and {path} has none. Give a table with {list(rows.columns)}."
        )
    arrays = Arrays(path)
    found = [name for name in arrays.names if name not in ids and (role_of(name) or "")[1:] == (ROWS,)]
    if len(found) != 1:
        raise DatasetError(f"{path} must have one array of rows, called X. It has {arrays.names}.")
    X = arrays.read(found[0])
    require_numbers(X, f"{path}: {found[0]}")
    wanted = rows.image_shape or (X.shape[1:] if rows.n_columns is None else (rows.n_columns,))
    if channels_first(X[:1]).shape[1:] != wanted:
        raise DataError(f"{path}: {found[0]}: rows have the shape {X.shape[1:]}, and the model takes {wanted}.")
    carried = {name: arrays.read(name) for name in ids}
    for name, values in carried.items():
        if values.shape != (len(X),):
            raise DataError(f"{path}: {name!r} must have one value for each row. Got shape {values.shape}.")
    step = _rows_of_chunk(X.shape[1:], chunk_rows)
    for start in range(0, len(X), step):
        block = slice(start, min(start + step, len(X)))
        kept = pd.DataFrame({name: values[block] for name, values in carried.items()}, index=range(start, block.stop))
        yield channels_first(X[block]), kept, {}, block.stop / len(X)


def _image_blocks(
    path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int | None, image_size: int | None
) -> Iterator[_Block]:
    """Decode the images of a folder or archive, sorted by path."""
    if rows.image_shape is None:
        raise DataError(f"The model takes rows of a table, and {path} is a folder of images.")
    if ids:
        raise DataError(f"Images have no columns to carry over, got {list(ids)}. Their paths are carried as {FILE!r}.")
    tree = FileTree(path)
    names = [name for name in tree.names() if is_picture(name)]
    if not names:
        raise DatasetError(f"{path} has no images.")
    size = None if image_size is None else (image_size, image_size)
    step = _rows_of_chunk(rows.image_shape, chunk_rows)
    for start in range(0, len(names), step):
        images, bad = [], {}
        block = names[start : start + step]
        for place, name in enumerate(block):
            try:
                image = decode_picture(tree.read(name), name, channels=rows.image_shape[0], size=size)
                if image.shape != rows.image_shape:
                    found, wanted = "{1} x {2}".format(*image.shape), "{1} x {2}".format(*rows.image_shape)
                    text = f"{name} is {found} (height x width), and the model takes {wanted}"
                    raise DatasetError(f"{text}; resize images with --image-size {rows.image_shape[1]}")
                images.append(image)
            except DatasetError as error:
                bad[place] = str(error).rstrip(".")
        X = np.array(images, dtype=np.uint8).reshape(-1, *rows.image_shape)
        yield X, pd.DataFrame({FILE: block}, dtype=object), bad, (start + len(block)) / len(names)


def _rows_of_chunk(shape: Sequence[int], chunk_rows: int | None) -> int:
    return chunk_rows or max(1, min(CHUNK_ROWS, CHUNK_BYTES // max(1, 4 * math.prod(shape))))
