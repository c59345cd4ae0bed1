"""``certify``: what rows that were used for nothing else prove of a fitted classifier."""

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

from worstclass._typing import IntArray
from worstclass.certificates.binomial import p_value, rows_at_least, rows_if_rate_stays, upper_limit
from worstclass.certificates.calibration import (
    calibration_labels,
    count_reuse,
    known_rows,
    label_values,
)
from worstclass.certificates.certificate import (
    NO_ROWS,
    NOT_ALONE,
    NOT_PROVEN,
    PROVEN,
    TOO_FEW_ROWS,
    USED_BEFORE,
    Certificate,
    ClassLimit,
)
from worstclass.certificates.multiple import step_up
from worstclass.certificates.requirement import OWNER, check_delta, wanted_floors
from worstclass.data.labels import Labels, label_column, refuse_twins
from worstclass.data.splits import columns_in_order
from worstclass.exceptions import DataError, ParameterError
from worstclass.metrics import ClassCounts, count_correct


def certify(
    model: Any,
    X_cal: Any,
    y_cal: Any = None,
    *,
    delta: float = 0.05,
    require: float | Mapping[Any, float] | None = None,
    force: bool = False,
) -> Certificate:
    """Limit the error of every class, and say whether the wanted floors are proven.

    Assumes that the calibration rows of each class are independent draws from what the class will look like in use, and
    that they chose nothing: they neither trained the model, nor chose theta, the prefix, the method or ``require``. A
    second model that is certified on the same rows because the first failed has been chosen on them.

    Parameters
    ----------
    model : a fitted classifier: any object with ``predict``. Its classes are those of ``classes_``; of a model without
        that, those of ``y_cal``.
    X_cal, y_cal : the calibration rows, in a form that ``model.predict`` takes. ``y_cal`` may be left out where X is a
        data set that has labels.
    delta : probability, in (0, 1), with which a promise may fail.
    require : the accuracy floor that is to be proven: one for all classes, or a mapping in which ``"others"`` stands
        for the classes not named; 0 wants nothing. A floor of 0.8 is proven by rejecting an error of 0.2 or more.
    force : certify although the model was trained or validated on some of the rows. The certificate then says so.

    Returns
    -------
    A ``Certificate``: Clopper-Pearson limits at ``delta / K`` each, so that all hold together, and the verdict on the
    floors by exact binomial tests with Hochberg's rule. All floors are proven exactly when each class alone is at
    ``delta``: the worst class cannot be missed, whichever it is. See docs/theory.md for the proofs.

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
    check_delta(delta, owner=OWNER)
    classes = _classes(model, X_cal, y_cal)
    floors = wanted_floors(require, classes)
    X = columns_in_order(X_cal, getattr(model, "feature_names_in_", None))
    labels = calibration_labels(X, y_cal, classes, name="y_cal", owner=OWNER)
    n_reused, n_repeated = count_reuse(X, *known_rows(model), force=force)
    counts = _counts(model, X, labels)
    wrong = counts.total - counts.correct
    rows = _class_limits(wrong, counts.total, floors, classes, delta)
    if n_reused:
        rows = [row if row.floor is None else replace(row, status=USED_BEFORE) for row in rows]
    return Certificate(
        delta=float(delta),
        classes=tuple(sorted(rows, key=lambda row: -row.limit)),
        worst_limit_alone=float(upper_limit(wrong, counts.total, delta).max()),
        n_rows=int(counts.total.sum()),
        n_reused=n_reused,
        n_repeated=n_repeated,
    )


def _class_limits(
    wrong: IntArray, total: IntArray, floors: Sequence[Fraction | None], classes: npt.NDArray[Any], delta: float
) -> list[ClassLimit]:
    limits = upper_limit(wrong, total, delta / len(classes)).tolist()
    rows = [
        ClassLimit(name=str(label), total=int(total[k]), wrong=int(wrong[k]), limit=limits[k])
        for k, label in enumerate(classes.tolist())
    ]
    wanted = {k: floor for k, floor in enumerate(floors) if floor is not None}
    if not wanted:
        return rows
    places = list(wanted)
    rates = np.array([float(1 - floor) for floor in wanted.values()])
    p_values = p_value(wrong[places], total[places], rates)
    proven = step_up(p_values, delta)
    for (k, floor), p, is_proven in zip(wanted.items(), p_values.tolist(), proven.tolist(), strict=True):
        rows[k] = _judged(rows[k], floor, p, is_proven, delta)
    return rows


def _judged(row: ClassLimit, floor: Fraction, p: float, proven: bool, delta: float) -> ClassLimit:
    """Say whether a floor is proven, and what a proof would need; all classes together need p <= delta of each."""
    rate, enough = 1 - floor, p <= delta
    if proven or enough:
        status = PROVEN if proven else NOT_ALONE
    elif row.total == 0:
        status = NO_ROWS
    else:
        status = TOO_FEW_ROWS if p_value(0, row.total, float(rate)) > delta else NOT_PROVEN
    return replace(
        row,
        floor=float(floor),
        p_value=p,
        status=status,
        more_rows_at_least=0 if enough else rows_at_least(row.wrong, row.total, rate, delta),
        more_rows_if_rate_stays=0 if enough else rows_if_rate_stays(row.wrong, row.total, rate, delta),
    )


def _classes(model: Any, X: Any, y: Any) -> npt.NDArray[Any]:
    predicts = not isinstance(model, type) and callable(getattr(model, "predict", None))
    if not predicts or (isinstance(model, BaseEstimator) and is_regressor(model)):
        raise ParameterError("model", OWNER, allowed="a fitted classifier, with a method predict", got=model)
    try:
        classes = np.asarray(model.classes_)
    except AttributeError:
        _require_fitted(model)
        classes = np.unique(label_values(X, y, name="y_cal", owner=OWNER))
    if classes.ndim != 1:
        allowed = "a classifier with one label a row; its classes_ must be a list of labels"
        raise ParameterError("model", OWNER, allowed=allowed, got=classes)
    return classes


def _require_fitted(model: Any) -> None:
    """Refuse a scikit-learn classifier that was not fitted; of other models nothing is known."""
    if isinstance(model, BaseEstimator):
        try:
            check_is_fitted(model)
        except NotFittedError:
            hint = "Call its fit first."
            raise ParameterError("model", OWNER, allowed="a fitted classifier", got=model, hint=hint) from None


def _counts(model: Any, X: Any, labels: Labels) -> ClassCounts:
    """Ask the model, and count; an answer that is no class is wrong."""
    _require_fitted(model)
    answers = label_column(model.predict(X))
    if answers.shape != labels.index.shape:
        raise DataError(
            f"model.predict must return one label a row, shape {labels.index.shape}. Got the shape {answers.shape}."
        )
    index = {label: k for k, label in enumerate(labels.classes.tolist())}
    refuse_twins(answers.tolist(), list(index), "The model answers with")
    predicted = np.array([index.get(answer, -1) for answer in answers.tolist()], dtype=np.int64)
    return ClassCounts(count_correct(labels.index, predicted, labels.n_classes), labels.totals)
