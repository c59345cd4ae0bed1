"""Tables as numbers: what a network needs where a table has text, categories or missing values."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import check_count
from worstclass._state import Stateful
from worstclass._typing import FloatArray
from worstclass.data.splits import columns_in_order
from worstclass.exceptions import DataError

Floats = npt.NDArray[np.float32]


class TableEncoder(Stateful, TransformerMixin, BaseEstimator):
    """Turn a data frame, an array or images into a float32 array, shape (n, features), without missing values.

    - **Numbers** stay as they are. A missing number becomes the median of its column in the training rows, and 0 in a
      column that had no number there.
    - **Text, categories and booleans** become one-hot columns: one for each value of the training rows. A value that
      the training rows do not have gives zeros in all of them.
    - **A missing value in such a column** is a category of its own if the training rows have one too, and otherwise
      gives zeros.
    - **Images** and other rows of several dimensions are flattened.

    Parameters
    ----------
    max_categories : the largest number of one-hot columns that a column may give. Of more values the most frequent
        are kept, and the others are treated like unknown ones.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : columns of the training rows; names only if they were a data frame.
    medians_ : for each column the number that replaces a missing one, shape (n_features_in_,).
    categories_ : for each column the values with a one-hot column, most frequent first; None for a column of numbers.
        A missing value is the last one, as None, if the training rows have one.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": [71, None, 64], "ward": ["A", "B", "A"]})
    >>> encoder = TableEncoder().fit(rows)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'ward_A', 'ward_B']
    >>> encoder.transform(rows).tolist()
    [[71.0, 1.0, 0.0], [67.5, 0.0, 1.0], [64.0, 1.0, 0.0]]
    """

    state_names: ClassVar[tuple[str, ...]] = (
        "n_features_in_", "feature_names_in_", "medians_", "categories_"
    )  # fmt: skip

    def __init__(self, max_categories: int = 255) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the values of the columns and the medians of the numbers; ``y`` is ignored."""
        check_count(self.max_categories, "max_categories", "TableEncoder")
        self.__dict__.pop("feature_names_in_", None)
        columns = _columns(X)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        numbers = [_numbers(column) for column in columns]
        self.n_features_in_ = len(columns)
        known = [np.empty(0) if found is None else found[~np.isnan(found)] for found in numbers]
        self.medians_ = np.array([np.median(values) if len(values) else 0.0 for values in known])
        self.categories_: list[list[Any] | None] = [
            _most_frequent(column, self.max_categories) if found is None else None
            for column, found in zip(columns, numbers, strict=True)
        ]
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rows as numbers, shape (n, features)."""
        check_is_fitted(self, "medians_")
        columns = _columns(columns_in_order(X, getattr(self, "feature_names_in_", None)))
        if len(columns) != self.n_features_in_:
            raise DataError(
                f"X has {len(columns)} features, but TableEncoder is expecting {self.n_features_in_} features as input."
            )
        learned = zip(columns, self.medians_, self.categories_, strict=True)
        return np.column_stack(
            [
                _filled(column, median) if values is None else _one_hot(column, values)
                for column, median, values in learned
            ]
        )

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the features: the column's, with its value behind it for a one-hot column."""
        check_is_fitted(self, "medians_")
        own = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        names = []
        for name, values in zip(own, self.categories_, strict=True):
            ends = ["missing" if value is None else value for value in values or []]
            names += [name] if values is None else [f"{name}_{end}" for end in ends]
        return np.array(names, dtype=object)

    @property
    def _column_kinds(self) -> list[str | None]:
        """For each column "number", "text", or None for other categories."""
        return [
            "number" if values is None else "text" if all(isinstance(value, str | None) for value in values) else None
            for values in self.categories_
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _columns(X: Any) -> list[Any]:
    """Return the columns of X as pandas series, those of images flattened."""
    import pandas as pd

    if hasattr(X, "tocsr"):
        raise DataError("TableEncoder takes no sparse matrix. Convert it with X.toarray().")
    array = X if hasattr(X, "iloc") else np.asarray(X)
    if array.ndim < 2 or not array.size:
        raise DataError(
            f"X must be rows of values: Expected 2D array, got shape {array.shape}, with 0 sample(s) or 0 feature(s) "
            f"(shape={array.shape}) while a minimum of 1 is required. Reshape your data."
        )
    frame = X if hasattr(X, "iloc") else pd.DataFrame(array.reshape(len(array), -1))
    return [frame.iloc[:, j] for j in range(frame.shape[1])]


def _numbers(column: Any) -> FloatArray | None:
    """Return the values of a column of numbers, NaN for missing ones; None for a column of anything else."""
    from pandas.api.types import infer_dtype

    kind = infer_dtype(column, skipna=True)
    if kind == "string" and not column.notna().any():
        kind = "empty"
    if kind in ("datetime64", "timedelta64"):
        raise DataError(f"Column {column.name!r} holds dates or times. Convert it to numbers, or leave it out.")
    if kind == "complex":
        raise DataError("Complex data not supported by TableEncoder.")
    if hasattr(column.dtype, "categories") or kind not in ("integer", "floating", "mixed-integer-float", "empty"):
        return None
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _most_frequent(column: Any, limit: int) -> list[Any]:
    """Return the values of a column, most frequent first; of equally frequent ones in their order as text."""
    try:
        counts = Counter(column.dropna().tolist())
    except TypeError:
        raise DataError(f"Column {column.name!r} must hold numbers or text; lists and the like are not read.") from None
    ordered = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return [value for value, _ in ordered[:limit]] + [None] * bool(column.isna().any())


def _filled(column: Any, median: float) -> Floats:
    """Return the numbers of a column, the missing ones filled."""
    values = _numbers(column)
    if values is None:
        raise DataError(
            f"Column {column.name!r} holds numbers in the training rows, and other values here, such as "
            f"{column.dropna().iloc[0]!r}."
        )
    with np.errstate(over="ignore"):
        narrow = np.where(np.isnan(values), median, values).astype(np.float32)
    if not np.isfinite(narrow).all():
        row = int(np.argmin(np.isfinite(narrow)))
        raise DataError(
            f"Column {column.name!r} must hold finite numbers in the range of float32. Got {values[row]} in row "
            f"{row + 1}: infinity or a value too large. Leave a cell empty if its number is missing."
        )
    return narrow


def _one_hot(column: Any, values: list[Any]) -> Floats:
    place = {value: k for k, value in enumerate(values)}
    places = [place.get(value, -1) for value in column.astype("object").where(column.notna(), None)]
    return np.asarray(np.array(places)[:, None] == np.arange(len(values)), dtype=np.float32)
