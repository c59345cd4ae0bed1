"""Cutting rows apart class by class, with whole-set totals that do not depend on how each class is rounded.

How the paper's counts come about: of n rows, a share s is cut off as ``ceil(s * n)`` rows, and the rest is kept. So 7:3
of 20,431 rows are 14,301 and 6,130, and of 697,932 rows 488,552 and 209,380. The rows that are kept are then shared
among the classes in proportion to their rows by largest remainder: each class gets its share rounded down, and the
rows still missing go to the classes that lost most by that.

A balanced set is thinned to a long tail by a profile. Class k of K keeps ``floor(n_k * rho ** (-k / (K - 1)))`` of its
n_k rows under the exponential profile: the first class keeps all, and the last one in rho. Under the step profile the
first half of the classes keeps all and the second half one in rho. The floor is taken in whole numbers: of 49 rows and
rho = 49 the last class keeps exactly 1, where floating point gives 0. For CIFAR-10 and rho = 10 the sums are the
paper's: 20,431 and 4,084.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._checks import check_choice, check_count, is_number
from worstclass._typing import IntArray
from worstclass.exceptions import DataError, ParameterError

PROFILES = ("exponential", "step")


def allot(counts: IntArray, total: int) -> IntArray:
    """Share ``total`` rows among classes in proportion to ``counts``, by largest remainder.

    A class that has rows gets at least one, as long as there are rows for all. Equal remainders go to the first class.

    Examples
    --------
    >>> allot(np.array([5, 5, 5]), 7).tolist(), allot(np.array([100, 1]), 50).tolist()
    ([3, 2, 2], [49, 1])
    """
    n_rows = int(counts.sum())
    if not 0 <= total <= n_rows:
        raise DataError(f"{total} rows cannot be taken of {n_rows}.")
    if total == n_rows:
        return counts.copy()
    given, remainder = np.divmod(counts * total, n_rows)
    missing = total - int(given.sum())
    given[np.argsort(-remainder, kind="stable")[:missing]] += 1
    for empty in np.flatnonzero((given == 0) & (counts > 0)):
        largest = int(np.argmax(given))
        if given[largest] <= 1:
            break
        given[largest] -= 1
        given[empty] += 1
    return given


def cut(labels: npt.NDArray[Any], n_off: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Cut ``n_off`` rows off, each class in its proportion, at random within a class.

    Returns
    -------
    The rows that are kept and those that are cut off, each in ascending order.

    Examples
    --------
    >>> kept, off = cut(np.repeat([0, 1], [6, 4]), share_of(0.3, 10), np.random.default_rng(0))
    >>> len(kept), len(off), set(kept) & set(off)
    (7, 3, set())
    """
    _, label, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = draw(label, allot(counts, len(labels) - n_off), rng)
    return kept, np.setdiff1d(np.arange(len(labels)), kept, assume_unique=True)


def share_of(share: float, n_rows: int) -> int:
    """Return ``ceil(share * n_rows)``, with the share as the decimal it was written as."""
    return math.ceil(exact(share) * n_rows)


def draw(label: npt.NDArray[np.integer], counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw ``counts[k]`` rows of each class k at random; return them in ascending order."""
    drawn = [rng.permutation(np.flatnonzero(label == k))[:count] for k, count in enumerate(counts.tolist())]
    return np.sort(np.concatenate(drawn)) if drawn else np.empty(0, np.int64)


def generator(seed: int, *path: int) -> np.random.Generator:
    """Return the generator of one use of a seed; other uses do not shift it."""
    check_count(seed, "seed", "load_dataset", least=0)
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=path))


def check_shares(shares: Mapping[str, float], owner: str) -> None:
    """Refuse shares outside of [0, 1), and shares that leave nothing to train on."""
    for name, share in shares.items():
        if not is_number(share) or not 0 <= share < 1:
            raise ParameterError(name, owner, allowed="a share in [0, 1)", got=share)
    if sum(exact(share) for share in shares.values()) >= 1:
        raise ParameterError(", ".join(shares), owner, allowed="less than 1 together", got=dict(shares))


def exact(share: float) -> Fraction:
    """Return a number as the decimal it was written as."""
    return Fraction(str(share))


def profile_counts(counts: npt.ArrayLike, *, rho: float, profile: str = "exponential") -> IntArray:
    """Return how many of its rows each class keeps.

    Parameters
    ----------
    counts : rows of each class, in the order of the labels.
    rho : rows of the first class for one of the last, at least 1.
    profile : ``"exponential"`` or ``"step"``.

    Examples
    --------
    >>> profile_counts([5000] * 10, rho=10).tolist()
    [5000, 3871, 2997, 2320, 1796, 1391, 1077, 834, 645, 500]
    >>> profile_counts([100] * 4, rho=20, profile="step").tolist()
    [100, 100, 5, 5]
    """
    check_choice(profile, "profile", "the imbalanced set", PROFILES)
    if not is_number(rho) or rho < 1:
        raise ParameterError("rho", "the imbalanced set", allowed="a number of at least 1", got=rho)
    rows = [int(count) for count in np.asarray(counts)]
    n_steps = max(len(rows) - 1, 1)
    if profile == "step":
        n_whole = len(rows) - len(rows) // 2
        return np.array([n if k < n_whole else _thinned(n, rho, 1, 1) for k, n in enumerate(rows)], dtype=np.int64)
    return np.array([_thinned(n, rho, k, n_steps) for k, n in enumerate(rows)], dtype=np.int64)


def thin(
    labels: npt.NDArray[np.int64], n_classes: int, rng: np.random.Generator, *, rho: float, profile: str
) -> IntArray:
    """Return the rows that are kept, drawn at random within a class, in ascending order."""
    kept = profile_counts(np.bincount(labels, minlength=n_classes), rho=rho, profile=profile)
    return draw(labels, kept, rng)


def _thinned(n_rows: int, rho: float, k: int, d: int) -> int:
    """Return floor(n_rows * rho ** (-k / d)): the largest m with m**d * p**k <= n_rows**d * q**k, where rho = p / q."""
    p, q = exact(rho).as_integer_ratio()
    limit = n_rows**d * q**k
    found = int(n_rows * float(rho) ** (-k / d))  # right, or one beside it
    while found**d * p**k > limit:
        found -= 1
    while (found + 1) ** d * p**k <= limit:
        found += 1
    return found
