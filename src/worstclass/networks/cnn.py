"""A small convolutional network, for CPUs."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

from torch import nn

from worstclass._checks import check_count
from worstclass.networks.images import require_images, start_convolutions


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
