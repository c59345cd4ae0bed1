"""How the members of a portfolio are combined for the worst class: greedy choice by a smoothed error, then offsets.

Everything here sees only probabilities of held-out rows. The worst-class error by counts changes in steps of one row,
so the combination that is best by counts often owes it to a row or two of the smallest class. The choice is therefore
made by the *smoothed* worst-class error of ``wrappers.offset_search``, at the offsets that make it least.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold

from worstclass._typing import FloatArray, IntArray
from worstclass.floors import Floors
from worstclass.metrics import ClassCounts, count_correct
from worstclass.wrappers.offset_search import find_offsets, smoothed_offsets

#: smaller probabilities are replaced by this one: a forest's 0 is an estimate from a few hundred trees
LEAST_PROBABILITY = 1e-6
#: a further member must lower the smoothed worst-class error by more than this
LEAST_GAIN = 1e-4
#: precision of the smoothed errors by which members are chosen, as a share of them
ROUGH = 1e-4
#: parts into which held-out rows are divided to judge offsets by rows that did not choose them
JUDGE_FOLDS = 5


def log_scores(probability: FloatArray) -> FloatArray:
    """Return the logarithms of probabilities, to which offsets are added."""
    return np.asarray(np.log(np.maximum(probability, LEAST_PROBABILITY)))


@dataclass(frozen=True, eq=False)
class Combination:
    """The weight of each member, with sum 1, and the offset of each class."""

    weights: FloatArray
    offsets: FloatArray

    def scores(self, probabilities: Sequence[FloatArray]) -> FloatArray:
        """Return log-probabilities of the weighted mean plus offsets, shape (n, K)."""
        used = [(weight, part) for weight, part in zip(self.weights, probabilities, strict=True) if weight > 0]
        return log_scores(np.sum([weight * part for weight, part in used], axis=0)) + self.offsets


def combine(
    probabilities: Sequence[FloatArray], target: IntArray, floors: Floors | None, max_members: int
) -> Combination:
    """Choose members and offsets on held-out rows.

    Parameters
    ----------
    probabilities : those of each member, shape (n, K).
    target : class indices, shape (n,).
    floors : accuracy floors, which come first; None makes the worst-class error small.
    max_members : members that are added up, at most; one may be added several times.
    """
    n_rows = np.bincount(target, minlength=probabilities[0].shape[1])
    quota = None if floors is None else floors.vote_quota(n_rows)
    weights, offsets = choose_members(probabilities, target, quota, max_members)
    scores = Combination(weights, np.zeros_like(offsets)).scores(probabilities)
    return Combination(weights, _offsets(scores, target, floors, offsets))


def _offsets(scores: FloatArray, target: IntArray, floors: Floors | None, start: FloatArray) -> FloatArray:
    """Return smoothed offsets, or those that meet the floors with the fewest wrong rows."""
    if floors is None:
        return smoothed_offsets(scores, target, None, start)[0]
    return find_offsets(scores, target, floors.vote_quota(np.bincount(target, minlength=scores.shape[1])))


def choose_members(
    probabilities: Sequence[FloatArray], target: IntArray, quota: IntArray | None, max_members: int
) -> tuple[FloatArray, FloatArray]:
    """Add the member that lowers the smoothed worst-class error most, until none does.

    Returns
    -------
    The share of each member, and offsets near the smoothed ones of their mean.

    References
    ----------
    Caruana, Niculescu-Mizil, Crew and Ksikes, "Ensemble Selection from Libraries of Models", ICML 2004.
    """
    counts = np.zeros(len(probabilities))
    total, offsets, least = np.zeros_like(probabilities[0]), None, np.inf
    for size in range(1, max_members + 1):
        means = [log_scores((total + p) / size) for p in probabilities]
        tried = [smoothed_offsets(scores, target, quota, offsets, ROUGH) for scores in means]
        best = int(np.argmin([error for _, error in tried]))
        if tried[best][1] > least - LEAST_GAIN:
            break
        counts[best] += 1
        total = total + probabilities[best]
        offsets, least = tried[best]
    assert offsets is not None
    return counts / counts.sum(), offsets


def cross_fitted_counts(
    probabilities: Sequence[FloatArray], target: IntArray, floors: Floors | None, max_members: int, seed: int
) -> ClassCounts:
    """Count right rows, each judged by members and offsets that it did not help to choose."""
    K = probabilities[0].shape[1]
    answers = np.zeros(len(target), dtype=np.int64)
    for others, judged in stratified_folds(target, JUDGE_FOLDS, seed):
        combination = combine([p[others] for p in probabilities], target[others], floors, max_members)
        answers[judged] = combination.scores([p[judged] for p in probabilities]).argmax(axis=1)
    return ClassCounts(count_correct(target, answers, K), np.bincount(target, minlength=K))


def stratified_folds(target: IntArray, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return pairs of row numbers: the other folds, and the fold.

    A class may have fewer rows than there are folds; no class has more folds than the largest has rows.
    """
    most = int(np.bincount(target).max())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = StratifiedKFold(min(n_folds, most), shuffle=True, random_state=seed)
        return list(splitter.split(target, target))
