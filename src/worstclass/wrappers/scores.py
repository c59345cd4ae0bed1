"""Scores of any classifier: one column per class, its answers and their margins; and of held-out rows, by folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.utils.parallel import Parallel, delayed

from worstclass._checks import check_choice, is_count
from worstclass._state import KEEPS_NOTHING, Checkpoint
from worstclass._typing import FloatArray, IntArray
from worstclass.checkpoints import fit_kept
from worstclass.data.labels import Labels, label_column
from worstclass.data.splits import count_rows, take_rows
from worstclass.exceptions import DataError, ParameterError

Split = tuple[IntArray, IntArray]

#: the method that each kind of scores comes from, in the order in which "auto" looks for them; "own" is a margin
METHODS = {
    "mean-proba": "mean_proba",
    "own": "decision_margin",
    "log-proba": "predict_proba",
    "proba": "predict_proba",
    "decision": "decision_function",
}
#: smaller probabilities are replaced by this one: a forest's 0 is an estimate from a few hundred trees
LEAST_PROBABILITY = 1e-4


def resolve_kind(estimator: Any, given: Any, parameter: str, *, owner: str) -> str:
    """Return which scores (or, for the parameter "margin", which margin) of a classifier are used.

    For a booster ``"auto"`` takes the mean probabilities of the members if they have any. The vote shares of T members
    have at most T + 1 values, so many rows are tied: offsets can only move them together, and the lead of the vote
    hardly tells them apart. Offsets on logarithms of probabilities are class weights, which reach the smallest
    worst-class error if the probabilities are right.
    """
    kinds = [kind for kind in METHODS if kind != "own" or parameter == "margin"]
    check_choice(given, parameter, owner, ["auto", *kinds])
    kind = next((kind for kind in kinds if _has(estimator, kind)), "decision") if given == "auto" else str(given)
    if _has(estimator, kind):
        return kind
    allowed, hint = f"a classifier with {METHODS[kind]}", f"{parameter}={given!r} needs it."
    if given == "auto":
        hint = "predict_proba would do as well."
    if kind == "mean-proba":
        allowed = "a booster whose members give probabilities (torch networks, classifiers with predict_proba)"
        hint = f"{hint} 'proba' takes the vote shares."
    raise ParameterError("estimator", owner, allowed=allowed, got=estimator, hint=hint)


def log_probabilities(values: FloatArray) -> FloatArray:
    """Return logarithms of probabilities, the least of 1e-4: scores on which offsets are class weights."""
    return np.log(np.maximum(values, LEAST_PROBABILITY))


def class_scores(estimator: Any, X: Any, kind: str) -> FloatArray:
    """Return the scores of a fitted classifier, shape (n, K), columns in the order of its ``classes_``.

    The single column of a two-class ``decision_function`` is that of the second class; the first class has 0.
    """
    method, name = METHODS[kind], type(estimator).__name__
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
    return log_probabilities(values) if kind in ("mean-proba", "log-proba") else values


def lead(scores: FloatArray) -> FloatArray:
    """Return the largest score of each row minus the second largest."""
    top_two = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(top_two[:, 1] - top_two[:, 0])


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


def _has(estimator: Any, kind: str) -> bool:
    """Tell whether a classifier has scores of a kind; a booster has mean probabilities if its members give any."""
    gives_them = kind != "mean-proba" or bool(getattr(estimator, "gives_probabilities", True))
    return hasattr(estimator, METHODS[kind]) and gives_them


# held-out rows


def make_folds(cv: Any, labels: Labels, random_state: Any, *, owner: str) -> list[Split]:
    """Return rows to train on and rows to hold out, one pair per fold."""
    splitter = _splitter(cv, labels, random_state, owner)
    split = splitter.split(np.zeros(len(labels.index)), labels.index)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in split]
    if any(len(np.unique(labels.index[train])) < 2 for train, _ in folds):
        raise DataError("Each fold of cv must train on rows of at least two classes. Got one with fewer.")
    return folds


class OutOfFold(NamedTuple):
    """Scores of the held-out rows, their class indices, and the models, one per fold."""

    scores: FloatArray
    target: IntArray
    models: list[Any]


def out_of_fold(
    estimator: Any,
    X: Any,
    labels: Labels,
    folds: Iterable[Split],
    kind: str,
    *,
    held_out: tuple[Any, IntArray] | None = None,
    options: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    checkpoint: Checkpoint = KEEPS_NOTHING,
    names: Iterable[str] | None = None,
) -> OutOfFold:
    """Train a clone on each fold, and collect its scores of the rows that the fold holds out.

    Folds run in parallel through joblib. A row that is held out several times counts as often; a row of
    ``sample_weight`` 0 is not held out. If a fold trains on no row of a class, its held-out rows of that class are left
    out, because a classifier cannot be judged on a class it was never shown; its other rows score -inf for that class.

    Parameters
    ----------
    estimator, kind : the classifier, and its scores as ``class_scores`` calls them.
    X, labels, folds : rows, their labels, and pairs of row numbers: to train on, and to hold out.
    held_out : rows and class indices that the second numbers mean, if they are others than X; all of them count.
    options : further options of the classifier's ``fit``.
    n_jobs : folds that are trained in parallel.
    checkpoint, names : where the models of the folds are kept, and their names there; by default "fold-1" and so on.
    """
    options, (rows, target) = options or {}, held_out or (X, labels.index)
    weight = None if held_out is not None else options.get("sample_weight")
    counts = np.ones(len(target), dtype=np.bool_) if weight is None else np.asarray(weight) != 0
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_fold)(
            clone(estimator), X, labels, train, rows, target, test[counts[test]], kind, options, checkpoint, name
        )
        for (train, test), name in zip(folds, names or map("fold-{}".format, count(1)), strict=False)
    )
    scores, targets, models = zip(*parts, strict=True)
    return OutOfFold(np.concatenate(scores), np.concatenate(targets), list(models))


def _fold(
    model: Any, X: Any, labels: Labels, train: IntArray, rows: Any, target: IntArray, test: IntArray, kind: str,
    options: Mapping[str, Any], checkpoint: Checkpoint, name: str,
) -> tuple[FloatArray, IntArray, Any]:  # fmt: skip
    y, own = labels.classes[labels.index[train]], rows_of_options(options, train, labels)
    model = fit_kept(model, take_rows(X, train), y, checkpoint, name, **own)
    test = test[np.isin(target[test], labels.index[train])]
    return aligned_scores(model, take_rows(rows, test), kind, labels.classes), target[test], model


def aligned_scores(model: Any, X: Any, kind: str, classes: npt.NDArray[Any]) -> FloatArray:
    """Return the scores of a classifier by the given classes, shape (n, K); -inf for a class unknown to it."""
    scores = np.full((count_rows(X), len(classes)), -np.inf)
    if len(scores):
        scores[:, np.searchsorted(classes, model.classes_)] = class_scores(model, X, kind)
    return scores


def rows_of_options(options: Mapping[str, Any], index: IntArray, labels: Labels) -> dict[str, Any]:
    """Select rows from each option of ``fit`` that has one entry per row, such as ``sample_weight``."""
    n_rows = len(labels.index)
    return {
        name: take_rows(value if hasattr(value, "shape") else np.asarray(value), index)
        if hasattr(value, "__len__") and not isinstance(value, str | Mapping) and len(value) == n_rows
        else value
        for name, value in options.items()
    }


def _splitter(cv: Any, labels: Labels, random_state: Any, owner: str) -> Any:
    if isinstance(cv, float | np.floating) and 0 < cv < 1:
        if labels.totals.min() < 2:
            alone = labels.classes[labels.totals < 2].tolist()
            allowed = f"'prefit' with your own held-out rows, because these classes have a single row: {alone}"
            raise ParameterError("cv", owner, allowed=allowed, got=cv, hint="Or collect more rows of them.")
        return StratifiedShuffleSplit(n_splits=1, test_size=float(cv), random_state=random_state)
    if is_count(cv, least=2):
        smallest = int(labels.totals.argmin())
        if labels.totals[smallest] < cv:
            raise ParameterError(
                "cv",
                owner,
                allowed=f"at most {labels.totals[smallest]} folds, the rows of class {labels.classes[smallest]!s}",
                got=cv,
                hint="Take fewer folds, collect more rows of that class, or use cv='prefit' with held-out rows.",
            )
        return StratifiedKFold(int(cv), shuffle=random_state is not None, random_state=random_state)
    if not isinstance(cv, str) and (hasattr(cv, "split") or isinstance(cv, Iterable)):
        return check_cv(cv, labels.index, classifier=True)
    raise ParameterError(
        "cv",
        owner,
        allowed="a number of folds (2 or more), a share in (0, 1), a splitter, index pairs, 'prefit' or 'training'",
        got=cv,
    )
