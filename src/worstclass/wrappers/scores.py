"""Scores of any classifier, one column a class, and what is known of the rows they are for."""

from __future__ import annotations

from typing import Any

import numpy as np

from worstclass._typing import FloatArray
from worstclass.exceptions import DataError, ParameterError, UnknownNameError

#: what offsets can be added to
KINDS = ("auto", "mean-proba", "log-proba", "proba", "decision")
#: the least probability whose logarithm is taken
LEAST_PROBABILITY = float(np.finfo(np.float64).tiny)

_METHOD = {
    "mean-proba": "mean_proba",
    "log-proba": "predict_proba",
    "proba": "predict_proba",
    "decision": "decision_function",
}
#: kinds whose scores are logarithms
_LOGARITHMS = ("mean-proba", "log-proba")


def resolve_kind(estimator: Any, scores: Any, *, owner: str) -> str:
    """Return which scores of a classifier are used; refuse a classifier that does not give them.

    Of a booster ``"auto"`` takes the mean probabilities of the members where they give any. The shares of the votes of
    T members have no more than T + 1 values, so that many rows are tied and offsets can only move them together; and
    offsets on logarithms of probabilities are class weights, by which the least worst-class error is reached if the
    probabilities are right.
    """
    if scores not in KINDS:
        raise UnknownNameError("scores", owner, scores, KINDS)
    if scores == "mean-proba":
        _require_mean(estimator, owner)
        return "mean-proba"
    if scores != "auto":
        _require(estimator, _METHOD[scores], owner, f"scores={scores!r} asks for it.")
        return str(scores)
    if has_mean(estimator):
        return "mean-proba"
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
    return np.log(np.maximum(values, LEAST_PROBABILITY)) if kind in _LOGARITHMS else values


def has_mean(estimator: Any) -> bool:
    """Tell whether a classifier is a booster whose members give probabilities."""
    return hasattr(estimator, "mean_proba") and bool(getattr(estimator, "gives_probabilities", True))


def _require_mean(estimator: Any, owner: str) -> None:
    if not has_mean(estimator):
        raise ParameterError(
            "estimator",
            owner,
            allowed="a booster whose members give probabilities (torch networks, classifiers with predict_proba)",
            got=estimator,
            hint="scores='mean-proba' asks for it; 'proba' takes the shares of the votes.",
        )


def _require(estimator: Any, method: str, owner: str, hint: str) -> None:
    if not hasattr(estimator, method):
        raise ParameterError("estimator", owner, allowed=f"a classifier with {method}", got=estimator, hint=hint)
