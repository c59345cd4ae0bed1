"""Scores of any classifier, one column a class, and what is known of the rows they are for."""

from __future__ import annotations

from typing import Any

import numpy as np

from worstclass.exceptions import DataError, ParameterError, UnknownNameError
from worstclass.offsets.potentials import FloatArray

#: what offsets can be added to
KINDS = ("auto", "log-proba", "proba", "decision")
#: the least probability whose logarithm is taken
LEAST_PROBABILITY = float(np.finfo(np.float64).tiny)

_METHOD = {"log-proba": "predict_proba", "proba": "predict_proba", "decision": "decision_function"}


def resolve_kind(estimator: Any, scores: Any, *, owner: str) -> str:
    """Return which scores of a classifier are used; refuse a classifier that does not give them."""
    if scores not in KINDS:
        raise UnknownNameError("scores", owner, scores, KINDS)
    if scores != "auto":
        _require(estimator, _METHOD[scores], owner, f"scores={scores!r} asks for it.")
        return str(scores)
    if hasattr(estimator, "predict_proba"):
        return "log-proba"
    _require(estimator, "decision_function", owner, "predict_proba would do as well.")
    return "decision"


def class_scores(estimator: Any, X: Any, kind: str) -> FloatArray:
    """Return the scores of a fitted classifier, shape (n, K), columns in the order of its ``classes_``.

    The one column of a two-class ``decision_function`` is that of the second class; the first class has 0.
    """
    method = _METHOD[kind]
    values = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    n_classes = len(estimator.classes_)
    if values.ndim == 1 and n_classes == 2:
        values = np.column_stack([np.zeros(len(values)), values])
    name = type(estimator).__name__
    if values.ndim != 2 or values.shape[1] != n_classes:
        raise DataError(
            f"{method} of {name} must give one score a class, shape (n, {n_classes}). Got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).any(axis=1).sum())
        raise DataError(
            f"{method} of {name} must give finite scores. Got NaN or infinity in {bad} of {len(values)} rows. "
            "Check the rows and the training of the classifier."
        )
    return np.log(np.maximum(values, LEAST_PROBABILITY)) if kind == "log-proba" else values


def _require(estimator: Any, method: str, owner: str, hint: str) -> None:
    if not hasattr(estimator, method):
        raise ParameterError("estimator", owner, allowed=f"a classifier with {method}", got=estimator, hint=hint)
