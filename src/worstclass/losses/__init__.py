"""Losses by name: options looked up when asked for, so that listing them needs no torch.

A ``Loss`` holds options and knows nothing of the data; bound to the class counts of a training sample it becomes a
``Criterion``, which answers one loss a row.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

from worstclass._checks import require_known_options
from worstclass.exceptions import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from worstclass.losses.base import Loss
    from worstclass.losses.weighting import WeightingRule

#: name -> "module:class"; every class is a ``Loss``
LOSSES = {
    "cross-entropy": "worstclass.losses.cross_entropy:CrossEntropy",
    "focal": "worstclass.losses.focal:Focal",
    "influence-balanced": "worstclass.losses.influence_balanced:InfluenceBalanced",
    "logit-adjustment": "worstclass.losses.logit_adjustment:LogitAdjustment",
    "class-dependent-temperatures": "worstclass.losses.class_dependent_temperatures:ClassDependentTemperatures",
    "vector-scaling": "worstclass.losses.vector_scaling:VectorScaling",
    "ldam": "worstclass.losses.ldam:LDAM",
    "naive": "worstclass.losses.naive:Naive",
    "class-dro": "worstclass.losses.class_dro:ClassDRO",
}

#: name -> "module:class"; every class is a ``WeightingRule`` that can be built without options
WEIGHTINGS = {
    "none": "worstclass.losses.weighting:NoWeighting",
    "inverse-frequency": "worstclass.losses.weighting:InverseFrequency",
    "effective-number": "worstclass.losses.weighting:EffectiveNumber",
}


def list_losses() -> list[str]:
    """Return the names that ``build_loss`` knows."""
    return list(LOSSES)


def build_loss(name: str, weighting: str | WeightingRule | None = None, **options: Any) -> Loss:
    """Build a loss from its name, its options, and a rule that weights the classes.

    Parameters
    ----------
    name : one of ``list_losses()``.
    weighting : ``"none"``, ``"inverse-frequency"``, ``"effective-number"``, or a ``WeightingRule``. It multiplies
        whatever the loss does by itself: for ``"influence-balanced"``, which has weights 1/n_k of its own, pass
        ``class_factor=False`` to have the rule in their place.
    options : those of the loss.

    Examples
    --------
    >>> build_loss("vector-scaling", tau=1.0)
    VectorScaling(gamma=0.15, tau=1.0)
    >>> build_loss("focal", weighting="effective-number")
    Weighted(loss=Focal(gamma=1.0), rule=EffectiveNumber(beta=0.9999))
    """
    if name not in LOSSES:
        raise UnknownNameError("loss", "TorchLearner", name, LOSSES)
    kind = _load(LOSSES[name])
    require_known_options(options, list(inspect.signature(kind).parameters), owner=f"The loss {name!r}")
    loss: Loss = kind(**options)
    return loss if weighting is None or weighting == "none" else _weighted(loss, weighting)


def _weighted(loss: Loss, weighting: str | WeightingRule) -> Loss:
    from worstclass.losses.weighted import Weighted
    from worstclass.losses.weighting import WeightingRule

    if isinstance(weighting, WeightingRule):
        return Weighted(loss, weighting)
    if not isinstance(weighting, str):
        allowed = f"one of {list(WEIGHTINGS)}, a WeightingRule or None"
        raise ParameterError("weighting", "build_loss", allowed=allowed, got=weighting)
    if weighting not in WEIGHTINGS:
        raise UnknownNameError("weighting", "build_loss", weighting, WEIGHTINGS)
    return Weighted(loss, _load(WEIGHTINGS[weighting])())


def _load(address: str) -> Any:
    module, _, attribute = address.partition(":")
    return getattr(importlib.import_module(module), attribute)
