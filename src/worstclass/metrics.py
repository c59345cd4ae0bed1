"""Class-wise counts, the errors they give, the worst of them, and a report.

Everything starts from integer counts with fixed labels: class k keeps its place whether or not it occurs. A
class without a row has no error; it is masked, listed as absent and never counted as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._text import Shown, TextTable, n_of, percent
from worstclass._typing import IntArray
from worstclass.exceptions import DataError
from worstclass.floors import Floors


def count_correct(target: IntArray, predicted: npt.NDArray[np.integer], n_classes: int) -> IntArray:
    """Count the right answers of each class; both arrays hold class indices 0..n_classes-1."""
    return np.bincount(target[target == predicted], minlength=n_classes)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Right answers and rows of each class.

    Examples
    --------
    >>> counts = ClassCounts(correct=np.array([9, 6, 0]), total=np.array([10, 10, 0]))
    >>> counts.worst_error, counts.worst_class, counts.absent
    (0.4, 1, (2,))
    """

    correct: IntArray
    total: IntArray

    @property
    def errors(self) -> np.ma.MaskedArray[Any, Any]:
        """Error rate of each class; an absent class is masked."""
        wrong = np.ma.masked_where(self.total == 0, self.total - self.correct)
        errors: np.ma.MaskedArray[Any, Any] = wrong / np.maximum(self.total, 1)
        return errors

    @property
    def absent(self) -> tuple[int, ...]:
        """Indices of the classes without a row."""
        return tuple(np.flatnonzero(self.total == 0).tolist())

    @property
    def worst_class(self) -> int:
        """Index of the class with the largest error, the first of equals."""
        self._require_rows()
        return int(np.ma.argmax(self.errors))

    @property
    def worst_error(self) -> float:
        """The largest class error."""
        return float(self.errors[self.worst_class])

    @property
    def plain_error(self) -> float:
        """Error over all rows: the "Avg." of the paper's tables."""
        self._require_rows()
        return float(1 - self.correct.sum() / self.total.sum())

    @property
    def class_mean_error(self) -> float:
        """Mean of the class errors over the classes that occur."""
        self._require_rows()
        return float(self.errors.mean())

    def _require_rows(self) -> None:
        if not self.total.any():
            raise DataError("There is no row to count: every class is absent. Pass at least one row.")


#: errors by which a choice can be made on validation rows
SELECTION: Mapping[str, Callable[[ClassCounts], float]] = {
    "worst": lambda counts: counts.worst_error,
    "average": lambda counts: counts.plain_error,
}


@dataclass(frozen=True)
class Shortfall:
    """A class that misses its floor: its rows, those right, and how many more would have to be right."""

    label: Any
    floor: float
    correct: int
    total: int
    rows_short: int

    @property
    def error(self) -> float:
        """Error rate of the class."""
        return (self.total - self.correct) / self.total

    @classmethod
    def of_vote(cls, counts: ClassCounts, labels: Sequence[Any], floors: Floors) -> tuple[Shortfall, ...]:
        """Return the classes whose error is not below ``1 - theta``, in their order; absent classes are left out."""
        short = floors.vote_quota(counts.total) - counts.correct
        return tuple(
            cls(labels[k], float(floors.theta[k]), int(counts.correct[k]), int(counts.total[k]), int(short[k]))
            for k in np.flatnonzero((short > 0) & (counts.total > 0)).tolist()
        )

    def __str__(self) -> str:
        limit = f"must be below {1 - self.floor:.1%}"
        return f"{self.label!r} (error {self.error:.1%}, {limit}, {self.rows_short} of {n_of(self.total, 'row')} short)"


@dataclass(frozen=True)
class ClassRow:
    """One class of a report; ``error`` is None for a class without a row."""

    name: str
    total: int
    correct: int
    floor: float | None = None
    meets_floor: bool | None = None

    @property
    def error(self) -> float | None:
        """Error rate, or None where the class is absent."""
        return None if self.total == 0 else (self.total - self.correct) / self.total


@dataclass(frozen=True, repr=False)
class ClassReport(Shown):
    """Class-wise results, worst class first, absent classes last.

    ``str(report)`` is a table for people, ``report.to_dict()`` the same for files.

    Examples
    --------
    >>> report = class_report([0, 0, 1, 1], [0, 0, 1, 0], class_names=["benign", "malignant"])
    >>> report.worst_class, report.worst_error, report.plain_error
    ('malignant', 0.5, 0.25)
    """

    rows: tuple[ClassRow, ...]

    @classmethod
    def from_counts(cls, counts: ClassCounts, class_names: Sequence[Any], floors: Floors | None = None) -> ClassReport:
        """Name and sort counts; with ``floors``, say of each class whether its error is below ``1 - theta``."""
        quota = None if floors is None else floors.vote_quota(counts.total)
        rows = [
            ClassRow(
                name=str(name),
                total=int(counts.total[k]),
                correct=int(counts.correct[k]),
                floor=None if floors is None else floors.as_floats()[k],
                meets_floor=None if quota is None or counts.total[k] == 0 else bool(counts.correct[k] >= quota[k]),
            )
            for k, name in enumerate(class_names)
        ]
        return cls(tuple(sorted(rows, key=_worst_first)))

    @property
    def counts(self) -> ClassCounts:
        """The counts behind the report, in the order of its rows."""
        return ClassCounts(np.array([row.correct for row in self.rows]), np.array([row.total for row in self.rows]))

    @property
    def worst_class(self) -> str:
        """Name of the class with the largest error."""
        return self.rows[self.counts.worst_class].name

    @property
    def worst_error(self) -> float:
        """The largest class error."""
        return self.counts.worst_error

    @property
    def worst_text(self) -> str:
        """The largest class error with the class that has it, if any row is wrong at all."""
        return f"{self.worst_error:.1%} ({self.worst_class})" if self.worst_error else f"{self.worst_error:.1%}"

    @property
    def plain_error(self) -> float:
        """Error over all rows."""
        return self.counts.plain_error

    @property
    def class_mean_error(self) -> float:
        """Mean of the class errors over the classes that occur."""
        return self.counts.class_mean_error

    @property
    def absent(self) -> tuple[str, ...]:
        """Names of the classes without a row."""
        return tuple(row.name for row in self.rows if row.total == 0)

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the classes that miss their floor, worst first; empty when no floors were given."""
        return tuple(row.name for row in self.rows if row.meets_floor is False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "worst_class": self.worst_class,
            "worst_error": self.worst_error,
            "class_mean_error": self.class_mean_error,
            "plain_error": self.plain_error,
            "absent": list(self.absent),
            "classes": [{**asdict(row), "error": row.error} for row in self.rows],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ClassReport:
        """Rebuild a report from what ``to_dict`` gave."""
        rows = [{key: value for key, value in row.items() if key != "error"} for row in values["classes"]]
        return cls(tuple(ClassRow(**row) for row in rows))

    def _table(self) -> TextTable:
        with_floor = any(row.floor is not None for row in self.rows)
        head = ["class", "error", "wrong", "rows", *(["floor", "met"] if with_floor else [])]
        summary = f"worst {self.worst_text}, class mean {self.class_mean_error:.1%}, all rows {self.plain_error:.1%}"
        return TextTable(head, [_cells(row, with_floor) for row in self.rows], (0, 5), [summary])


def class_counts(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, labels: npt.ArrayLike | None = None) -> ClassCounts:
    """Count right answers and rows by class.

    Parameters
    ----------
    y_true, y_pred : labels, shape (n,).
    labels : the classes in the order of the counts; by default all that occur in either, sorted. A class of
        ``labels`` that does not occur keeps its place with a count of 0.
    """
    return _counts_and_labels(y_true, y_pred, labels)[0]


def class_report(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    class_names: Sequence[Any] | None = None,
    theta: float | Mapping[Any, float] | None = None,
) -> ClassReport:
    """Report the error of each class, worst first.

    Parameters
    ----------
    y_true, y_pred : labels, shape (n,).
    labels : the classes, in order; by default all that occur in either.
    class_names : what to call them, in the order of ``labels``.
    theta : an accuracy floor, or one per class; adds to each class whether its error is below ``1 - theta``.

    Examples
    --------
    >>> print(class_report(["cat", "cat", "dog"], ["cat", "dog", "dog"], labels=["cat", "dog", "fox"]))
    class    error    wrong     rows
    cat      50.0%        1        2
    dog       0.0%        0        1
    fox     absent        -        0
    worst 50.0% (cat), class mean 25.0%, all rows 33.3%
    """
    counts, known = _counts_and_labels(y_true, y_pred, labels)
    if class_names is not None and len(class_names) != len(known):
        raise DataError(f"class_names must name each of the {len(known)} classes. Got {len(class_names)} names.")
    floors = None if theta is None else Floors.from_theta(theta, known, owner="class_report")
    return ClassReport.from_counts(counts, known.tolist() if class_names is None else class_names, floors)


def worst_class_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, labels: npt.ArrayLike | None = None) -> float:
    """Return the largest class error, over the classes that occur in ``y_true``.

    Examples
    --------
    >>> worst_class_error([0, 0, 1, 1], [0, 0, 1, 0])
    0.5
    """
    return class_counts(y_true, y_pred, labels).worst_error


def worst_class_scorer(estimator: Any, X: Any, y: npt.ArrayLike) -> float:
    """Score a fitted classifier by the accuracy of its worst class: greater is better.

    For ``scoring=worst_class_scorer`` in ``GridSearchCV``, ``cross_val_score`` and the like.
    """
    return 1 - worst_class_error(y, estimator.predict(X))


def _counts_and_labels(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, labels: npt.ArrayLike | None
) -> tuple[ClassCounts, npt.NDArray[Any]]:
    true, pred = _as_labels(y_true, "y_true"), _as_labels(y_pred, "y_pred")
    if len(true) != len(pred):
        raise DataError(
            f"y_true and y_pred must have the same length. Got {len(true)} and {len(pred)} rows; "
            "pass the predictions of exactly the rows that y_true labels."
        )
    if true.dtype.kind in "fO" and (missing := sum(map(_is_missing, true.tolist()))):  # others cannot be missing
        raise DataError(f"y_true contains NaN or None: {n_of(missing, 'row')} without a label. Leave them out.")
    known = _fixed_labels(true, pred, labels)
    index = {label: k for k, label in enumerate(known.tolist())}
    unknown = sorted({str(label) for label in true.tolist() if label not in index})
    if unknown:
        raise DataError(f"y_true has labels that are not in labels: {unknown}. Known: {list(index)}. Add them.")
    target = np.array([index[label] for label in true.tolist()], dtype=np.int64)
    predicted = np.array([index.get(label, -1) for label in pred.tolist()], dtype=np.int64)
    total = np.bincount(target, minlength=len(known))
    return ClassCounts(count_correct(target, predicted, len(known)), total), known


def _fixed_labels(true: npt.NDArray[Any], pred: npt.NDArray[Any], labels: npt.ArrayLike | None) -> npt.NDArray[Any]:
    if labels is not None:
        known = np.asarray(labels)
        if known.ndim != 1 or len(set(known.tolist())) != known.size:
            raise DataError(f"labels must be a list of distinct classes. Got {known.tolist()}.")
        return known
    try:
        return np.asarray(sorted({*true.tolist(), *pred.tolist()}))
    except TypeError:
        message = "y_true and y_pred mix labels of different types. Make all strings, or all numbers."
        raise DataError(message) from None


def _as_labels(y: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    array = np.asarray(y)
    if array.ndim != 1:
        raise DataError(f"{name} must be one label per row, shape (n,). Got an array of shape {array.shape}.")
    return array


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA has no truth value
        return True


def _worst_first(row: ClassRow) -> tuple[bool, float]:
    return row.total == 0, 0.0 if row.error is None else -row.error


def _cells(row: ClassRow, with_floor: bool) -> list[str]:
    wrong = "-" if row.error is None else str(row.total - row.correct)
    cells = [row.name, percent(row.error, absent="absent"), wrong, str(row.total)]
    met = {True: "yes", False: "NO", None: "-"}[row.meets_floor]
    return [*cells, percent(row.floor), met] if with_floor else cells
