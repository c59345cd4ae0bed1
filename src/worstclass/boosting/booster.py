"""The estimator: class-weighted Hedge boosting with a majority vote."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from worstclass._checks import check_choice, is_count, suggests_options
from worstclass._text import n_of
from worstclass._typing import FloatArray, IntArray
from worstclass.boosting.callbacks import Callback, FitPlan
from worstclass.boosting.extension import mending, vote_driven
from worstclass.boosting.hedge import Hedge, hedge_rate, n_rounds_for, resolve_gamma
from worstclass.boosting.rounds import BoostingRun, Round
from worstclass.boosting.voting import MajorityVote
from worstclass.data.labels import Labels
from worstclass.exceptions import ParameterError, UnmetBoundWarning
from worstclass.floors import Floors
from worstclass.metrics import Shortfall

OWNER = "WorstClassBooster"
#: what to do about floors that are too high, at the end of a message
NEAREST = "worstclass.nearest_feasible_floors (worstclass theta --way goal) finds the nearest floors that can be met."

#: weight of a row of each class, from the class weights and the class sizes
ROW_WEIGHTS: dict[str, Callable[[FloatArray, IntArray], FloatArray]] = {
    "per-class-mean": lambda weight, totals: weight / totals,
    "per-instance": lambda weight, totals: weight,
}


@suggests_options
class WorstClassBooster(MajorityVote):
    """A classifier in which every class meets an accuracy floor, or that says which do not.

    Boosts a weak learner over *class* weights until the majority vote of the members errs on fewer than
    ``1 - theta`` of every class of the training sample. Whether it does is counted, never assumed. A round that cannot
    reach its edge ends boosting with an ``UnmetEdgeWarning``; the finished rounds are kept.

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
    seen_rows_ : fingerprints of the training and validation rows, so that ``certify`` refuses them.
    n_epochs_ : epochs over the training sample, in all rounds together.
    unmet_edge_ : the ``UnmetEdge`` of the round that ended boosting early: its edge, and the classes that blocked
        it; None where every round reached its edge.
    compaction_ : what ``compact`` left out of the vote, a ``Compaction``; None before.

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
        max_epochs_per_round: int = 10_000,
        patience: int | str = "auto",
        weighting: str = "per-class-mean",
        extend: bool | int = True,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        select_on: str = "worst",
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        super().__init__(
            learner,
            gamma=gamma,
            n_rounds=n_rounds,
            max_epochs_per_round=max_epochs_per_round,
            patience=patience,
            max_epochs=max_epochs,
            max_seconds=max_seconds,
            select_on=select_on,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.theta = theta
        self.weighting = weighting
        self.extend = extend

    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None, *, checkpoint: Any = None) -> Self:
        """Boost; keep every finished round, whatever happens.

        Parameters
        ----------
        X : rows: an array, sparse matrix, data frame or tensor, as the learner takes them, or a map-style torch
            ``Dataset``.
        y : labels, strings or numbers; may be left out where X is a data set that has them.
        X_val, y_val : validation rows. With them, the vote uses the prefix of the members whose validation error
            (``select_on``) is least, the longest of equals.
        checkpoint : a folder in which the fit keeps every finished round, and now and then where a long one stands. A
            fit that was killed goes on from there if it is called again with the same parameters and rows, and ends
            with the same members as if it had not been killed. Delete the folder when you no longer need it.
        """
        with self._boosting(X, y, X_val, y_val, checkpoint) as run:
            hedge = Hedge.start(run.labels.n_classes)  # Algorithm 1, line 1: w_1 = 1/K
            for _ in range(run.plan.n_rounds):  # line 2: for t = 1 ... T
                w = hedge.weights
                h = self._boost_round(run, w)  # line 3: h_t, trained until w . r reaches 1/2 + gamma
                if h is None:
                    break
                r = h.feedback  # line 4: r_k = 1 where h_t meets the floor of class k
                hedge = hedge.update(r, run.plan.eta)  # line 5: w_k <- w_k exp(-eta r_k), normalised
                run.enlist(h, hedge)
            else:
                self._extend(run)
        if not self.bound_met_:
            missed = ", ".join(str(row) for row in self._shortfalls)
            members = n_of(self.n_members_used_, "member")
            message = f"The vote of {members} misses the training bound for {missed}. {NEAREST}"
            warnings.warn(message, UnmetBoundWarning, stacklevel=2)
        return self

    def _boost_round(self, run: BoostingRun, w: FloatArray) -> Round | None:
        """Find h_t: train one member under class weights w; None ends the boosting with the finished rounds."""
        return run.weak_learn(self._row_weight(run, w), w)

    def _extend(self, run: BoostingRun) -> None:
        """Add rounds after T, driven by the classes that the vote misses, until the bound holds."""
        log_weights = np.zeros(run.labels.n_classes)
        for _ in range(run.plan.max_extra_rounds):
            if not run.missed.any():
                return
            log_weights = vote_driven(log_weights, run.missed, run.plan.eta)
            w = np.exp(log_weights) / np.exp(log_weights).sum()
            row_weight, mended_of = mending(run, self._row_weight(run, w))
            h = run.weak_learn(row_weight, w, phase="extend", mended_of=mended_of)
            if h is None:
                return
            run.enlist(h)

    def _row_weight(self, run: BoostingRun, w: FloatArray) -> FloatArray:
        """Return the weight of each training row under class weights w, of mean 1."""
        weight = ROW_WEIGHTS[self.weighting](w, run.labels.totals)[run.labels.index]
        return np.asarray(weight / weight.mean(), dtype=np.float64)

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

    def _report(self) -> None:
        """Set the reports and the bound, from the record of the last member used."""
        super()._report()
        counts, floors = self.history_[self.n_members_used_ - 1].training, self._floors(self.classes_)
        self.theta_ = floors.as_floats()
        self._shortfalls = Shortfall.of_vote(counts, self.classes_.tolist(), floors)
        self.shortfall_ = {row.label: row.rows_short for row in self._shortfalls}
        self.bound_met_ = not self.shortfall_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.weighting, "weighting", OWNER, ROW_WEIGHTS)
        if not isinstance(self.extend, bool) and not is_count(self.extend, least=0):
            allowed = "True, False or how many rounds may be added"
            raise ParameterError("extend", OWNER, allowed=allowed, got=self.extend)
