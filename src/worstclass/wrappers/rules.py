"""When to answer: a path of rules from strict to free, and the freest that can be proven.

A *rule* has a threshold for each answer; a row is answered where its margin exceeds that of its answer. A *path* is a
list of rules each of which answers all rows that the one before it does. The risk of class k under a rule is the
probability that an answered row of class k is wrong. Promised is that it is below ``risk[k]`` for every class.

The promise is kept by fixed-sequence testing (Angelopoulos, Bates, Candès, Jordan and Lei, "Learn then Test", 2021),
with the held-out rows in two parts:

1. The first part chooses the path, and the rule on it to begin with.
2. The second part tests the rules from there on, towards freer ones, and stops at the first that is not proven. The
   last one proven is used. A rule is proven where, for each class, so few of the answered rows are wrong that this
   had a probability of ``delta`` at most if the risk were ``risk[k]`` or more (an exact binomial test).

Why this holds with probability ``1 - delta``, and what is assumed, is in docs/theory.md. How the first part chooses
has no bearing on that; it decides how much is answered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.certificates.binomial import p_value

#: which margin an answer has to exceed: one for all answers, or its own
THRESHOLDS = ("common", "by-answer")
#: share of the answered rows of each class that the rule to begin with keeps, of those of the rule that looks best
KEPT = 0.75
#: rules of a path with a common threshold, besides the last: finer steps would hardly change what is answered
MOST_RULES = 500
#: by how much coverage shrinks from rule to rule at the strict end of a path with a threshold for each answer
STEP = 0.05


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


class Found(NamedTuple):
    """The rule found, shape (K,), and whether it is proven; if not, it is the one that the tests began with."""

    rule: FloatArray
    proven: bool


def find_rule(choosing: Judged, proving: Judged, risk: FloatArray, delta: float, thresholds: str) -> Found:
    """Choose a path with some rows, and prove with others how far it can be followed: the whole procedure."""
    path = common_path(choosing, len(risk)) if thresholds == "common" else path_by_answer(choosing, risk)
    n_proving = np.bincount(proving.target, minlength=len(risk))
    first = first_rule(count_along(choosing, path), n_proving, risk, delta)
    last = last_proven(count_along(proving, path), first, risk, delta)
    return Found(path[first if last is None else last].copy(), last is not None)


def common_path(rows: Judged, n_classes: int) -> FloatArray:
    """Return rules with one threshold for all answers: every margin that occurs, and at the end none at all.

    Of more than ``MOST_RULES`` margins so many are taken, evenly.

    Examples
    --------
    >>> rows = Judged(np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([0.5, 0.9, 0.5]))
    >>> common_path(rows, 2).tolist()
    [[0.9, 0.9], [0.5, 0.5], [-inf, -inf]]
    """
    margins = np.unique(rows.margin)[::-1]
    if len(margins) > MOST_RULES:
        margins = margins[np.linspace(0, len(margins) - 1, MOST_RULES).round().astype(np.int64)]
    return np.repeat(np.append(margins, -np.inf)[:, None], n_classes, axis=1)


def path_by_answer(rows: Judged, risk: FloatArray) -> FloatArray:
    """Return rules with a threshold for each answer, found greedily from free to strict.

    In each step the class that is hardest to prove loses its next wrong row: of all answers that it is given wrongly,
    that one's threshold is raised for which the fewest other rows go unanswered. Where that class has no wrong row
    left, the path goes on with rules that answer ever smaller shares of the rows of each answer. How classes are
    numbered does not matter: classes that are equally hard to prove count as one, and of equal costs the smaller
    margin is taken.

    Examples
    --------
    >>> rows = Judged(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), np.array([0.3, 0.2, 0.9, 0.1]))
    >>> path_by_answer(rows, np.array([0.1, 0.1]))[-3:].tolist()
    [[0.3, 0.9], [-inf, 0.2], [-inf, -inf]]
    """
    K = len(risk)
    asked = (risk < 1) & (np.bincount(rows.target, minlength=K) > 0)
    thresholds = np.full(K, -np.inf)
    path = [thresholds.copy()]
    while True:
        open_rows = rows.margin > thresholds[rows.answer]
        counts = _count(rows, open_rows, K)
        p = np.where(asked, p_value(counts.wrong, counts.answered, risk), -1.0)
        to_lose = open_rows & (asked & (p == p.max()))[rows.target] & (rows.answer != rows.target)
        if not to_lose.any():
            return np.array([*_stricter(rows, open_rows, thresholds), *path[::-1]])
        raised = [_raised(rows, open_rows, to_lose, answer) for answer in np.unique(rows.answer[to_lose]).tolist()]
        _, margin, answer = min(raised)
        thresholds[answer] = margin
        path.append(thresholds.copy())


def count_along(rows: Judged, path: FloatArray) -> Counts:
    """Count answered and wrong rows of each class under every rule of a path."""
    n_rules, K = path.shape
    level = np.empty(len(rows.target), dtype=np.int64)  # the first rule that answers the row
    for answer in range(K):
        mine = rows.answer == answer
        level[mine] = np.searchsorted(-path[:, answer], -rows.margin[mine], side="right")
    wrong = rows.answer != rows.target
    return Counts(_running(rows.target, level, n_rules, K), _running(rows.target[wrong], level[wrong], n_rules, K))


def p_values(counts: Counts, risk: FloatArray) -> FloatArray:
    """Return for each rule the p-value of "the risk of some class is too large": the largest of its classes'.

    Examples
    --------
    >>> p_values(Counts(np.array([[3, 9]]), np.array([[0, 9]])), np.array([0.5, 1.0])).tolist()
    [0.125]
    """
    return np.asarray(np.where(risk < 1, p_value(counts.wrong, counts.answered, risk), 0.0).max(axis=-1))


def first_rule(choosing: Counts, n_proving: IntArray, risk: FloatArray, delta: float) -> int:
    """Return the place of the rule to begin with, from the counts of the rows that choose.

    Of all rules the one that looks easiest to prove is likely to look better than it is. So the tests begin with a
    stricter one, which keeps ``KEPT`` of the rows that it answers in every class, and as many as a proof takes: in
    ``n_proving`` rows of the class so many should be answered that they prove the limit if none is wrong. A class of
    which nothing is asked, or of which no row chooses, has no say.
    """
    asked = (risk < 1) & (choosing.answered[-1] > 0)
    if not asked.any():
        return len(choosing.answered) - 1
    answered, wrong, limit = choosing.answered[:, asked], choosing.wrong[:, asked], risk[asked]
    looks = p_values(Counts(answered, wrong), limit)
    best = len(looks) - 1 - int(looks[::-1].argmin())
    to_come = answered / answered[-1] * n_proving[asked]
    suits = ((answered >= KEPT * answered[best]) & ((1 - limit) ** to_come <= delta)).all(axis=1)
    suits[best] = True
    return int(suits.argmax())


def last_proven(proving: Counts, first: int, risk: FloatArray, delta: float) -> int | None:
    """Test the rules of a path from ``first`` on; return the place of the last that is proven, None if there is none.

    Examples
    --------
    >>> counts = Counts(np.array([[5], [6], [7], [8]]), np.array([[0], [0], [2], [0]]))
    >>> last_proven(counts, 0, np.array([0.5]), 0.05)
    1
    """
    passed = p_values(Counts(proving.answered[first:], proving.wrong[first:]), risk) <= delta
    n_passed = len(passed) if passed.all() else int(passed.argmin())
    return first + n_passed - 1 if n_passed else None


def _raised(rows: Judged, open_rows: BoolArray, to_lose: BoolArray, answer: int) -> tuple[float, float, int]:
    """Return how many rows besides those to lose are lost with the next of these, its margin, and the answer."""
    mine = rows.answer == answer
    margin = float(rows.margin[to_lose & mine].min())
    lost = open_rows & mine & (rows.margin <= margin)
    return float((lost & ~to_lose).sum() / (lost & to_lose).sum()), margin, answer


def _stricter(rows: Judged, open_rows: BoolArray, thresholds: FloatArray) -> FloatArray:
    """Return rules that answer less and less of the open rows of each answer, the strictest first."""
    shares = np.arange(1, STEP / 2, -STEP)
    rules = np.repeat(thresholds[None], len(shares), axis=0)
    for answer in np.unique(rows.answer[open_rows]).tolist():
        margins = rows.margin[open_rows & (rows.answer == answer)]
        rules[:, answer] = np.quantile(margins, shares, method="lower")
    return rules


def _count(rows: Judged, chosen: BoolArray, n_classes: int) -> Counts:
    wrong = chosen & (rows.answer != rows.target)
    return Counts(
        np.bincount(rows.target[chosen], minlength=n_classes), np.bincount(rows.target[wrong], minlength=n_classes)
    )


def _running(target: IntArray, level: IntArray, n_rules: int, n_classes: int) -> IntArray:
    """Count rows by class and level, then sum up along the levels; rows that no rule answers are left out."""
    kept = level < n_rules
    table = np.bincount(level[kept] * n_classes + target[kept], minlength=n_rules * n_classes)
    return np.cumsum(table.reshape(n_rules, n_classes), axis=0)
