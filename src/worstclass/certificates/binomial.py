"""Exact binomial statistics: upper limits of an error rate, p-values, and the number of rows that would be enough.

A class has ``total`` rows of which ``wrong`` are wrong; its rows are independent and its true error rate is fixed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from worstclass._typing import FloatArray


def upper_limit(wrong: npt.ArrayLike, total: npt.ArrayLike, level: float) -> FloatArray:
    """Return the Clopper-Pearson upper limit: the error rate exceeds it with a probability of at most ``level``.

    It is the rate at which ``wrong`` or fewer errors have the probability ``level``: ``1 - level^(1/total)`` without an
    error, and 1 if every row is wrong or there is none.

    Examples
    --------
    >>> upper_limit([0, 0, 3, 5], [59, 0, 10, 5], 0.05).round(4).tolist()
    [0.0495, 1.0, 0.6066, 1.0]
    """
    c, n = np.asarray(wrong), np.asarray(total)
    return np.where(c < n, stats.beta.isf(level, c + 1, np.maximum(n - c, 1)), 1.0)


def error_interval(wrong: npt.ArrayLike, total: npt.ArrayLike, delta: float = 0.05) -> tuple[FloatArray, FloatArray]:
    """Return the two-sided Clopper-Pearson interval of an error rate: it misses the true rate with at most ``delta``.

    It holds for each class alone. 0 to 1 without rows.

    Examples
    --------
    >>> low, high = error_interval([0, 2, 0], [10, 10, 0])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0252, 0.0], [0.3085, 0.5561, 1.0])
    """
    c, n = np.asarray(wrong), np.asarray(total)
    return 1 - upper_limit(n - c, n, delta / 2), upper_limit(c, n, delta / 2)


def p_value(wrong: npt.ArrayLike, total: npt.ArrayLike, rate: npt.ArrayLike) -> FloatArray:
    """Return the probability of ``wrong`` or fewer errors if the true error is ``rate``.

    It falls as the true error grows, so it is the p-value of "the error is ``rate`` or more".

    Examples
    --------
    >>> p_value([0, 1, 4, 0], [3, 2, 4, 0], 0.5).tolist()
    [0.125, 0.75, 1.0, 1.0]
    """
    c, n = np.asarray(wrong), np.asarray(total)
    return np.where(c < n, special.betaincc(c + 1, np.maximum(n - c, 1), np.asarray(rate, dtype=np.float64)), 1.0)


def rows_at_least(wrong: int, total: int, rate: Fraction, level: float) -> int:
    """Return how many more rows, all of them right, bring the p-value to ``level`` or below.

    Examples
    --------
    >>> rows_at_least(0, 0, Fraction(1, 20), 0.05), rows_at_least(0, 59, Fraction(1, 20), 0.05)
    (59, 0)
    """
    return _least(lambda n: bool(p_value(wrong, n, float(rate)) <= level), total) - total


def rows_if_rate_stays(wrong: int, total: int, rate: Fraction, level: float) -> int | None:
    """Return how many more rows bring the p-value to ``level`` at the observed error rate.

    The number of errors is rounded up, so slightly fewer rows may be enough. None if no number is enough, because the
    observed rate is ``rate`` or more, or if there is no row yet.

    Examples
    --------
    >>> rows_if_rate_stays(6, 50, Fraction(1, 5), 0.05), rows_if_rate_stays(10, 50, Fraction(1, 5), 0.05)
    (32, None)
    """
    if total == 0 or Fraction(wrong, total) >= rate:
        return None
    if wrong == 0:
        return rows_at_least(0, total, rate, level)

    def proven(errors: int, n: int) -> bool:
        return bool(p_value(errors, n, float(rate)) <= level)

    def most_rows(errors: int) -> int:  # the most rows for which the observed rate gives so many errors
        return errors * total // wrong

    errors = _least(lambda e: proven(e, most_rows(e)), wrong)
    start = total if errors == wrong else most_rows(errors - 1) + 1
    return _least(lambda n: proven(errors, n), start) - total


def _least(holds: Callable[[int], bool], start: int) -> int:
    """Return the smallest number from ``start`` on for which a monotone condition holds."""
    end = start
    while not holds(end):
        end = 2 * end - start + 1
    return start + bisect_left(range(start, end), True, key=holds)
