"""The least worst-class error that any classifier can have on the artificial data, by linear programming.

Each class is uniform inside a convex region. The regions divide the plane into pieces, and within a piece only its area
matters: the program decides which share of every piece is answered with which class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.data.named.artificial import DISC_CENTRES, HALF_DIAGONAL, SQUARE_CENTRES
from worstclass.exceptions import UnknownNameError

#: vertical lines along which areas are summed; with them the areas of unit discs are right to 1e-6
N_LINES = 20_000


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

    def contain(self, points: FloatArray) -> BoolArray:
        """Tell for points in the unit square, to which the data are scaled, which regions they lie in; (n, K)."""
        low, high = self.centres.min(axis=0) - self.reach, self.centres.max(axis=0) + self.reach
        away = (points * (high - low) + low)[:, None, :] - self.centres
        distance = np.linalg.norm(away, ord=2 if self.round else 1, axis=2)
        return np.asarray(distance <= self.reach)

    def pieces(self) -> dict[tuple[int, ...], float]:
        """Return the area of every piece, by the classes whose regions overlap there."""
        left, right = self.centres[:, 0].min() - self.reach, self.centres[:, 0].max() + self.reach
        step = (right - left) / N_LINES
        areas: dict[tuple[int, ...], float] = {}
        for x in left + step * (np.arange(N_LINES) + 0.5):
            away = np.abs(x - self.centres[:, 0])
            half = np.sqrt(np.clip(self.reach**2 - away**2, 0, None)) if self.round else self.reach - away
            crossed = np.flatnonzero(half > 0)
            low, high = self.centres[crossed, 1] - half[crossed], self.centres[crossed, 1] + half[crossed]
            ends = np.unique(np.concatenate([low, high]))
            for start, end in zip(ends[:-1], ends[1:], strict=True):
                middle = (start + end) / 2
                piece = tuple(crossed[(low < middle) & (middle < high)].tolist())
                if piece:
                    areas[piece] = areas.get(piece, 0.0) + step * (end - start)
        return areas


@dataclass(frozen=True, eq=False)
class Ideal:
    """A best classifier: the share of every piece that it answers with each class, and its class errors."""

    shares: dict[tuple[int, ...], dict[int, float]]
    class_errors: FloatArray

    @property
    def worst_error(self) -> float:
        """The error of the worst class."""
        return float(self.class_errors.max())


def minimax(regions: Regions) -> Ideal:
    """Return a classifier with the least worst-class error, and among those one that divides the pieces evenly.

    Examples
    --------
    >>> round(minimax(Regions.of("artificial-imbalanced")).worst_error, 3)
    0.366
    """
    pieces = regions.pieces()
    variables = [(piece, k) for piece in pieces for k in piece]
    sizes = np.array([sum(area for piece, area in pieces.items() if k in piece) for k in range(len(regions.centres))])
    n, n_classes = len(variables), len(sizes)
    # variables: the area of each piece that is answered with each class, and the worst error t
    right = np.zeros((n_classes, n + 1))
    for column, (_, k) in enumerate(variables):
        right[k, column] = -1 / sizes[k]
    right[:, n] = -1  # 1 - right_k <= t
    whole = np.array([[float(piece == one) for one, _ in variables] + [0.0] for piece in pieces])
    limits = {"A_ub": right, "b_ub": np.full(n_classes, -1.0), "A_eq": whole, "b_eq": list(pieces.values())}
    least = linprog(np.eye(n + 1)[n], bounds=[(0, None)] * (n + 1), **limits).fun
    found = _most_even(limits, whole, least + 1e-9)
    shares: dict[tuple[int, ...], dict[int, float]] = {piece: {} for piece in pieces}
    for (piece, k), area in zip(variables, found, strict=False):
        shares[piece][k] = area / pieces[piece]
    return Ideal(shares, 1 + right[:, :n] @ found[:n])


def _most_even(limits: dict[str, Any], whole: FloatArray, worst_error: float) -> FloatArray:
    """Solve the program again with the worst error given, for the least sum of the largest share of every piece."""
    n_pieces, n = whole.shape[0], whole.shape[1] - 1
    largest = np.zeros((n, n + 1 + n_pieces))  # every area of a piece is at most the largest of it
    largest[np.arange(n), np.arange(n)] = 1
    largest[np.arange(n), n + 1 + whole[:, :n].argmax(axis=0)] = -1
    none = np.zeros((len(limits["A_ub"]), n_pieces))
    return np.asarray(
        linprog(
            np.concatenate([np.zeros(n + 1), np.ones(n_pieces)]),
            A_ub=np.vstack([np.hstack([limits["A_ub"], none]), largest]),
            b_ub=np.concatenate([limits["b_ub"], np.zeros(n)]),
            A_eq=np.hstack([whole, np.zeros((n_pieces, n_pieces))]),
            b_eq=limits["b_eq"],
            bounds=[(0, None)] * n + [(0, worst_error)] + [(0, None)] * n_pieces,
        ).x
    )


def least_average_answers(regions: Regions, points: FloatArray, sacrificed: int) -> IntArray:
    """Return answers with the least average error of equally frequent classes: one class yields to all others.

    The classes are equally dense, so that every answer is best that names a class whose region contains the point.
    """
    inside = regions.contain(points)
    last = inside.astype(int)
    last[:, sacrificed] *= -1
    answers = np.where(inside.any(axis=1), np.where(last > 0, 2, 0).argmax(axis=1), -1)
    only = inside[:, sacrificed] & (inside.sum(axis=1) == 1)
    return np.where(only, sacrificed, answers)


def ideal_answers(regions: Regions, ideal: Ideal, points: FloatArray) -> IntArray:
    """Return the class index of points in the unit square, -1 outside all regions.

    A piece with several classes is divided where the points are nearer to one centre than to the others.
    """
    inside, answers = regions.contain(points), np.full(len(points), -1)
    low, high = regions.centres.min(axis=0) - regions.reach, regions.centres.max(axis=0) + regions.reach
    distance = np.linalg.norm((points * (high - low) + low)[:, None, :] - regions.centres, axis=2)
    for piece, shares in ideal.shares.items():
        members = np.zeros(len(regions.centres), dtype=bool)
        members[list(piece)] = True
        left = np.flatnonzero((inside == members).all(axis=1))
        n_piece = len(left)
        given = [k for k in piece if shares[k] > 1e-6]
        for k in given[:-1]:
            others = [other for other in given if other != k]
            order = left[np.argsort(distance[left, k] - distance[left][:, others].min(axis=1), kind="stable")]
            n_taken = round(shares[k] * n_piece)
            answers[order[:n_taken]], left = k, order[n_taken:]
        answers[left] = given[-1] if given else -1
    return answers
