"""The estimator: class-weighted Hedge boosting with a majority vote."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from worstclass.boosting.callbacks import Callback, FitPlan
from worstclass.boosting.extension import VoteDrivenWeights, mending
from worstclass.boosting.hedge import FloatArray, hedge_rate, n_rounds_for, resolve_gamma
from worstclass.boosting.history import RoundRecord
from worstclass.boosting.outcome import UnmetEdge, best_prefix, missed_bound_message
from worstclass.boosting.problem import Labels, known_labels, training_labels
from worstclass.boosting.rounds import WEIGHTINGS, BoostingRun, Mending, RoundResult
from worstclass.boosting.vote import VoteTally, early_vote, staged_winners
from worstclass.data.map_style import is_map_dataset
from worstclass.exceptions import (
    DataError,
    ModuleError,
    ParameterError,
    UnknownNameError,
    UnmetBoundWarning,
    UnmetEdgeWarning,
    WeakLearningError,
)
from worstclass.floors import Floors
from worstclass.learners import as_learner
from worstclass.learners.base import Encoder, Inputs, Member, WeakLearner
from worstclass.metrics import ClassCounts, ClassReport
from worstclass.options import require_known_options, suggests_options
from worstclass.randomness import SeedTree

OWNER = "WorstClassBooster"
ON_UNMET_EDGE = ("stop", "raise")


@suggests_options
class WorstClassBooster(ClassifierMixin, BaseEstimator):
    """A classifier in which every class meets an accuracy floor, or that says which do not.

    Boosts a weak learner over *class* weights until the majority vote of the members errs on fewer than
    ``1 - theta`` of every class of the training sample. Whether it does is counted, never assumed.

    Parameters
    ----------
    learner : a ``TorchLearner``, a ``SklearnLearner``, or a scikit-learn classifier (wrapped in the latter).
    theta : the accuracy floor, in [0, 1): one for all classes, or a mapping from class to floor, in which the key
        ``"others"`` stands for every class not named.
    gamma : by how much the edge of each member must exceed one half; in (0, 0.5]. ``"auto"``: the paper's
        ``floor(0.8 K) / K - 1/2 - 0.0005``, or the least attainable value where that is not positive.
    n_rounds : T. ``"auto"``: ``ceil(2 ln K / gamma^2)``, as the theorem asks.
    max_epochs : passes that the learner may make in a round.
    patience : passes without progress of the edge after which a round is given up. ``"auto"``: as many as make
        1,000 steps of the optimizer, and at least 50.
    weighting : ``"per-class-mean"``: a row of class k weighs w_k / n_k, the equation of the paper.
        ``"per-instance"``: it weighs w_k, as in the authors' code, which favours large classes.
    extend : rounds that may be added after T while the vote misses the bound: True for up to T more, False for
        none, or a number.
    on_unmet_edge : what happens when one of the T rounds cannot reach the edge. ``"stop"``: boosting ends with a
        warning and the finished rounds are kept. ``"raise"``: the same, and ``WeakLearningError`` is raised, which
        carries them.
    random_state : seed of everything random; the global generators are neither read nor changed.
    callbacks : ``Callback`` objects that are told of every pass and round.

    Attributes
    ----------
    classes_ : the classes, sorted.
    members_ : the trained members, in order.
    n_members_used_ : how many of them vote, counted from the first. All, unless validation data chose fewer.
    history_ : one ``RoundRecord`` a member.
    bound_met_ : whether the vote's training error is below ``1 - theta`` for every class, by exact counts.
    shortfall_ : for each class that misses it, how many more training rows would have to be right.
    training_report_ : class-wise training errors of the vote that is used.
    validation_report_ : the same on the validation rows; None where none were given.
    theta_ : the floor of each class.
    gamma_, n_rounds_, eta_ : the values used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = WorstClassBooster(DecisionTreeClassifier(), theta=0.9, random_state=0).fit(X, y)
    >>> booster.bound_met_
    True
    """

    def __init__(
        self,
        learner: Any,
        theta: float | Mapping[Any, float],
        *,
        gamma: float | str = "auto",
        n_rounds: int | str = "auto",
        max_epochs: int = 10_000,
        patience: int | str = "auto",
        weighting: str = "per-class-mean",
        extend: bool | int = True,
        on_unmet_edge: str = "stop",
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.learner = learner
        self.theta = theta
        self.gamma = gamma
        self.n_rounds = n_rounds
        self.max_epochs = max_epochs
        self.patience = patience
        self.weighting = weighting
        self.extend = extend
        self.on_unmet_edge = on_unmet_edge
        self.random_state = random_state
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None) -> WorstClassBooster:
        """Boost until every class meets its floor, or as far as that goes.

        Parameters
        ----------
        X : rows: an array, sparse matrix, data frame or tensor, as the learner takes them, or a map-style torch
            ``Dataset``.
        y : labels, strings or numbers; may be left out where X is a data set that has them.
        X_val, y_val : validation rows. With them, the vote uses the prefix of the members whose worst-class
            validation error is least, the longest of equals.

        Returns
        -------
        The fitted booster. A bound that is missed is told by a warning, ``bound_met_`` and ``shortfall_``.
        """
        run = self._begin(X, y, X_val, y_val)
        try:
            if self._boost(run):
                self._extend(run)
        except BaseException:
            if run.members:  # an interrupted fit keeps its finished rounds
                self._conclude(run)
            raise
        self._conclude(run)
        self._tell("on_fit_end")
        self._warn_of_missed_bound()
        return self

    def _boost(self, run: BoostingRun) -> bool:
        """Run the T rounds of Algorithm 1; return False where a round could not reach its edge."""
        for _ in range(run.plan.n_rounds):
            w = run.hedge.weights
            h = self._weak_learn(run, w, run.row_weight(w), "boost")
            if h is None or not h.reached:
                self._end_early(run, w, h)
                return False
            run.hedge = run.hedge.update(h.judged.met, run.plan.eta)
            self._tell("on_round_end", run.enlist(h, w, "boost"))
        return True

    def _extend(self, run: BoostingRun) -> None:
        """Add rounds, driven by the classes that the vote misses, until the bound holds."""
        driven = VoteDrivenWeights.start(run.labels.n_classes)
        for _ in range(run.plan.max_extra_rounds):
            missed = run.shortfall > 0
            if not missed.any():
                return
            driven = driven.update(missed, run.plan.eta)
            w = driven.weights
            row_weight, to_mend = mending(run, w)
            h = self._weak_learn(run, w, row_weight, "extend", to_mend)
            if h is None or not h.reached:
                return
            self._tell("on_round_end", run.enlist(h, w, "extend"))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class that most members answer; a tie goes to the class that led first.

        Members are asked one at a time, and only about rows whose winner can still change.
        """
        inputs = self._inputs(X)
        voters = [member.predict for member in self._voters]
        take = lambda rows: inputs if len(rows) == len(inputs) else inputs.take(rows)  # noqa: E731 - no copy of all
        winners = early_vote(voters, len(voters), len(inputs), len(self.classes_), take)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes of each class, shape (n, K)."""
        return self._tally(X).shares

    def decision_margin(self, X: Any) -> FloatArray:
        """Return the winner's lead over the runner-up as a share of the votes: 1 unanimous, 0 a tie."""
        return self._tally(X).margins

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the answers of the vote after 1, 2, ... members, up to those used."""
        inputs = self._inputs(X)
        answers = (member.predict(inputs) for member in self._voters)
        for winners in staged_winners(answers, len(inputs), len(self.classes_)):
            yield self.classes_[winners]

    def set_params(self, **params: Any) -> WorstClassBooster:
        """Set parameters, those of the learner as ``learner__name``; an unknown name gets a suggestion."""
        own = {name for name in params if "__" not in name}
        require_known_options(dict.fromkeys(own), list(self.get_params(deep=False)), owner=OWNER)
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator = getattr(self.learner, "estimator", self.learner)
        if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, WeakLearner | type):
            inner = get_tags(estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def _begin(self, X: Any, y: Any, X_val: Any, y_val: Any) -> BoostingRun:
        """Check everything that can be checked before training, and set the stage."""
        self._check_parameters()
        self.learner_ = as_learner(self.learner)
        rows = self._check_X(X, reset=True)
        labels = training_labels(rows, y)
        floors = Floors.from_theta(self.theta, labels.classes)
        plan = self._plan(labels, floors)
        seeds = SeedTree.from_random_state(self.random_state, owner=OWNER)
        training = self.learner_.bind(rows, labels.index, labels.n_classes, seeds.seed(0))
        self._tell("on_fit_start", plan)
        patience = max(50, -(-1000 // training.steps_per_pass)) if self.patience == "auto" else int(self.patience)
        return BoostingRun(
            training=training,
            labels=labels,
            floors=floors,
            plan=plan,
            weighting=self.weighting,
            max_epochs=self.max_epochs,
            patience=patience,
            seeds=seeds,
            validation=self._validation(training.encoder, labels, X_val, y_val),
            on_pass=(lambda info: self._tell("on_pass", info)) if self.callbacks else None,
        )

    def _plan(self, labels: Labels, floors: Floors) -> FitPlan:
        gamma = resolve_gamma(self.gamma, labels.n_classes, owner=OWNER)
        T = n_rounds_for(gamma, labels.n_classes) if self.n_rounds == "auto" else int(self.n_rounds)
        return FitPlan(
            classes=tuple(labels.classes.tolist()),
            theta=floors.as_floats(),
            n_rounds=T,
            max_extra_rounds=T if self.extend is True else int(self.extend),
            gamma=gamma,
            eta=hedge_rate(T, labels.n_classes),
        )

    def _validation(self, encoder: Encoder, labels: Labels, X_val: Any, y_val: Any) -> tuple[Inputs, Labels] | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or (y_val is None and not is_map_dataset(X_val)):
            raise DataError("X_val and y_val go together. Got one without the other; pass both, or neither.")
        rows = self._check_X(X_val, reset=False)
        return encoder.encode(rows), known_labels(rows, y_val, labels.classes)

    def _weak_learn(
        self, run: BoostingRun, w: FloatArray, row_weight: FloatArray, phase: str, to_mend: Mending | None = None
    ) -> RoundResult | None:
        """Train one member; None where its network broke down after earlier rounds had been finished."""
        try:
            return run.weak_learn(w, row_weight, phase, to_mend)
        except ModuleError:
            if not run.members:
                raise
            return None

    def _end_early(self, run: BoostingRun, w: FloatArray, failed: RoundResult | None) -> None:
        """Keep what was achieved before a round that could not reach its edge, and tell of it."""
        unmet = UnmetEdge(run, w, failed)
        number, message = run.next_round, unmet.message()
        if failed is not None and not run.members:
            self._tell("on_round_end", run.enlist(failed, w, "unmet"))
        if self.on_unmet_edge == "stop":
            warnings.warn(message, UnmetEdgeWarning, stacklevel=4)
            return
        raise WeakLearningError(
            message,
            round=number,
            best_edge=unmet.best_edge,
            needed_edge=run.plan.needed_edge,
            blocking_classes=unmet.blocking_classes,
            booster=self,
        )

    def _conclude(self, run: BoostingRun) -> None:
        """Choose the prefix, and set what a fitted booster has."""
        self.classes_ = run.labels.classes
        self.theta_ = run.floors.as_floats()
        self.gamma_, self.n_rounds_, self.eta_ = run.plan.gamma, run.plan.n_rounds, run.plan.eta
        self.encoder_: Encoder = run.training.encoder
        self.members_: list[Member] = run.members
        self.history_: tuple[RoundRecord, ...] = tuple(run.history)
        self.n_members_used_ = best_prefix(self.history_)
        self._report()

    def _report(self) -> None:
        """Set the reports and the bound, from the record of the last member used."""
        record = self.history_[self.n_members_used_ - 1]
        floors = Floors.from_theta(self.theta, self.classes_)
        names = self.classes_.tolist()
        totals, correct = np.array(record.class_totals), np.array(record.vote_correct)
        short = floors.vote_quota(totals) - correct
        self.training_report_ = ClassReport.from_counts(ClassCounts(correct, totals), names, floors)
        self.validation_report_: ClassReport | None = None
        if record.val_totals is not None and record.vote_val_correct is not None:
            counts = ClassCounts(np.array(record.vote_val_correct), np.array(record.val_totals))
            self.validation_report_ = ClassReport.from_counts(counts, names, floors)
        self.bound_met_ = bool((short <= 0).all())
        self.shortfall_ = {names[k]: int(short[k]) for k in np.flatnonzero(short > 0)}

    def _warn_of_missed_bound(self) -> None:
        if not self.bound_met_:
            message = missed_bound_message(self.training_report_, self.shortfall_, self.n_members_used_)
            warnings.warn(message, UnmetBoundWarning, stacklevel=3)

    @property
    def _voters(self) -> list[Member]:
        return self.members_[: self.n_members_used_]

    def _inputs(self, X: Any) -> Inputs:
        check_is_fitted(self, "members_")
        return self.encoder_.encode(self._check_X(X, reset=False))

    def _tally(self, X: Any) -> VoteTally:
        inputs = self._inputs(X)
        tally = VoteTally(len(inputs), len(self.classes_))
        for member in self._voters:
            tally.add(member.predict(inputs))
        return tally

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        checked = self.learner_.check_X(X)
        if not is_map_dataset(X):
            try:
                validate_data(self, X, reset=reset, skip_check_array=True)
            except ValueError as error:
                raise DataError(str(error)) from None
        return checked

    def _check_parameters(self) -> None:
        if self.weighting not in WEIGHTINGS:
            raise UnknownNameError("weighting", OWNER, self.weighting, WEIGHTINGS)
        if self.on_unmet_edge not in ON_UNMET_EDGE:
            raise UnknownNameError("on_unmet_edge", OWNER, self.on_unmet_edge, ON_UNMET_EDGE)
        for name, word in (("n_rounds", "auto"), ("max_epochs", None), ("patience", "auto")):
            value = getattr(self, name)
            if word is not None and isinstance(value, str) and value == word:
                continue
            if not _is_count(value, least=1):
                allowed = "a positive whole number" + (f" or {word!r}" if word else "")
                raise ParameterError(name, OWNER, allowed=allowed, got=value)
        if not isinstance(self.extend, bool) and not _is_count(self.extend, least=0):
            raise ParameterError(
                "extend", OWNER, allowed="True, False or how many rounds may be added", got=self.extend
            )
        for callback in self.callbacks or ():
            if not isinstance(callback, Callback):
                raise ParameterError("callbacks", OWNER, allowed="a list of Callback objects", got=callback)

    def _tell(self, event: str, *news: Any) -> None:
        for callback in self.callbacks or ():
            getattr(callback, event)(self, *news)


def _is_count(value: Any, *, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least
