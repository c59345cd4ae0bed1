"""Many pictures as one array: one shape, one number of channels, damaged ones told by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worstclass.data.disk import new_array
from worstclass.data.formats.images import PictureHeader
from worstclass.data.formats.undecoded import Images
from worstclass.exceptions import DatasetError, ParameterError

#: names of damaged pictures that a message lists
MOST_NAMES = 5


class Pictures(ABC):
    """Pictures by number."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many there are."""

    @abstractmethod
    def where(self, number: int) -> str:
        """Return how a message names one."""

    @abstractmethod
    def header(self, number: int) -> PictureHeader:
        """Return size and kind of one."""

    @abstractmethod
    def decode(self, number: int, channels: int, size: tuple[int, int]) -> Images:
        """Return the pixels of one, shape (channels, *size)."""


@dataclass(frozen=True, eq=False)
class Stacked:
    """The array, the numbers of the pictures in it, and the names of those left out."""

    images: Images
    kept: npt.NDArray[np.int64]
    skipped: tuple[str, ...]


def stack(
    pictures: Pictures,
    *,
    image_size: int | tuple[int, int] | None = None,
    skip_corrupt: bool = False,
    memory_bytes: int | None = None,
) -> Stacked:
    """Decode pictures into one array of unsigned bytes, shape (n, channels, height, width).

    Parameters
    ----------
    pictures : what to decode.
    image_size : height and width that each is brought to, or one number for both; needed where sizes differ.
    skip_corrupt : leave damaged pictures out; else one is an error, which names them.
    memory_bytes : an array with more bytes lies on disk; None for ``worstclass.data.disk.MEMORY_BYTES``.
    """
    size = _checked_size(image_size)
    damaged: dict[int, str] = {}
    headers: dict[int, PictureHeader] = {}
    for number in range(len(pictures)):
        try:
            headers[number] = pictures.header(number)
        except DatasetError as error:
            damaged[number] = str(error)
    if not headers:
        _refuse(damaged)
    channels = 1 if all(header.is_grey for header in headers.values()) else 3
    size = size or _common_size(pictures, headers)
    images = new_array((len(headers), channels, *size), np.uint8, memory_bytes)
    kept: list[int] = []
    for number in headers:
        try:
            images[len(kept)] = pictures.decode(number, channels, size)
        except DatasetError as error:
            damaged[number] = str(error)
        else:
            kept.append(number)
    if damaged and (not skip_corrupt or not kept):
        _refuse(damaged)
    skipped = tuple(pictures.where(number) for number in sorted(damaged))
    return Stacked(images[: len(kept)], np.array(kept, dtype=np.int64), skipped)


def _checked_size(image_size: int | tuple[int, int] | None) -> tuple[int, int] | None:
    if image_size is None:
        return None
    sides = tuple(image_size) if isinstance(image_size, tuple | list) else (image_size, image_size)
    if len(sides) != 2 or any(isinstance(side, bool) or not isinstance(side, int) or side < 1 for side in sides):
        raise ParameterError("image_size", "the images", allowed="a side in pixels, or (height, width)", got=image_size)
    return sides[0], sides[1]


def _common_size(pictures: Pictures, headers: dict[int, PictureHeader]) -> tuple[int, int]:
    first = next(iter(headers))
    height, width = headers[first].height, headers[first].width
    for number, header in headers.items():
        if (header.height, header.width) != (height, width):
            raise DatasetError(
                f"The images differ in size: {pictures.where(first)} is {height} x {width} (height x width), and "
                f"{pictures.where(number)} is {header.height} x {header.width}. Say what to bring them to: "
                "--image-size on the command line, image_size= in Python."
            )
    return height, width


def _refuse(damaged: dict[int, str]) -> None:
    if not damaged:
        raise DatasetError("There are no images.")
    told = [damaged[number] for number in sorted(damaged)[:MOST_NAMES]]
    more = f" (and {len(damaged) - len(told)} more)" if len(damaged) > len(told) else ""
    raise DatasetError(f"{' '.join(told)}{more} Mend or remove them, or leave them out with skip_corrupt=True.")
