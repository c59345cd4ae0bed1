"""Residual networks by name; the numbers of parameters are those for 3 channels and 10 classes."""

from __future__ import annotations

from torch import nn

from worstclass.exceptions import UnknownNameError
from worstclass.networks.images import require_images
from worstclass.networks.residual import ZeroPaddedShortcut, conv_norm_relu, projection_shortcut, residual_network

#: stem of ``resnet18`` -> pixels a side that it needs
STEMS = {"small": 8, "imagenet": 32}


def resnet32(input_shape: tuple[int, ...], n_classes: int) -> nn.Sequential:
    """Build the network of the paper's CIFAR experiments: 464,154 parameters.

    The CIFAR form of He et al. (2016, section 4.2): three stages of 5 basic blocks with 16, 32 and 64 channels, and
    shortcuts without parameters (option A).

    Examples
    --------
    >>> network = resnet32((3, 32, 32), 10)
    >>> sum(weights.numel() for weights in network.parameters())
    464154
    """
    return _cifar_form("resnet32", input_shape, n_classes, n_blocks=5)


def resnet8(input_shape: tuple[int, ...], n_classes: int) -> nn.Sequential:
    """Build the least residual network of the CIFAR form, for CPUs: one block a stage, 75,290 parameters."""
    return _cifar_form("resnet8", input_shape, n_classes, n_blocks=1)


def resnet18(input_shape: tuple[int, ...], n_classes: int, stem: str = "small") -> nn.Sequential:
    """Build ResNet-18: four stages of 2 basic blocks, 64 to 512 channels, 1 x 1 convolutions as shortcuts.

    Parameters
    ----------
    input_shape : (channels, height, width).
    n_classes : number of logits.
    stem : what comes before the stages. ``"small"``, for images of 28 to 64 pixels: a 3 x 3 convolution that keeps
        the size (11,173,962 parameters). ``"imagenet"``, for images of about 224: a 7 x 7 convolution and a max-pool
        that quarter it (11,181,642 parameters).
    """
    if stem not in STEMS:
        raise UnknownNameError("stem", "the network 'resnet18'", stem, STEMS)
    channels, _, _ = require_images("resnet18", input_shape, smallest=STEMS[stem])
    if stem == "small":
        layers = conv_norm_relu(channels, 64, kernel_size=3)
    else:
        layers = [
            *conv_norm_relu(channels, 64, kernel_size=7, stride=2),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        ]
    return residual_network(layers, (64, 128, 256, 512), 2, projection_shortcut, n_classes)


def resnet18_small(input_shape: tuple[int, ...], n_classes: int) -> nn.Sequential:
    """Build a ResNet-18 cut down to three stages of 16, 32 and 64 channels: 175,258 parameters.

    After the small network that the paper's authors call ResNet-18 on MedMNIST: 2 basic blocks a stage, 1 x 1
    convolutions as shortcuts. For TissueMNIST (1 channel, 8 classes) it has 174,840 parameters.
    """
    channels, _, _ = require_images("resnet18-small", input_shape)
    stem = conv_norm_relu(channels, 16, kernel_size=3)
    return residual_network(stem, (16, 32, 64), 2, projection_shortcut, n_classes)


def _cifar_form(name: str, input_shape: tuple[int, ...], n_classes: int, n_blocks: int) -> nn.Sequential:
    channels, _, _ = require_images(name, input_shape)
    stem = conv_norm_relu(channels, 16, kernel_size=3)
    return residual_network(stem, (16, 32, 64), n_blocks, ZeroPaddedShortcut, n_classes)
