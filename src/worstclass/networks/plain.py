"""The multilayer perceptron, a small convolutional network, and what all networks for images share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, prod

import torch
from torch import nn

from worstclass._checks import check_count
from worstclass.exceptions import ParameterError
from worstclass.networks import SMALLEST_SIDE

#: pixels per side to which ``cnn-medium`` shrinks images before its wide stages
LARGEST_SIDE = 16


def mlp(input_shape: tuple[int, ...], n_classes: int, hidden: Sequence[int] = (1024, 512)) -> nn.Sequential:
    """Build linear layers with ReLU between them; inputs are flattened. The default is the paper's 2-1024-512-K."""
    widths = [prod(input_shape), *hidden]
    layers: list[nn.Module] = [nn.Flatten()] if len(input_shape) > 1 else []
    for width_in, width_out in pairwise(widths):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes))


def require_images(network: str, input_shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return channels, height and width of the rows; raise unless they are images of at least 8 pixels a side.

    Examples
    --------
    >>> require_images("resnet32", (3, 32, 32))
    (3, 32, 32)
    """
    if len(input_shape) == 3 and input_shape[0] >= 1 and min(input_shape[1:]) >= SMALLEST_SIDE:
        channels, height, width = input_shape
        return channels, height, width
    raise ParameterError(
        "module",
        "TorchLearner",
        allowed=f"a network that takes rows of shape {tuple(input_shape)}",
        got=network,
        hint=f"It takes images (channels, height, width), at least one channel and {SMALLEST_SIDE} pixels per side. "
        f"{_how_to_make_images(input_shape)}",
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


def cnn_small(input_shape: tuple[int, ...], n_classes: int, width: int = 16) -> nn.Sequential:
    """Build three 3 x 3 convolutions with ReLU, each of which halves the image, and a linear head over all positions.

    The convolutions take steps of two pixels in place of pooling, for speed. Without normalisation the network answers
    alike in training and in evaluation mode. With 3 channels of 32 x 32 pixels and 10 classes it has 33,834 parameters.

    Parameters
    ----------
    input_shape : (channels, height, width).
    n_classes : number of logits.
    width : channels of the first convolution; the others have two and four times as many.

    Examples
    --------
    >>> network = cnn_small((3, 32, 32), 10)
    >>> sum(weights.numel() for weights in network.parameters())
    33834
    """
    check_count(width, "width", "the network 'cnn-small'")
    channels, height, breadth = require_images("cnn-small", input_shape)
    layers: list[nn.Module] = []
    for channels_in, channels_out in pairwise((channels, width, 2 * width, 4 * width)):
        layers += [nn.Conv2d(channels_in, channels_out, kernel_size=3, stride=2, padding=1), nn.ReLU(inplace=True)]
    n_features = 4 * width * ceil(height / 8) * ceil(breadth / 8)
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(n_features, n_classes))
    start_convolutions(network)
    return network


def cnn_medium(input_shape: tuple[int, ...], n_classes: int, width: int = 32) -> nn.Sequential:
    """Build four stages of a 3 x 3 convolution, batch normalisation and ReLU, and a linear head over four quarters.

    The first stage takes steps of two pixels, and is repeated, until 16 pixels per side are left. Max pooling follows
    the second and the third where four pixels per side are left. So most of the work is done on small images with many
    channels, which suits a CPU. With 3 channels of 32 x 32 pixels and 10 classes it has 246,314 parameters.

    Parameters
    ----------
    input_shape : (channels, height, width).
    n_classes : number of logits.
    width : channels of the first stage; the second has two times as many, the third and the fourth four times.

    Examples
    --------
    >>> network = cnn_medium((3, 32, 32), 10)
    >>> sum(weights.numel() for weights in network.parameters())
    246314
    """
    check_count(width, "width", "the network 'cnn-medium'")
    channels, height, breadth = require_images("cnn-medium", input_shape)
    layers: list[nn.Module] = []
    while max(height, breadth) > LARGEST_SIDE and min(height, breadth) >= SMALLEST_SIDE:
        layers += _normalised_stage(channels, width, stride=2)
        channels, height, breadth = width, ceil(height / 2), ceil(breadth / 2)
    if not layers:
        layers += _normalised_stage(channels, width)
    for narrow, wide in ((width, 2 * width), (2 * width, 4 * width)):
        layers += _normalised_stage(narrow, wide)
        if min(height, breadth) >= 4:  # so that two are left, one for each quarter
            layers += [nn.MaxPool2d(2, ceil_mode=True)]
            height, breadth = ceil(height / 2), ceil(breadth / 2)
    layers += _normalised_stage(4 * width, 4 * width)
    quarters = nn.AvgPool2d((ceil(height / 2), ceil(breadth / 2)), (height // 2, breadth // 2))
    network = nn.Sequential(*layers, quarters, nn.Flatten(), nn.Linear(4 * 4 * width, n_classes))
    start_convolutions(network)
    return network


def _normalised_stage(channels_in: int, channels_out: int, stride: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(channels_in, channels_out, kernel_size=3, stride=stride, padding=1, bias=False)
    return [convolution, nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True)]


def _how_to_make_images(input_shape: tuple[int, ...]) -> str:
    if len(input_shape) == 2:
        return "Images of one channel have the shape (1, height, width): X[:, None] adds the channel."
    if len(input_shape) == 3 and input_shape[2] < SMALLEST_SIDE <= min(input_shape[:2]):
        return "Channels come first: X.transpose(0, 3, 1, 2) of an array, X.permute(0, 3, 1, 2) of a tensor."
    if len(input_shape) == 3:
        return "Enlarge smaller images, or use the network 'mlp'."
    return "For a table use the network 'mlp'."
