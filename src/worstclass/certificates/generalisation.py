"""The paper's bounds for unseen rows, from the training rows alone, with the union over classes that they need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.certificates.requirement import check_delta
from worstclass.exceptions import ParameterError

OWNER = "generalisation_bound"


@dataclass(frozen=True)
class ClassBound:
    """The bound of one class and what it is made of: ``factor * (error + complexity + deviation)``.

    Attributes
    ----------
    name : the class.
    n_rows : its training rows.
    error : its training error, or 1 - theta.
    complexity : ``2 C / sqrt(n_rows)``.
    deviation : ``3 sqrt(log(2 K / delta) / (2 n_rows))``.
    bound : the sum, times the factor.
    """

    name: str
    n_rows: int
    error: float
    complexity: float
    deviation: float
    bound: float

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing, an error never being above 1."""
        return self.bound >= 1


@dataclass(frozen=True)
class GeneralisationBound:
    """Bounds of all class errors on unseen rows, which hold together with probability ``1 - delta``.

    Attributes
    ----------
    classes : one ``ClassBound`` a class.
    delta : probability with which one of them may fail.
    factor : 1 for one network or a mean over members, 2 for a majority vote.
    grounds : what is assumed, and by which theorems the bound follows.
    """

    classes: tuple[ClassBound, ...]
    delta: float
    factor: int
    grounds: str

    @property
    def worst(self) -> float:
        """The bound of the worst class: the largest of all."""
        return max(row.bound for row in self.classes)

    @property
    def vacuous(self) -> bool:
        """Whether the bound of the worst class says nothing."""
        return self.worst >= 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "worst": self.worst, "vacuous": self.vacuous}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> GeneralisationBound:
        """Rebuild a bound from what ``to_dict`` gave."""
        own = {name: values[name] for name in ("delta", "factor", "grounds")}
        return cls(classes=tuple(ClassBound(**row) for row in values["classes"]), **own)

    def __str__(self) -> str:
        width = max(5, *(len(row.name) for row in self.classes))
        head = f"{'class':<{width}}  {'rows':>7}  {'error':>7}  {'complexity':>10}  {'deviation':>9}  {'bound':>10}"
        lines = [
            f"{row.name:<{width}}  {row.n_rows:>7}  {row.error:>7.3f}  {row.complexity:>10.4g}  {row.deviation:>9.3f}  "
            f"{row.bound:>10.4g}{'  vacuous' if row.vacuous else ''}"
            for row in self.classes
        ]
        verdict = (
            f"Worst class: {self.worst:.4g}. VACUOUS: no error is above 1, so this bound says nothing. Use certify."
            if self.vacuous
            else f"Worst class: at most {self.worst:.4f}, with probability {1 - self.delta:.4g}."
        )
        return "\n".join([head, *lines, verdict, self.grounds])


def generalisation_bound(
    errors: float | Sequence[float],
    n_rows: Sequence[int],
    *,
    C: float | Sequence[float],
    delta: float = 0.05,
    vote: bool = False,
    class_names: Sequence[Any] | None = None,
) -> GeneralisationBound:
    """Bound the class errors on unseen rows: ``error_k + 2 C / sqrt(n_k) + 3 sqrt(log(2 K / delta) / (2 n_k))``.

    The form is that of the paper's theorem and corollary, with ``delta / K`` for each class so that the bounds of all
    classes, and with them that of the worst, hold together. The corollary is what ``errors = 1 - theta`` gives for the
    smallest class.

    Parameters
    ----------
    errors : training errors of the classes, or one number for all, such as ``1 - theta`` where the training bound is
        met.
    n_rows : training rows of each class.
    C : constant, or one a class, such that ``C / sqrt(n_k)`` bounds the empirical Rademacher complexity, on the rows of
        class k, of the losses x -> loss(h(x), k) in [0, 1] that ``errors`` are means of. It must be known before the
        rows are seen, and holds for one hypothesis h or for a mean of the losses of several.
    delta : probability, in (0, 1), with which one of the bounds may fail.
    vote : bound the majority vote. ``errors`` must then be the mean errors of its members: the vote errs at most twice
        as often, and the mean, unlike the vote, is in the convex hull of H to which C extends.
    class_names : what to call the classes; by default their numbers.

    Examples
    --------
    >>> bound = generalisation_bound(1 - 0.75, [100, 5_000], C=0.5)
    >>> [round(row.bound, 3) for row in bound.classes], bound.vacuous
    ([0.794, 0.327], False)
    >>> generalisation_bound(0.25, [100, 5_000], C=10).vacuous
    True
    """
    rows = np.asarray(n_rows)
    check_sizes(rows, errors, C, delta)
    names = [str(name) for name in (range(len(rows)) if class_names is None else class_names)]
    e, c = np.broadcast_to(errors, rows.shape), np.broadcast_to(C, rows.shape)
    return GeneralisationBound(
        classes=tuple(class_bounds(names, rows, e, c, delta / len(rows), 2 if vote else 1)),
        delta=float(delta),
        factor=2 if vote else 1,
        grounds=f"Holds if C was known before the rows were seen (C = {np.unique(c).tolist()}).",
    )


def class_bounds(
    names: Sequence[str],
    n_rows: npt.NDArray[Any],
    errors: npt.NDArray[Any],
    C: npt.NDArray[Any],
    delta: float,
    factor: int,
) -> list[ClassBound]:
    """Return the bounds, each of which fails with a probability of at most ``delta``."""
    bounds = []
    for name, n, error, c in zip(names, n_rows.tolist(), errors.tolist(), C.tolist(), strict=True):
        complexity, deviation = 2 * c / math.sqrt(n), 3 * math.sqrt(math.log(2 / delta) / (2 * n))
        bounds.append(ClassBound(name, n, error, complexity, deviation, factor * (error + complexity + deviation)))
    return bounds


def check_sizes(n_rows: npt.NDArray[Any], errors: Any, C: Any, delta: Any) -> None:
    """Refuse numbers that no bound can be made of."""
    if n_rows.ndim != 1 or n_rows.size == 0 or n_rows.dtype.kind not in "iu" or (n_rows < 1).any():
        raise ParameterError(
            "n_rows", OWNER, allowed="the number of training rows of each class, all at least 1", got=n_rows
        )
    for name, value, most, allowed in (
        ("errors", errors, 1.0, "a rate in [0, 1], or one for each class"),
        ("C", C, math.inf, "a number of at least 0, or one for each class"),
    ):
        array = np.asarray(value)
        fits = array.dtype.kind in "iuf" and array.shape in ((), n_rows.shape)
        if not fits or not ((array >= 0) & (array <= most)).all() or np.isinf(array).any():
            raise ParameterError(name, OWNER, allowed=allowed, got=value)
    check_delta(delta, owner=OWNER)
