"""What the classifiers around another classifier share: training it, checking its rows, keeping its state."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import require_known_options
from worstclass._state import KEEPS_NOTHING, Checkpoint, Stateful
from worstclass._typing import FloatArray
from worstclass.certificates.held_out import held_out_rows
from worstclass.checkpoints import checkpoint_of, fit_kept, seeds_of
from worstclass.data.labels import Labels, known_labels, require_pair, training_labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.seen_rows import RowOverlap, SeenRows, check_unseen
from worstclass.data.splits import columns_in_order
from worstclass.exceptions import DataError, ModelFormatError, ParameterError
from worstclass.learners.estimator import with_input_tags


def _estimator_has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


def indexable(rows: Any) -> Any:
    """Return rows or labels in a form that has a length; an object that numpy can read becomes an array."""
    return np.asarray(rows) if hasattr(rows, "__array__") and not hasattr(rows, "__len__") else rows


def floors_of(model: Any) -> Any:
    """Return the floors that a model, or the model inside it, was made for; None where there are none."""
    theta = getattr(model, "theta", None)
    return floors_of(model.estimator_) if theta is None and hasattr(model, "estimator_") else theta


class HeldOut(NamedTuple):
    """A fitted classifier, what it says about the held-out rows, all rows seen, and the overlap of the two kinds."""

    model: Any
    judged: Any
    seen: SeenRows
    overlap: Any  # a RowOverlap; None after cross-validation


class WrappedClassifier(Stateful, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A scikit-learn classifier around another.

    ``seen_rows_`` records the rows that either of them has seen, by what they were used for.
    """

    state_names: ClassVar[tuple[str, ...]] = (
        "estimator_",
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "seen_rows_",
    )

    _checkpoint: Checkpoint = KEEPS_NOTHING
    estimator: Any
    cv: Any
    allow_equal_rows: Any
    random_state: Any

    #: what held-out rows count as, and in which roles a fitted classifier must not have seen them
    held_out_role: ClassVar[str]
    refused_roles: ClassVar[tuple[str, ...]]
    #: the steps of ``fit`` that a wrapper defines: check its parameters and say which scores it uses; read what is
    #: wanted of each class; hold rows out and train; judge held-out rows by a fitted classifier; choose by them
    _check_parameters: Any
    _wanted: Any
    _divided: Any
    _judge: Any
    _choose: Any

    def fit(
        self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None, *, checkpoint: Any = None, **fit_params: Any
    ) -> Self:
        """Train the classifier, and choose on held-out rows what this wrapper adds to it.

        Parameters
        ----------
        X : rows, as the classifier takes them; with ``cv="prefit"``, held-out rows that it has not seen.
        y : labels, strings or numbers.
        X_val, y_val : held-out rows, in place of those that ``cv`` holds out.
        checkpoint : a folder in which the fit keeps the classifiers that it has trained. A fit that was killed goes on
            from there if it is called again with the same parameters and rows.
        fit_params : further options of the classifier's ``fit``. Those with one entry per row are split like the rows.
        """
        X, y = indexable(X), indexable(y)
        with checkpoint_of(self, checkpoint, X, y, X_val, y_val) as self._checkpoint:
            try:
                self._fit(X, y, X_val, y_val, fit_params)
            finally:
                del self._checkpoint
        return self

    def _fit(self, X: Any, y: Any, X_val: Any, y_val: Any, fit_params: dict[str, Any]) -> None:
        kind = self._check_parameters()
        options = self._fit_options(fit_params)
        self._require_rows(X, y)
        if self._is_prefit:
            X, labels = self._prefit_rows(X, y, X_val, y_val, *options.values())
        else:
            labels = training_labels(X, y)
        wanted = self._wanted(labels.classes)
        if self._is_prefit:
            overlap = self._check_unseen(X, getattr(self.estimator, "seen_rows_", None), self.refused_roles)
            judged = self._judge(self.estimator, X, labels.index, kind)
            found = HeldOut(self.estimator, judged, SeenRows.of(**{self.held_out_role: X}), overlap)
        elif X_val is None and y_val is None:
            found = self._divided(X, labels, options, kind)
        else:
            rows, y_val = indexable(X_val), indexable(y_val)
            require_pair(rows, y_val)
            rows = columns_in_order(rows, getattr(X, "columns", None))
            held_out = known_labels(rows, y_val, labels.classes)
            known = inspect.signature(self.estimator.fit).parameters
            if self.held_out_role == "validation" and {"X_val", "y_val"} <= set(known):
                options |= {"X_val": rows, "y_val": y_val}
            found = self._trained(X, labels, options, rows, held_out, kind)
        self._adopt(found, labels.classes)
        self._choose(found, kind, wanted)

    def _fit_inner(self, X: Any, labels: Labels, options: dict[str, Any]) -> Any:
        """Return a fitted clone of the classifier."""
        y = labels.classes[labels.index]
        return fit_kept(clone(self.estimator), X, y, self._checkpoint, "classifier", **options)

    def _trained(
        self, X: Any, labels: Labels, options: dict[str, Any], rows: Any, held_out: Labels, kind: str
    ) -> HeldOut:
        """Train the classifier, and judge it on held-out rows, none of which may be a training row."""
        seen = SeenRows.of(X, **{self.held_out_role: rows})
        overlap = self._check_unseen(rows, seen, ("training",))
        model = self._fit_inner(X, labels, options)
        return HeldOut(model, self._judge(model, rows, held_out.index, kind), seen, overlap)

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the inner classifier, unchanged, shape (n, K)."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        return with_input_tags(super().__sklearn_tags__(), self.estimator)

    @property
    def _owner(self) -> str:
        return type(self).__name__

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _restored(self) -> None:
        if not np.array_equal(self.classes_, self.estimator_.classes_):
            raise ModelFormatError(
                f"{self._owner} was fitted for the classes {self.classes_.tolist()}, and the classifier inside it has "
                f"{self.estimator_.classes_.tolist()}. Save the model again."
            )

    def _check_common_parameters(self) -> None:
        """Check the estimator and the flag about equal rows."""
        tagged = hasattr(self.estimator, "__sklearn_tags__")
        predicts = callable(getattr(self.estimator, "predict", None))
        if isinstance(self.estimator, type) or not (is_classifier(self.estimator) if tagged else predicts):
            raise ParameterError("estimator", self._owner, allowed="a classifier", got=self.estimator)
        if not self._is_prefit and not hasattr(self.estimator, "get_params"):
            allowed = "a classifier that scikit-learn can clone (with get_params), or fitted, with cv='prefit'"
            raise ParameterError("estimator", self._owner, allowed=allowed, got=self.estimator)
        if not isinstance(self.allow_equal_rows, bool | np.bool_):
            raise ParameterError("allow_equal_rows", self._owner, allowed="True or False", got=self.allow_equal_rows)

    def _fit_options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the options for ``fit`` of the inner classifier; refuse those it does not have."""
        if not self._is_prefit:
            known = inspect.signature(self.estimator.fit).parameters
            if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values()):
                require_known_options(given, list(known), owner=f"fit of {type(self.estimator).__name__}")
        return {name: value for name, value in given.items() if value is not None}

    def _seed(self) -> int | None:
        if self.random_state is None:
            return None
        return seeds_of(self, self._checkpoint).seed(0)

    def _prefit_rows(self, X: Any, y: Any, *others: Any) -> tuple[Any, Labels]:
        """Return held-out rows with their columns in order, and their labels, for a fitted classifier."""
        if any(other is not None for other in others):
            raise DataError(
                f"With cv='prefit', fit of {self._owner} takes held-out rows as X and y and nothing else: there is "
                "nothing to train."
            )
        columns = getattr(self.estimator, "feature_names_in_", None)
        return held_out_rows(X, y, self._fitted_classes(), columns, owner=self._owner)

    def _fitted_classes(self) -> npt.NDArray[Any]:
        try:
            if hasattr(self.estimator, "__sklearn_tags__"):
                check_is_fitted(self.estimator)
            return np.asarray(self.estimator.classes_)
        except (NotFittedError, AttributeError):
            raise ParameterError(
                "estimator",
                self._owner,
                allowed="fitted if cv='prefit'",
                got=self.estimator,
                hint="Fit it on other rows first, or let cv hold rows out.",
            ) from None

    def _require_rows(self, X: Any, y: Any) -> None:
        if y is None and not is_map_dataset(X):
            raise DataError(f"{self._owner} requires y to be passed, but the target y is None.")
        if len(getattr(X, "shape", ())) == 2 and X.shape[1] == 0:
            raise DataError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")

    def _check_unseen(self, X: Any, seen: SeenRows | None, roles: Iterable[str]) -> RowOverlap:
        return check_unseen(X, seen, roles=roles, owner=self._owner, allow_equal_rows=bool(self.allow_equal_rows))

    def _adopt(self, found: HeldOut, classes: npt.NDArray[Any]) -> None:
        """Take over a fitted classifier."""
        self.estimator_, self.classes_ = found.model, classes
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(found.model, name):
                setattr(self, name, getattr(found.model, name))
        before = getattr(found.model, "seen_rows_", None) or SeenRows(complete=False)
        self.seen_rows_ = found.seen.also(before) if self._is_prefit else found.seen
