"""The ablation of the scoreboard: `WorstClassClassifier` with one ingredient changed, on the same trained members.

The members of a table and split are trained once; the variants differ only in how their probabilities are used. Two of
them look at the labels of the test rows, so that no honest choice on held-out rows can be expected to do better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

from worstclass import class_report
from worstclass._typing import FloatArray, IntArray
from worstclass.data.encoding import TableEncoder
from worstclass.data.labels import training_labels
from worstclass.ensembles import combination
from worstclass.ensembles.combination import Combination, combine, cross_combine, with_offsets
from worstclass.ensembles.members import HeldOutTask, class_probabilities, train_member
from worstclass.ensembles.portfolio import portfolio_for
from worstclass.learners.sklearn_learner import with_seed
from worstclass.metrics import count_correct
from worstclass.wrappers.offset_problem import OffsetProblem
from worstclass.wrappers.offset_search import find_offsets, least_smoothed, smoothed_offsets
from worstclass.wrappers.scores import log_probabilities

Parts = Sequence[FloatArray]
Choose = Callable[[Parts, IntArray, Combination], Combination]


def _error_by(error_of: Callable[..., tuple[FloatArray, float]]) -> Choose:
    """Return members that are chosen once, by another error."""

    def chosen(parts: Parts, target: IntArray, default: Combination) -> Combination:
        usual, combination.worst_error_of = combination.worst_error_of, error_of
        try:
            return combine(parts, target, None)
        finally:
            combination.worst_error_of = usual

    return chosen


def _smoothed(p: FloatArray, target: IntArray, quota: Any, start: Any) -> tuple[FloatArray, float]:
    return smoothed_offsets(log_probabilities(p), target, quota, start)


def _counted(p: FloatArray, target: IntArray, quota: Any, start: Any) -> tuple[FloatArray, float]:
    offsets = find_offsets(log_probabilities(p), target)
    return offsets, OffsetProblem(log_probabilities(p), target).merit(offsets).worst


def _offsets_by(find: Callable[[FloatArray, IntArray], FloatArray]) -> Choose:
    """Return the members of the default with offsets that are found in another way."""

    def chosen(parts: Parts, target: IntArray, default: Combination) -> Combination:
        scores = Combination(default.weights, np.zeros(parts[0].shape[1])).scores(parts)
        return Combination(default.weights, find(scores, target))

    return chosen


def _by_labels(scores: FloatArray, target: IntArray) -> FloatArray:
    """Only rows labelled with a class say how it fares."""
    present, offsets = np.unique(target), np.zeros(scores.shape[1])
    offsets[present] = least_smoothed(OffsetProblem(scores, target, prior_rows=0).of_classes(present))[0]
    return offsets


def _by_counts(scores: FloatArray, target: IntArray) -> FloatArray:
    return find_offsets(scores, target, np.bincount(target, minlength=scores.shape[1]))


def _mean_of_all(parts: Parts, target: IntArray, default: Combination) -> Combination:
    return with_offsets(np.full(len(parts), 1 / len(parts)), parts, target, None)


def _class_errors(choice: Combination, parts: Parts, target: IntArray) -> FloatArray:
    """Return the errors of the classes that have rows, on the rows that chose."""
    totals = np.bincount(target, minlength=parts[0].shape[1])
    right = count_correct(target, choice.scores(parts).argmax(axis=1), len(totals))
    return 1 - right[totals > 0] / totals[totals > 0]


def _one_standard_error(parts: Parts, target: IntArray, default: Combination) -> Combination:
    """The fewest members whose worst-class error is within one standard error of the least."""
    choices = [combine(parts, target, None, most) for most in range(1, combination.MAX_MEMBERS + 1)]
    errors = [_class_errors(choice, parts, target) for choice in choices]
    least = min(errors, key=np.max)
    worst, totals = float(least.max()), np.bincount(target)
    margin = np.sqrt(worst * (1 - worst) / totals[totals > 0][least.argmax()])
    return next(choice for choice, found in zip(choices, errors, strict=True) if found.max() <= worst + margin)


def _minimax_mixture(parts: Parts, target: IntArray, default: Combination) -> Combination:
    """The weights by which the largest mean error of a class is least, each member with offsets of its own.

    A game of members against classes, solved as a linear program. The mean probability with these weights answers,
    with offsets of its own.
    """
    M = len(parts)
    errors = np.array([_class_errors(with_offsets(alone, parts, target, None), parts, target) for alone in np.eye(M)])
    found = linprog(
        np.append(np.zeros(M), 1),  # the largest mean error
        A_ub=np.hstack([errors.T, -np.ones((errors.shape[1], 1))]),
        b_ub=np.zeros(errors.shape[1]),
        A_eq=[[1] * M + [0]],
        b_eq=[1],
    )
    weights = np.maximum(found.x[:M], 0)
    return with_offsets(weights / weights.sum(), parts, target, None)


#: variant -> how members and offsets are chosen on the held-out probabilities, given the choice of the default
VARIANTS: dict[str, Choose] = {
    "the default": lambda parts, target, default: default,
    "no offsets": _offsets_by(lambda scores, target: np.zeros(scores.shape[1])),
    "offsets by labelled rows alone": _offsets_by(_by_labels),
    "offsets by counts alone": _offsets_by(_by_counts),
    "the mean of all members": _mean_of_all,
    "members chosen once": lambda parts, target, default: combine(parts, target, None),
    "chosen once, the best member alone": lambda parts, target, default: combine(parts, target, None, 1),
    "chosen once, up to 20 members": lambda parts, target, default: combine(parts, target, None, 20),
    "chosen once, the fewest within one standard error": _one_standard_error,
    "the minimax mixture of the members": _minimax_mixture,
    "chosen once, by the smoothed error alone": _error_by(_smoothed),
    "chosen once, by the counted error alone": _error_by(_counted),
}


def run_ablation_cell(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> dict[str, Any]:
    """Return the worst-class test error of every variant, and of the default answered by one fold or a refit."""
    encoder = TableEncoder().fit(X)
    rows, new, labels = encoder.transform(X), encoder.transform(X_test), training_labels(X, y)
    K, started = labels.n_classes, time.process_time()
    with threadpool_limits(1):
        task = HeldOutTask.of(rows, labels, None, 5, seed)
        classifiers, _ = portfolio_for("auto", rows, labels.index)
        portfolio = {name: with_seed(model, seed) for name, model in classifiers.items()}
        members = [train_member(name, model, task, None) for name, model in portfolio.items()]
        held_out = [member.probability for member in members]
        answers = [[class_probabilities(model, new, K) for model in member.models] for member in members]
        refitted = [class_probabilities(model.fit(rows, labels.index), new, K) for model in portfolio.values()]
        target = members[0].target
        default, _ = cross_combine(held_out, target, None, seed)
        found = {name: choose(held_out, target, default) for name, choose in VARIANTS.items()}

    def worst(choice: Combination, parts: Parts) -> float:
        return class_report(y_test, labels.classes[choice.scores(parts).argmax(axis=1)]).worst_error

    bagged = [np.mean(parts, axis=0) for parts in answers]
    errors = {name: worst(choice, bagged) for name, choice in found.items()}
    errors["one fold's models answer"] = worst(default, [parts[0] for parts in answers])
    errors["members refitted on all rows"] = worst(default, refitted)
    truth, alone = np.searchsorted(labels.classes, y_test), np.eye(len(members))
    peeking = [
        worst(Combination(weights, _by_counts(Combination(weights, np.zeros(K)).scores(bagged), truth)), bagged)
        for weights in (default.weights, np.full(len(members), 1 / len(members)), *alone)
    ]
    errors["offsets chosen on the test rows"] = peeking[0]
    errors["members and offsets chosen on the test rows"] = min(peeking)
    return {"errors": errors, "seconds": time.process_time() - started}
