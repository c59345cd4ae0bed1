"""The paper's baseline "Boosting": Hedge over the training rows instead of the classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from worstclass._checks import suggests_options
from worstclass.boosting.callbacks import FitPlan
from worstclass.boosting.hedge import Hedge, edge, hedge_rate, n_rounds_for, resolve_gamma
from worstclass.boosting.voting import MajorityVote
from worstclass.data.labels import Labels


@suggests_options
class InstanceBooster(MajorityVote):
    """Boosting by online convex optimisation: Hedge over instances with a majority vote.

    The weights are over the n training rows, the feedback of a member on a row says whether it has it right, and a
    member must have right a share ``1/2 + gamma`` of the weight. It lowers the error over all rows, whatever classes
    they are of; it is here to be compared with.

    Parameters
    ----------
    n_rounds : T. ``"auto"``: ``ceil(2 ln n / gamma^2)``, often more than can be paid for: see the budgets.
    learner, gamma, max_epochs_per_round, patience, max_epochs, max_seconds, select_on, random_state, callbacks : as of
        ``WorstClassBooster``.

    Attributes
    ----------
    classes_, estimators_, n_members_used_, history_, training_report_, validation_report_, gamma_, n_rounds_, eta_,
    n_epochs_ : as of ``WorstClassBooster``. In ``history_``, the class weights are the sums over the rows of a class.

    References
    ----------
    The online-to-boosting reduction as the paper uses it: Saito, Matsuo, Uchida and Suehiro, "Bounding the Worst-class
    Error: A Boosting Approach"; Hedge is due to Freund and Schapire (1997).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = InstanceBooster(DecisionTreeClassifier(), gamma=0.3, random_state=0).fit(X, y)
    >>> booster.n_rounds_
    112
    """

    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None, *, checkpoint: Any = None) -> Self:
        """Boost; keep every finished round, whatever happens. Parameters are those of ``WorstClassBooster.fit``."""
        with self._boosting(X, y, X_val, y_val, checkpoint) as run:
            target = run.labels.index
            hedge = Hedge.start(len(target))
            for _ in range(run.plan.n_rounds):
                w = hedge.weights
                class_weight = np.bincount(target, weights=w, minlength=run.labels.n_classes).astype(np.float64)
                edge_of = lambda predictions, w=w: edge(w, predictions == target)  # noqa: E731
                h = run.weak_learn(w * len(w), class_weight, edge_of=edge_of)
                if h is None:
                    break
                hedge = hedge.update(h.trained.predictions == target, run.plan.eta)
                run.enlist(h, hedge)
        return self

    def _plan(self, labels: Labels) -> FitPlan:
        n = len(labels.index)
        gamma = resolve_gamma(self.gamma, labels.n_classes, owner=self._owner)
        T = n_rounds_for(gamma, n) if self.n_rounds == "auto" else int(self.n_rounds)
        classes = tuple(labels.classes.tolist())
        return FitPlan(classes, theta=(), n_rounds=T, max_extra_rounds=0, gamma=gamma, eta=hedge_rate(T, n))
