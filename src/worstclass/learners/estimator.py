"""What every classifier that trains through a learner has in common: its rows in, checked once, and its parameters.

Columns of data frames keep their kind between training and use: numbers stay numbers, and text stays text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from worstclass._checks import plain, require_known_options
from worstclass._state import Stateful
from worstclass.data.labels import Labels, known_labels, require_pair
from worstclass.data.map_style import is_map_dataset
from worstclass.exceptions import DataError
from worstclass.learners.base import Encoder, Inputs, WeakLearner

#: of each column: numbers, text, or what may come in either form (yes and no, categories that are numbers)
Kinds = tuple[Literal["number", "text"] | None, ...]


class LearnerClassifier(Stateful, ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier around a learner.

    Subclasses add the names of their own fitted attributes to ``state_names``.
    """

    state_names: ClassVar[tuple[str, ...]] = (
        "classes_", "n_features_in_", "feature_names_in_", "_column_kinds", "learner_", "encoder_", "estimators_",
        "history_", "n_epochs_", "seen_rows_",
    )  # fmt: skip

    learner: Any
    _column_kinds: Kinds | None = None

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: Mapping[str, Any]) -> Self:
        """Return a fitted estimator; ``estimators_`` are states of members, which the learner restores."""
        members = state["learner_"].restored_members(state["encoder_"], len(state["classes_"]), state["estimators_"])
        return super().from_state(params, {**state, "estimators_": members})

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the learner as ``learner__name``; an unknown name gets a suggestion."""
        own = {name for name in params if "__" not in name}
        require_known_options(dict.fromkeys(own), list(self.get_params(deep=False)), owner=self._owner)
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Any:
        inside = getattr(self.learner, "estimator", self.learner)
        return with_input_tags(super().__sklearn_tags__(), None if isinstance(inside, WeakLearner | type) else inside)

    @property
    def _owner(self) -> str:
        return type(self).__name__

    @contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        """Undo what was set on this estimator where a fit is refused: an earlier one stays as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        self.learner_: WeakLearner
        checked = self.learner_.check_X(X)
        if not is_map_dataset(X):
            check_columns(self, X, reset=reset)
        if reset:
            self._column_kinds = column_kinds(X)
        return with_kinds(checked, self._column_kinds)

    def _validation(self, encoder: Encoder, labels: Labels, X_val: Any, y_val: Any) -> tuple[Inputs, Labels] | None:
        if X_val is None and y_val is None:
            return None
        require_pair(X_val, y_val)
        rows = self._check_X(X_val, reset=False)
        return encoder.encode(rows), known_labels(rows, y_val, labels.classes)


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Let scikit-learn compare the number and names of the columns with those of training, or (``reset``) note them."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise DataError(str(error)) from None


def with_input_tags(tags: Any, inside: Any) -> Any:
    """Return the tags of a classifier that takes sparse and missing values where the classifier inside it does."""
    if hasattr(inside, "__sklearn_tags__"):
        inner = get_tags(inside).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
    return tags


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
