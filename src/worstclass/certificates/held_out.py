"""``certify``: what rows that were used for nothing else prove about a fitted classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import by_class, check_delta
from worstclass._typing import BoolArray, IntArray
from worstclass.certificates.binomial import p_value, upper_limit
from worstclass.certificates.certificate import Certificate, ClassLimit
from worstclass.data.labels import Labels, known_labels, label_column, refuse_twins
from worstclass.data.map_style import is_map_dataset, labels_of
from worstclass.data.seen_rows import check_unseen
from worstclass.data.splits import columns_in_order
from worstclass.exceptions import DataError, ParameterError
from worstclass.floors import exact_floor
from worstclass.metrics import class_counts

OWNER = "certify"


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    require: float | Mapping[Any, float] | None = None,
    delta: float = 0.05,
    allow_equal_rows: bool = False,
) -> Certificate:
    """Limit the error of every class, and say whether the wanted floors are proven.

    Assumes that the rows of each class are independent draws from what the class will look like in use, and that they
    chose nothing: they neither trained the model, nor chose theta, the prefix, the method or ``require``. If a second
    model is certified on the same rows because the first one failed, these rows have chosen it.

    Parameters
    ----------
    model : a fitted classifier: any object with ``predict``. Its classes are those in ``classes_``, or those of y if it
        has no such attribute. Rows that the model has seen, by its ``seen_rows_``, are refused; for a model without
        that record the certificate says that this was not checked.
    X, y : held-out rows, in a form that ``model.predict`` takes, and their labels. y may be left out if X is a data set
        that has labels.
    require : the accuracy floor to prove: one for all classes, or a mapping in which ``"others"`` stands for the
        classes not named; 0 wants nothing. A floor of 0.8 is proven by rejecting an error of 0.2 or more.
    delta : probability, in (0, 1), with which a promise may fail.
    allow_equal_rows : accept rows that equal rows the model has seen if coincidence and reuse cannot be told apart. The
        certificate records it.

    Returns
    -------
    A ``Certificate``: Clopper-Pearson limits at ``delta / K`` each, so that all hold together, and the verdict on the
    floors by exact binomial tests with Hochberg's rule. All floors are proven exactly when each class alone is at
    ``delta``. The proofs are in docs/theory.md.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from worstclass import certify, make_splits
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> splits = make_splits(X, np.array(["malignant", "benign"])[y], cal=0.5, test=0, seed=0)
    >>> model = LogisticRegression(max_iter=5000).fit(splits.train.X, splits.train.y)
    >>> certificate = certify(model, splits.cal.X, splits.cal.y, require={"malignant": 0.9, "others": 0.8})
    >>> certificate.verdict
    'proven'
    """
    check_delta(delta, OWNER)
    if y is None and is_map_dataset(X):
        y = labels_of(X)
    classes = _classes(model, y)
    given = 0 if require is None else require
    floors = by_class(given, classes.tolist(), _floor, parameter="require", owner=OWNER, noun="floor", nothing="0")
    X, labels = held_out_rows(X, y, classes, getattr(model, "feature_names_in_", None), owner=OWNER)
    seen = getattr(model, "seen_rows_", None)
    overlap = check_unseen(X, seen, owner=OWNER, allow_equal_rows=allow_equal_rows)
    wrong, total = labels.totals - _correct(model, X, labels), labels.totals
    rows = _class_limits(wrong, total, floors, classes, delta)
    return Certificate(
        delta=float(delta),
        classes=tuple(sorted(rows, key=lambda row: -row.limit)),
        worst_limit_alone=float(upper_limit(wrong, total, delta).max()),
        overlap=overlap,
    )


def held_out_rows(X: Any, y: Any, classes: npt.NDArray[Any], columns: Any, *, owner: str) -> tuple[Any, Labels]:
    """Return held-out rows with their columns in the order of training, and their labels; refuse no rows at all."""
    if y is None and not is_map_dataset(X):
        raise DataError(
            f"{owner} requires y to be passed, but the target y is None. Pass y: labels of the held-out rows."
        )
    rows = columns_in_order(X, columns)
    labels = known_labels(rows, y, classes, "y")
    if len(labels.index) == 0:
        raise DataError(f"{owner} needs held-out rows and got none. Pass rows that were used for nothing else.")
    return rows, labels


def hochberg(p_values: npt.ArrayLike, delta: float) -> BoolArray:
    """Reject all up to the largest j-th smallest p-value that is at most ``delta / (K - j + 1)``.

    For independent p-values, any false rejection has a probability of at most ``delta``. All K are rejected exactly
    when the largest p-value is at most ``delta``. The K tests are the last dimension of the array.

    Examples
    --------
    >>> hochberg([0.04, 0.03, 0.05], 0.05), hochberg([0.04, 0.03, 0.06], 0.05), hochberg([0.01, 0.3, 0.02], 0.05)
    (array([ True,  True,  True]), array([False, False, False]), array([ True, False,  True]))
    """
    p = np.asarray(p_values, dtype=np.float64)
    ordered = np.sort(p, axis=-1)
    passed = ordered <= delta / np.arange(p.shape[-1], 0, -1)
    largest = np.where(passed, ordered, -1.0).max(axis=-1, keepdims=True)
    return np.asarray(p <= largest)


def _floor(value: Any) -> Fraction | None:
    return exact_floor(value, owner=OWNER, parameter="require") or None  # a floor of 0 wants nothing


def _class_limits(
    wrong: IntArray, total: IntArray, floors: Sequence[Fraction | None], classes: npt.NDArray[Any], delta: float
) -> list[ClassLimit]:
    limits = upper_limit(wrong, total, delta / len(classes)).tolist()
    names = map(str, classes.tolist())
    rows = [ClassLimit(*row) for row in zip(names, total.tolist(), wrong.tolist(), limits, strict=True)]
    wanted = {k: floor for k, floor in enumerate(floors) if floor is not None}
    if wanted:
        places = list(wanted)
        p_values = p_value(wrong[places], total[places], [float(1 - floor) for floor in wanted.values()])
        for (k, floor), proven in zip(wanted.items(), hochberg(p_values, delta).tolist(), strict=True):
            rows[k] = replace(rows[k], floor=float(floor)).judged(1 - floor, delta, proven=proven)
    return rows


def _classes(model: Any, y: Any) -> npt.NDArray[Any]:
    predicts = not isinstance(model, type) and callable(getattr(model, "predict", None))
    if not predicts or (isinstance(model, BaseEstimator) and is_regressor(model)):
        raise ParameterError("model", OWNER, allowed="a fitted classifier, with a method predict", got=model)
    if isinstance(model, BaseEstimator):
        try:
            check_is_fitted(model)
        except NotFittedError:
            hint = "Call its fit first."
            raise ParameterError("model", OWNER, allowed="a fitted classifier", got=model, hint=hint) from None
    given = getattr(model, "classes_", None)
    classes = np.unique(y) if given is None else np.asarray(given)
    if classes.ndim != 1:
        allowed = "a classifier with one label per row; its classes_ must be a list of labels"
        raise ParameterError("model", OWNER, allowed=allowed, got=classes)
    return classes


def _correct(model: Any, X: Any, labels: Labels) -> IntArray:
    """Predict and count; an answer that is not one of the classes is wrong."""
    answers = label_column(model.predict(X))
    if answers.shape != labels.index.shape:
        raise DataError(
            f"model.predict must return one label per row, shape {labels.index.shape}. Got the shape {answers.shape}."
        )
    refuse_twins(answers.tolist(), labels.classes.tolist(), "The model answers with")
    return class_counts(labels.classes[labels.index], answers, labels.classes).correct
