"""Coincidence or reuse: what equal rows in two samples say.

New rows may equal seen rows because they are the same rows, used a second time, or because the table has few different
rows. Two independent samples of one population are exchangeable: given all rows together, every division into "seen"
and "new" is equally likely. Reuse makes the two parts more alike than such a division does.

- *Reused*: the two parts share more than 1,999 random divisions of the same rows. Either of two statistics may say so,
  the number of new rows with an equal seen row, and (for tables in which nearly every row has one) how evenly each
  value is divided. Independent rows are called reused with a probability of at most 0.001.
- *Chance*: less than half of the rows can have been used before. Either fewer than half have an equal seen row, or a
  test at the level 0.01 rejects that half of the rows are a random part of the seen ones. Up to 1% of equal rows pass
  in any case.
- *Undecided*: anything else. In a large sample from a small table every new row has equal seen rows either way.

The derivation and the error rates are in docs/theory.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from worstclass._typing import IntArray

NONE, CHANCE, UNDECIDED, REUSED, UNKNOWN = "none", "chance", "undecided", "reused", "unknown"

#: share of equal rows that passes in any case
HANDFUL = 0.01
#: share of repeated rows from which new rows count as a sample of a discrete table
MANY_REPEATS = 0.1
#: random divisions; reuse is found where none of them shares as much, by either statistic
DRAWS = 1_999
#: values whose division is tried; of more, these are a random part
MOST_VALUES = 1_000
#: level of each of the two tests of "half of the rows were used before"
HALF_LEVEL = 0.005
#: rows per value from which the distribution of the second of them is known well enough
DENSE = 5


def judge_equal_rows(new: npt.NDArray[np.uint64], seen: npt.NDArray[np.uint64]) -> tuple[int, float, str]:
    """Count the new rows that equal a seen row, and say whether chance explains them.

    Parameters
    ----------
    new, seen : fingerprints of the rows, repeated rows as often as they occur.

    Returns
    -------
    The number of new rows with an equal seen row, the number expected by chance, and the verdict: "none", "chance",
    "undecided" or "reused".
    """
    values, places = np.unique(np.concatenate([seen, new]), return_inverse=True)
    in_seen = np.bincount(places[: len(seen)], minlength=len(values))
    in_new = np.bincount(places[len(seen) :], minlength=len(values))
    n_equal = int(in_new[in_seen > 0].sum())
    n_expected = len(new) * chance_of_equal(in_seen)
    return n_equal, n_expected, _verdict(n_equal, in_new, in_seen)


def chance_of_equal(in_seen: IntArray) -> float:
    """Estimate the probability that a new row equals a seen one: the share of seen rows that another seen row equals.

    Examples
    --------
    >>> chance_of_equal(np.array([1, 1, 2]))
    0.5
    """
    return 1 - float((in_seen == 1).sum() / in_seen.sum()) if in_seen.any() else 0.0


def _verdict(n_equal: int, in_new: IntArray, in_seen: IntArray) -> str:
    n = in_new.sum()
    if n_equal == 0:
        return NONE
    if n_equal <= HANDFUL * n:
        return CHANCE
    if _shares_too_much(in_new, in_seen):
        unique_seen = in_seen.max() == 1  # copies were removed from the seen rows: no division is like that
        many_repeats = (n - np.count_nonzero(in_new)) > MANY_REPEATS * n
        return UNDECIDED if unique_seen and many_repeats else REUSED
    return CHANCE if 2 * n_equal < n or _less_than_half(n_equal, in_new, in_seen) else UNDECIDED


def _shares_too_much(in_new: IntArray, in_seen: IntArray) -> bool:
    """Compare the division into new and seen rows with random ones, by two statistics."""
    n, total = int(in_new.sum()), in_new + in_seen
    kept = np.flatnonzero(total > 1)[:MOST_VALUES]  # in the order of the fingerprints, which is random
    sizes = total[kept]
    colours = np.append(sizes, total.sum() - sizes.sum())
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_hypergeometric(colours, n, size=DRAWS, method="marginals")[:, :-1]
    both = np.vstack([in_new[kept], drawn])
    equal = np.where(both < sizes, both, 0).sum(axis=1)
    evenness = (both * (sizes - both) / sizes).sum(axis=1)
    return bool((equal[1:] < equal[0]).all() or (evenness[1:] < evenness[0] - 1e-9).all())


def _less_than_half(n_equal: int, in_new: IntArray, in_seen: IntArray) -> bool:
    """Test that half of the new rows are a random part of the seen ones; True where that is rejected."""
    n, N = int(in_new.sum()), int(in_seen.sum())
    once, twice = int((in_seen == 1).sum()), int((in_seen == 2).sum())
    p = chance_of_equal(in_seen)
    # variance of the estimate p: Esty, "A normal limit law for a nonparametric estimator of the coverage" (1983)
    variance = p * (1 - p) / (2 * n) + (once * p + 2 * twice + 1) / (2 * N) ** 2
    if (1 + p) / 2 - n_equal / n > stats.norm.isf(HALF_LEVEL) * math.sqrt(variance):
        return True
    # the chi-square statistic of homogeneity is N / (N + n) times chi-square distributed where half are reused
    total = in_new + in_seen
    if total.sum() < DENSE * len(total):
        return False
    chi_square = (n + N) * (1 - (n + N) / (n * N) * float((in_new * in_seen / total).sum()))
    freedom = len(total) - 1
    low, high = stats.chi2.isf([HALF_LEVEL, 0.001], freedom)
    return bool(low * N / (n + N) < chi_square < high)
