"""The multilayer perceptron of the paper's artificial data: 2-1024-512-K with ReLU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import nn


def mlp(input_shape: tuple[int, ...], n_classes: int, hidden: Sequence[int] = (1024, 512)) -> nn.Sequential:
    """Build linear layers with ReLU between them; inputs of more than one dimension are flattened."""
    widths = [math.prod(input_shape), *hidden]
    layers: list[nn.Module] = [nn.Flatten()] if len(input_shape) > 1 else []
    for width_in, width_out in pairwise(widths):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes))
