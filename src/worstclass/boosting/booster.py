"""The estimator: class-weighted Hedge boosting with a majority vote."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._checks import suggests_options
from worstclass._typing import FloatArray
from worstclass.boosting.base import VotingBooster, is_count
from worstclass.boosting.callbacks import Callback, FitPlan
from worstclass.boosting.extension import VoteDrivenWeights, mending
from worstclass.boosting.hedge import Hedge, edge, hedge_rate, n_rounds_for, resolve_gamma
from worstclass.boosting.history import RoundRecord
from worstclass.boosting.outcome import NEAREST, UnmetEdge, UnmetEdgeRecord, missed_bound_message
from worstclass.boosting.rounds import WEIGHTINGS, BoostingRun, EdgeOf, RoundResult
from worstclass.data.labels import Labels
from worstclass.exceptions import (
    ParameterError,
    UnknownNameError,
    UnmetBoundWarning,
    UnmetEdgeWarning,
    WeakLearningError,
)
from worstclass.floors import Floors

OWNER = "WorstClassBooster"
ON_UNMET_EDGE = ("stop", "raise")


@suggests_options
class WorstClassBooster(VotingBooster):
    """A classifier in which every class meets an accuracy floor, or that says which do not.

    Boosts a weak learner over *class* weights until the majority vote of the members errs on fewer than
    ``1 - theta`` of every class of the training sample. Whether it does is counted, never assumed.

    Parameters
    ----------
    learner : a ``TorchLearner``, a ``SklearnLearner``, or a scikit-learn classifier (wrapped in the latter).
    theta : the accuracy floor, in [0, 1): one for all classes, or a mapping from class to floor, in which the key
        ``"others"`` stands for every class not named. ``select_theta`` chooses it on validation rows;
        ``nearest_feasible_floors`` finds floors that can be met near those that cannot.
    gamma : by how much the edge of each member must exceed one half; in (0, 0.5]. ``"auto"``: the paper's
        ``floor(0.8 K) / K - 1/2 - 0.0005``, or the least attainable value where that is not positive.
    n_rounds : T. ``"auto"``: ``ceil(2 ln K / gamma^2)``, as the theorem asks.
    max_epochs_per_round : epochs that the learner may make in a round.
    patience : epochs without progress of the edge after which a round is given up. ``"auto"``: as many as make
        1,000 steps of the optimizer, and at least 50.
    weighting : ``"per-class-mean"``: a row of class k weighs w_k / n_k, the equation of the paper.
        ``"per-instance"``: it weighs w_k, as in the authors' code, which favours large classes.
    extend : rounds that may be added after T while the vote misses the bound: True for up to T more, False for
        none, or a number.
    on_unmet_edge : what happens when one of the T rounds cannot reach the edge. ``"stop"``: boosting ends with a
        warning and the finished rounds are kept. ``"raise"``: the same, and ``WeakLearningError`` is raised, which
        carries them.
    max_epochs, max_seconds : epochs in all rounds together, and time, after which boosting ends with the rounds
        that are finished; None is no limit.
    select_on : which validation error chooses the prefix of the vote: of the ``"worst"`` class, or the ``"average"``
        over all rows.
    random_state : seed of everything random; the global generators are neither read nor changed.
    callbacks : ``Callback`` objects that are told of every epoch and round.

    Attributes
    ----------
    classes_ : the classes, sorted.
    estimators_ : the trained members, in order.
    n_members_used_ : how many of them vote, counted from the first. All, unless validation data chose fewer.
    history_ : one ``RoundRecord`` a member.
    bound_met_ : whether the vote's training error is below ``1 - theta`` for every class, by exact counts.
    shortfall_ : for each class that misses it, how many more training rows would have to be right.
    training_report_ : class-wise training errors of the vote that is used.
    validation_report_ : the same on the validation rows; None where none were given.
    theta_ : the floor of each class.
    gamma_, n_rounds_, eta_ : the values used.
    row_hashes_ : fingerprints of the training and validation rows, so that ``certify`` refuses them; None where rows
        have none.
    n_epochs_ : epochs over the training sample, in all rounds together.
    unmet_edge_ : the ``UnmetEdgeRecord`` of the round that ended boosting early: its edge, and the classes that blocked
        it; None where every round reached its edge. It is not kept with a saved model.

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

    unmet_edge_: UnmetEdgeRecord | None = None

    def __init__(
        self,
        learner: Any,
        theta: float | Mapping[Any, float],
        *,
        gamma: float | str = "auto",
        n_rounds: int | str = "auto",
        max_epochs_per_round: int = 10_000,
        patience: int | str = "auto",
        weighting: str = "per-class-mean",
        extend: bool | int = True,
        on_unmet_edge: str = "stop",
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        select_on: str = "worst",
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.learner = learner
        self.theta = theta
        self.gamma = gamma
        self.n_rounds = n_rounds
        self.max_epochs_per_round = max_epochs_per_round
        self.patience = patience
        self.weighting = weighting
        self.extend = extend
        self.on_unmet_edge = on_unmet_edge
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.select_on = select_on
        self.random_state = random_state
        self.callbacks = callbacks

    def _rounds(self, run: BoostingRun) -> Iterator[RoundRecord]:
        self.unmet_edge_ = None
        finished = yield from self._boost(run)
        if finished:
            yield from self._extend(run)

    def _boost(self, run: BoostingRun) -> Generator[RoundRecord, None, bool]:
        """Run the T rounds of Algorithm 1, those left of them; return False where they ended early."""
        hedge = hedge_after(run)
        for _ in range(len(run.members), run.plan.n_rounds):
            w = hedge.weights
            h = self._weak_learn(run, edge_under(w), run.row_weight(w), "boost")
            if h is None or not h.reached:
                yield from self._end_early(run, w, h)
                return False
            hedge = hedge.update(h.judged.met, run.plan.eta)
            yield run.enlist(h, w, "boost", hedge)
        return True

    def _extend(self, run: BoostingRun) -> Iterator[RoundRecord]:
        """Add rounds, driven by the classes that the vote misses, until the bound holds."""
        driven = VoteDrivenWeights.start(run.labels.n_classes)
        for _ in range(run.plan.max_extra_rounds):
            missed = run.shortfall > 0
            if not missed.any():
                return
            driven = driven.update(missed, run.plan.eta)
            w = driven.weights
            row_weight, to_mend = mending(run, w)
            h = self._weak_learn(run, edge_under(w), row_weight, "extend", to_mend)
            if h is None or not h.reached:
                yield from self._end_early(run, w, h, added=True)
                return
            yield run.enlist(h, w, "extend")

    def _plan(self, labels: Labels) -> FitPlan:
        gamma = resolve_gamma(self.gamma, labels.n_classes, owner=OWNER)
        T = n_rounds_for(gamma, labels.n_classes) if self.n_rounds == "auto" else int(self.n_rounds)
        return FitPlan(
            classes=tuple(labels.classes.tolist()),
            theta=self._floors(labels.classes).as_floats(),
            n_rounds=T,
            max_extra_rounds=T if self.extend is True else int(self.extend),
            gamma=gamma,
            eta=hedge_rate(T, labels.n_classes),
        )

    def _floors(self, classes: npt.NDArray[Any]) -> Floors:
        return Floors.from_theta(self.theta, classes)

    def _end_early(
        self, run: BoostingRun, w: FloatArray, failed: RoundResult | None, *, added: bool = False
    ) -> Iterator[RoundRecord]:
        """Keep what was achieved before a round that could not reach its edge, and tell of it."""
        unmet = UnmetEdge(run, w, failed)
        number, message = run.next_round, unmet.message()
        self.unmet_edge_ = unmet.record()
        yield from self._keep_first(run, failed, w)
        if run.meter.spent:
            self._warn_of_spent_budget(run, number, stacklevel=5)
        elif self.on_unmet_edge == "stop" or added:
            warnings.warn(message, UnmetEdgeWarning, stacklevel=5)
        else:
            raise WeakLearningError(
                f"{message} {NEAREST}" if unmet.blocking else message,
                round=number,
                best_edge=unmet.best_edge,
                needed_edge=run.plan.needed_edge,
                blocking_classes=unmet.blocking_classes,
                booster=self,
            )

    def _report(self) -> None:
        """Set the reports and the bound, from the record of the last member used."""
        super()._report()
        record = self.history_[self.n_members_used_ - 1]
        floors = self._floors(self.classes_)
        self.theta_ = floors.as_floats()
        short = floors.vote_quota(np.array(record.class_totals)) - np.array(record.vote_correct)
        self.bound_met_ = bool((short <= 0).all())
        self.shortfall_ = {self.classes_.tolist()[k]: int(short[k]) for k in np.flatnonzero(short > 0)}

    def _warn(self) -> None:
        if not self.bound_met_:
            message = missed_bound_message(self.training_report_, self.shortfall_, self.n_members_used_)
            warnings.warn(message, UnmetBoundWarning, stacklevel=3)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.weighting not in WEIGHTINGS:
            raise UnknownNameError("weighting", OWNER, self.weighting, WEIGHTINGS)
        if self.on_unmet_edge not in ON_UNMET_EDGE:
            raise UnknownNameError("on_unmet_edge", OWNER, self.on_unmet_edge, ON_UNMET_EDGE)
        if not isinstance(self.extend, bool) and not is_count(self.extend, least=0):
            raise ParameterError(
                "extend", OWNER, allowed="True, False or how many rounds may be added", got=self.extend
            )


def hedge_after(run: BoostingRun) -> Hedge:
    """Return the state of Hedge after the rounds of a run, so that boosting can go on from them."""
    hedge = Hedge.start(run.labels.n_classes)
    for record in run.history:
        hedge = hedge.update(np.array(record.feedback, dtype=np.bool_), run.plan.eta)
    return hedge


def edge_under(w: FloatArray) -> EdgeOf:
    """Return the edge w . r as a function of a member's answers: r_k says whether it meets the floor of class k."""
    return lambda _, met: edge(w, met)
