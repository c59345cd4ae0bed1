"""Difference constraints between classes: the largest slack they leave, and offsets that keep to them.

A matrix G of shape (K, K) stands for the constraints ``b_k - b_j >= G[k, j]``, j other than k, on K offsets; -inf on
the diagonal, and where there is no constraint. They can be met with slack m (``>= G + m``) if and only if no cycle of
G has a mean above -m, so the largest slack is minus the largest cycle mean. (This is the spectral theory of max-plus
matrices.)
"""

from __future__ import annotations

import numpy as np

from worstclass._typing import FloatArray


def max_cycle_mean(G: FloatArray) -> float:
    """Return the largest mean of the entries along a cycle, by Karp's algorithm; all off the diagonal must be finite.

    Examples
    --------
    >>> inf = np.inf
    >>> max_cycle_mean(np.array([[-inf, 1.0, 5.0], [3.0, -inf, 0.0], [-9.0, -2.0, -inf]]))
    2.0
    """
    K = len(G)
    walks = np.zeros((K + 1, K))  # walks[m, k]: the heaviest walk of m steps from k
    for m in range(1, K + 1):
        walks[m] = (G + walks[m - 1]).max(axis=1)
    steps_left = (K - np.arange(K))[:, None]
    return float(((walks[K] - walks[:K]) / steps_left).min(axis=0).max())


def heaviest_paths(G: FloatArray) -> FloatArray:
    """Return the weight of the heaviest path from each class to each, one step at least; G must have no positive cycle.

    Examples
    --------
    >>> inf = np.inf
    >>> heaviest_paths(np.array([[-inf, 1.0, -4.0], [-3.0, -inf, 2.0], [-9.0, -inf, -inf]])).tolist()
    [[-2.0, 1.0, 3.0], [-3.0, -2.0, 2.0], [-9.0, -8.0, -6.0]]
    """
    paths = G.copy()
    for k in range(len(G)):
        np.maximum(paths, paths[:, k, None] + paths[None, k, :], out=paths)
    return paths


def eigenvector(G: FloatArray, mean: float, previous: FloatArray | None, tolerance: float) -> FloatArray:
    """Return v with ``max_j (G[k, j] + v_j) = mean + v_k``, where ``mean`` is the largest cycle mean.

    Such a v is not unique. With a ``previous`` one (of the same mean, under constraints at least as strict), the new
    one keeps its values on the critical classes, those of the cycles of that mean, and is nowhere above it: repeated
    improvement then makes progress even where the mean stays as it is.
    """
    paths = heaviest_paths(G - mean)
    cycles = paths.diagonal().copy()
    np.fill_diagonal(paths, 0.0)
    if previous is None:
        return np.asarray(paths[:, int(cycles.argmax())])
    critical = cycles >= min(-tolerance, cycles.max())
    return np.asarray((paths[:, critical] + previous[critical]).max(axis=1))


def nearest_to_zero(G: FloatArray) -> FloatArray:
    """Return offsets that meet the constraints, near zero: the mean of two extreme solutions.

    One raises classes only, each as little as it must; the other lowers classes only. A class in no binding constraint
    has offset 0 in both. G must have no positive cycle.

    Examples
    --------
    >>> inf = np.inf
    >>> nearest_to_zero(np.array([[-inf, 1.0, -4.0], [-3.0, -inf, -2.0], [-9.0, -7.0, -inf]])).tolist()
    [0.5, -0.5, 0.0]
    """
    paths = heaviest_paths(G)
    np.fill_diagonal(paths, 0.0)
    raised, lowered = paths.max(axis=1), -paths.max(axis=0)
    return np.asarray((raised + lowered) / 2)
