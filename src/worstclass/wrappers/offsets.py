"""``WorstClassOffsets``: any classifier, with decision offsets that serve its worst class."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import suggests_options
from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import Labels
from worstclass.data.seen_rows import SeenRows
from worstclass.exceptions import DataError, UnmetBoundWarning
from worstclass.floors import Floors
from worstclass.metrics import ClassCounts, ClassReport, Shortfall, count_correct
from worstclass.wrappers.base import HeldOut, WrappedClassifier
from worstclass.wrappers.offset_search import find_offsets
from worstclass.wrappers.scores import class_scores, lead, make_folds, out_of_fold, resolve_kind

OWNER = "WorstClassOffsets"


@suggests_options
class WorstClassOffsets(WrappedClassifier):
    """Any classifier that answers with the class whose score plus offset is largest, to help its worst class.

    The offsets, one per class, are chosen on rows that the classifier was not trained on: by cross-validation, after
    which the classifier is trained on all rows, or on rows that you hold out. Without floors, they make the worst-class
    error on those rows small. With floors, each class meets its floor with few wrong rows in all; if no such offsets
    are found, the largest shortfall is made small.

    Parameters
    ----------
    estimator : a classifier with ``predict_proba`` or ``decision_function``.
    theta : None: make the worst class as good as possible. Otherwise accuracy floors in [0, 1): one for all classes,
        or a mapping from class to floor, in which ``"others"`` stands for every class not named.
    cv : how rows are held out. A number of folds; a share in (0, 1), for one stratified split; a splitter of
        scikit-learn, or pairs of indices; ``"prefit"``: the estimator is fitted, and the rows given to ``fit`` are
        held-out rows that did not train it; or ``"training"``: none are held out, and the training rows choose, for a
        classifier that errs on training rows about as often as on others.
    scores : what the offsets are added to. ``"log-proba"``: logarithms of the probabilities, so that offsets act as
        class weights. ``"proba"``: the probabilities themselves; for a booster these are the vote shares.
        ``"mean-proba"``: logarithms of a booster's ``mean_proba``. ``"decision"``: ``decision_function``. ``"auto"``:
        ``"mean-proba"`` for a booster whose members give probabilities, else ``"log-proba"`` if there are
        probabilities, else ``"decision"``.
    allow_equal_rows : accept held-out rows that equal training rows if coincidence and reuse cannot be told apart.
    n_jobs : folds that are trained in parallel, through joblib. None: 1, or as set by ``joblib.parallel_config``.
    random_state : seed for drawing folds. None: folds take the rows in their order.

    Attributes
    ----------
    offsets_ : one per class, shape (K,), with mean 0. Only their differences matter; all 0 if no better ones are found.
    classes_ : the classes, sorted.
    estimator_ : the fitted classifier.
    scores_ : which scores are used.
    validation_report_ : class-wise errors with offsets on the held-out rows that chose them, so they are optimistic.
    validation_report_before_ : the same without offsets, by the same scores. The worst class is never better there.
    theta_ : the floor of each class; None without floors.
    floors_met_ : whether every class meets its floor on the held-out rows; None without floors.
    shortfall_ : for each class that misses its floor, how many more held-out rows would have to be right; the class
        furthest from its floor first.
    overlap_ : how many held-out rows equal training rows, a ``RowOverlap``; None after cross-validation.
    seen_rows_ : fingerprints of all rows seen; ``certify`` refuses them. Rows that chose offsets count as validation.

    Notes
    -----
    ``predict_proba`` is that of the inner classifier and ignores the offsets, so its largest entry need not be the
    answer. Options of ``fit`` such as ``sample_weight`` go to the inner classifier; offsets count every held-out row
    once, except rows of weight 0, which they leave out. A tie goes to the first class.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from worstclass import WorstClassOffsets
    >>> X, y = make_classification(2000, n_classes=3, n_informative=5, weights=[0.7, 0.2], random_state=0)
    >>> model = WorstClassOffsets(LogisticRegression()).fit(X, y)
    >>> print(f"{model.validation_report_before_.worst_error:.1%} -> {model.validation_report_.worst_error:.1%}")
    87.0% -> 32.4%
    """

    state_names: ClassVar[tuple[str, ...]] = (
        *WrappedClassifier.state_names,
        "scores_",
        "offsets_",
        "validation_report_",
        "validation_report_before_",
        "theta_",
        "floors_met_",
        "shortfall_",
        "overlap_",
    )

    held_out_role: ClassVar[str] = "validation"
    refused_roles: ClassVar[tuple[str, ...]] = ("training",)

    def __init__(
        self,
        estimator: Any,
        theta: float | Mapping[Any, float] | None = None,
        *,
        cv: Any = 5,
        scores: str = "auto",
        allow_equal_rows: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.theta = theta
        self.cv = cv
        self.scores = scores
        self.allow_equal_rows = allow_equal_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class whose score plus offset is largest."""
        best = self._adjusted(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores plus offsets, shape (n, K); with two classes, the second minus the first, shape (n,)."""
        adjusted = self._adjusted(X)
        return adjusted[:, 1] - adjusted[:, 0] if adjusted.shape[1] == 2 else adjusted

    def decision_margin(self, X: Any) -> FloatArray:
        """Return the largest score plus offset minus the second largest."""
        return lead(self._adjusted(X))

    def _adjusted(self, X: Any) -> FloatArray:
        check_is_fitted(self, "offsets_")
        return class_scores(self.estimator_, X, self.scores_) + self.offsets_

    def _check_parameters(self) -> str:
        self._check_common_parameters()
        return resolve_kind(self.estimator, self.scores, "scores", owner=OWNER)

    def _wanted(self, classes: npt.NDArray[Any]) -> Floors | None:
        return None if self.theta is None else Floors.from_theta(self.theta, classes, owner=OWNER)

    def _judge(self, model: Any, X: Any, target: IntArray, kind: str) -> tuple[FloatArray, IntArray]:
        return class_scores(model, X, kind), target

    def _divided(self, X: Any, labels: Labels, options: dict[str, Any], kind: str) -> HeldOut:
        """Collect out-of-fold scores, and train on all rows."""
        rows, on_training = np.arange(len(labels.index)), isinstance(self.cv, str) and self.cv == "training"
        folds = [(rows, rows)] if on_training else make_folds(self.cv, labels, self._seed(), owner=OWNER)
        found = out_of_fold(
            self.estimator, X, labels, folds, kind,
            options=options, n_jobs=self.n_jobs, checkpoint=self._checkpoint,
        )  # fmt: skip
        if not len(found.target):
            raise DataError("There is no held-out row to choose offsets on: the folds of cv hold none out.")
        finite = found.scores[np.isfinite(found.scores)]
        never = finite.min() - 2 * (np.ptp(finite) + 1)  # a score with which a class unknown to a fold does not win
        judged = np.where(np.isfinite(found.scores), found.scores, never), found.target
        model, seen = found.models[0], SeenRows.of(X)
        if not on_training:
            model = self._fit_inner(X, labels, options)
        return HeldOut(model, judged, replace(seen, validation=seen.training), None)

    def _choose(self, found: HeldOut, kind: str, wanted: Floors | None) -> None:
        """Find the offsets, report on the rows that chose them, and warn about floors that are missed."""
        (scores, target), floors = found.judged, wanted
        self.scores_, self.overlap_ = kind, found.overlap
        K, labels = len(self.classes_), self.classes_.tolist()
        totals = np.bincount(target, minlength=K)
        quota = None if floors is None else floors.vote_quota(totals)
        self.offsets_ = find_offsets(scores, target, quota)
        before, counts = (
            ClassCounts(count_correct(target, (scores + b).argmax(axis=1), K), totals)
            for b in (np.zeros(K), self.offsets_)
        )
        self.validation_report_before_ = ClassReport.from_counts(before, labels, floors)
        self.validation_report_ = ClassReport.from_counts(counts, labels, floors)
        short = () if floors is None else Shortfall.of_vote(counts, labels, floors)
        short = tuple(sorted(short, key=lambda row: -row.rows_short / row.total))
        self.theta_ = None if floors is None else floors.as_floats()
        self.shortfall_ = {row.label: row.rows_short for row in short}
        self.floors_met_ = None if floors is None else not short and bool((totals > 0).all())
        if short:
            lower = max(row.rows_short / row.total for row in short)
            message = (
                f"No offsets that meet all floors on the held-out rows were found. The nearest ones miss those of "
                f"{', '.join(map(str, short))}. They would meet floors that are lower by {lower:.4f}."
            )
            warnings.warn(message, UnmetBoundWarning, stacklevel=4)
        if not totals.all():
            unknown = "" if floors is None else " Whether their floors are met is not known."
            message = (
                f"There are no held-out rows of {self.classes_[totals == 0].tolist()}, so the effect of offsets on "
                f"these classes is unknown: they keep the offset 0, the mean of the others.{unknown} Hold out rows of "
                "every class."
            )
            warnings.warn(message, UnmetBoundWarning, stacklevel=4)
