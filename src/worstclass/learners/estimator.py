"""What every classifier that trains through a learner has in common: its rows in, checked once, and its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from worstclass._checks import require_known_options
from worstclass._state import Stateful
from worstclass.data.labels import Labels, known_labels
from worstclass.data.map_style import is_map_dataset
from worstclass.exceptions import DataError
from worstclass.learners.base import Encoder, Inputs, WeakLearner
from worstclass.learners.columns import Kinds, column_kinds, with_kinds


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
        tags = super().__sklearn_tags__()
        estimator = getattr(self.learner, "estimator", self.learner)
        if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, WeakLearner | type):
            inner = get_tags(estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

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
            try:
                validate_data(self, X, reset=reset, skip_check_array=True)
            except ValueError as error:
                raise DataError(str(error)) from None
        if reset:
            self._column_kinds = column_kinds(X)
        return with_kinds(checked, self._column_kinds)

    def _validation(self, encoder: Encoder, labels: Labels, X_val: Any, y_val: Any) -> tuple[Inputs, Labels] | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or (y_val is None and not is_map_dataset(X_val)):
            raise DataError("X_val and y_val go together. Got one without the other; pass both, or neither.")
        rows = self._check_X(X_val, reset=False)
        return encoder.encode(rows), known_labels(rows, y_val, labels.classes)
