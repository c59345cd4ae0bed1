"""What the networks for images share: a check of the shape of the rows, and the initial weights of convolutions."""

from __future__ import annotations

import torch
from torch import nn

from worstclass.exceptions import ParameterError

#: pixels a side below which the stages of a network have nothing left to look at
SMALLEST_SIDE = 8


def require_images(network: str, input_shape: tuple[int, ...], smallest: int = SMALLEST_SIDE) -> tuple[int, int, int]:
    """Return channels, height and width of the rows; raise unless they are images of at least ``smallest`` a side.

    Examples
    --------
    >>> require_images("resnet32", (3, 32, 32))
    (3, 32, 32)
    """
    if len(input_shape) == 3 and input_shape[0] >= 1 and min(input_shape[1:]) >= smallest:
        channels, height, width = input_shape
        return channels, height, width
    raise ParameterError(
        "input_shape",
        f"the network {network!r}",
        allowed=f"(channels, height, width), at least one channel and {smallest} pixels a side",
        got=tuple(input_shape),
        hint=_how_to_make_images(input_shape),
    )


@torch.no_grad()
def start_convolutions(network: nn.Module) -> None:
    """Draw the weights of convolutions so that layers with ReLU keep the variance of their inputs.

    Normal with variance 2 / (inputs of one output), biases 0. K. He, X. Zhang, S. Ren, J. Sun: "Delving Deep into
    Rectifiers", ICCV 2015, equation 10. The last layer keeps torch's own start: no ReLU follows it.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def _how_to_make_images(input_shape: tuple[int, ...]) -> str:
    if len(input_shape) == 1:
        return "For a table use 'mlp'."
    if len(input_shape) == 2:
        return "Images of one channel have the shape (1, height, width): X[:, None] adds the channel."
    if len(input_shape) == 3 and input_shape[2] < SMALLEST_SIDE <= min(input_shape[:2]):
        return "Channels come first: X.transpose(0, 3, 1, 2) of an array, X.permute(0, 3, 1, 2) of a tensor."
    return "Enlarge smaller images, or use 'mlp'." if len(input_shape) == 3 else ""
