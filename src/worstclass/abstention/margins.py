"""Answers of any classifier and the margin of each, and labels for rows that are not answered."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.abstention.rules import FloatArray
from worstclass.exceptions import DataError, ParameterError
from worstclass.floors import IntArray
from worstclass.offsets.scores import class_scores, resolve_kind


def answers_and_margins(estimator: Any, X: Any, *, owner: str) -> tuple[IntArray, FloatArray]:
    """Return the class index of each answer and its margin.

    The margin is ``decision_margin`` where the classifier has it, as boosters and ``WorstClassOffsets`` do; otherwise
    the gap between the two largest probabilities, or the two largest scores of ``decision_function``.
    """
    classes = np.asarray(estimator.classes_)
    index = {label: k for k, label in enumerate(classes.tolist())}
    answers = np.array([index[label] for label in np.asarray(estimator.predict(X)).tolist()], dtype=np.int64)
    return answers, _margins(estimator, X, owner)


def abstain_value(given: Any, classes: npt.NDArray[Any], *, owner: str) -> Any:
    """Return what stands for "no answer": as given, or -1 among numbers and "abstain" among texts.

    Examples
    --------
    >>> abstain_value("auto", np.array(["cat", "dog"]), owner="f"), abstain_value("auto", np.array([3, 5]), owner="f")
    ('abstain', -1)
    """
    labels = classes.tolist()
    value = given
    if isinstance(given, str) and given == "auto":
        value = "abstain" if isinstance(labels[0], str) else -1
    if any(value is label or value == label for label in labels):
        raise ParameterError("abstain_label", owner, allowed="no class of its own", got=value, hint="Choose another.")
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
        kind = np.result_type(answers.dtype, np.int64 if isinstance(value, int) else np.float64)
        return np.where(answered, answers.astype(np.int64 if kind.kind == "i" else kind), value)
    mixed = answers.astype(object)
    mixed[~answered] = value
    return mixed


def _margins(estimator: Any, X: Any, owner: str) -> FloatArray:
    if hasattr(estimator, "decision_margin"):
        margins = np.asarray(estimator.decision_margin(X), dtype=np.float64)
        if not np.isfinite(margins).all():
            raise DataError(f"decision_margin of {type(estimator).__name__} must give finite numbers.")
        return margins
    kind = "proba" if hasattr(estimator, "predict_proba") else resolve_kind(estimator, "auto", owner=owner)
    top_two = np.partition(class_scores(estimator, X, kind), -2, axis=1)[:, -2:]
    return np.asarray(top_two[:, 1] - top_two[:, 0])
