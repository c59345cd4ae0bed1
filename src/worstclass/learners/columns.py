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
    return tuple(_kind(X.iloc[:, j]) for j in range(X.shape[1])) if hasattr(X, "iloc") else None


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
    import pandas as pd

    same = X
    for j, kind in enumerate(kinds):
        column = X.iloc[:, j]
        if kind is None or (kind == "number") == _is_number(column.dtype):
            continue
        values = column.astype("object")
        if kind == "number":
            changed = pd.to_numeric(values, errors="coerce").astype("float64")
            strange = values.notna() & changed.isna()
        else:
            changed, strange = values.astype("category"), values.notna()
        if strange.any():
            row = int(strange.to_numpy().argmax())
            held, holds = ("numbers", "text") if kind == "number" else ("text", "numbers")
            raise DataError(
                f"Column {X.columns[j]!r} holds {held} in the training rows, and {holds} here, such as "
                f"{plain(column.iloc[row])!r} in row {row + 1}. Write its values as they were for training, or leave "
                "them empty where they are missing."
            )
        same = X.copy() if same is X else same
        same.isetitem(j, changed)
    return same


def _is_number(dtype: Any) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(dtype)) and not is_bool_dtype(dtype)


def _kind(column: Any) -> Literal["number", "text"] | None:
    if _is_number(column.dtype):
        return "number"
    values = column.cat.categories if hasattr(column, "cat") else column.dropna().unique()
    return "text" if len(values) and all(isinstance(value, str) for value in values) else None
