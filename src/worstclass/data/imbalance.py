"""Thinning a balanced set to a long tail.

Class k of K keeps ``floor(n_k * rho ** (-k / (K - 1)))`` of its n_k rows under the exponential profile, so that the
first class keeps all and the last one in rho. Under the step profile the first half of the classes keeps all and
the second half one in rho. The floor is taken in whole numbers: of 49 rows and rho = 49 the last class keeps exactly 1,
where floating point gives 0. For CIFAR-10 and rho = 10 the sums are the paper's: 20,431 and 4,084.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from worstclass._typing import IntArray
from worstclass.data.stratified import draw, exact
from worstclass.exceptions import ParameterError, UnknownNameError

PROFILES = ("exponential", "step")


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
    if profile not in PROFILES:
        raise UnknownNameError("profile", "the imbalanced set", profile, PROFILES)
    if isinstance(rho, bool) or not isinstance(rho, int | float | np.number) or not 1 <= rho < float("inf"):
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
