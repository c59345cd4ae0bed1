"""Residual networks by name; the numbers of parameters are those for 3 channels and 10 classes.

K. He, X. Zhang, S. Ren, J. Sun: "Deep Residual Learning for Image Recognition", CVPR 2016.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from worstclass.networks.plain import require_images, start_convolutions

#: (channels in, channels out, stride) -> the way around a block that changes the shape
ShortcutFactory = Callable[[int, int, int], nn.Module]


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
    return residual_network("resnet32", input_shape, n_classes, (16, 32, 64), 5, ZeroPaddedShortcut)


def resnet8(input_shape: tuple[int, ...], n_classes: int) -> nn.Sequential:
    """Build the smallest residual network of the CIFAR form, for CPUs: one block a stage, 75,290 parameters."""
    return residual_network("resnet8", input_shape, n_classes, (16, 32, 64), 1, ZeroPaddedShortcut)


def resnet18(input_shape: tuple[int, ...], n_classes: int) -> nn.Sequential:
    """Build ResNet-18 for images of 28 to 64 pixels: 11,173,962 parameters.

    Four stages of 2 basic blocks, 64 to 512 channels, 1 x 1 convolutions as shortcuts. The convolution before the
    stages is 3 x 3 and keeps the size.
    """
    return residual_network("resnet18", input_shape, n_classes, (64, 128, 256, 512), 2, projection_shortcut)


def resnet18_small(input_shape: tuple[int, ...], n_classes: int) -> nn.Sequential:
    """Build a ResNet-18 cut down to three stages of 16, 32 and 64 channels: 175,258 parameters.

    After the small network that the paper's authors call ResNet-18 on MedMNIST: 2 basic blocks a stage, 1 x 1
    convolutions as shortcuts. For TissueMNIST (1 channel, 8 classes) it has 174,840 parameters.
    """
    return residual_network("resnet18-small", input_shape, n_classes, (16, 32, 64), 2, projection_shortcut)


class ZeroPaddedShortcut(nn.Module):
    """Option A of the paper: every ``stride``-th pixel, and zeros in the channels that are new. It has no parameters.

    Examples
    --------
    >>> import torch
    >>> shortcut = ZeroPaddedShortcut(1, 2, stride=2)
    >>> shortcut(torch.arange(16.0).view(1, 1, 4, 4)).tolist()
    [[[[0.0, 2.0], [8.0, 10.0]], [[0.0, 0.0], [0.0, 0.0]]]]
    """

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.n_new = channels_out - channels_in
        self.stride = stride

    def forward(self, images: Tensor) -> Tensor:
        """Return the images thinned out, with zeros after their channels."""
        # The mean over one pixel is that pixel; unlike a slice, it keeps the memory format
        thinned = nn.functional.avg_pool2d(images, kernel_size=1, stride=self.stride)
        return nn.functional.pad(thinned, (0, 0, 0, 0, 0, self.n_new))


def projection_shortcut(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    """Build option B of the paper: a 1 x 1 convolution with batch normalisation."""
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(channels_out)
    )


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions with batch normalisation, and a shortcut around them; ReLU after their sum.

    Parameters
    ----------
    channels_in, channels_out : of the images that enter and leave the block.
    stride : of the first convolution.
    shortcut : makes the way around a block that changes the shape; other blocks have the identity.
    """

    def __init__(self, channels_in: int, channels_out: int, stride: int, shortcut: ShortcutFactory) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *conv_norm_relu(channels_in, channels_out, stride),
            nn.Conv2d(channels_out, channels_out, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
        )
        same_shape = channels_in == channels_out and stride == 1
        self.shortcut = nn.Identity() if same_shape else shortcut(channels_in, channels_out, stride)

    def forward(self, images: Tensor) -> Tensor:
        """Return the ReLU of body plus shortcut."""
        return nn.functional.relu(self.body(images) + self.shortcut(images), inplace=True)


def conv_norm_relu(channels_in: int, channels_out: int, stride: int = 1) -> list[nn.Module]:
    """Return a 3 x 3 convolution that keeps the size but for its stride, batch normalisation, and ReLU."""
    return [
        nn.Conv2d(channels_in, channels_out, kernel_size=3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    ]


def residual_network(
    name: str,
    input_shape: tuple[int, ...],
    n_classes: int,
    widths: Sequence[int],
    n_blocks: int,
    shortcut: ShortcutFactory,
) -> nn.Sequential:
    """Put a residual network together: one convolution, stages, the mean over all pixels, a linear head.

    Parameters
    ----------
    name : of the network, for errors.
    input_shape : (channels, height, width).
    n_classes : number of logits.
    widths : channels of each stage. Each stage but the first halves height and width.
    n_blocks : basic blocks of each stage.
    shortcut : makes the ways around the blocks that change the shape.
    """
    channels_in, _, _ = require_images(name, input_shape)
    parts = OrderedDict[str, nn.Module](stem=nn.Sequential(*conv_norm_relu(channels_in, widths[0])))
    channels = widths[0]
    for number, width in enumerate(widths, start=1):
        first = BasicBlock(channels, width, 1 if number == 1 else 2, shortcut)
        others = [BasicBlock(width, width, 1, shortcut) for _ in range(n_blocks - 1)]
        parts[f"stage{number}"] = nn.Sequential(first, *others)
        channels = width
    parts |= {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(), "head": nn.Linear(channels, n_classes)}
    network = nn.Sequential(parts)
    start_convolutions(network)
    return network
