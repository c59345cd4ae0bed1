"""Tables from files: a CSV with one column of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worstclass.data.splits import Part
from worstclass.exceptions import DatasetError, UnknownNameError

#: how a missing value is written in a column of features
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "?"]


def read_table(path: str | Path, target: str) -> Part:
    """Read a CSV file; columns that are not numbers become categories.

    Parameters
    ----------
    path : the file.
    target : name of the column that holds the labels; a row without a label is refused.

    Returns
    -------
    A part whose X is a data frame with every column but the target.
    """
    table = _read_csv(Path(path), target)
    if target not in table.columns:
        raise UnknownNameError("target", f"the table {Path(path).name}", target, table.columns)
    labels = table.pop(target)
    if labels.isna().any():
        first = int(np.flatnonzero(labels.isna())[0]) + 1
        raise DatasetError(
            f"{path}: the target {target!r} is empty in {labels.isna().sum()} rows, first in row {first}."
        )
    if table.shape[1] == 0:
        raise DatasetError(f"{path}: there is no column besides the target {target!r}.")
    return Part(_categories_for_text(table), _label_array(labels))


def _read_csv(path: Path, target: str) -> pd.DataFrame:
    if not path.is_file():
        raise DatasetError(f"There is no file {path}. Pass the path of a CSV file, or a data set's name.")
    try:
        columns = pd.read_csv(path, nrows=0).columns
        # a class may well be called "None" or "NA"; in the target only an empty cell is missing
        missing = {name: [""] if name == target else MISSING for name in columns}
        table = pd.read_csv(path, na_values=missing, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read as a CSV file: {error}") from None
    if table.empty:
        raise DatasetError(f"{path} has no rows.")
    if not isinstance(table.index, pd.RangeIndex):
        raise DatasetError(f"{path}: the rows have more fields than the first line names. Name every column.")
    return table


def _categories_for_text(table: pd.DataFrame) -> pd.DataFrame:
    text = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    return table.astype(dict.fromkeys(text, "category"))


def _label_array(labels: pd.Series[Any]) -> Any:
    return labels.to_numpy() if pd.api.types.is_numeric_dtype(labels) else labels.astype(object).to_numpy()
