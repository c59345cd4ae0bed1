"""How the members of a portfolio are combined for the worst class: greedy choice on held-out rows, then offsets.

Everything here sees only probabilities of held-out rows. The worst-class error by counts changes in steps of one row,
so the combination that is best by counts often owes it to a row or two of the smallest class. The smoothed worst-class
error of ``wrappers.offset_problem`` does not, but it favours members whose scores are so widely spread that smoothing
hides their errors. So members are chosen by the mean of both, at the offsets that make the smoothed error least.

A choice on few rows still owes much to chance, so it is made once on all rows and once without each fifth of them, and
the mean of the chosen weights counts. The rows that were left out judge the choice that was made without them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from worstclass._typing import FloatArray, IntArray
from worstclass.floors import Floors
from worstclass.metrics import ClassCounts, count_correct
from worstclass.wrappers.offset_problem import OffsetProblem
from worstclass.wrappers.offset_search import find_offsets, smoothed_offsets
from worstclass.wrappers.scores import log_probabilities

#: members that are added up, at most; one may be taken several times
MAX_MEMBERS = 6
#: a further member must lower the worst-class error by more than this
LEAST_GAIN = 1e-4
#: precision of the smoothed errors by which members are chosen, as a share of them
ROUGH = 1e-4
#: held-out rows by which members are chosen, at most; offsets are chosen by all
MOST_ROWS = 5_000
#: rows that cost as much as a step of the descent costs without any
OVERHEAD_ROWS = 500
#: parts into which held-out rows are divided to judge offsets by rows that did not choose them
JUDGE_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Combination:
    """The weight of each member, with sum 1, and the offset of each class."""

    weights: FloatArray
    offsets: FloatArray

    def scores(self, probabilities: Sequence[FloatArray]) -> FloatArray:
        """Return log-probabilities of the weighted mean plus offsets, shape (n, K)."""
        used = [(weight, part) for weight, part in zip(self.weights, probabilities, strict=True) if weight > 0]
        return log_probabilities(np.sum([weight * part for weight, part in used], axis=0)) + self.offsets


def combine(
    probabilities: Sequence[FloatArray], target: IntArray, floors: Floors | None, max_members: int = MAX_MEMBERS
) -> Combination:
    """Choose members and offsets on held-out rows.

    Parameters
    ----------
    probabilities : those of each member, shape (n, K).
    target : class indices, shape (n,).
    floors : accuracy floors, which come first (see ``wanted_rows``); None makes the worst-class error small.
    max_members : members that are added up, at most; one may be added several times.
    """
    return with_offsets(_chosen(probabilities, target, floors, max_members), probabilities, target, floors)


def cross_combine(
    probabilities: Sequence[FloatArray], target: IntArray, floors: Floors | None, seed: int
) -> tuple[Combination, ClassCounts]:
    """Choose members on all held-out rows and without each fifth of them; judge each fifth by the choice without it.

    Parameters
    ----------
    probabilities, target, floors : as of ``combine``.
    seed : of the fifths.

    Returns
    -------
    The combination with the mean weights of these choices, and offsets by all rows; and the right rows of each class,
    none judged by members and offsets that it helped to choose.
    """
    K = probabilities[0].shape[1]
    answers = np.zeros(len(target), dtype=np.int64)
    choices = [_chosen(probabilities, target, floors)]
    for others, judged in stratified_folds(target, JUDGE_FOLDS, seed):
        choice = combine([p[others] for p in probabilities], target[others], floors)
        answers[judged] = choice.scores([p[judged] for p in probabilities]).argmax(axis=1)
        choices.append(choice.weights)
    counts = ClassCounts(count_correct(target, answers, K), np.bincount(target, minlength=K))
    return with_offsets(np.mean(choices, axis=0), probabilities, target, floors), counts


def with_offsets(
    weights: FloatArray, probabilities: Sequence[FloatArray], target: IntArray, floors: Floors | None
) -> Combination:
    """Return the combination of given weights, with offsets that the held-out rows choose."""
    K = probabilities[0].shape[1]
    scores = Combination(weights, np.zeros(K)).scores(probabilities)
    return Combination(weights, find_offsets(scores, target, _quota(floors, target, K)))


def _chosen(
    probabilities: Sequence[FloatArray], target: IntArray, floors: Floors | None, max_members: int = MAX_MEMBERS
) -> FloatArray:
    """Return the weights that few rows choose."""
    few = few_rows(target)
    parts = [p[few] for p in probabilities]
    return choose_members(parts, target[few], _quota(floors, target[few], parts[0].shape[1]), max_members)


def _quota(floors: Floors | None, target: IntArray, n_classes: int) -> IntArray | None:
    return None if floors is None else wanted_rows(floors, np.bincount(target, minlength=n_classes))


def few_rows(target: IntArray) -> IntArray:
    """Return the numbers of rows that choose members: all, or of large classes evenly spaced ones.

    Examples
    --------
    >>> few = few_rows(np.repeat([0, 1], [50_000, 10]))
    >>> len(few), few[:3].tolist(), few[-10:].tolist() == list(range(50_000, 50_010))
    (2510, [0, 20, 40], True)
    """
    n_rows = np.bincount(target)
    most = MOST_ROWS // max(int((n_rows > 0).sum()), 1)
    if len(target) <= MOST_ROWS:
        return np.arange(len(target))
    by_class = [np.flatnonzero(target == k) for k in np.flatnonzero(n_rows)]
    spaced = [own[np.linspace(0, len(own) - 1, min(most, len(own))).astype(np.int64)] for own in by_class]
    return np.sort(np.concatenate(spaced))


def wanted_rows(floors: Floors, totals: IntArray) -> IntArray:
    """Return how many held-out rows of each class should be right: those of its floor, and one standard error more.

    Offsets that just meet a floor on the rows that chose them miss it on half of all new samples.

    Examples
    --------
    >>> wanted_rows(Floors.from_theta(0.8, ["a", "b"]), np.array([100, 4])).tolist()
    [85, 4]
    """
    floor = np.array(floors.as_floats())
    margin = np.ceil(np.sqrt(totals * floor * (1 - floor))).astype(np.int64)
    return np.asarray(np.minimum(floors.vote_quota(totals) + margin, totals))


def choose_members(
    probabilities: Sequence[FloatArray], target: IntArray, quota: IntArray | None, max_members: int
) -> FloatArray:
    """Add the member that lowers the worst-class error most, until none does; return the share of each.

    References
    ----------
    Caruana, Niculescu-Mizil, Crew and Ksikes, "Ensemble Selection from Libraries of Models", ICML 2004. They average
    choices among some of the models; ``cross_combine`` averages choices on some of the rows.
    """
    counts = np.zeros(len(probabilities))
    total, offsets, least = np.zeros_like(probabilities[0]), None, np.inf
    for size in range(1, max_members + 1):
        tried = [worst_error_of((total + p) / size, target, quota, offsets) for p in probabilities]
        best = int(np.argmin([error for _, error in tried]))
        if tried[best][1] > least - LEAST_GAIN:
            break
        counts[best] += 1
        total = total + probabilities[best]
        offsets, least = tried[best]
    return np.asarray(counts / counts.sum())


def worst_error_of(
    probability: FloatArray, target: IntArray, quota: IntArray | None, start: FloatArray | None
) -> tuple[FloatArray, float]:
    """Return smoothed offsets, and the mean of the smoothed and the counted worst-class error (or shortfall) there."""
    scores = log_probabilities(probability)
    offsets, smoothed = smoothed_offsets(scores, target, quota, start, ROUGH)
    return offsets, (smoothed + OffsetProblem(scores, target, quota).merit(offsets).worst) / 2


def seconds_to_combine(
    probabilities: Sequence[FloatArray], target: IntArray, floors: Floors | None
) -> Callable[[int], float]:
    """Time one combination; return the seconds of ``cross_combine`` for so many times the rows."""
    started = time.perf_counter()
    combine(probabilities, target, floors)
    once = time.perf_counter() - started
    all_rounds = (1 + JUDGE_FOLDS) * once / (OVERHEAD_ROWS + len(target))
    return lambda times: all_rounds * (OVERHEAD_ROWS + min(times * len(target), max(MOST_ROWS, len(target))))


def stratified_folds(target: IntArray, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return pairs of row numbers: the other folds, and the fold.

    A class may have fewer rows than there are folds. There are no more folds than the largest class has rows; where
    that is a single row, the folds do not look at the classes.
    """
    most = int(np.bincount(target).max())
    if most == 1:
        return list(KFold(min(n_folds, len(target)), shuffle=True, random_state=seed).split(target))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = StratifiedKFold(min(n_folds, most), shuffle=True, random_state=seed)
        return list(splitter.split(target, target))
