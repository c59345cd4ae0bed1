"""A classifier that takes only class indices, such as xgboost's, around labels of any kind."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from worstclass._state import Stateful
from worstclass._typing import FloatArray
from worstclass.data.labels import label_column
from worstclass.learners.estimator import with_input_tags


def _inner_has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


class IndexedClassifier(Stateful, ClassifierMixin, BaseEstimator):
    """Fits a classifier on class indices, and answers with the labels.

    Parameters
    ----------
    estimator : the classifier. It is fitted itself, not a clone of it.

    Attributes
    ----------
    classes_ : the classes, sorted.
    estimator_ : the fitted classifier; its classes are 0, 1 and so on.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = IndexedClassifier(DecisionTreeClassifier()).fit([[0.0], [1.0]], ["no", "yes"])
    >>> model.predict([[1.0]]).tolist(), model.estimator_.classes_.tolist()
    (['yes'], [0, 1])
    """

    state_names: ClassVar[tuple[str, ...]] = ("estimator_", "classes_", "n_features_in_", "feature_names_in_")

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, **options: Any) -> Self:
        """Fit the classifier on the class index of each label."""
        self.classes_, index = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = self.estimator.fit(X, index, **options)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label of each answer."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.classes_[label_column(self.estimator_.predict(X)).astype(np.int64)])

    @available_if(_inner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, shape (n, K)."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)

    @available_if(_inner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of the classifier."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.decision_function(X), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        return with_input_tags(super().__sklearn_tags__(), self.estimator)


def fit_labels(model: Any, X: Any, y: Any, **options: Any) -> Any:
    """Fit a classifier; one that refuses the labels gets class indices, inside an ``IndexedClassifier``."""
    try:
        return model.fit(X, y, **options)
    except (TypeError, ValueError) as refused:
        classes = np.unique(np.asarray(y))
        if classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes))):
            raise
        try:
            return IndexedClassifier(model).fit(X, y, **options)
        except Exception:  # the labels were not the reason
            raise refused from None
