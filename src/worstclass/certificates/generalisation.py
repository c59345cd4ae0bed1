"""The paper's bounds for unseen rows, from training rows alone: Theorem 2 and its corollary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import numpy.typing as npt

from worstclass._checks import check_delta
from worstclass.exceptions import ParameterError

OWNER = "generalisation_bound"


@dataclass(frozen=True)
class GeneralisationBound:
    """Bounds of the class errors on unseen rows: error + complexity + deviation, twice that for a vote.

    Attributes
    ----------
    error, complexity, deviation, bound : the three parts and the bound, one number per class.
    delta : probability with which one of the bounds may fail; they hold together with probability ``1 - delta``.
    """

    error: tuple[float, ...]
    complexity: tuple[float, ...]
    deviation: tuple[float, ...]
    bound: tuple[float, ...]
    _: KW_ONLY
    delta: float

    @property
    def worst(self) -> float:
        """The bound of the worst class: the largest of all."""
        return max(self.bound)

    @property
    def vacuous(self) -> bool:
        """Whether the bound of the worst class says nothing: no error is above 1."""
        return self.worst >= 1

    def __str__(self) -> str:
        verdict = f"at most {self.worst:.4f}, with probability {1 - self.delta:.4g}."
        if self.vacuous:
            verdict = f"{self.worst:.4g}. VACUOUS: no error is above 1, so this bound says nothing. Use certify."
        return f"Worst class: {verdict} Holds if C was known before the rows were seen."


def generalisation_bound(
    errors: npt.ArrayLike,
    n_rows: Sequence[int],
    *,
    C: npt.ArrayLike,
    delta: float = 0.05,
    vote: bool = False,
) -> GeneralisationBound:
    """Bound the class errors on unseen rows: ``error_k + 2 C / sqrt(n_k) + 3 sqrt(log(2 K / delta) / (2 n_k))``.

    The form is that of the paper's theorem and corollary, with ``delta / K`` for each class so that the bounds of all
    classes hold together. With ``errors = 1 - theta``, the bound of the smallest class is the corollary.

    Parameters
    ----------
    errors : training errors of the classes, or one number for all, such as ``1 - theta`` if the training bound is met.
    n_rows : training rows of each class.
    C : constant, or one per class, such that ``C / sqrt(n_k)`` bounds the empirical Rademacher complexity, on the rows
        of class k, of the losses x -> loss(h(x), k) in [0, 1] whose means are ``errors``. It must be known before the
        rows are seen, and holds for one hypothesis h or for a mean of the losses of several.
    delta : probability, in (0, 1), with which one of the bounds may fail.
    vote : bound the majority vote. ``errors`` must then be the mean errors of its members: the vote errs at most twice
        as often, and the mean, unlike the vote, is in the convex hull to which C extends.

    Examples
    --------
    >>> bound = generalisation_bound(1 - 0.75, [100, 5_000], C=0.5)
    >>> [round(value, 3) for value in bound.bound], bound.vacuous
    ([0.794, 0.327], False)
    """
    check_delta(delta, OWNER)
    rows = np.asarray(n_rows)
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu" or (rows < 1).any():
        raise ParameterError("n_rows", OWNER, allowed="the training rows of each class, all at least 1", got=n_rows)
    for name, value, most in (("errors", errors, 1.0), ("C", C, np.finfo(float).max)):
        array = np.asarray(value)
        fits = array.dtype.kind in "iuf" and array.shape in ((), rows.shape)
        if not fits or not ((array >= 0) & (array <= most)).all():
            allowed = f"a number of at least 0{' and at most 1' if most == 1 else ''}, or one for each class"
            raise ParameterError(name, OWNER, allowed=allowed, got=value)
    error, complexity = np.broadcast_to(np.asarray(errors, float), rows.shape), 2 * np.asarray(C) / np.sqrt(rows)
    deviation = 3 * np.sqrt(math.log(2 * len(rows) / delta) / (2 * rows))
    bound = (2 if vote else 1) * (error + complexity + deviation)
    columns = [tuple(values.tolist()) for values in (error, complexity, deviation, bound)]
    return GeneralisationBound(*columns, delta=float(delta))
