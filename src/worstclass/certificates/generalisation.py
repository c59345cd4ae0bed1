"""The paper's bounds for unseen rows, from training rows alone: Theorem 2 and its corollary.

The constant C of a network is bounded by Theorem 1 of Golowich, Rakhlin and Shamir ("Size-Independent Sample Complexity
of Neural Networks", COLT 2018); docs/theory.md, section 2, says how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._checks import check_delta, check_positive
from worstclass._text import text_table
from worstclass._typing import FloatArray
from worstclass.boosting.booster import WorstClassBooster
from worstclass.data.labels import Labels, known_labels
from worstclass.data.seen_rows import row_hashes
from worstclass.exceptions import DataError, ParameterError

OWNER, MLP_OWNER = "generalisation_bound", "mlp_generalisation_bound"


@dataclass(frozen=True)
class ClassBound:
    """The bound of one class on unseen rows: error + complexity + deviation, twice that for a vote."""

    name: str
    n_rows: int
    error: float
    complexity: float
    deviation: float
    bound: float


@dataclass(frozen=True)
class GeneralisationBound:
    """Bounds of all class errors on unseen rows, which hold together with probability ``1 - delta``.

    Attributes
    ----------
    classes : one ``ClassBound`` per class.
    delta : probability with which one of them may fail.
    grounds : the assumptions, and the theorems from which the bound follows.
    """

    classes: tuple[ClassBound, ...]
    delta: float
    grounds: str

    @property
    def worst(self) -> float:
        """The bound of the worst class: the largest of all."""
        return max(row.bound for row in self.classes)

    @property
    def vacuous(self) -> bool:
        """Whether the bound of the worst class says nothing: no error is above 1."""
        return self.worst >= 1

    def __str__(self) -> str:
        cells = [
            [row.name, str(row.n_rows), *(f"{x:.4g}" for x in (row.error, row.complexity, row.deviation, row.bound))]
            for row in self.classes
        ]
        table = text_table(["class", "rows", "error", "complexity", "deviation", "bound"], cells)
        verdict = f"at most {self.worst:.4f}, with probability {1 - self.delta:.4g}."
        if self.vacuous:
            verdict = f"{self.worst:.4g}. VACUOUS: no error is above 1, so this bound says nothing. Use certify."
        return "\n".join([*table, f"Worst class: {verdict}", self.grounds])


def generalisation_bound(
    errors: npt.ArrayLike,
    n_rows: Sequence[int],
    *,
    C: npt.ArrayLike,
    delta: float = 0.05,
    vote: bool = False,
    class_names: Sequence[Any] | None = None,
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
    class_names : names of the classes; by default their numbers.

    Examples
    --------
    >>> bound = generalisation_bound(1 - 0.75, [100, 5_000], C=0.5)
    >>> [round(row.bound, 3) for row in bound.classes], bound.vacuous
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
    names = map(str, range(len(rows)) if class_names is None else class_names)
    columns: Any = zip(names, *(x.tolist() for x in (rows, error, complexity, deviation, bound)), strict=True)
    grounds = f"Holds if C was known before the rows were seen (C = {np.unique(C).tolist()})."
    return GeneralisationBound(tuple(ClassBound(*values) for values in columns), float(delta), grounds)


def mlp_generalisation_bound(
    booster: WorstClassBooster, X: Any, y: Any, *, delta: float = 0.05, margin: float = 1.0
) -> GeneralisationBound:
    """Bound the class errors of a vote of multilayer perceptrons on unseen rows, from its training rows alone.

    The bound holds, and it is nearly always vacuous, because the norms of trained networks are large. A certificate
    from held-out rows (``certify``) says more.

    Parameters
    ----------
    booster : a fitted booster of networks that are linear layers with ReLU between them.
    X, y : the rows that it was trained on.
    delta : probability, in (0, 1), with which one of the bounds may fail.
    margin : by how much the output of the right class must lead for a row to count as right; chosen beforehand.
    """
    check_delta(delta, MLP_OWNER)
    check_positive(margin, "margin", MLP_OWNER)
    members: list[Any] = list(getattr(booster, "estimators_", []))[: getattr(booster, "n_members_used_", 0)]
    members = [member.in_memory() if hasattr(member, "in_memory") else member for member in members]
    encoder: Any = getattr(booster, "encoder_", None)
    norms = [of_member for of_member in (_norms(member, encoder) for member in members) if of_member]
    if not norms or len(norms) < len(members):
        allowed = "a fitted WorstClassBooster of torch networks that are linear layers with ReLU between them"
        raise ParameterError("booster", MLP_OWNER, allowed=allowed, got=booster)
    labels = known_labels(X, y, booster.classes_, "y")
    hashes, trained = row_hashes(X), booster.seen_rows_.training
    if hashes is not None and trained is not None and not np.isin(hashes, trained).all():
        raise DataError("X must be the rows that the booster was trained on. For other rows use certify.")
    inputs = booster._inputs(X)
    depth, exponent = len(norms[0]), math.ceil(math.log2(max(map(math.prod, norms)) or 2.0**-64))
    B = np.sqrt(np.bincount(labels.index, weights=_squared_norms(inputs, encoder)) / labels.totals + 1)
    C = labels.n_classes * 2.0**exponent * B * (math.sqrt(2 * depth * math.log(2)) + 1) / margin
    errors = np.mean([_margin_errors(member.probabilities(inputs), labels, margin) for member in members], axis=0)
    # the bound is taken for all powers of two at once: these shares of delta add up to delta
    share = delta / (1.5 * (abs(exponent) + 1) * (abs(exponent) + 2))
    names = booster.classes_.tolist()
    bound = generalisation_bound(errors, labels.totals.tolist(), C=C, delta=share, vote=True, class_names=names)
    grounds = (
        f"Vote of {len(members)} networks of {depth} layers, product of norms at most 2^{exponent}; Golowich, Rakhlin "
        f"and Shamir (2018), Theorem 1. 'error' is the members' mean margin error at {margin:g}."
    )
    return replace(bound, delta=float(delta), grounds=grounds)


def _norms(member: Any, encoder: Any) -> list[float] | None:
    """Return the Frobenius norms of [[W, b], [0, 1]] of the hidden layers, and the largest row norm of the last.

    The scaling of columns is part of the first layer. None if the network is no multilayer perceptron.
    """
    from torch import nn

    module: Any = getattr(getattr(member, "runtime", None), "module", None)
    named = module.named_children() if isinstance(module, nn.Sequential) else ()
    parts = [(name, part) for name, part in named if not isinstance(part, nn.Flatten)]
    alternate = all(isinstance(part, nn.ReLU if i % 2 else nn.Linear) for i, (_, part) in enumerate(parts))
    if not alternate or len(parts) % 2 == 0:
        return None
    squares: list[FloatArray] = []  # of the rows of each layer
    for name, part in parts[::2]:
        weight = member.state[f"{name}.weight"].double().cpu().numpy()
        bias = 0.0 if part.bias is None else member.state[f"{name}.bias"].double().cpu().numpy()
        if not squares and encoder.std is not None:
            mean, std = (np.broadcast_to(x, (1, *encoder.row_shape)).reshape(-1) for x in (encoder.mean, encoder.std))
            weight = weight / std
            bias = bias - weight @ mean
        squares.append((weight**2).sum(axis=1) + bias**2)
    return [*(math.sqrt(rows.sum() + 1) for rows in squares[:-1]), math.sqrt(squares[-1].max())]


def _squared_norms(inputs: Any, encoder: Any) -> FloatArray:
    """Return the squared norm of each row as the first layer gets it, before the scaling of columns."""
    from worstclass.learners.torch_inputs import EpochSampler

    unscaled = replace(encoder, mean=None, std=None)
    batches = inputs.batches(EpochSampler(len(inputs), 4_096))
    return np.concatenate([unscaled.to_float(rows).flatten(1).double().square().sum(1).cpu() for rows, _ in batches])


def _margin_errors(probabilities: FloatArray, labels: Labels, margin: float) -> FloatArray:
    """Return, by class, the share of rows whose class leads by ``margin`` or less; leads are those of the logits."""
    own = np.eye(labels.n_classes, dtype=bool)[labels.index]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(probabilities)
        missed = ~(logs[own] - np.where(own, -np.inf, logs).max(axis=1) > margin)
    return np.bincount(labels.index, weights=missed) / labels.totals
