"""Scores of rows that the classifier was not trained on, by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.utils.parallel import Parallel, delayed

from worstclass._checks import is_count
from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import Labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.splits import take_rows
from worstclass.exceptions import DataError, ParameterError
from worstclass.wrappers.scores import class_scores

Split = tuple[IntArray, IntArray]


class HeldOutScores(NamedTuple):
    """Scores of held-out rows, shape (n, K), and their class indices."""

    scores: FloatArray
    target: IntArray


@dataclass(frozen=True)
class NoHoldOut:
    """A splitter that holds nothing out: the training rows themselves choose the offsets (with ``refit=False``).

    Suitable only for a classifier that errs on training rows about as often as on others. It exists so that a
    comparison without validation rows can treat offsets like every other choice.
    """

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield all rows to train on, and all rows again."""
        rows = np.arange(len(X))
        yield rows, rows

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1


def make_folds(cv: Any, X: Any, labels: Labels, random_state: Any, *, owner: str) -> list[Split]:
    """Return rows to train on and rows to hold out, one pair per fold."""
    if is_map_dataset(X):
        raise DataError(
            f"{owner} cannot cross-validate a map-style data set. Pass validation rows to fit as X_val and y_val, or "
            "fit the estimator yourself and use cv='prefit'."
        )
    splitter = _splitter(cv, labels, random_state, owner)
    split = splitter.split(np.zeros(len(labels.index)), labels.index)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in split]
    if any(len(np.unique(labels.index[train])) < 2 for train, _ in folds):
        raise DataError("Each fold of cv must train on rows of at least two classes. Got one with fewer.")
    return folds


def out_of_fold(
    estimator: Any,
    X: Any,
    labels: Labels,
    folds: Iterable[Split],
    kind: str,
    options: Mapping[str, Any],
    n_jobs: int | None = None,
) -> tuple[HeldOutScores, Any]:
    """Train a clone on each fold and collect its scores of the held-out rows; return them and the last clone.

    Folds run in parallel through joblib. A row that is held out several times counts as often; a row of
    ``sample_weight`` 0 is not held out. If a fold trains on no row of a class, its held-out rows of that class are left
    out, because a classifier cannot be judged on a class it was never shown; for its other rows that class has a score
    with which it never wins.
    """
    weight = options.get("sample_weight")
    counts = np.ones(len(labels.index), dtype=np.bool_) if weight is None else np.asarray(weight) != 0
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_score)(clone(estimator), X, labels, train, test[counts[test]], kind, options)
        for train, test in folds
    )
    scores = np.concatenate([part.scores for _, part in parts])
    if len(scores) == 0:
        raise DataError("There is no held-out row to choose offsets on: the folds of cv hold none out.")
    finite = scores[np.isfinite(scores)]
    scores[~np.isfinite(scores)] = finite.min() - 2 * (np.ptp(finite) + 1)
    return HeldOutScores(scores, np.concatenate([part.target for _, part in parts])), parts[-1][0]


def rows_of_options(options: Mapping[str, Any], index: IntArray, labels: Labels) -> dict[str, Any]:
    """Select rows from each option of ``fit`` that has one entry per row, such as ``sample_weight``."""
    n_rows = len(labels.index)
    return {
        name: take_rows(value if hasattr(value, "shape") else np.asarray(value), index)
        if hasattr(value, "__len__") and not isinstance(value, str | Mapping) and len(value) == n_rows
        else value
        for name, value in options.items()
    }


def _fit_and_score(
    member: Any, X: Any, labels: Labels, train: IntArray, test: IntArray, kind: str, options: Mapping[str, Any]
) -> tuple[Any, HeldOutScores]:
    member.fit(take_rows(X, train), labels.classes[labels.index[train]], **rows_of_options(options, train, labels))
    known = np.searchsorted(labels.classes, member.classes_)
    test = test[np.isin(labels.index[test], known)]
    scores = np.full((len(test), labels.n_classes), -np.inf)
    if len(test):
        scores[:, known] = class_scores(member, take_rows(X, test), kind)
    return member, HeldOutScores(scores, labels.index[test])


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
        allowed="a number of folds (2 or more), a share of the rows in (0, 1), a splitter, index pairs or 'prefit'",
        got=cv,
    )
