"""Networks by name: plain factories, looked up when asked for, so that listing them needs no torch."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

from worstclass._checks import check_choice, optional_packages, require_known_options

if TYPE_CHECKING:
    from torch import nn

#: pixels per side below which the stages of a network have nothing left to look at
SMALLEST_SIDE = 8
#: name -> "module:factory"; every factory takes (input_shape, n_classes, **options)
NETWORKS = {
    "mlp": "worstclass.networks.plain:mlp",
    "cnn-small": "worstclass.networks.plain:cnn_small",
    "cnn-medium": "worstclass.networks.plain:cnn_medium",
    "resnet8": "worstclass.networks.resnets:resnet8",
    "resnet32": "worstclass.networks.resnets:resnet32",
    "resnet18": "worstclass.networks.resnets:resnet18",
    "resnet18-small": "worstclass.networks.resnets:resnet18_small",
}


def list_networks() -> list[str]:
    """Return the names that ``build_network`` knows."""
    return list(NETWORKS)


def build_network(name: str, input_shape: tuple[int, ...], n_classes: int, **options: Any) -> nn.Module:
    """Build a network with fresh random weights, for rows of ``input_shape`` and ``n_classes`` outputs.

    Examples
    --------
    >>> network = build_network("mlp", (2,), 5, hidden=(8,))
    >>> sum(weights.numel() for weights in network.parameters())
    69
    """
    check_choice(name, "module", "TorchLearner", NETWORKS)
    module, _, attribute = NETWORKS[name].partition(":")
    with optional_packages("build_network"):
        factory = getattr(importlib.import_module(module), attribute)
    known = [p for p in inspect.signature(factory).parameters if p not in ("input_shape", "n_classes")]
    require_known_options(options, known, owner=f"The network {name!r}")
    network: nn.Module = factory(input_shape, n_classes, **options)
    return network
