"""Losses by name.

A ``Loss`` holds options and knows nothing of the data. Bound to the class counts of a training sample it becomes a
``Criterion``, which returns one loss per row. A new loss is a class in this folder that gives its name:
``class Focal(Loss, name="focal")``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Any

from worstclass._checks import check_choice, optional_packages, require_known_options

if TYPE_CHECKING:
    from worstclass.losses.base import Loss
    from worstclass.losses.weighting import WeightingRule


def list_losses() -> list[str]:
    """Return the names that ``build_loss`` knows."""
    return list(_losses())


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
    known = _losses()
    check_choice(name, "loss", "TorchLearner", known)
    require_known_options(options, list(inspect.signature(known[name]).parameters), owner=f"The loss {name!r}")
    loss = known[name](**options)
    if weighting is None or weighting == "none":
        return loss
    from worstclass.losses.weighting import RULES, Weighted

    if isinstance(weighting, str):
        check_choice(weighting, "weighting", "build_loss", ["none", *RULES])
        weighting = RULES[weighting]()
    return Weighted(loss, weighting)


def _losses() -> dict[str, type[Loss]]:
    """Return the registered losses, after every file of this folder had its chance to register."""
    with optional_packages("A loss"):
        for module in pkgutil.iter_modules(__path__):
            importlib.import_module(f"{__name__}.{module.name}")
    from worstclass.losses.base import REGISTERED

    return REGISTERED
