"""When to answer: thresholds from strict to free, and the freest that can be proven.

A row is answered if its margin exceeds a *threshold*. The risk of class k is the probability that an answered row of
class k is wrong. The promise is that it is below ``risk[k]`` for every class.

Fixed-sequence testing keeps the promise (Angelopoulos, Bates, Candès, Jordan and Lei, "Learn then Test", 2021). The
held-out rows are in two parts:

1. The first part chooses a list of thresholds, and where on it to begin.
2. The second part tests the thresholds from there on, towards smaller ones, and stops at the first that is not proven.
   The last one proven is used. A threshold is proven if, for each class, so few of the answered rows are wrong that
   this has a probability of at most ``delta`` where the risk is ``risk[k]`` or more (an exact binomial test).

docs/theory.md proves that this holds with probability ``1 - delta``, and under which assumptions. How the first part
chooses has no influence on that; it decides how much is answered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from worstclass._checks import by_class, is_number
from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.certificates.binomial import p_value
from worstclass.exceptions import ParameterError

#: share of the answered rows of each class that the first tested threshold keeps, compared with the most promising one
KEPT = 0.75
#: thresholds that are tried, besides the last: finer steps would hardly change what is answered
MOST_THRESHOLDS = 500


class JudgedAnswers(NamedTuple):
    """Rows of known classes: class and answer as indices, and the margin of the answer."""

    target: IntArray
    answer: IntArray
    margin: FloatArray

    def take(self, rows: IntArray) -> JudgedAnswers:
        """Return some of the rows."""
        return JudgedAnswers(self.target[rows], self.answer[rows], self.margin[rows])


class RiskCounts(NamedTuple):
    """Answered rows, and wrong ones among them, by class; for each threshold of a list, shape (thresholds, K)."""

    answered: IntArray
    wrong: IntArray


def find_threshold(
    choosing: JudgedAnswers, proving: JudgedAnswers, risk: FloatArray, delta: float
) -> tuple[float, bool]:
    """Choose thresholds on some rows, and prove on others how far down the list one may go: the whole procedure.

    Returns the threshold, and whether it is proven; if not, it is the first one tested.
    """
    thresholds = candidate_thresholds(choosing)
    n_proving = np.bincount(proving.target, minlength=len(risk))
    first = first_tested(count_along(choosing, thresholds, len(risk)), n_proving, risk, delta)
    last = last_proven(count_along(proving, thresholds, len(risk)), first, risk, delta)
    return float(thresholds[first if last is None else last]), last is not None


def candidate_thresholds(rows: JudgedAnswers) -> FloatArray:
    """Return every margin that occurs, descending, and -inf at the end.

    Of more than ``MOST_THRESHOLDS`` margins, that many are taken, evenly.

    Examples
    --------
    >>> rows = JudgedAnswers(np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([0.5, 0.9, 0.5]))
    >>> candidate_thresholds(rows).tolist()
    [0.9, 0.5, -inf]
    """
    margins = np.unique(rows.margin)[::-1]
    if len(margins) > MOST_THRESHOLDS:
        margins = margins[np.linspace(0, len(margins) - 1, MOST_THRESHOLDS).round().astype(np.int64)]
    return np.append(margins, -np.inf)


def count_along(rows: JudgedAnswers, thresholds: FloatArray, n_classes: int) -> RiskCounts:
    """Count answered and wrong rows of each class under every threshold of a descending list."""
    first = np.searchsorted(-thresholds, -rows.margin, side="right")  # the first threshold that answers the row
    wrong = rows.answer != rows.target

    def running(chosen: BoolArray) -> IntArray:
        kept = chosen & (first < len(thresholds))
        cells = first[kept] * n_classes + rows.target[kept]
        table = np.bincount(cells, minlength=len(thresholds) * n_classes).reshape(len(thresholds), n_classes)
        return np.cumsum(table, axis=0)

    return RiskCounts(running(np.ones_like(wrong)), running(wrong))


def p_values(counts: RiskCounts, risk: FloatArray) -> FloatArray:
    """Return for each threshold the p-value of "the risk of some class is too large": the largest over the classes.

    Examples
    --------
    >>> p_values(RiskCounts(np.array([[3, 9]]), np.array([[0, 9]])), np.array([0.5, 1.0])).tolist()
    [0.125]
    """
    return np.asarray(np.where(risk < 1, p_value(counts.wrong, counts.answered, risk), 0.0).max(axis=-1))


def first_tested(choosing: RiskCounts, n_proving: IntArray, risk: FloatArray, delta: float) -> int:
    """Return the place of the threshold to test first, from the counts of the rows that choose.

    The threshold that looks easiest to prove probably looks better than it is. So the tests begin with a stricter one
    that keeps ``KEPT`` of the rows it answers in every class, and enough rows for a proof: so many of the ``n_proving``
    rows of the class should be answered that they prove the limit if none is wrong. A class without a limit, or of
    which no row chooses, has no say.
    """
    asked = (risk < 1) & (choosing.answered[-1] > 0)
    if not asked.any():
        return len(choosing.answered) - 1
    answered, wrong, limit = choosing.answered[:, asked], choosing.wrong[:, asked], risk[asked]
    looks = p_values(RiskCounts(answered, wrong), limit)
    best = len(looks) - 1 - int(looks[::-1].argmin())
    to_come = answered / answered[-1] * n_proving[asked]
    suits = ((answered >= KEPT * answered[best]) & ((1 - limit) ** to_come <= delta)).all(axis=1)
    suits[best] = True
    return int(suits.argmax())


def last_proven(proving: RiskCounts, first: int, risk: FloatArray, delta: float) -> int | None:
    """Test the thresholds from ``first`` on; return the place of the last that is proven, None if there is none.

    Examples
    --------
    >>> counts = RiskCounts(np.array([[5], [6], [7], [8]]), np.array([[0], [0], [2], [0]]))
    >>> last_proven(counts, 0, np.array([0.5]), 0.05)
    1
    """
    passed = p_values(RiskCounts(proving.answered[first:], proving.wrong[first:]), risk) <= delta
    n_passed = len(passed) if passed.all() else int(passed.argmin())
    return first + n_passed - 1 if n_passed else None


def risk_limits(risk: Any, classes: npt.NDArray[Any], *, owner: str) -> FloatArray:
    """Read one limit for all classes, or a mapping with one per class; 1 asks for nothing.

    Examples
    --------
    >>> risk_limits({"b": 0.05, "others": 1}, np.array(["a", "b"]), owner="AbstainingClassifier").tolist()
    [1.0, 0.05]
    """

    def read(value: Any) -> float:
        if not is_number(value) or not 0 < value <= 1:
            allowed = "a limit in (0, 1], or a mapping from class to such a limit"
            hint = "A risk of 0.05 asks that less than 5% of the answered rows of every class are wrong."
            raise ParameterError("risk", owner, allowed=allowed, got=value, hint=hint)
        return float(value)

    limits = np.array(by_class(risk, classes.tolist(), read, parameter="risk", owner=owner, noun="limit", nothing="1"))
    if (limits == 1).all():
        allowed, hint = "below 1 for at least one class", "A limit of 1 asks for nothing, so nothing would be proven."
        raise ParameterError("risk", owner, allowed=allowed, got=risk, hint=hint)
    return limits


def divide(target: IntArray, share: float, rng: np.random.Generator | None) -> BoolArray:
    """Mark a share of the rows of each class, rounded to whole rows: drawn at random, or spread evenly.

    Examples
    --------
    >>> divide(np.array([0, 0, 0, 0, 1]), 0.5, None).tolist()
    [True, False, True, False, True]
    """
    marked = np.zeros(len(target), dtype=np.bool_)
    for k in np.unique(target).tolist():
        rows = np.flatnonzero(target == k)
        if rng is not None:
            rows = rng.permutation(rows)
        steps = np.floor(np.arange(len(rows) + 1) * share + 0.5)
        marked[rows[np.diff(steps) > 0]] = True
    return marked


def abstain_value(given: Any, classes: npt.NDArray[Any], *, owner: str) -> Any:
    """Return the label for "no answer": as given, or "abstain" among texts and a number below all other labels.

    Examples
    --------
    >>> abstain_value("auto", np.array(["cat", "dog"]), owner="f"), abstain_value("auto", np.array([3, 5]), owner="f")
    ('abstain', -1)
    >>> abstain_value("auto", np.array([-1, 1]), owner="f")
    -2
    """
    labels = classes.tolist()
    value = given
    if isinstance(given, str) and given == "auto":
        value = "abstain" if isinstance(labels[0], str) else min(0, *labels) - 1
    if any(value is label or value == label for label in labels):
        raise ParameterError("abstain_label", owner, allowed="not one of the classes", got=value)
    return value


def with_abstentions(answers: npt.NDArray[Any], answered: BoolArray, value: Any) -> npt.NDArray[Any]:
    """Return the answers with ``value`` in the rows that are not answered; as objects if no other type holds both.

    Examples
    --------
    >>> with_abstentions(np.array(["ok", "no"]), np.array([True, False]), "abstain").tolist()
    ['ok', 'abstain']
    >>> with_abstentions(np.array([1, 2]), np.array([True, False]), None).tolist()
    [1, None]
    """
    kinds = {answers.dtype.kind, np.asarray(value).dtype.kind}
    if kinds == {"U"} or kinds <= set("iuf"):
        return np.where(answered, answers, np.asarray(value))
    mixed = answers.astype(object)
    mixed[~answered] = value
    return mixed
