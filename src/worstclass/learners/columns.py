"""Columns of data frames: numbers stay numbers, and text stays text, between training and use."""

from __future__ import annotations

from typing import Any, Literal

from worstclass._checks import plain
from worstclass.exceptions import DataError

#: of each column: numbers, text, or what may come in either form (yes and no, categories that are numbers)
Kinds = tuple[Literal["number", "text"] | None, ...]


def column_kinds(X: Any) -> Kinds | None:
    """Tell what each column of a data frame holds; None of anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> column_kinds(pd.DataFrame({"age": [71, 64], "ward": ["A", None], "smokes": [True, False]}))
    ('number', 'text', None)
    """
    if not hasattr(X, "iloc"):
        return None
    return tuple(_kind(X.iloc[:, j] if _is_open(dtype) else None, dtype) for j, dtype in enumerate(X.dtypes))


def with_kinds(X: Any, kinds: Kinds | None) -> Any:
    """Return rows whose columns hold what those of training did; refuse a column that cannot.

    Values decide, not how they are stored: numbers among objects become numbers, and a column of text without a single
    value, which is read as one of numbers, becomes one of text again.

    Parameters
    ----------
    X : rows; anything but a data frame of as many columns is returned as it is.
    kinds : what the columns held in training; None where that is not known.
    """
    if kinds is None or not hasattr(X, "iloc") or X.shape[1] != len(kinds):
        return X
    changed = {}
    for j, (wanted, dtype) in enumerate(zip(kinds, X.dtypes, strict=True)):
        if wanted == "number" and not _is_number(dtype):
            changed[j] = _as_numbers(X.iloc[:, j], X.columns[j])
        elif wanted == "text" and _is_number(dtype):
            changed[j] = _as_text(X.iloc[:, j], X.columns[j])
    if not changed:
        return X
    X = X.copy()
    for j, column in changed.items():
        X.isetitem(j, column)
    return X


def _is_number(dtype: Any) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(dtype)) and not is_bool_dtype(dtype)


def _is_open(dtype: Any) -> bool:
    """Tell a dtype of which only the values say what they are."""
    return getattr(dtype, "kind", "O") == "O" or hasattr(dtype, "categories")


def _kind(column: Any, dtype: Any) -> Literal["number", "text"] | None:
    if _is_number(dtype):
        return "number"
    if column is None:
        return None
    values = dtype.categories if hasattr(dtype, "categories") else column.dropna().unique()
    return "text" if len(values) and all(isinstance(value, str) for value in values) else None


def _as_numbers(column: Any, name: Any) -> Any:
    import pandas as pd

    values = column.astype("object")
    numbers = pd.to_numeric(values, errors="coerce").astype("float64")
    strange = values.notna() & numbers.isna()
    if strange.any():
        _refuse(name, "numbers", "text", column, int(strange.to_numpy().argmax()))
    return numbers


def _as_text(column: Any, name: Any) -> Any:
    present = column.notna().to_numpy()
    if present.any():
        _refuse(name, "text", "numbers", column, int(present.argmax()))
    return column.astype("object").astype("category")


def _refuse(name: Any, held: str, holds: str, column: Any, row: int) -> None:
    raise DataError(
        f"Column {name!r} holds {held} in the training rows, and {holds} here, such as "
        f"{plain(column.iloc[row])!r} in row {row + 1}. Write its values as they were for training, or leave them "
        "empty where they are missing."
    )
