"""The estimator: any classifier that answers only where it may be relied on."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import check_delta, suggests_options
from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.certificates.certificate import PROVEN
from worstclass.certificates.held_out import held_out_labels
from worstclass.data.labels import Labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.seen_rows import SeenRows, check_unseen, row_hashes, which_seen
from worstclass.data.splits import columns_in_order, take_rows
from worstclass.exceptions import DataError, ParameterError, ReusedRowsWarning, UnknownNameError, UnmetBoundWarning
from worstclass.randomness import SeedTree
from worstclass.wrappers.base import WrappedClassifier, indexable
from worstclass.wrappers.cross_validation import rows_of_options
from worstclass.wrappers.division import HeldOut, divide
from worstclass.wrappers.limits import risk_limits
from worstclass.wrappers.margins import abstain_value, answers_and_margins, resolve_margin, with_abstentions
from worstclass.wrappers.risk_certificate import RiskCertificate, certificate_of
from worstclass.wrappers.risk_report import ClassRisk, RiskReport, worst_first
from worstclass.wrappers.rules import THRESHOLDS, Judged, count_along, find_rule

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
    margin : the margin of an answer. ``"own"``: ``decision_margin`` of the classifier. ``"mean-proba"``,
        ``"log-proba"``, ``"proba"``, ``"decision"``: by how much the score of the answer exceeds the next; scores are
        as for ``WorstClassOffsets``. ``"auto"``: mean probabilities of a booster's members where they give any, else
        ``decision_margin`` where there is one, else logarithms of probabilities, else ``decision_function``.
    thresholds : ``"common"``: one margin has to be exceeded whatever the answer. ``"by-answer"``: each answer has its
        own, which pays where the limits or the errors of few classes differ much.
    cv : a share in (0, 1): of each class, so many rows are kept from training, to choose and to prove. ``"prefit"``:
        the estimator is fitted, and all rows given to ``fit`` choose and prove; it must not have seen them.
    proving : share of these rows that prove; the others choose.
    abstain_label : what ``predict`` returns for a row that is not answered. ``"auto"``: ``"abstain"`` where labels are
        texts; -1 where they are numbers, or one less than the smallest label that is below 0.
    force : take rows to choose and to prove although the classifier was trained on some of them. The certificate says
        so then, and promises nothing.
    random_state : seed for dividing rows. None: each class is divided evenly along the order of its rows.

    Attributes
    ----------
    classes_ : the classes, sorted.
    estimator_ : the fitted classifier.
    risk_ : the limit of each class.
    margin_ : which margin is used.
    thresholds_ : the margin that each answer has to exceed, shape (K,); -inf answers all, inf nothing.
    proven_ : whether a rule was proven.
    certificate_ : the ``RiskCertificate`` of the rule that is used, by the proving rows; where none was proven, of the
        rule that the tests began with.
    abstain_label_ : what stands for no answer.
    row_hashes_ : fingerprints of the rows seen, so that no certificate rests on them again; None where they are not
        known.

    Notes
    -----
    Assumed is that the held-out rows of each class are independent draws from what the class will look like in use; how
    common the classes are may change. Coverage is counted, not promised. Every held-out row counts once, whatever its
    ``sample_weight``. docs/abstaining.md says more, docs/theory.md proves it.

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
        "abstain_label_",
        "thresholds_",
        "certificate_",
        "proven_",
    )

    def __init__(
        self,
        estimator: Any,
        risk: float | Mapping[Any, float] = 0.05,
        *,
        delta: float = 0.05,
        margin: str = "auto",
        thresholds: str = "common",
        cv: float | str = 0.5,
        proving: float = 0.8,
        abstain_label: Any = "auto",
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.risk = risk
        self.delta = delta
        self.margin = margin
        self.thresholds = thresholds
        self.cv = cv
        self.proving = proving
        self.abstain_label = abstain_label
        self.force = force
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
        margin = self._check_parameters()
        options = self._fit_options(fit_params)
        rng = self._generator()
        if self._is_prefit:
            X = columns_in_order(X, getattr(self.estimator, "feature_names_in_", None))
            labels = self._held_out_labels(X, y, X_val, y_val, *options.values())
        else:
            labels = self._training_labels(X, y)
        limits = risk_limits(self.risk, labels.classes, owner=OWNER)  # refused before anything is trained
        abstain_label = abstain_value(self.abstain_label, labels.classes, owner=OWNER)
        if self._is_prefit:
            held_out = HeldOut(
                self.estimator, X, labels, *_overlap(X, getattr(self.estimator, "seen_rows_", None), self.force)
            )
        elif X_val is None and y_val is None:
            held_out = self._divided(X, labels, options, rng)
        else:
            held_out = self._with_validation_rows(X, labels, X_val, y_val, options)
        self._adopt(held_out.model, labels.classes, X, None if X_val is None else held_out.X)
        self.risk_, self.margin_, self.abstain_label_ = tuple(limits.tolist()), margin, abstain_label
        self._choose(held_out, limits, rng)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row that is answered, and ``abstain_label_`` for the others."""
        answers, answered = self._answers(X)
        return with_abstentions(np.asarray(self.classes_[answers]), answered, self.abstain_label_)

    def answered(self, X: Any) -> BoolArray:
        """Tell which rows are answered."""
        return self._answers(X)[1]

    def decision_margin(self, X: Any) -> FloatArray:
        """Return the margin of each answer, which has to exceed the threshold of the answer."""
        check_is_fitted(self, "thresholds_")
        return answers_and_margins(self.estimator_, X, self.margin_)[1]

    def risk_report(self, X: Any, y: Any = None) -> RiskReport:
        """Count risk and coverage of every class on other rows; a count, not a promise."""
        X, target = self._known_rows(X, y)
        risks = self._risks(Judged(target, *answers_and_margins(self.estimator_, X, self.margin_)), self.thresholds_)
        return RiskReport(tuple(sorted(risks, key=worst_first)))

    def certify(self, X: Any, y: Any = None, *, delta: float | None = None, force: bool = False) -> RiskCertificate:
        """Prove the limits anew, for the rule that is used, on rows that neither trained, nor chose, nor proved.

        Parameters
        ----------
        X, y : rows and labels.
        delta : probability with which the promise may fail; by default that of the model.
        force : go on although the model has seen some of the rows. The certificate then says so.
        """
        level = self.delta if delta is None else delta
        check_delta(level, owner=f"{OWNER}.certify")
        X, target = self._known_rows(X, y)
        n_reused, n_repeated = _overlap(X, self.seen_rows_, force)
        rows = Judged(target, *answers_and_margins(self.estimator_, X, self.margin_))
        risks = self._risks(rows, self.thresholds_)
        silent = bool(np.isposinf(self.thresholds_).all())
        return certificate_of(risks, delta=float(level), n_reused=n_reused, n_repeated=n_repeated, silent=silent)

    def _answers(self, X: Any) -> tuple[IntArray, BoolArray]:
        check_is_fitted(self, "thresholds_")
        answers, margins = answers_and_margins(self.estimator_, X, self.margin_)
        return answers, margins > self.thresholds_[answers]

    def _known_rows(self, X: Any, y: Any) -> tuple[Any, IntArray]:
        """Return other rows with their columns in order, and their class indices."""
        check_is_fitted(self, "thresholds_")
        rows = columns_in_order(indexable(X), getattr(self, "feature_names_in_", None))
        return rows, held_out_labels(rows, indexable(y), self.classes_, name="y", owner=OWNER).index

    def _with_validation_rows(self, X: Any, labels: Labels, X_val: Any, y_val: Any, options: dict[str, Any]) -> HeldOut:
        if X_val is None or (y_val is None and not is_map_dataset(X_val)):
            raise DataError("X_val and y_val go together. Got one without the other; pass both, or neither.")
        rows = columns_in_order(indexable(X_val), getattr(X, "columns", None))
        held_out = held_out_labels(rows, indexable(y_val), labels.classes, name="y_val", owner=OWNER)
        reuse = _overlap(rows, SeenRows.of(X), self.force)
        model = clone(self.estimator).fit(X, labels.classes[labels.index], **options)
        return HeldOut(model, rows, held_out, *reuse)

    def _divided(self, X: Any, labels: Labels, options: dict[str, Any], rng: np.random.Generator | None) -> HeldOut:
        """Train without the rows that choose and prove."""
        if is_map_dataset(X):
            raise DataError(f"{OWNER} cannot divide a map-style data set. Pass X_val and y_val, or use cv='prefit'.")
        kept = divide(labels.index, float(self.cv), rng)
        train, rest = np.flatnonzero(~kept), np.flatnonzero(kept)
        self._require_classes(labels, train)
        rest = self._without_copies(X, train, rest)
        model = clone(self.estimator)
        model.fit(take_rows(X, train), labels.classes[labels.index[train]], **rows_of_options(options, train, labels))
        held_out = take_rows(X, rest)
        _, n_repeated = _overlap(held_out, None, force=True)
        return HeldOut(model, held_out, Labels(labels.classes, labels.index[rest]), 0, n_repeated)

    def _without_copies(self, X: Any, train: IntArray, rest: IntArray) -> IntArray:
        """Leave out of the rows kept from training those that are copies of a row trained on; say how many.

        What is left is a sample of rows unlike those trained on, so the promise is for such rows.
        """
        hashes = row_hashes(X)
        if hashes is None:
            return rest
        copies = which_seen(hashes[rest], np.unique(hashes[train]))
        if copies.all():
            raise DataError(f"Every row kept from training is a copy of a row trained on. {_COPIES}")
        if copies.any():
            message = (
                f"{int(copies.sum())} of the {len(rest)} rows kept from training are copies of rows trained on. They "
                f"can prove nothing and are left out, so the promise is for rows that are no such copies. {_COPIES}"
            )
            warnings.warn(message, ReusedRowsWarning, stacklevel=4)
        return rest[~copies]

    def _choose(self, held_out: HeldOut, limits: FloatArray, rng: np.random.Generator | None) -> None:
        """Find the rule, and set what is known of it."""
        rows = Judged(held_out.labels.index, *answers_and_margins(held_out.model, held_out.X, self.margin_))
        proves = divide(rows.target, float(self.proving), rng)
        choosing, proving = rows.take(np.flatnonzero(~proves)), rows.take(np.flatnonzero(proves))
        rule, passed = find_rule(choosing, proving, limits, float(self.delta), self.thresholds)
        self.thresholds_ = rule if passed else np.full(len(limits), np.inf)
        self.certificate_ = certificate_of(
            self._risks(proving, rule),
            delta=float(self.delta),
            n_choosing=len(choosing.target),
            n_reused=held_out.n_reused,
            n_repeated=held_out.n_repeated,
        )
        self.proven_ = self.certificate_.verdict == PROVEN  # forced rows find a rule, and prove nothing
        if not passed:
            warnings.warn(self._not_proven(), UnmetBoundWarning, stacklevel=3)

    def _risks(self, rows: Judged, rule: FloatArray) -> list[ClassRisk]:
        """Count every class under a rule."""
        counts = count_along(rows, rule[None, :])
        totals = np.bincount(rows.target, minlength=len(rule))
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

    def _not_proven(self) -> str:
        missing = " ".join(self.certificate_.missing())
        return (
            "No rule is proven to keep the risk of every class, so nothing is answered. By the proving rows, "
            f"{float(self.proving):.4g} of those held out, under the rule that the tests began with: {missing} Give "
            "more rows, a larger risk or delta, or ask nothing of a class (a risk of 1)."
        )

    def _generator(self) -> np.random.Generator | None:
        if self.random_state is None:
            return None
        return np.random.default_rng(SeedTree.from_random_state(self.random_state, owner=OWNER).seed(0))

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

    def _check_parameters(self) -> str:
        """Check what can be checked before training; return which margin is used."""
        self._check_estimator()
        if isinstance(self.estimator, AbstainingClassifier):
            hint = "Take its estimator_."
            raise ParameterError("estimator", OWNER, allowed="one that always answers", got=self.estimator, hint=hint)
        margin = resolve_margin(self.estimator, self.margin, owner=OWNER)
        check_delta(self.delta, owner=OWNER)
        if self.thresholds not in THRESHOLDS:
            raise UnknownNameError("thresholds", OWNER, self.thresholds, THRESHOLDS)
        if not self._is_prefit and not _is_share(self.cv):
            raise ParameterError("cv", OWNER, allowed="a share in (0, 1) or 'prefit'", got=self.cv)
        if not _is_share(self.proving):
            raise ParameterError("proving", OWNER, allowed="a share in (0, 1)", got=self.proving)
        if not isinstance(self.force, bool | np.bool_):
            raise ParameterError("force", OWNER, allowed="True or False", got=self.force)
        return margin


_COPIES = (
    "Keep every record once. If they are records of their own that happen to be alike, fit the classifier yourself, "
    "and pass other rows with cv='prefit'."
)


def _is_share(value: Any) -> bool:
    return isinstance(value, float | np.floating) and 0 < float(value) < 1


def _overlap(X: Any, seen: SeenRows | None, force: bool) -> tuple[int | None, int | None]:
    found = check_unseen(X, seen, owner=OWNER, allow_equal_rows=force)
    return 0 if found.verdict == "chance" else found.n_equal, found.n_repeated
