"""What classifiers around another classifier have in common: how it is trained, checked, and asked."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from worstclass._state import Stateful
from worstclass._typing import FloatArray
from worstclass.data.labels import Labels, known_labels, training_labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.seen_rows import Hashes, seen_hashes
from worstclass.exceptions import DataError, ModelFormatError, ParameterError, UnknownOptionError


def _estimator_has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


def indexable(rows: Any) -> Any:
    """Return rows or labels in a form that has a length; what is no array but can become one becomes one."""
    return np.asarray(rows) if hasattr(rows, "__array__") and not hasattr(rows, "__len__") else rows


class WrappedClassifier(Stateful, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A scikit-learn classifier around another.

    ``row_hashes_`` are fingerprints of the rows that either is known to have seen, and ``training_rows_known_`` tells
    whether these are all.
    """

    state_names: ClassVar[tuple[str, ...]] = (
        "estimator_",
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "seen_rows_",
        "row_hashes_",
        "training_rows_known_",
    )

    estimator: Any
    cv: Any

    def _restored(self) -> None:
        if not np.array_equal(self.classes_, self.estimator_.classes_):
            raise ModelFormatError(
                f"{self._owner} was fitted for the classes {self.classes_.tolist()}, and the classifier inside it has "
                f"{self.estimator_.classes_.tolist()}. Save the model again."
            )

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classifier inside, as they are, shape (n, K)."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell scikit-learn that options of ``fit`` go to the classifier inside."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    @property
    def _owner(self) -> str:
        return type(self).__name__

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _check_estimator(self) -> None:
        """Refuse what is no classifier; what scikit-learn knows nothing of is one if it predicts, and can be cloned."""
        tagged = hasattr(self.estimator, "__sklearn_tags__")
        predicts = callable(getattr(self.estimator, "predict", None))
        if isinstance(self.estimator, type) or not (is_classifier(self.estimator) if tagged else predicts):
            raise ParameterError("estimator", self._owner, allowed="a classifier", got=self.estimator)
        if not self._is_prefit and not hasattr(self.estimator, "get_params"):
            raise ParameterError(
                "estimator",
                self._owner,
                allowed="a classifier that scikit-learn can clone (with get_params), or fitted, with cv='prefit'",
                got=self.estimator,
            )

    def _fit_options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the options that go to the ``fit`` of the classifier; refuse those it does not know."""
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", **given).estimator.fit)
        if self._is_prefit:  # nothing is trained, and what is given is refused as such
            return {name: value for name, value in given.items() if value is not None}
        known = inspect.signature(self.estimator.fit).parameters
        if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values()):
            for name in given:
                if name not in known:
                    raise UnknownOptionError(name, f"fit of {type(self.estimator).__name__}", list(known))
        return {name: value for name, value in given.items() if value is not None}

    def _training_labels(self, X: Any, y: Any) -> Labels:
        self._require_labels(X, y)
        if len(getattr(X, "shape", ())) == 2 and X.shape[1] == 0:
            raise DataError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        return training_labels(X, y)

    def _held_out_labels(self, X: Any, y: Any, *others: Any) -> Labels:
        """Read the labels of rows for a classifier that is taken as it is; nothing else may be given then."""
        if any(other is not None for other in others):
            raise DataError(
                f"With cv='prefit', fit of {self._owner} takes held-out rows as X and y and nothing else: there is "
                "nothing to train."
            )
        self._require_labels(X, y)
        return known_labels(X, y, self._fitted_classes(), name="y")

    def _fitted_classes(self) -> npt.NDArray[Any]:
        try:
            if hasattr(self.estimator, "__sklearn_tags__"):
                check_is_fitted(self.estimator)
            return np.asarray(self.estimator.classes_)
        except (NotFittedError, AttributeError):
            raise ParameterError(
                "estimator",
                self._owner,
                allowed="fitted where cv='prefit'",
                got=self.estimator,
                hint="Fit it on other rows first, or let cv hold rows out.",
            ) from None

    def _require_labels(self, X: Any, y: Any) -> None:
        if y is None and not is_map_dataset(X):
            raise DataError(f"{self._owner} requires y to be passed, but the target y is None.")

    def _trained_with(
        self, X: Any, labels: Labels, X_val: Any, y_val: Any, options: dict[str, Any]
    ) -> tuple[Any, Labels]:
        """Train the classifier, with the held-out rows where its ``fit`` takes them; return it and their labels."""
        if X_val is None or (y_val is None and not is_map_dataset(X_val)):
            raise DataError("X_val and y_val go together. Got one without the other; pass both, or neither.")
        held_out = known_labels(X_val, y_val, labels.classes)
        takes = {"X_val", "y_val"} <= set(inspect.signature(self.estimator.fit).parameters)
        given = {"X_val": X_val, "y_val": y_val} if takes else {}
        return clone(self.estimator).fit(X, labels.classes[labels.index], **given, **options), held_out

    def _adopt(self, model: Any, classes: npt.NDArray[Any], *rows: Any) -> None:
        """Take over a fitted classifier and what it knows of its input; ``rows`` are those given to ``fit``."""
        self.estimator_, self.classes_ = model, classes
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        self._know_rows(seen_hashes(*rows))

    def _know_rows(self, now: Hashes | None, known: bool | None = None) -> None:
        """Keep the fingerprints of the rows that were seen now, besides those that a fitted classifier came with.

        ``known`` tells whether these are all, where that was stored; None derives it.
        """
        before = getattr(self.estimator_, "row_hashes_", None)
        trained_here = not self._is_prefit
        inner_known = before is not None and getattr(self.estimator_, "training_rows_known_", True)
        self.training_rows_known_ = now is not None and (trained_here or inner_known) if known is None else known
        parts = [hashes for hashes in (now, None if trained_here else before) if hashes is not None]
        self.row_hashes_ = np.unique(np.concatenate(parts)) if parts else None
