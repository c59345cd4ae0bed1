"""Scores of any classifier, one column per class; its answers and the margin of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from worstclass._checks import check_choice
from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import label_column
from worstclass.exceptions import DataError, ParameterError

#: what offsets can be added to
KINDS = ("auto", "mean-proba", "log-proba", "proba", "decision")
#: what the margin of an answer can be
MARGINS = ("own", *KINDS)
#: smaller probabilities are replaced by this one before the logarithm
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
    """Return which scores of a classifier are used; refuse a classifier that does not have them.

    For a booster ``"auto"`` takes the mean probabilities of the members if they have any. The vote shares of T members
    have at most T + 1 values, so many rows are tied and offsets can only move them together. Offsets on logarithms of
    probabilities are class weights, which reach the smallest worst-class error if the probabilities are right.
    """
    check_choice(scores, "scores", owner, KINDS)
    if scores == "mean-proba" and not has_mean(estimator):
        raise ParameterError(
            "estimator",
            owner,
            allowed="a booster whose members give probabilities (torch networks, classifiers with predict_proba)",
            got=estimator,
            hint="scores='mean-proba' needs it; 'proba' takes the vote shares.",
        )
    if scores != "auto":
        _require(estimator, _METHOD[scores], owner, f"scores={scores!r} needs it.")
        return str(scores)
    if has_mean(estimator):
        return "mean-proba"
    if hasattr(estimator, "predict_proba"):
        return "log-proba"
    _require(estimator, "decision_function", owner, "predict_proba would do as well.")
    return "decision"


def resolve_margin(estimator: Any, margin: Any, *, owner: str) -> str:
    """Return which margin of a classifier is used; refuse a classifier that does not have it.

    For a booster ``"auto"`` takes the mean probabilities of the members if they have any: the lead of the vote of few
    members has few values, so it hardly tells the rows apart.
    """
    check_choice(margin, "margin", owner, MARGINS)
    if margin == "own":
        _require(estimator, "decision_margin", owner, "margin='own' needs it.")
    if margin == "own" or (margin == "auto" and hasattr(estimator, "decision_margin") and not has_mean(estimator)):
        return "own"
    return resolve_kind(estimator, margin, owner=owner)


def class_scores(estimator: Any, X: Any, kind: str) -> FloatArray:
    """Return the scores of a fitted classifier, shape (n, K), columns in the order of its ``classes_``.

    The single column of a two-class ``decision_function`` is that of the second class; the first class has 0.
    """
    method, name = _METHOD[kind], type(estimator).__name__
    values = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    n_classes = len(estimator.classes_)
    if values.ndim == 1 and n_classes == 2:
        values = np.column_stack([np.zeros(len(values)), values])
    if values.ndim != 2 or values.shape[1] != n_classes:
        raise DataError(
            f"{method} of {name} must return one score per class, shape (n, {n_classes}). Got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).any(axis=1).sum())
        raise DataError(
            f"{method} of {name} must return finite scores. Got NaN or infinity in {bad} of {len(values)} rows. "
            "Check the rows and the training of the classifier."
        )
    return np.log(np.maximum(values, LEAST_PROBABILITY)) if kind in _LOGARITHMS else values


def answers_and_margins(estimator: Any, X: Any, margin: str) -> tuple[IntArray, FloatArray]:
    """Return the class index of each answer and its margin.

    The margin is ``decision_margin`` ("own"), or the score of the answer minus the largest score of the other classes.
    It is negative if a classifier answers with another class than that of the largest score.
    """
    index = {label: k for k, label in enumerate(np.asarray(estimator.classes_).tolist())}
    answers = np.array([index[label] for label in label_column(estimator.predict(X)).tolist()], dtype=np.int64)
    if margin == "own":
        margins = np.asarray(estimator.decision_margin(X), dtype=np.float64)
        if not np.isfinite(margins).all():
            raise DataError(f"decision_margin of {type(estimator).__name__} must return finite numbers.")
        return answers, margins
    scores = class_scores(estimator, X, margin)
    rows = np.arange(len(answers))
    own = scores[rows, answers].copy()
    scores[rows, answers] = -np.inf
    return answers, np.asarray(own - scores.max(axis=1))


def has_mean(estimator: Any) -> bool:
    """Tell whether a classifier is a booster whose members give probabilities."""
    return hasattr(estimator, "mean_proba") and bool(getattr(estimator, "gives_probabilities", True))


def _require(estimator: Any, method: str, owner: str, hint: str) -> None:
    if not hasattr(estimator, method):
        raise ParameterError("estimator", owner, allowed=f"a classifier with {method}", got=estimator, hint=hint)
