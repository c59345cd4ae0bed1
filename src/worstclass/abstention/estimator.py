"""The estimator: any classifier that answers only where it may be relied on."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from worstclass.abstention.limits import risk_limits
from worstclass.abstention.margins import abstain_value, answers_and_margins, with_abstentions
from worstclass.abstention.report import ClassRisk, RiskReport, worst_first
from worstclass.abstention.rules import (
    BoolArray,
    Counts,
    FloatArray,
    Judged,
    choose_rule,
    common_path,
    count_along,
    p_values,
    path_by_answer,
)
from worstclass.certificates.binomial import rows_at_least
from worstclass.certificates.requirement import check_delta
from worstclass.data.map_style import is_map_dataset
from worstclass.data.splits import take_rows
from worstclass.exceptions import DataError, ParameterError, UnknownNameError, UnmetBoundWarning
from worstclass.floors import IntArray
from worstclass.labels import Labels, known_labels
from worstclass.offsets.held_out import rows_of_options
from worstclass.offsets.scores import resolve_kind
from worstclass.offsets.wrapped import WrappedClassifier, indexable
from worstclass.options import suggests_options
from worstclass.randomness import SeedTree

OWNER = "AbstainingClassifier"


@suggests_options
class AbstainingClassifier(WrappedClassifier):
    """Any classifier that answers only where its margin is wide enough, with a risk promised for every class.

    The risk of class k is the probability that a row of class k that is answered is answered wrongly. Rows that the
    classifier was not trained on choose a rule, and others prove it: **with probability 1 - delta over the proving
    rows, the risk of every class is below its limit**. Where no rule is proven, nothing is answered at all.

    Parameters
    ----------
    estimator : a classifier with ``decision_margin`` (boosters, ``WorstClassOffsets``), ``predict_proba`` or
        ``decision_function``.
    risk : the limit, in (0, 1]: one for all classes, or a mapping from class to limit, in which ``"others"`` stands for
        every class not named. A limit of 1 asks for nothing.
    delta : probability, in (0, 1), with which the promise may fail.
    thresholds : ``"common"``: one margin has to be exceeded whatever the answer. ``"by-answer"``: each answer has its
        own.
    cv : a share in (0, 1): of each class, so many rows are kept from training, to choose and to prove. ``"prefit"``:
        the estimator is fitted, and all rows given to ``fit`` choose and prove; it must not have seen them.
    proving : share of these rows that prove; the others choose. Choosing needs fewer.
    abstain_label : what ``predict`` returns for a row that is not answered. ``"auto"``: -1 where labels are numbers,
        ``"abstain"`` where they are texts.
    random_state : seed for dividing rows. None: each class is divided evenly along the order of its rows.

    Attributes
    ----------
    classes_ : the classes, sorted.
    estimator_ : the fitted classifier.
    thresholds_ : the margin that each answer has to exceed, shape (K,); -inf answers all, inf nothing.
    proven_ : whether a rule was proven.
    certificate_ : a ``RiskReport`` of the proving rows under the rule that is used, or, where none was proven, under
        the one that looked easiest to prove.
    abstain_label_ : what stands for no answer.
    row_hashes_ : fingerprints of all rows seen, so that ``certify`` refuses them.

    Notes
    -----
    Assumed is that the proving rows of each class are independent draws from what the class will look like in use; how
    common the classes are may change. Coverage is counted, not promised. See ``worstclass.abstention.rules`` for the
    proof.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from worstclass import AbstainingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AbstainingClassifier(GaussianNB(), risk=0.1).fit(X, y)
    >>> model.proven_, round(model.certificate_.coverage, 2), model.predict(X[[0, 5]]).tolist()
    (True, 0.93, [0, -1])
    """

    def __init__(
        self,
        estimator: Any,
        risk: float | Mapping[Any, float] = 0.05,
        *,
        delta: float = 0.05,
        thresholds: str = "common",
        cv: float | str = 0.5,
        proving: float = 0.75,
        abstain_label: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.risk = risk
        self.delta = delta
        self.thresholds = thresholds
        self.cv = cv
        self.proving = proving
        self.abstain_label = abstain_label
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None, **fit_params: Any) -> Self:
        """Train the classifier, choose a rule, and prove it.

        Parameters
        ----------
        X, y : rows and labels; with ``cv="prefit"``, rows that the estimator has not seen.
        X_val, y_val : rows to choose and to prove with, in place of a share of X. They are never shown to the
            classifier.
        fit_params : further options of the classifier's ``fit``. What has one entry a row is divided as the rows are.
        """
        X, y = indexable(X), indexable(y)
        self._check_parameters()
        options = self._fit_options(fit_params)
        if self._is_prefit:
            labels = held_out = self._held_out_labels(X, y, X_val, y_val, *options.values())
            limits = risk_limits(self.risk, labels.classes, owner=OWNER)
            model, rows = self.estimator, X
        else:
            labels = self._training_labels(X, y)
            limits = risk_limits(self.risk, labels.classes, owner=OWNER)
            model, rows, held_out = self._trained(X, labels, X_val, y_val, options)
        self.abstain_label_ = abstain_value(self.abstain_label, labels.classes, owner=OWNER)
        self._adopt(model, labels.classes, X, X_val)
        self._choose(Judged(held_out.index, *answers_and_margins(model, rows, owner=OWNER)), limits)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row that is answered, and ``abstain_label_`` for the others."""
        answers, answered = self._answers(X)
        return with_abstentions(np.asarray(self.classes_[answers]), answered, self.abstain_label_)

    def answered(self, X: Any) -> BoolArray:
        """Tell which rows are answered."""
        return self._answers(X)[1]

    def risk_report(self, X: Any, y: Any = None) -> RiskReport:
        """Count risk and coverage of every class on other rows; a count, not a promise."""
        check_is_fitted(self, "thresholds_")
        self._require_labels(X, y)
        target = known_labels(X, y, self.classes_, name="y").index
        rows = Judged(target, *answers_and_margins(self.estimator_, X, owner=OWNER))
        return self._report(rows, self.thresholds_, risk_limits(self.risk, self.classes_, owner=OWNER))

    def _answers(self, X: Any) -> tuple[IntArray, BoolArray]:
        check_is_fitted(self, "thresholds_")
        answers, margins = answers_and_margins(self.estimator_, X, owner=OWNER)
        return answers, margins > self.thresholds_[answers]

    def _trained(
        self, X: Any, labels: Labels, X_val: Any, y_val: Any, options: dict[str, Any]
    ) -> tuple[Any, Any, Labels]:
        """Train without the rows that choose and prove; return the classifier, those rows and their labels."""
        if X_val is not None or y_val is not None:
            if X_val is None or (y_val is None and not is_map_dataset(X_val)):
                raise DataError("X_val and y_val go together. Got one without the other; pass both, or neither.")
            held_out = known_labels(X_val, y_val, labels.classes)
            return clone(self.estimator).fit(X, labels.classes[labels.index], **options), X_val, held_out
        if is_map_dataset(X):
            raise DataError(f"{OWNER} cannot divide a map-style data set. Pass X_val and y_val, or use cv='prefit'.")
        kept = self._divide(labels.index, float(self.cv), 0)
        train, rest = np.flatnonzero(~kept), np.flatnonzero(kept)
        self._require_classes(labels, train)
        model = clone(self.estimator)
        model.fit(take_rows(X, train), labels.classes[labels.index[train]], **rows_of_options(options, train, labels))
        return model, take_rows(X, rest), Labels(labels.classes, labels.index[rest])

    def _choose(self, rows: Judged, limits: FloatArray) -> None:
        """Choose a rule with some rows, and prove it with the others."""
        K = len(self.classes_)
        proves = self._divide(rows.target, float(self.proving), 1)
        choosing, proving = rows.take(np.flatnonzero(~proves)), rows.take(np.flatnonzero(proves))
        path = common_path(choosing, K) if self.thresholds == "common" else path_by_answer(choosing, limits)
        counts = count_along(proving, path)
        found = choose_rule(count_along(choosing, path), counts, limits, float(self.delta))
        self.proven_ = found.place is not None
        rule = path[found.first if found.place is None else found.place]
        self.thresholds_ = rule if self.proven_ else np.full(K, np.inf)
        self.certificate_ = self._report(proving, rule, limits, promised=True)
        if not self.proven_:
            at_first = Counts(counts.answered[found.first], counts.wrong[found.first])
            warnings.warn(self._not_proven(at_first, limits), UnmetBoundWarning, stacklevel=3)

    def _report(self, rows: Judged, rule: FloatArray, limits: FloatArray, *, promised: bool = False) -> RiskReport:
        counts = count_along(rows, rule[None, :])
        totals = np.bincount(rows.target, minlength=len(limits))
        risks = [
            ClassRisk(
                name=str(label),
                total=int(totals[k]),
                answered=int(counts.answered[0, k]),
                wrong=int(counts.wrong[0, k]),
                limit=float(limits[k]) if limits[k] < 1 else None,
            )
            for k, label in enumerate(self.classes_.tolist())
        ]
        ordered = tuple(sorted(risks, key=worst_first))
        return RiskReport(ordered, float(self.delta), self.proven_) if promised else RiskReport(ordered)

    def _not_proven(self, at_first: Counts, limits: FloatArray) -> str:
        """Say which classes have no proof, and how many rows one would take at least."""
        parts = []
        for k, label in enumerate(self.classes_.tolist()):
            wrong, answered = at_first.wrong[k], at_first.answered[k]
            if limits[k] < 1 and p_values(Counts(answered[None], wrong[None]), limits[k : k + 1]) > self.delta:
                least = rows_at_least(int(wrong), int(answered), Fraction(str(float(limits[k]))), float(self.delta))
                parts.append(f"{label!r} ({wrong} of {answered} answered rows wrong; at least {least} more, all right)")
        return (
            "No rule is proven to keep the risk of every class, so nothing is answered. Without proof, on the proving "
            f"rows under the rule that looked best: {', '.join(parts)}. Give more rows, a larger risk or delta, or ask "
            "nothing of a class (a risk of 1)."
        )

    def _divide(self, target: IntArray, share: float, number: int) -> BoolArray:
        """Mark a share of the rows of each class, rounded to whole rows, spread evenly or drawn at random."""
        marked = np.zeros(len(target), dtype=np.bool_)
        for k in np.unique(target):
            rows = np.flatnonzero(target == k)
            if self.random_state is not None:
                seeds = SeedTree.from_random_state(self.random_state, owner=OWNER)
                rows = np.random.default_rng(seeds.seed(number, int(k))).permutation(rows)
            steps = np.floor(np.arange(len(rows) + 1) * share + 0.5)
            marked[rows[np.diff(steps) > 0]] = True
        return marked

    def _require_classes(self, labels: Labels, train: IntArray) -> None:
        missing = labels.classes[np.bincount(labels.index[train], minlength=labels.n_classes) == 0].tolist()
        if missing:
            raise ParameterError(
                "cv",
                OWNER,
                allowed=f"a share that leaves rows of every class to train on; none would be left of {missing}",
                got=self.cv,
                hint="Lower it, or gather more rows.",
            )

    def _check_parameters(self) -> None:
        self._check_estimator()
        if not hasattr(self.estimator, "decision_margin"):
            resolve_kind(self.estimator, "auto", owner=OWNER)
        check_delta(self.delta, owner=OWNER)
        if self.thresholds not in ("common", "by-answer"):
            raise UnknownNameError("thresholds", OWNER, self.thresholds, ("common", "by-answer"))
        if not self._is_prefit and not _is_share(self.cv):
            raise ParameterError("cv", OWNER, allowed="a share in (0, 1) or 'prefit'", got=self.cv)
        if not _is_share(self.proving):
            raise ParameterError("proving", OWNER, allowed="a share in (0, 1)", got=self.proving)


def _is_share(value: Any) -> bool:
    return isinstance(value, float | np.floating) and 0 < float(value) < 1
