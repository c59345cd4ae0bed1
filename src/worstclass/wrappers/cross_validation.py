"""Scores of rows that the classifier was not trained on, by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv

from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import Labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.seen_rows import row_hashes, which_seen
from worstclass.data.splits import take_rows
from worstclass.exceptions import DataError, ParameterError
from worstclass.metrics import ClassReport, class_report
from worstclass.wrappers.scores import class_scores

Split = tuple[IntArray, IntArray]


class HeldOut(NamedTuple):
    """Scores of held-out rows, shape (n, K), and their class indices."""

    scores: FloatArray
    target: IntArray


@dataclass(frozen=True)
class TrainingRows:
    """A splitter that holds nothing out: the rows trained on choose the offsets, once (``refit=False``).

    Right only for a classifier that errs on rows it was trained on about as often as on others. It exists so that a
    comparison without validation rows can treat offsets as it treats every other choice.
    """

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield all rows to train on, and all rows again."""
        rows = np.arange(len(X))
        yield rows, rows

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return that there is one."""
        return 1


def count_trained_on(model: Any, X: Any, y: npt.NDArray[Any]) -> int | None:
    """Count the rows that a fitted model was trained on, or chosen by; None where that is not known.

    Of the rows that it has seen, those of its own validation part may choose offsets. They are known by the errors that
    the model recorded on them.
    """
    seen = getattr(model, "row_hashes_", None)
    hashes = None if seen is None else row_hashes(X, read_items=True)
    if seen is None or hashes is None:
        return None
    n_seen = int(which_seen(hashes, seen).sum())
    return 0 if n_seen == len(hashes) and _are_validation_rows(model, X, y) else n_seen


def _are_validation_rows(model: Any, X: Any, y: npt.NDArray[Any]) -> bool:
    recorded = getattr(model, "validation_report_", None)
    if recorded is None:
        return False
    found = class_report(y, model.predict(X), labels=model.classes_)
    return _counts(found) == _counts(recorded)


def _counts(report: ClassReport) -> dict[str, tuple[int, int]]:
    return {row.name: (row.correct, row.total) for row in report.rows}


def make_folds(cv: Any, X: Any, labels: Labels, random_state: Any, *, owner: str) -> list[Split]:
    """Return rows to train on and rows to hold out, one pair a fold."""
    if is_map_dataset(X):
        raise DataError(
            f"{owner} cannot cross-validate a map-style data set. Pass validation rows to fit as X_val and y_val, or "
            "fit the estimator yourself and use cv='prefit'."
        )
    splitter = _splitter(cv, labels, random_state, owner)
    folds = [
        (np.asarray(train), np.asarray(test))
        for train, test in splitter.split(np.zeros(len(labels.index)), labels.index)
    ]
    for train, _ in folds:
        if len(np.unique(labels.index[train])) < 2:
            raise DataError("Each fold of cv must train on rows of at least two classes. Got one with fewer.")
    return folds


def without_weightless(folds: list[Split], sample_weight: Any) -> list[Split]:
    """Hold out no row of weight 0: it counts as if it were not there."""
    if sample_weight is None:
        return folds
    counts = np.asarray(sample_weight) != 0
    return [(train, test[counts[test]]) for train, test in folds]


def out_of_fold(
    estimator: Any, X: Any, labels: Labels, folds: Iterable[Split], kind: str, options: Mapping[str, Any]
) -> tuple[HeldOut, Any]:
    """Train a clone on each fold, and collect its scores of the rows held out; return them and the last clone.

    A row that is held out several times counts as often. Where a fold trains on no row of a class, its held-out rows of
    that class are left out, because a classifier cannot be judged on what it was never shown; for its other rows that
    class has a score with which it never wins.
    """
    parts = []
    for train, test in folds:
        member = clone(estimator)
        member.fit(take_rows(X, train), labels.classes[labels.index[train]], **rows_of_options(options, train, labels))
        parts.append(_judged(member, X, labels, test, kind))
    scores = np.concatenate([part.scores for part in parts])
    if len(scores) == 0:
        raise DataError("There is no held-out row to choose offsets on: the folds of cv hold none out.")
    finite = scores[np.isfinite(scores)]
    scores[~np.isfinite(scores)] = finite.min() - 2 * (np.ptp(finite) + 1)
    return HeldOut(scores, np.concatenate([part.target for part in parts])), member


def rows_of_options(options: Mapping[str, Any], index: IntArray, labels: Labels) -> dict[str, Any]:
    """Take from each option of ``fit`` that has one entry a row (such as ``sample_weight``) those of some rows."""
    n_rows = len(labels.index)
    return {
        name: take_rows(value if hasattr(value, "shape") else np.asarray(value), index)
        if hasattr(value, "__len__") and not isinstance(value, str | Mapping) and len(value) == n_rows
        else value
        for name, value in options.items()
    }


def _judged(member: Any, X: Any, labels: Labels, test: IntArray, kind: str) -> HeldOut:
    known = np.searchsorted(labels.classes, member.classes_)
    test = test[np.isin(labels.index[test], known)]
    scores = np.full((len(test), labels.n_classes), -np.inf)
    if len(test):
        scores[:, known] = class_scores(member, take_rows(X, test), kind)
    return HeldOut(scores, labels.index[test])


def _splitter(cv: Any, labels: Labels, random_state: Any, owner: str) -> Any:
    whole = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    if isinstance(cv, float | np.floating) and 0 < cv < 1:
        if labels.totals.min() < 2:
            alone = labels.classes[labels.totals < 2].tolist()
            allowed = f"'prefit' with held-out rows of yours, where a class has one row: {alone}"
            raise ParameterError("cv", owner, allowed=allowed, got=cv, hint="Or gather more rows of it.")
        return StratifiedShuffleSplit(n_splits=1, test_size=float(cv), random_state=random_state)
    if whole and cv >= 2:
        smallest = int(labels.totals.argmin())
        if labels.totals[smallest] < cv:
            raise ParameterError(
                "cv",
                owner,
                allowed=f"at most {labels.totals[smallest]} folds, the rows of class {labels.classes[smallest]!s}",
                got=cv,
                hint="Take fewer folds, gather more rows of that class, or use cv='prefit' with held-out rows.",
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
