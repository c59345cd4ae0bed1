"""Tables as numbers: what a network needs where a table has text, categories or missing values."""

from __future__ import annotations

import numbers
import warnings
from collections import Counter
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import check_count
from worstclass._state import Stateful
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
    missing_ : for each column whether a missing value has a one-hot column, the last of its columns.

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
        "n_features_in_", "feature_names_in_", "medians_", "categories_", "missing_"
    )  # fmt: skip

    def __init__(self, max_categories: int = 255) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the values of the columns and the medians of the numbers; ``y`` is ignored."""
        check_count(self.max_categories, "max_categories", "TableEncoder")
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        matrix = _matrix(X)
        if matrix is not None:
            self.n_features_in_ = matrix.shape[1]
            self.medians_ = _medians(matrix)
            self.categories_: list[list[Any] | None] = [None] * self.n_features_in_
            self.missing_ = [False] * self.n_features_in_
            return self
        columns = _columns(X)
        values = [_numbers(column) for column in columns]
        self.n_features_in_ = len(columns)
        self.medians_ = np.array([0.0 if found is None else _medians(found[:, None])[0] for found in values])
        self.categories_ = [
            None if found is not None else _most_frequent(column, self.max_categories)
            for column, found in zip(columns, values, strict=True)
        ]
        self.missing_ = [
            found is None and bool(column.isna().any()) for column, found in zip(columns, values, strict=True)
        ]
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rows as numbers, shape (n, features)."""
        check_is_fitted(self, "medians_")
        X = columns_in_order(X, getattr(self, "feature_names_in_", None))
        matrix = _matrix(X)
        columns = [] if matrix is not None else _columns(X)
        n_features = len(columns) if matrix is None else matrix.shape[1]
        if n_features != self.n_features_in_:
            raise DataError(
                f"X has {n_features} features, but TableEncoder is expecting {self.n_features_in_} features as input."
            )
        if matrix is not None and all(values is None for values in self.categories_):
            return self._filled(matrix)
        blocks = [
            self._numeric(column, j) if values is None else _one_hot(column, values, missing=self.missing_[j])
            for j, (column, values) in enumerate(zip(columns or _columns(X), self.categories_, strict=True))
        ]
        return np.ascontiguousarray(np.concatenate(blocks, axis=1))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the features: the column's, with its value behind it for a one-hot column."""
        check_is_fitted(self, "medians_")
        own = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        names = []
        for name, values, missing in zip(own, self.categories_, self.missing_, strict=True):
            ends = [""] if values is None else [f"_{value}" for value in values] + ["_missing"] * missing
            names += [f"{name}{end}" for end in ends]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _numeric(self, column: Any, j: int) -> Floats:
        values = _numbers(column)
        if values is None:
            raise DataError(
                f"Column {column.name!r} holds numbers in the training rows, and other values here, such as "
                f"{column.dropna().iloc[0]!r}."
            )
        return self._filled(values[:, None], j)

    def _filled(self, values: npt.NDArray[np.float64], first: int = 0) -> Floats:
        """Return numbers with the missing ones filled, those of the columns from ``first`` on."""
        filled = np.where(np.isnan(values), self.medians_[first : first + values.shape[1]], values)
        with np.errstate(over="ignore"):
            narrow = filled.astype(np.float32)
        if not np.isfinite(narrow).all():
            row, j = np.argwhere(~np.isfinite(narrow))[0]
            name = getattr(self, "feature_names_in_", range(self.n_features_in_))[first + j]
            raise DataError(
                f"Column {name!r} must hold finite numbers in the range of float32. Got {filled[row, j]} in row "
                f"{row + 1}: infinity or a value too large. Leave a cell empty if its number is missing."
            )
        return narrow


def _matrix(X: Any) -> npt.NDArray[np.float64] | None:
    """Return an array of numbers as a matrix, images flattened; None for a data frame or an array of objects."""
    if hasattr(X, "iloc"):
        return None
    if hasattr(X, "tocsr"):
        raise DataError("TableEncoder takes no sparse matrix. Convert it with X.toarray().")
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported by TableEncoder.")
    if array.ndim < 2 or not array.size:
        raise DataError(
            f"X must be rows of values: Expected 2D array, got shape {array.shape}, with 0 sample(s) or 0 feature(s) "
            f"(shape={array.shape}) while a minimum of 1 is required. Reshape your data."
        )
    return array.reshape(len(array), -1).astype(np.float64) if array.dtype.kind in "biuf" else None


def _columns(X: Any) -> list[Any]:
    """Return the columns of X as pandas series, those of images flattened."""
    import pandas as pd

    frame = X if hasattr(X, "iloc") else pd.DataFrame(np.asarray(X).reshape(len(X), -1))
    if not len(frame) or not frame.shape[1]:
        raise DataError(f"X must have at least one row and one column. Got shape {frame.shape}.")
    return [frame.iloc[:, j] for j in range(frame.shape[1])]


def _numbers(column: Any) -> npt.NDArray[np.float64] | None:
    """Return the values of a column of numbers, NaN for missing ones; None for a column of anything else."""
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype

    if is_datetime64_any_dtype(column.dtype) or is_timedelta64_dtype(column.dtype):
        raise DataError(f"Column {column.name!r} holds dates or times. Convert it to numbers, or leave it out.")
    if is_bool_dtype(column.dtype) or hasattr(column.dtype, "categories"):
        return None
    if is_numeric_dtype(column.dtype):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    present = column.dropna()
    if not all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in present):
        return None
    return np.asarray(column.astype("object").where(column.notna(), np.nan).to_numpy(dtype=np.float64))


def _medians(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without a number
        return np.nan_to_num(np.nanmedian(values, axis=0), nan=0.0)


def _most_frequent(column: Any, limit: int) -> list[Any]:
    """Return the values of a column, most frequent first; of equally frequent ones in their order as text."""
    try:
        counts = Counter(column.dropna().tolist())
    except TypeError:
        raise DataError(f"Column {column.name!r} must hold numbers or text; lists and the like are not read.") from None
    ordered = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return [value for value, _ in ordered[:limit]]


def _one_hot(column: Any, values: list[Any], *, missing: bool) -> Floats:
    import pandas as pd

    block = np.zeros((len(column), len(values) + missing), dtype=np.float32)
    places = pd.Index(values, dtype="object").get_indexer(column.astype("object"))
    known = np.flatnonzero(places >= 0)
    block[known, places[known]] = 1.0
    if missing:
        block[column.isna().to_numpy(), -1] = 1.0
    return block
