"""Answers of any classifier and the margin of each, and labels for rows that are not answered."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import label_column
from worstclass.exceptions import DataError, ParameterError, UnknownNameError
from worstclass.wrappers.scores import KINDS, class_scores, has_mean, resolve_kind

#: what the margin of an answer can be
MARGINS = ("own", *KINDS)


def resolve_margin(estimator: Any, margin: Any, *, owner: str) -> str:
    """Return which margin of a classifier is used; refuse a classifier that does not give it.

    Of a booster ``"auto"`` takes the mean probabilities of the members where they give any: the lead of the vote of few
    members has few values, so that it can hardly tell the rows apart.
    """
    if margin not in MARGINS:
        raise UnknownNameError("margin", owner, margin, MARGINS)
    has_own = hasattr(estimator, "decision_margin")
    if margin == "own" and not has_own:
        allowed, hint = "a classifier with decision_margin", "margin='own' asks for it."
        raise ParameterError("estimator", owner, allowed=allowed, got=estimator, hint=hint)
    if margin == "own" or (margin == "auto" and has_own and not has_mean(estimator)):
        return "own"
    return resolve_kind(estimator, margin, owner=owner)


def answers_and_margins(estimator: Any, X: Any, margin: str) -> tuple[IntArray, FloatArray]:
    """Return the class index of each answer and its margin.

    The margin is ``decision_margin`` ("own"), or by how much the score of the answer exceeds the largest of the other
    classes; below 0 where a classifier answers with another class than that of the largest score.
    """
    index = {label: k for k, label in enumerate(np.asarray(estimator.classes_).tolist())}
    answers = np.array([index[label] for label in label_column(estimator.predict(X)).tolist()], dtype=np.int64)
    if margin == "own":
        return answers, _own_margins(estimator, X)
    scores = class_scores(estimator, X, margin)
    rows = np.arange(len(answers))
    own = scores[rows, answers].copy()
    scores[rows, answers] = -np.inf
    return answers, np.asarray(own - scores.max(axis=1))


def abstain_value(given: Any, classes: npt.NDArray[Any], *, owner: str) -> Any:
    """Return what stands for "no answer": as given, or "abstain" among texts and a number below all other labels.

    Examples
    --------
    >>> abstain_value("auto", np.array(["cat", "dog"]), owner="f"), abstain_value("auto", np.array([3, 5]), owner="f")
    ('abstain', -1)
    >>> abstain_value("auto", np.array([-1, 1]), owner="f")
    -2
    """
    labels = classes.tolist()
    value = given
    if isinstance(given, str) and given == "auto":
        value = "abstain" if isinstance(labels[0], str) else min(0, *labels) - 1
    if any(value is label or value == label for label in labels):
        allowed, hint = "no class of its own", "Choose another."
        raise ParameterError("abstain_label", owner, allowed=allowed, got=value, hint=hint)
    return value


def with_abstentions(answers: npt.NDArray[Any], answered: npt.NDArray[np.bool_], value: Any) -> npt.NDArray[Any]:
    """Return the answers with ``value`` in the rows that are not answered; of objects where nothing else holds both.

    Examples
    --------
    >>> with_abstentions(np.array(["ok", "no"]), np.array([True, False]), "abstain").tolist()
    ['ok', 'abstain']
    >>> with_abstentions(np.array([1, 2]), np.array([True, False]), None).tolist()
    [1, None]
    """
    both_texts = answers.dtype.kind == "U" and isinstance(value, str)
    both_numbers = answers.dtype.kind in "iuf" and isinstance(value, int | float) and not isinstance(value, bool)
    if both_texts:
        return np.where(answered, answers, np.array(value))
    if both_numbers:
        whole = answers.dtype.kind in "iu" and isinstance(value, int)
        return np.where(answered, answers.astype(np.int64 if whole else np.float64), value)
    mixed = answers.astype(object)
    mixed[~answered] = value
    return mixed


def _own_margins(estimator: Any, X: Any) -> FloatArray:
    margins = np.asarray(estimator.decision_margin(X), dtype=np.float64)
    if not np.isfinite(margins).all():
        raise DataError(f"decision_margin of {type(estimator).__name__} must give finite numbers.")
    return margins
