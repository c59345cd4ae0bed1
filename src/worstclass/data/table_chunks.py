"""Tables in chunks: CSV and Parquet, every column with the type that it had in training."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from worstclass._typing import BoolArray
from worstclass.data.chunks import Chunk, Kinds, RowFormat, require_columns
from worstclass.data.tables import MISSING
from worstclass.exceptions import DataError, DatasetError, UnknownNameError

#: rows at the top of a CSV file that tell numbers from text, where the model does not
HEAD_ROWS = 1_000


def csv_chunks(path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int) -> Iterator[Chunk]:
    """Read every cell as text, and turn it into a number where the model was trained on numbers."""
    size = max(path.stat().st_size, 1)
    with path.open("rb") as raw:
        lines = _csv_lines(raw, path)
        header = _unique(next(lines, []))
        if not header:
            raise DatasetError(f"{path} is empty: its first line must name the columns.")
        columns = _columns(header, rows, ids, path)
        head = [line for line in itertools.islice(lines, HEAD_ROWS) if line]
        kinds = rows.kinds or _guess_kinds(header, columns, head if rows.columns is not None else [])
        reader = _TableReader(columns, kinds, ids, by_name=rows.columns is not None)
        records = itertools.chain(head, (line for line in lines if line))
        start = 1
        while block := list(itertools.islice(records, chunk_rows)):
            bad = {
                start + k: f"it has {len(line)} fields, and the first line names {len(header)}"
                for k, line in enumerate(block)
                if len(line) != len(header)
            }
            padded = [(line + [""] * (len(header) - len(line)))[: len(header)] for line in block]
            table = pd.DataFrame(padded, columns=header, dtype=object)
            yield reader.chunk(table, table[list(ids)], start, bad, raw.tell() / size)
            start += len(block)


def parquet_chunks(path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int) -> Iterator[Chunk]:
    """Read batches; the columns carried over keep their types."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        raise DatasetError(f"Reading {path} needs pyarrow: pip install 'worstclass[parquet]'.") from None
    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            columns = _columns(schema.names, rows, ids, path)
            kinds = rows.kinds or {name: _arrow_kind(schema.field(name).type) for name in columns}
            reader = _TableReader(columns, kinds, ids, by_name=rows.columns is not None)
            start, total = 1, max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(chunk_rows, columns=list(dict.fromkeys([*columns, *ids]))):
                table = batch.select(columns).to_pandas()
                kept = batch.select(list(ids)).to_pandas(types_mapper=pd.ArrowDtype)
                yield reader.chunk(table, kept, start, {}, (start - 1 + len(table)) / total)
                start += len(table)
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"{path} cannot be read as a Parquet file: {error}") from None


@dataclass(frozen=True)
class _TableReader:
    """Gives columns their types, and sets the rows apart in which that is not possible."""

    columns: list[str]
    kinds: Kinds
    ids: Sequence[str]
    by_name: bool

    def chunk(self, table: pd.DataFrame, kept: pd.DataFrame, start: int, bad: dict[int, str], done: float) -> Chunk:
        numbers = np.arange(start, start + len(table))
        wrong = np.isin(numbers, list(bad))
        typed = {}
        for name in self.columns:
            typed[name], strange, why = _typed(table[name], self.kinds.get(name))
            for place in np.flatnonzero(strange & ~wrong):
                bad[int(numbers[place])] = f"column {name!r} holds {table[name].iloc[place]!r}, {why}"
            wrong |= strange
        X: Any = pd.DataFrame(typed, columns=self.columns)[~wrong]
        X = X.astype({name: "category" for name in self.columns if X[name].dtype == object})
        return Chunk(
            X if self.by_name else X.to_numpy(),
            numbers[~wrong],
            kept[~wrong].reset_index(drop=True),
            dict(sorted(bad.items())),
            kept[wrong].reset_index(drop=True),
            done,
        )


def _columns(there: Sequence[str], rows: RowFormat, ids: Sequence[str], path: Path) -> list[str]:
    """Return the columns that the model takes: by name, or all but the ids."""
    for name in ids:
        if name not in there:
            raise UnknownNameError("id", f"the table {path.name}", name, there)
    if rows.image_shape is not None:
        raise DataError(f"The model takes images of shape {rows.image_shape}, and {path} is a table.")
    if rows.columns is not None:
        require_columns(there, rows.columns, str(path))
        return list(rows.columns)
    columns = [name for name in there if name not in ids]
    if rows.n_columns is not None and len(columns) != rows.n_columns:
        raise DataError(f"{path} has {len(columns)} columns, and the model takes {rows.n_columns}: {columns}.")
    return columns


def _typed(column: pd.Series[Any], kind: str | None) -> tuple[Any, BoolArray, str]:
    """Return a column of one kind, the rows in which that is not possible, and why."""
    missing = column.isna() | column.isin(MISSING)
    values = column.astype(object).mask(missing, None)
    if kind == "number":
        found = pd.to_numeric(values, errors="coerce").astype("float64")
        strange = (found.isna() & ~missing) | np.isinf(found)
        return found, strange.to_numpy(dtype=bool), "which is not a finite number"
    if kind == "text":
        is_text = values.map(lambda value: value is None or isinstance(value, str))
        return values, ~is_text.to_numpy(dtype=bool), "which is not text as in the training rows"
    return values.map(_open), np.zeros(len(column), dtype=bool), ""


def _open(value: Any) -> Any:
    """Read a cell of a column that held neither numbers nor text alone, such as true and false."""
    if not isinstance(value, str):
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return float(value) if _is_number(value) else value


def _guess_kinds(header: Sequence[str], columns: Sequence[str], head: Sequence[Sequence[str]]) -> Kinds:
    """Take a column for numbers where every value at the top of the file is one."""
    whole = [line for line in head if len(line) == len(header)]
    places = {name: header.index(name) for name in columns}
    return {
        name: "number" if all(_is_number(line[k]) for line in whole if line[k] not in MISSING) else "text"
        for name, k in places.items()
    }


def _arrow_kind(type_: Any) -> str | None:
    import pyarrow as pa

    if pa.types.is_boolean(type_):
        return None
    number = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    return "number" if number else "text"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv_lines(raw: IO[bytes], path: Path) -> Iterator[list[str]]:
    """Yield the fields of each line, those of the first without a byte order mark."""

    def decoded() -> Iterator[str]:
        for number, line in enumerate(raw):
            yield line.decode("utf-8" if number else "utf-8-sig")

    lines = csv.reader(decoded())
    try:
        yield from lines
    except (csv.Error, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read as a CSV file, after line {lines.line_num}: {error}") from None


def _unique(names: list[str]) -> list[str]:
    """Number columns of the same name, as pandas does when it reads the training rows."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, -1) + 1
        unique.append(f"{name}.{seen[name]}" if seen[name] else name)
    return unique
