"""Coincidence or reuse: what equal rows in two samples say.

New rows may equal seen rows because they are the same rows, used again, or because the table has few different rows.
One statistic tells: how evenly the copies of each row are divided between the seen and the new rows. Reuse makes the
division too even.

- *Reused*: the division is more even than 999 random divisions of the same rows. Two independent samples are a random
  division, so independent rows are called reused with a probability of at most 0.001.
- *Chance*: otherwise, if the division is less even than in nearly all of 199 simulated samples in which half of the new
  rows are seen rows, used again. Up to 1% of equal rows pass in any case.
- *Undecided*: anything else, and rows that could all be seen rows, each used once.

docs/theory.md has the error rates.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from worstclass._typing import FloatArray, IntArray

NONE, CHANCE, UNDECIDED, REUSED, UNKNOWN = "none", "chance", "undecided", "reused", "unknown"

#: share of equal rows that passes in any case
HANDFUL = 0.01
#: random divisions, and samples with half of the rows reused
DIVISIONS, HALF_REUSED = 999, 199
#: share of the latter that may be as uneven as rows that pass
HALF_LEVEL = 0.01
#: share of repeated new rows from which on seen rows without any repetition count as cleaned of copies
MANY_REPEATS = 0.1
#: different rows that are tried; of more, these are a random part, because fingerprints are random
MOST_VALUES = 500


def judge_equal_rows(new: npt.NDArray[np.uint64], seen: npt.NDArray[np.uint64]) -> tuple[int, float, str]:
    """Judge rows by their fingerprints.

    Returns
    -------
    The number of new rows with an equal seen row, the number expected by chance (from the share of seen rows that equal
    another seen row), and the verdict: "none", "chance", "undecided" or "reused".

    Examples
    --------
    >>> judge_equal_rows(np.arange(5, 25, dtype=np.uint64), np.arange(20, dtype=np.uint64))
    (15, 0.0, 'reused')
    """
    values, places = np.unique(np.concatenate([seen, new]), return_inverse=True)
    in_seen = np.bincount(places[: len(seen)], minlength=len(values))
    in_new = np.bincount(places[len(seen) :], minlength=len(values))
    n_equal = int(in_new[in_seen > 0].sum())
    n_expected = len(new) * float(in_seen[in_seen > 1].sum()) / max(len(seen), 1)
    return n_equal, n_expected, _verdict(n_equal, in_new, in_seen)


def _verdict(n_equal: int, new: IntArray, seen: IntArray) -> str:
    if n_equal <= HANDFUL * new.sum():
        return CHANCE if n_equal else NONE
    if seen.max() == 1 and new.sum() - np.count_nonzero(new) > MANY_REPEATS * new.sum():
        return UNDECIDED  # without its copies a sample is no random division
    rng = np.random.default_rng(0)
    if _more_even_than_chance(new, seen, rng):
        return REUSED
    may_be_copy = bool((new <= seen).all())
    return CHANCE if not may_be_copy and _less_than_half(new[:MOST_VALUES], seen[:MOST_VALUES], rng) else UNDECIDED


def _more_even_than_chance(new: IntArray, seen: IntArray, rng: np.random.Generator) -> bool:
    """Compare the division of the rows that occur more than once with random divisions of all rows."""
    repeated = np.flatnonzero(new + seen > 1)[:MOST_VALUES]
    copies = (new + seen)[repeated]
    colours = np.append(copies, (new + seen).sum() - copies.sum())
    drawn = rng.multivariate_hypergeometric(colours, new.sum(), size=DIVISIONS, method="marginals")[:, :-1]
    return bool(_evenness(new[repeated], seen[repeated]) > _evenness(drawn, copies - drawn).max() + 1e-9)


def _less_than_half(new: IntArray, seen: IntArray, rng: np.random.Generator) -> bool:
    """Compare the division with samples in which half of the new rows were reused; True if it is less even."""
    half, at_most = int(new.sum()) // 2, np.minimum(new, seen)
    if at_most.sum() < half:
        return True
    simulated = []
    for reused in rng.multivariate_hypergeometric(at_most, half, size=HALF_REUSED, method="marginals"):
        records = new + seen - reused
        seen_then = rng.multivariate_hypergeometric(records, seen.sum(), method="marginals")
        reused_then = rng.multivariate_hypergeometric(seen_then, half, method="marginals")
        simulated.append(_evenness(records - seen_then + reused_then, seen_then))
    return bool(np.mean(np.array(simulated) <= _evenness(new, seen) + 1e-9) <= HALF_LEVEL)


def _evenness(new: IntArray, seen: IntArray) -> FloatArray:
    return np.asarray((new * seen / np.maximum(new + seen, 1)).sum(axis=-1))
