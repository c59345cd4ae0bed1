"""Random changes to images for training: operations on whole batches that draw from a given generator only.

Pixels are moved or set to 0, never mixed, so images of type uint8 stay exact. Augmentation belongs to training alone:
floors are counted on the images as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worstclass._checks import check_choice, check_count, is_number
from worstclass.exceptions import ParameterError


@dataclass(frozen=True)
class Augmentation:
    """Shift each image of a batch at random, and mirror it with some probability.

    Called with images of shape (n, C, H, W) and a generator, it returns images of the same shape, type, device and
    memory format. The batch that came is left as it was; where nothing is to change, it may be what is returned. How
    much is drawn depends on n only, so the same generator state gives the same changes to images of any type.

    Parameters
    ----------
    padding : each image is shifted by up to this many pixels along each axis, and filled up with zeros. All
        ``(2 padding + 1)^2`` shifts are equally likely. 0 shifts nothing.
    flip : probability that an image is mirrored left to right.

    Examples
    --------
    >>> image = torch.tensor([[[[1, 2], [3, 4]]]], dtype=torch.uint8)
    >>> Augmentation(padding=1)(image, torch.Generator().manual_seed(0)).tolist()
    [[[[0, 3], [0, 0]]]]
    >>> Augmentation(flip=1.0)(image, torch.Generator()).tolist()
    [[[[2, 1], [4, 3]]]]
    """

    padding: int = 0
    flip: float = 0.0

    def __post_init__(self) -> None:
        check_count(self.padding, "padding", "Augmentation", least=0)
        if not is_number(self.flip) or not 0 <= self.flip <= 1:
            raise ParameterError("flip", "Augmentation", allowed="a probability in [0, 1]", got=self.flip)

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return the images, changed at random."""
        if batch.ndim != 4:
            raise ParameterError(
                "batch", "Augmentation", allowed="images of shape (n, C, H, W)", got=tuple(batch.shape)
            )
        if self.padding and len(batch):
            batch = self._shifted(batch, generator)
        return self._mirrored(batch, generator) if self.flip and len(batch) else batch

    def _shifted(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return a window of each padded image."""
        n, *shape = batch.shape
        corners = torch.randint(2 * self.padding + 1, (2, n), generator=generator, device=generator.device)
        corners = corners.to(batch.device)
        padded = torch.nn.functional.pad(batch, (self.padding,) * 4)
        # A view with a window at every place of memory; those that start at a corner of an image are selected
        of_image, of_channel, of_row, of_pixel = padded.stride()
        starts = torch.arange(n, device=batch.device) * of_image + corners[0] * of_row + corners[1] * of_pixel
        n_places = (n - 1) * of_image + 2 * self.padding * (of_row + of_pixel) + 1
        windows = padded.as_strided((n_places, *shape), (1, of_channel, of_row, of_pixel))
        return _select(windows, starts, like=batch)

    def _mirrored(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return each image or its mirror image."""
        n = len(batch)
        mirrored = torch.rand(n, generator=generator, device=generator.device) < self.flip
        chosen = (torch.arange(n, device=mirrored.device) + n * mirrored).to(batch.device)
        return _select(torch.cat([batch, batch.flip(3)]), chosen, like=batch)


#: name -> what it stands for; ``"crop-flip"`` is what the paper trains with on CIFAR
AUGMENTATIONS = {
    "none": Augmentation(),
    "flip": Augmentation(flip=0.5),
    "crop": Augmentation(padding=4),
    "crop-flip": Augmentation(padding=4, flip=0.5),
}


def build_augmentation(name: str) -> Augmentation:
    """Return an augmentation by its name.

    Examples
    --------
    >>> build_augmentation("crop-flip")
    Augmentation(padding=4, flip=0.5)
    """
    check_choice(name, "augmentation", "TorchLearner", AUGMENTATIONS)
    return AUGMENTATIONS[name]


def _select(images: Tensor, index: Tensor, *, like: Tensor) -> Tensor:
    """Return the images of the given indices, in the memory format that a new tensor like the batch would have."""
    empty = torch.empty_like(like, device="meta")
    if not empty.is_contiguous(memory_format=torch.channels_last) or empty.is_contiguous():
        return images.index_select(0, index)
    return images.permute(0, 2, 3, 1).index_select(0, index).permute(0, 3, 1, 2)
