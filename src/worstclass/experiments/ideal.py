"""The least worst-class error that any classifier can have on the artificial data, by linear programming.

Each class is uniform inside a convex region. The regions divide the plane into pieces, and within a piece only its area
matters: the program decides which share of every piece is answered with which class.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog

from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.data.named.artificial import DISC_CENTRES, HALF_DIAGONAL, SQUARE_CENTRES
from worstclass.exceptions import UnknownNameError

#: vertical lines along which areas are summed; with them the areas of unit discs are right to 1e-5
N_LINES = 5_000


@dataclass(frozen=True, eq=False)
class Regions:
    """Convex regions of the plane, one for each class.

    Attributes
    ----------
    centres : shape (K, 2).
    reach : from a centre to the edge of its region, along an axis.
    round : whether the regions are discs; else they are squares that stand on a corner.
    """

    centres: FloatArray
    reach: float
    round: bool

    @classmethod
    def of(cls, data: str) -> Regions:
        """Return the regions of an artificial data set."""
        if data == "artificial-balanced":
            return cls(SQUARE_CENTRES, HALF_DIAGONAL, False)
        if data == "artificial-imbalanced":
            return cls(DISC_CENTRES, 1.0, True)
        raise UnknownNameError("data", "Regions.of", data, ["artificial-balanced", "artificial-imbalanced"])

    @property
    def extent(self) -> tuple[FloatArray, FloatArray]:
        """The lower left and the upper right corner of what the data are scaled by."""
        return self.centres.min(axis=0) - self.reach, self.centres.max(axis=0) + self.reach

    def contain(self, points: FloatArray) -> BoolArray:
        """Tell for points in the unit square, to which the data are scaled, which regions they lie in; (n, K)."""
        low, high = self.extent
        away = (points * (high - low) + low)[:, None, :] - self.centres
        distance = np.linalg.norm(away, ord=2 if self.round else 1, axis=2)
        return np.asarray(distance <= self.reach)

    def pieces(self) -> dict[tuple[int, ...], float]:
        """Return the area of every piece, by the classes whose regions overlap there."""
        (left, _), (right, _) = self.extent
        step = (right - left) / N_LINES
        areas: dict[tuple[int, ...], float] = {}
        for x in left + step * (np.arange(N_LINES) + 0.5):
            away = np.abs(x - self.centres[:, 0])
            half = np.sqrt(np.clip(self.reach**2 - away**2, 0, None)) if self.round else self.reach - away
            crossed = np.flatnonzero(half > 0)
            low, high = self.centres[crossed, 1] - half[crossed], self.centres[crossed, 1] + half[crossed]
            ends = np.unique(np.concatenate([low, high]))
            for start, end in pairwise(ends):
                middle = (start + end) / 2
                piece = tuple(crossed[(low < middle) & (middle < high)].tolist())
                if piece:
                    areas[piece] = areas.get(piece, 0.0) + step * (end - start)
        return areas


def least_worst_error(regions: Regions) -> float:
    """Return the least worst-class error that any classifier has.

    Examples
    --------
    >>> round(least_worst_error(Regions.of("artificial-imbalanced")), 3)
    0.366
    """
    pieces = regions.pieces()
    variables = [(piece, k) for piece in pieces for k in piece]
    sizes = [sum(area for piece, area in pieces.items() if k in piece) for k in range(len(regions.centres))]
    n, n_classes = len(variables), len(sizes)
    # the variables are the area of each piece that is answered with each class, and last the worst error
    errors = np.zeros((n_classes, n + 1))
    for column, (_, k) in enumerate(variables):
        errors[k, column] = -1 / sizes[k]
    errors[:, n] = -1  # 1 - right_k <= worst error
    whole = [[float(piece == one) for one, _ in variables] + [0.0] for piece in pieces]
    found = linprog(
        np.eye(n + 1)[n], A_ub=errors, b_ub=np.full(n_classes, -1.0), A_eq=whole, b_eq=list(pieces.values())
    )
    return float(found.fun)


def ideal_answers(regions: Regions, points: FloatArray, n_steps: int = 150) -> IntArray:
    """Return answers whose worst-class error is the least possible: class indices, -1 outside all regions.

    Where regions overlap, the nearest centre answers, by squared distances minus an offset for each class. The offsets
    are raised for classes with a larger error until all errors are equal, but for the coarseness of the grid. No other
    answers have a lower worst-class error: all points are answered with a region that contains them, so that the mean
    error is the least, too.

    Parameters
    ----------
    points : a fine grid over the unit square, on which the errors are counted.
    n_steps : number of times that the offsets are changed.
    """
    inside = regions.contain(points)
    low, high = regions.extent
    distances = (((points * (high - low) + low)[:, None, :] - regions.centres) ** 2).sum(axis=2)
    distances[~inside] = np.inf
    answers = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
    shared, sizes = inside.sum(axis=1) > 1, inside.sum(axis=0)
    alone = np.bincount(answers[(answers >= 0) & ~shared], minlength=len(sizes))
    offsets, contested = np.zeros(len(sizes)), distances[shared]
    for step in range(n_steps):
        nearest = (contested - offsets).argmin(axis=1)
        right = (alone + np.bincount(nearest, minlength=len(sizes))) / sizes
        offsets += 2 * (right.mean() - right) / (1 + step / 20)
    answers[shared] = nearest
    return answers


def least_average_answers(regions: Regions, points: FloatArray, sacrificed: int) -> IntArray:
    """Return answers with the least average error of equally frequent classes, where one class yields to all others.

    The classes are equally dense, so that every answer is best that names a region which contains the point.
    """
    inside = regions.contain(points)
    preference = inside * 2.0
    preference[:, sacrificed] /= 2
    return np.where(inside.any(axis=1), preference.argmax(axis=1), -1)
