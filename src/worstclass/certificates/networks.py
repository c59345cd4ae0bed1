"""The generalisation bound of a vote of multilayer perceptrons, its constant computed from their weights.

Take a network of d linear layers with ReLU between them, each layer with its biases written as one matrix (the constant
1 is passed on as one more unit). Theorem 1 of Golowich, Rakhlin and Shamir ("Size-Independent Sample Complexity of
Neural Networks", COLT 2018) bounds the Rademacher complexity of one output on n rows by
``A B (sqrt(2 d log 2) + 1) / sqrt(n)``, where A is the product of the Frobenius norms of the matrices, the last being
the row of that output, and B the root of the mean squared norm of the inputs (x, 1).

The margin of class k, its output minus the largest other one, has at most the sum of the complexities of the K outputs
(Mohri, Rostamizadeh and Talwalkar, "Foundations of Machine Learning", 2nd edition, Lemma 9.1). The ramp loss, which is
1 for margins below 0 and 0 beyond ``margin``, adds the factor ``1 / margin`` (their Lemma 5.7); it is at least the
zero-one loss, and above 0 only for a margin below ``margin``. So C = K A B (sqrt(2 d log 2) + 1) / margin.

A is known only after training. The bound is therefore taken for all powers of two at once, that of exponent i at
``delta / (1.5 (|i| + 1) (|i| + 2))`` (these add up to delta), and used at the least power that is at least A.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._typing import FloatArray
from worstclass.boosting.booster import WorstClassBooster
from worstclass.certificates.generalisation import GeneralisationBound, check_sizes, class_bounds
from worstclass.data.labels import known_labels
from worstclass.data.seen_rows import row_hashes, which_seen
from worstclass.exceptions import DataError, ParameterError

OWNER = "mlp_generalisation_bound"

#: in place of a product of norms that is 0, whose logarithm would not exist
LEAST_NORM = 2.0**-64

Layers = list[tuple[FloatArray, FloatArray]]


def mlp_generalisation_bound(
    booster: WorstClassBooster, X: Any, y: Any, *, delta: float = 0.05, margin: float = 1.0
) -> GeneralisationBound:
    """Bound the class errors of a vote of multilayer perceptrons on unseen rows, from its training rows alone.

    It holds, and it is nearly always vacuous: the norms of trained networks are large. That is what the theory gives; a
    certificate from held-out rows (``certify``) gives more.

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
    labels = known_labels(X, y, _classes_of(booster), "y")
    if not isinstance(margin, int | float) or isinstance(margin, bool) or not 0 < margin < math.inf:
        raise ParameterError("margin", OWNER, allowed="a positive number", got=margin)
    check_sizes(labels.totals, 0.0, 0.0, delta)
    _require_training_rows(booster, X)
    members = [_in_memory(member) for member in booster.estimators_[: booster.n_members_used_]]
    encoder: Any = booster.encoder_
    inputs = booster._inputs(X)
    layers = [_layers(member, encoder) for member in members]
    K, depth = labels.n_classes, len(layers[0])
    exponent = math.ceil(math.log2(max(_norm_product(of_member) for of_member in layers)))
    norms = _input_norms(inputs, encoder)
    B = np.array([math.sqrt((norms[labels.index == k] ** 2).mean() + 1) for k in range(K)])
    C = K * 2.0**exponent * B * (math.sqrt(2 * depth * math.log(2)) + 1) / margin
    margins_missed = [_margin_errors(member.probabilities(inputs), labels.index, margin) for member in members]
    errors = np.mean(margins_missed, axis=0)
    each = delta / K / (1.5 * (abs(exponent) + 1) * (abs(exponent) + 2))
    names = [str(label) for label in booster.classes_.tolist()]
    return GeneralisationBound(
        classes=tuple(class_bounds(names, labels.totals, errors, C, each, factor=2)),
        delta=float(delta),
        factor=2,
        grounds=(
            f"Vote of {len(members)} networks of {depth} layers, product of norms at most 2^{exponent}; Golowich, "
            "Rakhlin and Shamir (2018), Theorem 1, for the margins; 'error' is the members' mean margin error at "
            f"{margin:g}; a vote errs at most twice as often as its members on the mean."
        ),
    )


def _classes_of(booster: Any) -> npt.NDArray[Any]:
    fitted = isinstance(booster, WorstClassBooster) and hasattr(booster, "estimators_")
    if not fitted or not (hasattr(booster.estimators_[0], "runtime") or hasattr(booster.estimators_[0], "in_memory")):
        raise _not_an_mlp(booster)
    return np.asarray(booster.classes_)


def _not_an_mlp(got: Any) -> ParameterError:
    allowed = "a fitted WorstClassBooster of torch networks that are linear layers with ReLU between them"
    return ParameterError("booster", OWNER, allowed=allowed, got=got)


def _require_training_rows(booster: WorstClassBooster, X: Any) -> None:
    """Refuse rows that are known not to be those of training: the bound is about the training sample."""
    hashes = row_hashes(X)
    if hashes is not None and booster.row_hashes_ is not None and not which_seen(hashes, booster.row_hashes_).all():
        raise DataError("X must be the rows that the booster was trained on. For other rows use certify.")


def _in_memory(member: Any) -> Any:
    return member.in_memory() if hasattr(member, "in_memory") else member


def _layers(member: Any, encoder: Any) -> Layers:
    """Return weights and biases of the layers, the scaling of columns taken into the first."""
    from torch import nn

    parts = [part for part in member.runtime.module.children() if not isinstance(part, nn.Flatten)]
    linear = all(isinstance(part, nn.Linear) for part in parts[::2])
    relu = all(isinstance(part, nn.ReLU) for part in parts[1::2])
    if not isinstance(member.runtime.module, nn.Sequential) or not linear or not relu or len(parts) % 2 == 0:
        raise _not_an_mlp(member.runtime.module)
    names = [name for name, part in member.runtime.module.named_children() if isinstance(part, nn.Linear)]
    layers = []
    for name in names:
        weight = member.state[f"{name}.weight"].double().cpu().numpy()
        bias = member.state.get(f"{name}.bias")
        layers.append((weight, np.zeros(len(weight)) if bias is None else bias.double().cpu().numpy()))
    if encoder.mean is not None and encoder.std is not None:
        weight, bias = layers[0]
        mean, std = (part.double().expand(encoder.row_shape).flatten().numpy() for part in (encoder.mean, encoder.std))
        scaled = weight / std
        layers[0] = scaled, bias - scaled @ mean
    return layers


def _norm_product(layers: Layers) -> float:
    """Return A: Frobenius norms of [[W, b], [0, 1]] of the hidden layers, times the largest row norm of the last."""
    hidden = [math.sqrt((weight**2).sum() + (bias**2).sum() + 1) for weight, bias in layers[:-1]]
    weight, bias = layers[-1]
    last = math.sqrt(((weight**2).sum(axis=1) + bias**2).max())
    return max(math.prod(hidden) * last, LEAST_NORM)


def _input_norms(inputs: Any, encoder: Any) -> FloatArray:
    """Return the norm of each row as the first layer gets it, before the scaling of columns."""
    from worstclass.learners.torch_inputs import EpochSampler

    unscaled = replace(encoder, mean=None, std=None)
    batches = inputs.batches(EpochSampler(len(inputs), 4_096))
    norms = [unscaled.to_float(rows).flatten(1).double().norm(dim=1).cpu().numpy() for rows, _ in batches]
    return np.asarray(np.concatenate(norms), dtype=np.float64)


def _margin_errors(probabilities: FloatArray, target: npt.NDArray[np.int64], margin: float) -> FloatArray:
    """Return, by class, the share of rows whose class leads by ``margin`` or less; leads are those of the logits."""
    rows = np.arange(len(target))
    others = probabilities.copy()
    others[rows, target] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.log(probabilities[rows, target]) - np.log(others.max(axis=1))
    missed = ~(lead > margin)
    return np.bincount(target, weights=missed) / np.bincount(target)
