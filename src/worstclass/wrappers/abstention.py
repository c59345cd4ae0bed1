"""``AbstainingClassifier``: any classifier that answers only where its risk is proven."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import check_delta, check_share, suggests_options
from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.certificates.certificate import PROVEN
from worstclass.certificates.held_out import held_out_rows
from worstclass.data.fingerprints import row_hashes
from worstclass.data.labels import Labels
from worstclass.data.seen_rows import ROLES, check_unseen
from worstclass.data.splits import take_rows
from worstclass.exceptions import DataError, ParameterError, ReusedRowsWarning, UnmetBoundWarning
from worstclass.wrappers.abstention_rules import (
    JudgedAnswers,
    abstain_value,
    count_along,
    divide,
    find_threshold,
    risk_limits,
    with_abstentions,
)
from worstclass.wrappers.base import HeldOut, WrappedClassifier, indexable
from worstclass.wrappers.risk_report import ClassRisk, RiskCertificate, RiskReport, worst_first
from worstclass.wrappers.scores import answers_and_margins, resolve_kind, rows_of_options

OWNER = "AbstainingClassifier"


@suggests_options
class AbstainingClassifier(WrappedClassifier):
    """Any classifier that answers only if its margin is wide enough, with a promised risk for every class.

    The risk of class k is the probability that a row of class k that is answered is answered wrongly. Rows that the
    classifier was not trained on choose a threshold for the margin, and others prove it: **with probability 1 - delta
    over the proving rows, the risk of every class is below its limit**. If no threshold is proven, nothing is answered.

    Parameters
    ----------
    estimator : a classifier with ``decision_margin`` (boosters, ``WorstClassOffsets``), ``predict_proba`` or
        ``decision_function``.
    risk : the limit, in (0, 1]: one for all classes, or a mapping from class to limit, in which ``"others"`` stands for
        every class not named. A limit of 1 asks for nothing.
    delta : probability, in (0, 1), with which the promise may fail.
    margin : the margin of an answer. ``"own"``: ``decision_margin`` of the classifier. ``"mean-proba"``,
        ``"log-proba"``, ``"proba"``, ``"decision"``: the score of the answer minus the next largest score; scores are
        as in ``WorstClassOffsets``. ``"auto"``: mean probabilities of a booster's members if they have any, else
        ``decision_margin`` if there is one, else logarithms of probabilities, else ``decision_function``.
    cv : a share in (0, 1): this share of each class is kept from training, to choose and to prove. ``"prefit"``: the
        estimator is fitted, and all rows given to ``fit`` choose and prove; it must not have seen them.
    proving : share of the held-out rows that prove; the others choose.
    abstain_label : what ``predict`` returns for a row that is not answered. ``"auto"``: ``"abstain"`` if labels are
        texts; -1 if they are numbers, or one less than the smallest label if that is below 0.
    allow_equal_rows : accept held-out rows that equal seen rows if coincidence and reuse cannot be told apart; the
        certificate records it. With a share as ``cv``: keep held-out rows that equal training rows.
    random_state : seed for dividing rows. None: each class is divided evenly along the order of its rows.

    Attributes
    ----------
    classes_ : the classes, sorted.
    estimator_ : the fitted classifier.
    risk_ : the limit of each class.
    margin_ : which margin is used.
    threshold_ : the margin that an answer has to exceed; -inf answers every row, inf none.
    proven_ : whether a threshold was proven.
    certificate_ : the ``RiskCertificate`` of the threshold in use, by the proving rows; if none was proven, that of the
        first one tested.
    abstain_label_ : the label for "no answer".
    seen_rows_ : fingerprints of all rows seen. Rows that chose and proved count as calibration; no certificate can use
        them again.

    Notes
    -----
    The held-out rows of each class must be independent draws from what the class will look like in use; how common the
    classes are may change. Coverage is counted, not promised. Every held-out row counts once, whatever its
    ``sample_weight``. docs/abstaining.md says more, docs/theory.md has the proof.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from worstclass import AbstainingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AbstainingClassifier(GaussianNB(), risk=0.1).fit(X, y)
    >>> model.proven_, round(model.certificate_.coverage, 2), model.predict(X[[0, 5]]).tolist()
    (True, 0.94, [0, -1])
    """

    state_names: ClassVar[tuple[str, ...]] = (
        *WrappedClassifier.state_names,
        "risk_",
        "margin_",
        "threshold_",
        "abstain_label_",
        "certificate_",
    )

    held_out_role: ClassVar[str] = "calibration"
    refused_roles: ClassVar[tuple[str, ...]] = ROLES

    def __init__(
        self,
        estimator: Any,
        risk: float | Mapping[Any, float] = 0.05,
        *,
        delta: float = 0.05,
        margin: str = "auto",
        cv: float | str = 0.5,
        proving: float = 0.8,
        abstain_label: Any = "auto",
        allow_equal_rows: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.risk = risk
        self.delta = delta
        self.margin = margin
        self.cv = cv
        self.proving = proving
        self.abstain_label = abstain_label
        self.allow_equal_rows = allow_equal_rows
        self.random_state = random_state

    @property
    def proven_(self) -> bool:
        """Whether a threshold was proven."""
        return self.certificate_.verdict == PROVEN

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row that is answered, and ``abstain_label_`` for the others."""
        answers, answered = self._answers(X)
        return with_abstentions(np.asarray(self.classes_[answers]), answered, self.abstain_label_)

    def answered(self, X: Any) -> BoolArray:
        """Tell which rows are answered."""
        return self._answers(X)[1]

    def decision_margin(self, X: Any) -> FloatArray:
        """Return the margin of each answer; a row is answered if it exceeds ``threshold_``."""
        check_is_fitted(self, "threshold_")
        return answers_and_margins(self.estimator_, X, self.margin_)[1]

    def risk_report(self, X: Any, y: Any = None) -> RiskReport:
        """Count risk and coverage of every class on other rows; a count, not a promise."""
        risks = self._counted(*self._other_rows(X, y))
        return RiskReport(tuple(sorted(risks, key=worst_first)))

    def certify(
        self, X: Any, y: Any = None, *, delta: float | None = None, allow_equal_rows: bool = False
    ) -> RiskCertificate:
        """Prove the limits again, for the threshold in use, on rows that neither trained nor chose nor proved.

        Parameters
        ----------
        X, y : rows and labels.
        delta : probability with which the promise may fail; by default that of the model.
        allow_equal_rows : accept rows that equal seen rows if coincidence and reuse cannot be told apart. The
            certificate records it.
        """
        owner = f"{OWNER}.certify"
        level = self.delta if delta is None else delta
        check_delta(level, owner)
        rows, target = self._other_rows(X, y)
        overlap = check_unseen(rows, self.seen_rows_, owner=owner, allow_equal_rows=allow_equal_rows)
        if self.threshold_ == np.inf:
            raise DataError(
                f"{owner} cannot judge a model that answers nothing: no threshold was proven when it was fitted, and "
                "other rows do not change that. Fit it again, with more rows or larger limits."
            )
        return RiskCertificate.judged(self._counted(rows, target), delta=float(level), overlap=overlap)

    def _answers(self, X: Any) -> tuple[IntArray, BoolArray]:
        check_is_fitted(self, "threshold_")
        answers, margins = answers_and_margins(self.estimator_, X, self.margin_)
        return answers, margins > self.threshold_

    def _other_rows(self, X: Any, y: Any) -> tuple[Any, IntArray]:
        """Return rows with their columns in order, and their class indices."""
        check_is_fitted(self, "threshold_")
        columns = getattr(self, "feature_names_in_", None)
        rows, labels = held_out_rows(indexable(X), indexable(y), self.classes_, columns, owner=OWNER)
        return rows, labels.index

    def _counted(self, rows: Any, target: IntArray) -> list[ClassRisk]:
        """Count every class under the threshold in use."""
        return self._risks(self._judge(self.estimator_, rows, target, self.margin_), self.threshold_)

    def _wanted(self, classes: npt.NDArray[Any]) -> tuple[FloatArray, Any]:
        return risk_limits(self.risk, classes, owner=OWNER), abstain_value(self.abstain_label, classes, owner=OWNER)

    def _judge(self, model: Any, X: Any, target: IntArray, kind: str) -> JudgedAnswers:
        return JudgedAnswers(target, *answers_and_margins(model, X, kind))

    def _divided(self, X: Any, labels: Labels, options: dict[str, Any], kind: str) -> HeldOut:
        """Train without the rows that choose and prove."""
        kept = divide(labels.index, float(self.cv), self._random)
        train, rest = np.flatnonzero(~kept), np.flatnonzero(kept)
        missing = labels.classes[np.bincount(labels.index[train], minlength=labels.n_classes) == 0].tolist()
        if missing:
            allowed = f"a share that leaves rows of every class to train on; none would be left of {missing}"
            hint = "Lower it, or collect more rows."
            raise ParameterError("cv", OWNER, allowed=allowed, got=self.cv, hint=hint)
        if not self.allow_equal_rows:
            rest = _without_copies(X, train, rest)
        trained, held_out = Labels(labels.classes, labels.index[train]), Labels(labels.classes, labels.index[rest])
        options = rows_of_options(options, train, labels)
        return self._trained(take_rows(X, train), trained, options, take_rows(X, rest), held_out, kind)

    def _choose(self, found: HeldOut, kind: str, wanted: tuple[FloatArray, Any]) -> None:
        """Find the threshold and certify it; the rows that choose it do not prove it."""
        limits, self.abstain_label_ = wanted
        self.risk_, self.margin_ = tuple(limits.tolist()), kind
        judged: JudgedAnswers = found.judged
        proves = divide(judged.target, float(self.proving), self._random)
        choosing, proving = judged.take(np.flatnonzero(~proves)), judged.take(np.flatnonzero(proves))
        threshold, proven = find_threshold(choosing, proving, limits, float(self.delta))
        self.threshold_ = threshold if proven else np.inf
        self.certificate_ = RiskCertificate.judged(
            self._risks(proving, threshold),
            delta=float(self.delta),
            overlap=found.overlap,
            n_choosing=len(choosing.target),
        )
        if not proven:
            message = (
                "No threshold is proven to keep the risk of every class, so nothing is answered. The proving rows "
                f"({float(self.proving):.4g} of those held out) say for the first threshold tested: "
                f"{' '.join(self.certificate_.missing())} Pass more rows, allow a larger risk or delta, or ask nothing "
                "of a class (a risk of 1)."
            )
            warnings.warn(message, UnmetBoundWarning, stacklevel=4)

    def _risks(self, rows: JudgedAnswers, threshold: float) -> list[ClassRisk]:
        """Count every class under a threshold."""
        K = len(self.classes_)
        counts = count_along(rows, np.array([threshold]), K)
        totals = np.bincount(rows.target, minlength=K)
        return [
            ClassRisk(
                name=str(label),
                total=int(totals[k]),
                answered=int(counts.answered[0, k]),
                wrong=int(counts.wrong[0, k]),
                limit=self.risk_[k] if self.risk_[k] < 1 else None,
            )
            for k, label in enumerate(self.classes_.tolist())
        ]

    def _check_parameters(self) -> str:
        self._check_common_parameters()
        if isinstance(self.estimator, AbstainingClassifier):
            hint = "Take its estimator_."
            raise ParameterError("estimator", OWNER, allowed="one that always answers", got=self.estimator, hint=hint)
        check_delta(self.delta, OWNER)
        seed = self._seed()
        self._random = None if seed is None else np.random.default_rng(seed)
        check_share(self.proving, "proving", OWNER)
        if not self._is_prefit:
            check_share(self.cv, "cv", OWNER, hint="It may also be 'prefit', for a classifier that is fitted.")
        return resolve_kind(self.estimator, self.margin, "margin", owner=OWNER)


def _without_copies(X: Any, train: IntArray, rest: IntArray) -> IntArray:
    """Leave out held-out rows that equal a training row: the split cannot tell copied records from equal ones."""
    hashes = row_hashes(X)
    if hashes is None:
        return rest
    copies = np.isin(hashes[rest], hashes[train])
    advice = "Keep every record once. If equal rows are different records, pass allow_equal_rows=True."
    if copies.all():
        raise DataError(f"Every row kept from training equals a training row. {advice}")
    if copies.any():
        message = (
            f"{int(copies.sum())} of the {len(rest)} rows kept from training equal training rows and are left out, so "
            f"the promise is for rows that do not equal training rows. {advice}"
        )
        warnings.warn(message, ReusedRowsWarning, stacklevel=4)
    return rest[~copies]
