"""When to answer: a path of rules from strict to free, and the freest that can be proven.

A *rule* has a threshold for each answer; a row is answered where its margin exceeds that of its answer. A *path* is a
list of rules each of which answers all rows that the one before it does. The risk of class k under a rule is the
probability that an answered row of class k is wrong. Promised is that it is below ``risk[k]`` for every class.

The promise is kept by fixed-sequence testing (Angelopoulos, Bates, Candès, Jordan and Lei, "Learn then Test", 2021),
with the calibration rows in two parts:

1. The first part chooses the path, and the rule on it to start with: the one that looks easiest to prove.
2. The second part tests the rules from there on, towards freer ones, and stops at the first that is not proven. The
   last one proven is used. A rule is proven where, for each class, so few of the answered rows are wrong that this
   had a probability of ``delta`` at most if the risk were ``risk[k]`` or more (an exact binomial test).

Why this holds with probability ``1 - delta``: given the first part, the tests are in a fixed order, so a wrong rule is
used only if the first wrong rule of the sequence passes its test. For that, the test of a class whose risk it breaks
must fail to notice, the probability of which is at most ``delta``. (Every class must pass, so one budget serves them
all.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from worstclass.certificates.binomial import p_value
from worstclass.floors import IntArray

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Judged(NamedTuple):
    """Rows with known classes: class and answer as indices, and the margin of the answer."""

    target: IntArray
    answer: IntArray
    margin: FloatArray

    def take(self, rows: IntArray) -> Judged:
        """Return some of the rows."""
        return Judged(self.target[rows], self.answer[rows], self.margin[rows])


class Counts(NamedTuple):
    """Answered rows, and wrong ones among them, by class; for each rule of a path, shape (rules, K)."""

    answered: IntArray
    wrong: IntArray


class Choice(NamedTuple):
    """The rule found: its place on the path, None where not even the first was proven; and the rules tested."""

    place: int | None
    first: int
    tested: int


def common_path(rows: Judged, n_classes: int) -> FloatArray:
    """Return rules with one threshold for all answers: every margin that occurs, and at the end none at all.

    Examples
    --------
    >>> rows = Judged(np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([0.5, 0.9, 0.5]))
    >>> common_path(rows, 2).tolist()
    [[0.9, 0.9], [0.5, 0.5], [-inf, -inf]]
    """
    thresholds = np.append(np.unique(rows.margin)[::-1], -np.inf)
    return np.repeat(thresholds[:, None], n_classes, axis=1)


def path_by_answer(rows: Judged, risk: FloatArray) -> FloatArray:
    """Return rules with a threshold for each answer, found greedily from free to strict.

    In each step the class that is hardest to prove loses its next wrong row: of all answers it is given wrongly, that
    one's threshold is raised for which the fewest other rows go unanswered. The path ends where that class has no
    wrong row left.

    Examples
    --------
    >>> rows = Judged(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), np.array([0.3, 0.2, 0.9, 0.1]))
    >>> path_by_answer(rows, np.array([0.1, 0.1])).tolist()
    [[-inf, 0.2], [-inf, -inf]]
    """
    K = len(risk)
    thresholds = np.full(K, -np.inf)
    path = [thresholds.copy()]
    while True:
        open_rows = rows.margin > thresholds[rows.answer]
        counts = _count(rows, open_rows, K)
        hardest = int(np.where(risk < 1, p_value(counts.wrong, counts.answered, risk), -1.0).argmax())
        to_lose = open_rows & (rows.target == hardest) & (rows.answer != hardest)
        if risk[hardest] >= 1 or not to_lose.any():
            return np.array(path[::-1])
        costs = [_cost_of_raising(rows, open_rows, to_lose, answer) for answer in range(K)]
        _, answer, margin = min((cost, j, margin) for j, (cost, margin) in enumerate(costs))
        thresholds[answer] = margin
        path.append(thresholds.copy())


def count_along(rows: Judged, path: FloatArray) -> Counts:
    """Count answered and wrong rows of each class under every rule of a path."""
    n_rules, K = path.shape
    level = np.empty(len(rows.target), dtype=np.int64)  # the first rule that answers the row
    for answer in range(K):
        mine = rows.answer == answer
        level[mine] = np.searchsorted(-path[:, answer], -rows.margin[mine], side="right")
    return Counts(*(_running(rows.target[chosen], level[chosen], n_rules, K) for chosen in _all_and_wrong(rows)))


def p_values(counts: Counts, risk: FloatArray) -> FloatArray:
    """Return for each rule the p-value of "the risk of some class is too large": the largest of its classes'."""
    return np.asarray(np.where(risk < 1, p_value(counts.wrong, counts.answered, risk), 0.0).max(axis=-1))


def choose_rule(choosing: Counts, certifying: Counts, risk: FloatArray, delta: float) -> Choice:
    """Find the freest rule of a path that is proven, by fixed-sequence testing; see the head of this module."""
    looks = p_values(choosing, risk)
    first = int(len(looks) - 1 - looks[::-1].argmin())
    passed = p_values(certifying, risk)[first:] <= delta
    n_passed = len(passed) if passed.all() else int(passed.argmin())
    return Choice(None if n_passed == 0 else first + n_passed - 1, first, min(n_passed + 1, len(passed)))


def _cost_of_raising(rows: Judged, open_rows: BoolArray, to_lose: BoolArray, answer: int) -> tuple[float, float]:
    """Return how many rows besides those to lose are lost with the next of these, and at which margin."""
    mine = rows.answer == answer
    if not (to_lose & mine).any():
        return np.inf, np.inf
    margin = float(rows.margin[to_lose & mine].min())
    lost = open_rows & mine & (rows.margin <= margin)
    return float((lost & ~to_lose).sum() / (lost & to_lose).sum()), margin


def _count(rows: Judged, chosen: BoolArray, n_classes: int) -> Counts:
    wrong = chosen & (rows.answer != rows.target)
    return Counts(
        np.bincount(rows.target[chosen], minlength=n_classes), np.bincount(rows.target[wrong], minlength=n_classes)
    )


def _all_and_wrong(rows: Judged) -> tuple[BoolArray, BoolArray]:
    return np.ones(len(rows.target), dtype=np.bool_), rows.answer != rows.target


def _running(target: IntArray, level: IntArray, n_rules: int, n_classes: int) -> IntArray:
    """Count rows by class and level, then sum up along the levels; rows that no rule answers are left out."""
    kept = level < n_rules
    table = np.bincount(level[kept] * n_classes + target[kept], minlength=n_rules * n_classes)
    return np.cumsum(table.reshape(n_rules, n_classes), axis=0)
