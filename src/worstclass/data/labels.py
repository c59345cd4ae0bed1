"""Labels in, class indices and counts out: what the booster is to solve, checked once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from worstclass._checks import kind, twin
from worstclass._text import n_of
from worstclass._typing import IntArray
from worstclass.data.map_style import is_map_dataset, labels_of
from worstclass.data.splits import count_rows
from worstclass.exceptions import DataError


@dataclass(frozen=True, eq=False)
class Labels:
    """Class indices of some rows, and how many rows each class has."""

    classes: npt.NDArray[Any]
    index: IntArray

    @property
    def n_classes(self) -> int:
        """Number of classes, absent ones included."""
        return len(self.classes)

    @property
    def totals(self) -> IntArray:
        """Rows of each class."""
        return np.bincount(self.index, minlength=self.n_classes)


def training_labels(X: Any, y: Any) -> Labels:
    """Read the training labels; they define the classes."""
    _refuse_unused_categories(y)
    values = _label_array(X, y, "y")
    classes, index = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"y must have at least two classes. Got one class: {classes.tolist()}.")
    return Labels(classes, index.astype(np.int64))


def known_labels(X: Any, y: Any, classes: npt.NDArray[Any], name: str = "y_val") -> Labels:
    """Read labels of other rows, all of which must be classes of the training labels."""
    values = _label_array(X, y, name)
    index = {label: k for k, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in values.tolist() if label not in index})
    if unknown:
        refuse_twins(values.tolist(), list(index), f"{name} has")
        raise DataError(
            f"{name} has labels that the training rows do not have: {unknown}. Known classes: {list(index)}. "
            "Train on rows of every class, or leave these rows out."
        )
    return Labels(classes, np.array([index[label] for label in values.tolist()], dtype=np.int64))


def require_pair(X_val: Any, y_val: Any) -> None:
    """Refuse validation rows without labels, and labels without rows."""
    if X_val is None or (y_val is None and not is_map_dataset(X_val)):
        raise DataError("X_val and y_val go together. Got one without the other; pass both, or neither.")


def label_column(answers: Any) -> npt.NDArray[Any]:
    """Return the answers of a classifier, one per row; some give them as a matrix of one column."""
    column = np.asarray(answers)
    return column.ravel() if column.ndim == 2 and column.shape[1] == 1 else column


def refuse_twins(labels: list[Any], classes: list[Any], who: str) -> None:
    """Refuse labels that read like classes but are of another type, as "1" and 1."""
    for label in dict.fromkeys(labels):
        same = None if label in classes else twin(label, classes)
        if same is not None:
            raise DataError(
                f"{who} the {kind(label)} {label!r} where the class is the {kind(same)} {same!r}. Make labels of one "
                f"type: np.asarray(labels).astype({'str' if kind(same) == 'text' else 'float'})."
            )


def _label_array(X: Any, y: Any, name: str) -> npt.NDArray[Any]:
    if y is None and is_map_dataset(X):
        y = labels_of(X)
    if y is None:
        raise DataError(f"WorstClassBooster requires {name} to be passed, but the target {name} is None.")
    _refuse_missing(y, name)
    _refuse_mixed_types(y, name)
    values = column_or_1d(y.detach().cpu().numpy() if hasattr(y, "detach") else y, warn=True)
    try:
        assert_all_finite(values, input_name=name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # many classes may well mean labels here
            check_classification_targets(values)
    except ValueError as error:
        raise DataError(str(error)) from None
    n_rows = count_rows(X)
    if n_rows != len(values):
        raise DataError(
            f"X and {name} must have one label for each row. Got {n_rows} rows and {len(values)} labels: "
            "inconsistent numbers of samples."
        )
    return np.asarray(values)


def _refuse_missing(y: Any, name: str) -> None:
    """Refuse NaN, None and pandas' NA among the labels."""
    if hasattr(y, "detach"):
        return
    labels = y if hasattr(y, "dtype") else np.asarray(y, dtype=object)
    if n_missing := int(np.sum(np.asarray(pd.isna(labels)))):
        rows = n_of(n_missing, "row")
        raise DataError(f"Input {name} contains NaN or None: {rows} without a label. Leave them out.")


def _refuse_mixed_types(y: Any, name: str) -> None:
    """Refuse text among numbers; numpy would turn the numbers into text without a word."""
    if not isinstance(y, Sequence) and getattr(y, "dtype", None) != np.dtype(object):
        return
    kinds = {
        "text" if isinstance(label, str | bytes) else "numbers" if np.isscalar(label) else type(label).__name__
        for label in y
    }
    if len(kinds) > 1:
        raise DataError(
            f"{name} mixes labels of different types ({', '.join(sorted(kinds))}). "
            "Make all of them strings, or all numbers."
        )


def _refuse_unused_categories(y: Any) -> None:
    """Refuse a pandas categorical that declares a class of which there is no row."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    if categories is None:
        return
    unused = categories[~categories.isin(np.asarray(y))].tolist()
    if unused:
        raise DataError(
            f"y declares classes that have no training row: {unused}. No floor can be met for them. Add rows, or drop "
            "the categories (y.cat.remove_unused_categories())."
        )
