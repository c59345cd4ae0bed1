"""Tables from files: CSV or Parquet, with one column of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worstclass.data.splits import Part
from worstclass.exceptions import DatasetError, UnknownNameError

#: how a missing value is written in a column of features
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "?"]

PARQUET_SUFFIXES = (".parquet", ".pq")


def read_table(path: str | Path, target: str) -> Part:
    """Read a CSV or Parquet file; columns that are not numbers become categories.

    Parameters
    ----------
    path : the file; ``.parquet`` and ``.pq`` are Parquet, which needs pyarrow, and all else is CSV.
    target : name of the column that holds the labels; a row without a label is refused.

    Returns
    -------
    A part whose X is a data frame with every column but the target.
    """
    path = Path(path)
    if not path.is_file():
        raise DatasetError(f"There is no file {path}. Pass the path of a CSV file, or a data set's name.")
    table = _read_parquet(path) if path.suffix.lower() in PARQUET_SUFFIXES else _read_csv(path, target)
    return table_part(table, target, where=str(path))


def table_part(table: pd.DataFrame, target: str, *, where: str) -> Part:
    """Take the labels out of a table."""
    if table.empty:
        raise DatasetError(f"{where} has no rows.")
    if target not in table.columns:
        raise UnknownNameError("target", f"the table {Path(where).name}", target, table.columns)
    labels = table.pop(target)
    if labels.isna().any():
        first = int(np.flatnonzero(labels.isna())[0]) + 1
        raise DatasetError(
            f"{where}: the target {target!r} is empty in {labels.isna().sum()} rows, first in row {first}."
        )
    if table.shape[1] == 0:
        raise DatasetError(f"{where}: there is no column besides the target {target!r}.")
    _refuse_infinite(table, where)
    return Part(categories_for_text(table, where), _label_array(labels))


def _refuse_infinite(table: pd.DataFrame, where: str) -> None:
    numbers = table.loc[:, [pd.api.types.is_float_dtype(dtype) for dtype in table.dtypes]]
    infinite = np.isinf(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
    if infinite.any():
        names = numbers.columns[infinite.any(axis=0)].tolist()
        first = int(np.flatnonzero(infinite.any(axis=1))[0]) + 1
        raise DatasetError(
            f"{where} has infinite numbers in the columns {names}, first in row {first}. Leave cells empty where a "
            "number is missing, or write a finite one."
        )


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    except ImportError:
        raise DatasetError(f"Reading {path} needs pyarrow: pip install 'worstclass[parquet]'.") from None
    except (ValueError, OSError) as error:  # pyarrow's own errors are of these kinds
        raise DatasetError(f"{path} cannot be read as a Parquet file: {error}") from None


def _read_csv(path: Path, target: str) -> pd.DataFrame:
    try:
        columns = pd.read_csv(path, nrows=0).columns
        # a class may well be called "None" or "NA"; in the target only an empty cell is missing
        missing = {name: [""] if name == target else MISSING for name in columns}
        table = pd.read_csv(path, na_values=missing, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read as a CSV file: {error}") from None
    if not isinstance(table.index, pd.RangeIndex):
        raise DatasetError(f"{path}: the rows have more fields than the first line names. Name every column.")
    return table


def categories_for_text(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return the table with columns that are not numbers as categories."""
    text = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    try:
        return table.astype(dict.fromkeys(text, "category"))
    except TypeError:
        raise DatasetError(f"{where}: a column must hold numbers or text; lists and the like are not read.") from None


def _label_array(labels: pd.Series[Any]) -> Any:
    return labels.to_numpy() if pd.api.types.is_numeric_dtype(labels) else labels.astype(object).to_numpy()
