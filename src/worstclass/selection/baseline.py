"""The worst class of a method that one has already: what theta must improve on."""

from __future__ import annotations

import inspect
import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from worstclass.data.labels import known_labels
from worstclass.exceptions import ParameterError, WorstClassError
from worstclass.methods import build_method, find_method
from worstclass.metrics import worst_class_error
from worstclass.selection.rows import OWNER
from worstclass.selection.search import Search

#: options of a network's learner that a baseline of the same network does not take over
NOT_SHARED = ("module", "loss", "head", "start")


def observed_worst_error(baseline: Any, search: Search) -> float:
    """Return the worst-class error of a baseline on the validation rows, or the error that was observed already."""
    if isinstance(baseline, numbers.Real) and not isinstance(baseline, bool):
        if not 0 <= float(baseline) <= 1:
            raise ParameterError("baseline", OWNER, allowed="a worst-class error in [0, 1]", got=baseline)
        return float(baseline)
    rows = search.rows
    labels = known_labels(rows.X_val, rows.y_val, rows.classes)
    model = _built(baseline, search)
    try:
        answers = np.asarray(_fitted(model, search).predict(rows.X_val))
    except (TypeError, ValueError) as error:
        if isinstance(error, WorstClassError):
            raise
        allowed = "a classifier that can read these rows"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=baseline, hint=f"It says: {error}") from error
    return worst_class_error(rows.classes[labels.index], answers, labels=rows.classes)


def thetas_above(error: float, step: float) -> list[float]:
    """Return the floors that improve on a worst-class error: from its accuracy, in whole percent, upwards in steps.

    Examples
    --------
    >>> thetas_above(0.309, 0.1)
    [0.7, 0.8, 0.9]
    """
    first = Fraction(math.ceil((1 - Fraction(str(error))) * 100), 100)
    width = Fraction(str(step))
    count = max(0, math.ceil((1 - first) / width))
    return [float(first + number * width) for number in range(count)]


def _built(baseline: Any, search: Search) -> Any:
    if not isinstance(baseline, str):
        if isinstance(baseline, type) or not hasattr(baseline, "predict"):
            allowed = "a classifier, a method's name (worstclass methods), or an observed worst-class error"
            raise ParameterError("baseline", OWNER, allowed=allowed, got=baseline)
        return baseline
    if find_method(baseline).needs_theta:
        raise ParameterError("baseline", OWNER, allowed="a method that has no theta itself", got=baseline)
    learner = search.booster.learner
    options: dict[str, Any] = {"select_on": search.select_on, "random_state": search.seed}
    if hasattr(learner, "module"):  # a torch network: the baseline trains the same
        parameters = learner.get_params(deep=False)
        options["network"] = learner.module
        options["learner"] = {name: value for name, value in parameters.items() if name not in NOT_SHARED}
    return build_method(baseline, **options)


def _fitted(model: Any, search: Search) -> Any:
    """Return the model as it is where it is fitted, or a copy fitted on the training rows."""
    if not hasattr(model, "fit"):
        return model
    try:
        check_is_fitted(model)
    except NotFittedError:
        rows, model = search.rows, clone(model)
        if "X_val" in inspect.signature(model.fit).parameters:
            return model.fit(rows.X, rows.y, rows.X_val, rows.y_val)
        return model.fit(rows.X, rows.y)
    return model
