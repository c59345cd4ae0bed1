"""Random changes to images for training: operations on whole batches that draw from a given generator only.

Pixels are moved or set to 0, never mixed, so images of type uint8 stay exact. Augmentation belongs to training alone:
floors are counted on the images as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from worstclass._checks import check_choice, check_count, is_number
from worstclass.exceptions import ParameterError


class Augmentation(ABC):
    """A random change to a batch of images.

    Called with images of shape (n, C, H, W) and a generator, it returns images of the same shape, type, device and
    memory format. The batch that came is left as it was; where nothing is to change, it may be what is returned. How
    much is drawn depends on n only, so the same generator state gives the same changes to images of any type.
    """

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return the images, changed at random."""
        if batch.ndim != 4:
            raise ParameterError(
                "batch", type(self).__name__, allowed="images of shape (n, C, H, W)", got=tuple(batch.shape)
            )
        return self.apply(batch, generator) if len(batch) else batch

    @abstractmethod
    def apply(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return at least one image, changed at random."""


@dataclass(frozen=True)
class Compose(Augmentation):
    """Augmentations one after the other; none leave the batch as it is.

    Parameters
    ----------
    steps : the augmentations, first one first.

    Examples
    --------
    >>> Compose([RandomCrop(4), HorizontalFlip()])
    Compose(steps=(RandomCrop(padding=4), HorizontalFlip(p=0.5)))
    """

    steps: Sequence[Augmentation] = ()

    def __post_init__(self) -> None:
        is_sequence = isinstance(self.steps, Sequence)
        if not is_sequence or not all(isinstance(step, Augmentation) for step in self.steps):
            raise ParameterError("steps", "Compose", allowed="a sequence of augmentations", got=self.steps)
        object.__setattr__(self, "steps", tuple(self.steps))

    def apply(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return the images after all steps."""
        for step in self.steps:
            batch = step(batch, generator)
        return batch


@dataclass(frozen=True)
class RandomCrop(Augmentation):
    """Pad each image with zeros, and cut a window of its own size out of the result, anywhere.

    In other words: shift each image by up to ``padding`` pixels along each axis, and fill up with zeros. All
    ``(2 padding + 1)^2`` windows are equally likely.

    Parameters
    ----------
    padding : pixels of zeros on every side.

    Examples
    --------
    >>> image = torch.tensor([[[[1, 2], [3, 4]]]], dtype=torch.uint8)
    >>> RandomCrop(padding=1)(image, torch.Generator().manual_seed(0)).tolist()
    [[[[0, 3], [0, 0]]]]
    """

    padding: int = 4

    def __post_init__(self) -> None:
        check_count(self.padding, "padding", "RandomCrop", least=0)

    def apply(self, batch: Tensor, generator: torch.Generator) -> Tensor:
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
        return _select(windows, starts, channels_last=_is_channels_last(batch))


@dataclass(frozen=True)
class HorizontalFlip(Augmentation):
    """Mirror each image left to right with probability p.

    Examples
    --------
    >>> image = torch.tensor([[[[1, 2], [3, 4]]]], dtype=torch.uint8)
    >>> HorizontalFlip(p=1.0)(image, torch.Generator()).tolist()
    [[[[2, 1], [4, 3]]]]
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        if not is_number(self.p) or not 0 <= self.p <= 1:
            raise ParameterError("p", "HorizontalFlip", allowed="a probability in [0, 1]", got=self.p)

    def apply(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """Return each image or its mirror image."""
        n = len(batch)
        mirrored = torch.rand(n, generator=generator, device=generator.device) < self.p
        both = torch.cat([batch, batch.flip(3)])
        chosen = (torch.arange(n, device=mirrored.device) + n * mirrored).to(batch.device)
        return _select(both, chosen, channels_last=_is_channels_last(batch))


#: name -> what it stands for; ``"crop-flip"`` is what the paper trains with on CIFAR
AUGMENTATIONS: dict[str, Callable[[], Augmentation]] = {
    "none": Compose,
    "flip": HorizontalFlip,
    "crop": RandomCrop,
    "crop-flip": lambda: Compose((RandomCrop(), HorizontalFlip())),
}


def list_augmentations() -> list[str]:
    """Return the names that ``build_augmentation`` knows."""
    return list(AUGMENTATIONS)


def build_augmentation(name: str) -> Augmentation:
    """Build an augmentation from its name.

    Examples
    --------
    >>> build_augmentation("crop-flip")
    Compose(steps=(RandomCrop(padding=4), HorizontalFlip(p=0.5)))
    """
    check_choice(name, "augmentation", "TorchLearner", AUGMENTATIONS)
    return AUGMENTATIONS[name]()


def _is_channels_last(batch: Tensor) -> bool:
    """Return whether a new tensor in the memory format of the batch has the channels of a pixel side by side."""
    like = torch.empty_like(batch, device="meta")
    return like.is_contiguous(memory_format=torch.channels_last) and not like.is_contiguous()


def _select(images: Tensor, index: Tensor, *, channels_last: bool) -> Tensor:
    """Return the images of the given indices, in the given memory format."""
    if not channels_last:
        return images.index_select(0, index)
    return images.permute(0, 2, 3, 1).index_select(0, index).permute(0, 3, 1, 2)
