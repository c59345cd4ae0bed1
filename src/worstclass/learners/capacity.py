"""How the capacity of a scikit-learn classifier grows, step by step, within one round.

A weak member should be no stronger than its edge asks. So a classifier that has a knob for its capacity starts
low and is raised until the booster is content; the value that the user gave it is the ceiling.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone

from worstclass._checks import check_choice, check_count
from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import label_column

#: names of the iteration count among boosted ensembles, ours first
ITERATIONS = ("max_iter", "n_estimators", "iterations")
#: the most that is tried where the user set no limit
CEILINGS = {"epochs": 1000, "iterations": 100, "depth": 64}


class CapacityRule(NamedTuple):
    """One way to grow: how, and which parameter."""

    kind: Literal["epochs", "iterations", "depth", "fixed"]
    parameter: str | None = None


def capacity_rule(estimator: Any, grow: str | None = "auto") -> CapacityRule:
    """Find the knob of an estimator from the parameters it has.

    ``partial_fit`` with ``max_iter`` (SGD, MLP): epochs. ``learning_rate`` with a number of iterations (gradient
    boosting, AdaBoost, and other libraries' boosted trees): iterations. ``max_depth`` (trees, forests): depth.
    Anything else: one fit.
    """
    parameters = estimator.get_params(deep=False)
    if grow is None:
        return CapacityRule("fixed")
    if grow != "auto":
        check_choice(grow, "grow", "SklearnLearner", ["auto", *sorted(parameters)])
        return CapacityRule("depth" if grow == "max_depth" else "iterations", grow)
    if "max_iter" in parameters and not parameters.get("early_stopping") and _takes_weighted_passes(estimator):
        return CapacityRule("epochs", "max_iter")
    iterations = next((name for name in ITERATIONS if name in parameters), None)
    boosts = not isinstance(parameters.get("learning_rate", "none"), str)  # for MLPs it is the name of a schedule
    if boosts and iterations is not None:
        return CapacityRule("iterations", iterations)
    if "max_depth" in parameters:
        return CapacityRule("depth", "max_depth")
    return CapacityRule("fixed")


def growing_fits(estimator: Any, rule: CapacityRule, X: Any, y: Any, n_classes: int, **keywords: Any) -> Iterator[Any]:
    """Yield a fitted estimator at each step of capacity; the next step may change it further.

    Parameters
    ----------
    estimator : a fresh clone, free to be changed.
    rule : how it grows.
    X, y, keywords : the sample of this round, and further keywords of ``fit``.
    n_classes : number of classes; a sample need not have rows of all.
    """
    if rule.parameter is None:
        yield estimator.fit(X, y, **keywords)
        return
    ceiling = _ceiling(estimator, rule)
    if rule.kind == "epochs":
        for _ in range(ceiling):
            yield estimator.partial_fit(X, y, classes=np.arange(n_classes), **keywords)
        return
    warm = rule.kind == "iterations" and "warm_start" in estimator.get_params(deep=False)
    if warm:
        estimator.set_params(warm_start=True)
    for value in geometric_steps(ceiling) if rule.kind == "iterations" else range(1, ceiling + 1):
        current = estimator if warm else clone(estimator)
        yield current.set_params(**{rule.parameter: value}).fit(X, y, **keywords)
        trees = np.ravel(getattr(current, "estimators_", current))
        if rule.kind == "depth" and all(hasattr(tree, "get_depth") and tree.get_depth() < value for tree in trees):
            return  # a deeper limit would give the same trees


class GrowingAnswers:
    """What a classifier answers for fixed rows while it grows.

    Histogram-based trees that grow by warm start keep the trees that they have. So only the new trees are asked, and
    their scores are added to those of the trees before, in the same order as in ``predict``. Any other classifier is
    asked as it stands.
    """

    def __init__(self, X: Any) -> None:
        self._X = X
        self._grown: Any = None
        self._n_trees = 0
        self._scores: FloatArray | None = None

    def of(self, estimator: Any) -> IntArray:
        """Return the class index of each row."""
        if not hasattr(estimator, "_predictors"):
            return label_column(estimator.predict(self._X)).astype(np.int64)
        new = copy.copy(estimator)
        if estimator is self._grown:
            new._predictors, new._baseline_prediction = estimator._predictors[self._n_trees :], self._scores
        decision = new.decision_function(self._X)
        self._grown, self._n_trees = estimator, len(estimator._predictors)
        self._scores = decision.reshape(len(decision), -1)
        winners = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(np.int64)
        return np.asarray(estimator.classes_[winners], dtype=np.int64)


def geometric_steps(ceiling: int) -> Iterator[int]:
    """Yield 1, 2, 3, ... growing by a quarter once that is more than one, and last the ceiling itself.

    Examples
    --------
    >>> list(geometric_steps(20))
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20]
    """
    step = 1
    while step < ceiling:
        yield step
        step += max(1, step // 4)
    yield ceiling


def _takes_weighted_passes(estimator: Any) -> bool:
    partial_fit = getattr(estimator, "partial_fit", None)
    return partial_fit is not None and "sample_weight" in inspect.signature(partial_fit).parameters


def _ceiling(estimator: Any, rule: CapacityRule) -> int:
    value = estimator.get_params(deep=False)[str(rule.parameter)]
    if rule.kind == "depth" and value in (-1, 0):  # no limit, in LightGBM and XGBoost
        value = None
    check_count(value, str(rule.parameter), type(estimator).__name__, words=(None,))
    return CEILINGS[rule.kind] if value is None else int(value)
