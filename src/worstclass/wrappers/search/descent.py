"""The fewest wrong rows among offsets with the smallest largest shortfall: exact line searches from several starts.

That smallest shortfall is exact (``feasibility``). This second aim is a search: it ends where no single class, no
pair of classes and no step towards zero offsets improves it. With two classes there is one line, so it is exact there
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np

from worstclass._typing import FloatArray, IntArray
from worstclass.wrappers.search.feasibility import meet_quotas
from worstclass.wrappers.search.line_search import Step, best_along, best_for_each_class
from worstclass.wrappers.search.problem import OffsetProblem

#: pairs of classes moved together or against each other, those that are confused most
MAX_PAIRS = 45
#: scores (rows times classes) up to which pairs are moved and a start is made for every class; with more, the choice
#: that the first aim leaves is narrow, and both together gained at most 0.5% of the wrong rows in trials
MAX_SCORES = 5_000


def descend(problem: OffsetProblem, least: IntArray, offsets: FloatArray) -> FloatArray:
    """Improve offsets, step by step, while every class keeps ``least`` rows right or more."""
    merit = problem.merit_of(offsets)
    reached = (merit.missing, merit.wrong)
    while True:
        step = _improvement(problem, least, offsets, reached)
        if step is None:
            return offsets
        offsets, reached = step.offsets - step.offsets.mean(), (step.missing, step.wrong)


def starts(problem: OffsetProblem, least: IntArray, offsets: FloatArray) -> Iterator[FloatArray]:
    """Yield offsets to start from, which keep to ``least``: those given, zero, and the best ones for each class."""
    yield offsets
    zero = np.zeros(problem.n_classes)
    if (problem.correct(zero) >= least).all():
        yield zero
    if problem.scores.size <= MAX_SCORES:
        for k in np.flatnonzero(problem.totals > 0):
            yield _best_for(problem, least, offsets, int(k))


def _improvement(problem: OffsetProblem, least: IntArray, offsets: FloatArray, reached: tuple[int, int]) -> Step | None:
    """Return the best step of the first group of directions that has one that improves."""
    for steps in _moves(problem, least, offsets):
        better = [step for step in steps if step is not None and (step.missing, step.wrong) < reached]
        if better:
            return min(better, key=lambda step: (step.missing, step.wrong, step.length))
    return None


def _moves(problem: OffsetProblem, least: IntArray, offsets: FloatArray) -> Iterator[Iterable[Step | None]]:
    """Yield the best steps along groups of directions, cheap ones first."""
    yield best_for_each_class(problem, least, offsets)
    if problem.n_classes == 2:
        return
    directions = [-offsets]
    if problem.scores.size <= MAX_SCORES:
        unit = np.eye(problem.n_classes)
        pairs = _confused_pairs(problem, offsets)
        directions += [unit[j] - unit[k] for j, k in pairs]
        directions += [unit[j] + unit[k] for j, k in pairs if problem.n_classes > 3]
    yield (best_along(problem, least, offsets, direction) for direction in directions)


def _confused_pairs(problem: OffsetProblem, offsets: FloatArray) -> list[tuple[int, int]]:
    K = problem.n_classes
    pairs = list(combinations(range(K), 2))
    if len(pairs) <= MAX_PAIRS:
        return pairs
    answers = (problem.scores + offsets).argmax(axis=1)
    confusion = np.bincount(problem.target * K + answers, minlength=K * K).reshape(K, K)
    return sorted(pairs, key=lambda pair: -int(confusion[pair] + confusion[pair[::-1]]))[:MAX_PAIRS]


def _best_for(problem: OffsetProblem, least: IntArray, offsets: FloatArray, k: int) -> FloatArray:
    """Return offsets that keep to ``least`` and have as many rows of class k right as possible, by bisection."""
    quota = least.copy()
    low, high = int(least[k]), int(problem.totals[k])
    while low < high:
        middle = (low + high + 1) // 2
        quota[k] = middle
        found = meet_quotas(problem, quota, offsets).offsets
        if found is None:
            high = middle - 1
        else:
            low, offsets = middle, found
    return offsets
