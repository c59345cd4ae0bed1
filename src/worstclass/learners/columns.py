"""Columns of data frames: numbers stay numbers, and text stays text, between training and use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worstclass.exceptions import DataError


def number_columns(X: Any) -> tuple[bool, ...] | None:
    """Tell of each column of a data frame whether it holds numbers; None of anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> number_columns(pd.DataFrame({"age": [71, 64], "ward": ["A", "B"]}))
    (True, False)
    """
    return tuple(_holds_numbers(X.iloc[:, j]) for j in range(X.shape[1])) if hasattr(X, "iloc") else None


def with_kinds(X: Any, numbers: Sequence[bool] | None) -> Any:
    """Return rows whose columns hold what those of training did; refuse a column that does not.

    A column of text without a single value is read as one of numbers, and becomes one of text again.

    Parameters
    ----------
    X : rows; anything but a data frame of as many columns is returned as it is.
    numbers : which columns held numbers in training; None where that is not known.
    """
    if numbers is None or not hasattr(X, "iloc") or X.shape[1] != len(numbers):
        return X
    copied = False
    for j, was_number in enumerate(numbers):
        column = X.iloc[:, j]
        if _holds_numbers(column) == was_number:
            continue
        if not was_number and column.isna().all():
            X, copied = (X if copied else X.copy()), True
            X.isetitem(j, column.astype("object").astype("category"))
            continue
        row, value = _first_other(column, was_number)
        held, holds = ("numbers", "text") if was_number else ("text", "numbers")
        raise DataError(
            f"Column {X.columns[j]!r} holds {held} in the training rows, and {holds} here, such as {value!r} in row "
            f"{row + 1}. Write its values as they were for training, or leave them empty where they are missing."
        )
    return X


def _holds_numbers(column: Any) -> bool:
    from pandas.api.types import is_numeric_dtype

    return bool(is_numeric_dtype(column))


def _first_other(column: Any, wanted_numbers: bool) -> tuple[int, Any]:
    """Return the place and the value of the first cell that is not of the wanted kind."""
    import pandas as pd

    values = column.astype("object")
    present = values.notna().to_numpy()
    if wanted_numbers:
        strange = present & pd.to_numeric(values, errors="coerce").isna().to_numpy()
        present = strange if strange.any() else present
    place = int(present.argmax())
    return place, values.iloc[place]
