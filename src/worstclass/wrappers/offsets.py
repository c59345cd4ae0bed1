"""The estimator: any classifier, with offsets that serve its worst class."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import suggests_options
from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import Labels
from worstclass.data.seen_rows import SeenRows, row_hashes, which_seen
from worstclass.data.splits import columns_in_order
from worstclass.exceptions import ParameterError, ReusedRowsWarning, UnmetBoundWarning
from worstclass.floors import Floors
from worstclass.metrics import ClassCounts, ClassReport, count_correct
from worstclass.randomness import SeedTree
from worstclass.wrappers.base import WrappedClassifier, indexable
from worstclass.wrappers.cross_validation import HeldOut, count_trained_on, make_folds, out_of_fold, without_weightless
from worstclass.wrappers.scores import class_scores, resolve_kind
from worstclass.wrappers.search.solve import Solution, best_offsets

OWNER = "WorstClassOffsets"


@suggests_options
class WorstClassOffsets(WrappedClassifier):
    """Any classifier, answering with the class whose score plus offset is largest, for the sake of the worst class.

    The offsets, one a class, are found on rows that the classifier was not trained on: by cross-validation, after which
    the classifier is trained on all rows; or on rows held out by you. Without floors the worst-class error on those
    rows is as small as offsets can make it, or, as ``slack`` has it, within a standard error of that; how small that
    is, is found exactly for any number of classes. With floors, each class meets its floor with few wrong rows in all,
    or, where no offsets do that, the largest shortfall is as small as possible.

    Parameters
    ----------
    estimator : a classifier with ``predict_proba`` or ``decision_function``.
    theta : None: make the worst class as good as possible. Otherwise accuracy floors in [0, 1): one for all classes,
        or a mapping from class to floor, in which ``"others"`` stands for every class not named.
    cv : how rows are held out. A number of folds; a share in (0, 1), for one stratified split; a splitter of
        scikit-learn, or pairs of indices; or ``"prefit"``: the estimator is fitted, and the rows given to ``fit`` are
        held-out rows that it has not seen.
    scores : what the offsets are added to. ``"log-proba"``: logarithms of the probabilities, so that offsets act as
        class weights do. ``"proba"``: the probabilities themselves; of a booster these are the shares of the votes.
        ``"mean-proba"``: logarithms of a booster's ``mean_proba``. ``"decision"``: ``decision_function``. ``"auto"``:
        ``"mean-proba"`` of a booster whose members give probabilities, else ``"log-proba"`` where there are
        probabilities, else ``"decision"``.
    slack : how near to the least worst-class error the offsets stay, in standard errors of that error. The very least
        often rests on a row or two of a small class; of the offsets near it, those of the least smoothed errors serve
        other rows better. ``"auto"``: 0 for two classes, 1 for more. None: counts alone, so that the least worst-class
        error comes first, and the fewest wrong rows second. Without effect where there are floors.
    refit : train the estimator on all rows after cross-validation. False keeps that of the fold, of which there must
        be one then. Without effect for ``"prefit"`` and with ``X_val``.
    random_state : seed for drawing folds. None: folds take the rows in their order.

    Attributes
    ----------
    offsets_ : one a class, shape (K,). Only their differences matter; 0 for all where no offsets are better than none.
    least_worst_error_ : the least worst-class error that offsets can have on the held-out rows; None with floors, and
        where a class has no held-out row.
    classes_ : the classes, sorted.
    estimator_ : the fitted classifier.
    scores_ : which scores are used.
    validation_report_ : class-wise errors with offsets on the held-out rows that chose them, so they flatter a little.
    validation_report_before_ : the same without offsets, by the same scores. The worst class is never better there.
    optimal_ : whether it is proven that no offsets have a smaller worst-class error than ``least_worst_error_`` (or a
        smaller largest shortfall) on these rows.
    theta_ : the floor of each class; None without floors.
    floors_met_ : whether every class meets its floor on the held-out rows; None without floors.
    shortfall_ : for each class that misses its floor, how many more held-out rows would have to be right.
    blocking_classes_ : those classes, the one furthest from its floor first.
    row_hashes_ : fingerprints of all rows seen, so that ``certify`` refuses them.

    Notes
    -----
    ``predict_proba`` is that of the classifier and knows no offsets, so its largest entry need not be the answer.
    Options of ``fit`` such as ``sample_weight`` go to the classifier; offsets count every held-out row once, but for
    rows of weight 0, which they leave out.
    A tie, which no held-out row need have, goes to the first class.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from worstclass import WorstClassOffsets
    >>> X, y = make_classification(2000, n_classes=3, n_informative=5, weights=[0.7, 0.2], random_state=0)
    >>> model = WorstClassOffsets(LogisticRegression()).fit(X, y)
    >>> print(f"{model.validation_report_before_.worst_error:.1%} -> {model.validation_report_.worst_error:.1%}")
    87.0% -> 32.9%
    """

    state_names: ClassVar[tuple[str, ...]] = (
        *WrappedClassifier.state_names,
        "scores_",
        "offsets_",
        "optimal_",
        "least_worst_error_",
        "validation_report_before_",
        "validation_report_",
        "theta_",
        "floors_met_",
        "shortfall_",
        "blocking_classes_",
    )

    def __init__(
        self,
        estimator: Any,
        theta: float | Mapping[Any, float] | None = None,
        *,
        cv: Any = 5,
        scores: str = "auto",
        slack: float | str | None = "auto",
        refit: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.theta = theta
        self.cv = cv
        self.scores = scores
        self.slack = slack
        self.refit = refit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None, **fit_params: Any) -> Self:
        """Train the classifier and find the offsets.

        Parameters
        ----------
        X : rows, as the classifier takes them; with ``cv="prefit"``, held-out rows.
        y : labels, strings or numbers.
        X_val, y_val : held-out rows that choose the offsets, in place of cross-validation. A classifier whose own
            ``fit`` takes validation rows (as those of worstclass do) is given them too.
        fit_params : further options of the classifier's ``fit``. What has one entry a row is split as the rows are.
        """
        X, y = indexable(X), indexable(y)
        kind = self._check_parameters()
        options = self._fit_options(fit_params)
        if self._is_prefit:
            labels = self._held_out_labels(X, y, X_val, y_val, *options.values())
            self._floors(labels.classes)
            X = columns_in_order(X, getattr(self.estimator, "feature_names_in_", None))
            _warn_of_reuse(count_trained_on(self.estimator, X, labels.classes[labels.index]), len(labels.index))
            model, held_out = self.estimator, HeldOut(class_scores(self.estimator, X, kind), labels.index)
        else:
            labels = self._training_labels(X, y)
            self._floors(labels.classes)  # refused before anything is trained
            if X_val is None and y_val is None:
                model, held_out = self._cross_validated(X, labels, options, kind)
            else:
                X_val = columns_in_order(X_val, getattr(X, "columns", None))
                model, validation = self._trained_with(X, labels, X_val, y_val, options)
                _warn_of_reuse(_n_shared(X, X_val), len(validation.index))
                held_out = HeldOut(class_scores(model, X_val, kind), validation.index)
        self._adopt(model, labels.classes, X, X_val)
        self.scores_ = kind
        self._choose(held_out)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class whose score plus offset is largest."""
        best = self._adjusted(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores plus offsets, shape (n, K); of two classes, by how much the second exceeds the first, (n,)."""
        adjusted = self._adjusted(X)
        return adjusted[:, 1] - adjusted[:, 0] if adjusted.shape[1] == 2 else adjusted

    def decision_margin(self, X: Any) -> FloatArray:
        """Return by how much the largest score plus offset exceeds the second largest."""
        top_two = np.partition(self._adjusted(X), -2, axis=1)[:, -2:]
        return np.asarray(top_two[:, 1] - top_two[:, 0])

    def _adjusted(self, X: Any) -> FloatArray:
        check_is_fitted(self, "offsets_")
        return class_scores(self.estimator_, X, self.scores_) + self.offsets_

    def _check_parameters(self) -> str:
        """Check what can be checked before training; return which scores are used."""
        self._check_estimator()
        if not isinstance(self.refit, bool | np.bool_):
            raise ParameterError("refit", OWNER, allowed="True or False", got=self.refit)
        self._slack(2)
        return resolve_kind(self.estimator, self.scores, owner=OWNER)

    def _cross_validated(self, X: Any, labels: Labels, options: dict[str, Any], kind: str) -> tuple[Any, HeldOut]:
        """Collect scores out of fold; train on all rows."""
        seed = None if self.random_state is None else SeedTree.from_random_state(self.random_state, owner=OWNER).seed(0)
        folds = make_folds(self.cv, X, labels, seed, owner=OWNER)
        if not self.refit and len(folds) > 1:
            raise ParameterError(
                "refit", OWNER, allowed="True where there are several folds", got=False, hint="Give cv one split."
            )
        folds = without_weightless(folds, options.get("sample_weight"))
        held_out, last = out_of_fold(self.estimator, X, labels, folds, kind, options)
        if not self.refit:
            return last, held_out
        return clone(self.estimator).fit(X, labels.classes[labels.index], **options), held_out

    def _slack(self, n_classes: int) -> float | None:
        if isinstance(self.slack, str) and self.slack == "auto":
            return 1.0 if n_classes > 2 else 0.0
        if self.slack is None:
            return None
        number = isinstance(self.slack, numbers.Real) and not isinstance(self.slack, bool)
        if not number or not 0 <= float(self.slack) < np.inf:
            allowed = "a number of standard errors from 0 on, 'auto', or None"
            raise ParameterError("slack", OWNER, allowed=allowed, got=self.slack)
        return float(self.slack)

    def _floors(self, classes: npt.NDArray[Any]) -> Floors | None:
        return None if self.theta is None else Floors.from_theta(self.theta, classes, owner=OWNER)

    def _choose(self, held_out: HeldOut) -> None:
        """Find the offsets, set what is known of them, and warn of floors that are missed."""
        K, floors = len(self.classes_), self._floors(self.classes_)
        totals = np.bincount(held_out.target, minlength=K)
        quota = None if floors is None else floors.vote_quota(totals)
        found = best_offsets(
            held_out.scores, held_out.target, quota, self._slack(int((totals > 0).sum())) if floors is None else None
        )
        correct = [
            count_correct(held_out.target, (held_out.scores + offsets).argmax(axis=1), K)
            for offsets in (np.zeros(K), found.offsets)
        ]
        self._settle(found.offsets, found.proven, totals, *correct)
        self.least_worst_error_ = found.least if floors is None else None
        if self.shortfall_:
            message = _missed_floors(self.shortfall_, self.validation_report_, found)
            warnings.warn(message, UnmetBoundWarning, stacklevel=3)
        if self.validation_report_.absent:
            absent = self.classes_[totals == 0].tolist()
            unknown = "" if floors is None else " Whether their floors are met is not known."
            message = (
                f"There is no held-out row of {absent}, so what offsets do to them cannot be judged: they keep the "
                f"offset 0, the mean of the others.{unknown} Hold rows of every class out."
            )
            warnings.warn(message, UnmetBoundWarning, stacklevel=3)

    def _settle(self, offsets: FloatArray, proven: bool, totals: IntArray, before: IntArray, correct: IntArray) -> None:
        """Set what a fitted estimator has, from the held-out rows of each class and those right before and after."""
        labels, floors = self.classes_.tolist(), self._floors(self.classes_)
        self.offsets_, self.optimal_ = offsets, proven
        self.validation_report_before_ = ClassReport.from_counts(ClassCounts(before, totals), labels, floors)
        self.validation_report_ = ClassReport.from_counts(ClassCounts(correct, totals), labels, floors)
        self.theta_ = None if floors is None else floors.as_floats()
        self.shortfall_: dict[Any, int] = {}
        self.floors_met_: bool | None = None
        if floors is not None:
            short = np.where(totals > 0, floors.vote_quota(totals) - correct, 0)
            order = np.argsort(-short / np.maximum(totals, 1), kind="stable")
            self.shortfall_ = {labels[k]: int(short[k]) for k in order if short[k] > 0}
            self.floors_met_ = not self.shortfall_ and bool((totals > 0).all())
        self.blocking_classes_: tuple[Any, ...] = tuple(self.shortfall_)


def _n_shared(X: Any, X_val: Any) -> int | None:
    seen, hashes = SeenRows.of(X).training, row_hashes(X_val, read_items=True)
    return None if seen is None or hashes is None else int(which_seen(hashes, seen).sum())


def _warn_of_reuse(n_reused: int | None, n_rows: int) -> None:
    if n_reused is not None and n_reused > 0.1 * n_rows:
        message = (
            f"The classifier was trained on, or chosen by, {n_reused} of the {n_rows} rows that choose the offsets. "
            "Its errors there say little of those on other rows. Pass rows that it has not seen."
        )
        warnings.warn(message, ReusedRowsWarning, stacklevel=3)


def _missed_floors(shortfall: Mapping[Any, int], report: ClassReport, found: Solution) -> str:
    rows = {row.name: row for row in report.rows}
    parts = []
    for label, short in shortfall.items():
        row = rows[str(label)]
        parts.append(
            f"{label!r} (error {row.error:.1%}, must be below {1 - (row.floor or 0):.1%}, {short} of {row.total} rows "
            "short)"
        )
    start = (
        "No offsets meet all floors on the held-out rows"
        if found.proven
        else "No offsets that meet all floors were found"
    )
    return (
        f"{start}. The nearest found miss those of {', '.join(parts)}. "
        f"If every floor were lower by {found.merit.worst:.4f}, they would all be met."
    )
