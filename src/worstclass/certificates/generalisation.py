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

from worstclass._checks import check_delta, check_positive
from worstclass._text import text_table
from worstclass._typing import FloatArray, IntArray
from worstclass.boosting.booster import WorstClassBooster
from worstclass.data.labels import known_labels
from worstclass.data.seen_rows import row_hashes
from worstclass.exceptions import DataError, ParameterError

OWNER, MLP_OWNER = "generalisation_bound", "mlp_generalisation_bound"
Layers = list[tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class ClassBound:
    """The bound of one class on unseen rows, and its terms.

    Attributes
    ----------
    name, n_rows : the class and its training rows.
    error : its training error, or 1 - theta; for a vote the mean error of the members.
    complexity, deviation : ``2 C / sqrt(n_rows)`` and ``3 sqrt(log(2 K / delta) / (2 n_rows))``.
    bound : the sum of the three; for a vote twice the sum.
    """

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
        verdict = (
            f"Worst class: {self.worst:.4g}. VACUOUS: no error is above 1, so this bound says nothing. Use certify."
            if self.vacuous
            else f"Worst class: at most {self.worst:.4f}, with probability {1 - self.delta:.4g}."
        )
        return "\n".join([*table, verdict, self.grounds])


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
    >>> generalisation_bound(0.25, [100, 5_000], C=10).vacuous
    True
    """
    rows = np.asarray(n_rows)
    check_delta(delta, OWNER)
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu" or (rows < 1).any():
        allowed = "the number of training rows of each class, all at least 1"
        raise ParameterError("n_rows", OWNER, allowed=allowed, got=n_rows)
    for name, value, most in (("errors", errors, 1.0), ("C", C, np.finfo(float).max)):
        array = np.asarray(value)
        fits = array.dtype.kind in "iuf" and array.shape in ((), rows.shape)
        if not fits or not ((array >= 0) & (array <= most)).all():
            allowed = f"{'a rate in [0, 1]' if most == 1 else 'a number of at least 0'}, or one for each class"
            raise ParameterError(name, OWNER, allowed=allowed, got=value)
    names = map(str, range(len(rows)) if class_names is None else class_names)
    error = np.broadcast_to(np.asarray(errors, dtype=np.float64), rows.shape)
    complexity = 2 * np.asarray(C, dtype=np.float64) / np.sqrt(rows)
    deviation = 3 * np.sqrt(math.log(2 * len(rows) / delta) / (2 * rows))
    bound = (2 if vote else 1) * (error + complexity + deviation)
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

    Returns
    -------
    The bound of each class: twice the sum of the members' mean margin error, the complexity and the deviation.
    """
    check_delta(delta, MLP_OWNER)
    check_positive(margin, "margin", MLP_OWNER)
    if not isinstance(booster, WorstClassBooster) or not hasattr(booster, "estimators_"):
        raise _not_an_mlp(booster)
    labels = known_labels(X, y, booster.classes_, "y")
    hashes, trained = row_hashes(X), booster.seen_rows_.training
    if hashes is not None and trained is not None and not np.isin(hashes, trained).all():
        raise DataError("X must be the rows that the booster was trained on. For other rows use certify.")
    members: list[Any] = list(booster.estimators_[: booster.n_members_used_])
    members = [member.in_memory() if hasattr(member, "in_memory") else member for member in members]
    encoder: Any = booster.encoder_
    layers = [_layers(member, encoder) for member in members]
    exponent = math.ceil(math.log2(max(_norm_product(of_member) for of_member in layers)))
    inputs = booster._inputs(X)
    squares = _squared_norms(inputs, encoder)
    B = np.sqrt(np.bincount(labels.index, weights=squares) / labels.totals + 1)
    K, depth = labels.n_classes, len(layers[0])
    C = K * 2.0**exponent * B * (math.sqrt(2 * depth * math.log(2)) + 1) / margin
    errors = np.mean([_margin_errors(member.probabilities(inputs), labels.index, margin) for member in members], axis=0)
    # the bound is taken for all powers of two at once: these shares of delta add up to delta
    share = delta / (1.5 * (abs(exponent) + 1) * (abs(exponent) + 2))
    names = booster.classes_.tolist()
    bound = generalisation_bound(
        errors.tolist(), labels.totals.tolist(), C=C.tolist(), delta=share, vote=True, class_names=names
    )
    grounds = (
        f"Vote of {len(members)} networks of {depth} layers, product of norms at most 2^{exponent}; Golowich, Rakhlin "
        f"and Shamir (2018), Theorem 1. 'error' is the members' mean margin error at {margin:g}; a vote errs at most "
        "twice as often as its members on average."
    )
    return replace(bound, delta=float(delta), grounds=grounds)


def _not_an_mlp(got: Any) -> ParameterError:
    allowed = "a fitted WorstClassBooster of torch networks that are linear layers with ReLU between them"
    return ParameterError("booster", MLP_OWNER, allowed=allowed, got=got)


def _layers(member: Any, encoder: Any) -> Layers:
    """Return weights and biases of the layers; the scaling of columns is made part of the first."""
    from torch import nn

    module = getattr(getattr(member, "runtime", None), "module", None)
    if not isinstance(module, nn.Sequential):
        raise _not_an_mlp(member)
    parts = [(name, part) for name, part in module.named_children() if not isinstance(part, nn.Flatten)]
    alternate = all(isinstance(part, nn.ReLU if i % 2 else nn.Linear) for i, (_, part) in enumerate(parts))
    if not alternate or len(parts) % 2 == 0:
        raise _not_an_mlp(module)
    layers = []
    for name, _ in parts[::2]:
        weight = member.state[f"{name}.weight"].double().cpu().numpy()
        bias = member.state.get(f"{name}.bias")
        layers.append((weight, np.zeros(len(weight)) if bias is None else bias.double().cpu().numpy()))
    if encoder.mean is not None and encoder.std is not None:
        weight, bias = layers[0]
        scaled = weight / encoder.std.double().numpy()
        layers[0] = scaled, bias - scaled @ encoder.mean.double().numpy()
    return layers


def _norm_product(layers: Layers) -> float:
    """Return A: Frobenius norms of [[W, b], [0, 1]] of the hidden layers, times the largest row norm of the last."""
    hidden = [math.sqrt((weight**2).sum() + (bias**2).sum() + 1) for weight, bias in layers[:-1]]
    weight, bias = layers[-1]
    return max(math.prod(hidden) * math.sqrt(((weight**2).sum(axis=1) + bias**2).max()), 2.0**-64)  # 0 has no logarithm


def _squared_norms(inputs: Any, encoder: Any) -> FloatArray:
    """Return the squared norm of each row as the first layer gets it, before the scaling of columns."""
    from worstclass.learners.torch_inputs import EpochSampler

    unscaled = replace(encoder, mean=None, std=None)
    batches = inputs.batches(EpochSampler(len(inputs), 4_096))
    squares = [unscaled.to_float(rows).flatten(1).double().square().sum(dim=1).cpu().numpy() for rows, _ in batches]
    return np.concatenate(squares)


def _margin_errors(probabilities: FloatArray, target: IntArray, margin: float) -> FloatArray:
    """Return, by class, the share of rows whose class leads by ``margin`` or less; leads are those of the logits."""
    rows = np.arange(len(target))
    others = probabilities.copy()
    others[rows, target] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.log(probabilities[rows, target]) - np.log(others.max(axis=1))
    missed = ~(lead > margin)
    return np.bincount(target, weights=missed) / np.bincount(target)
