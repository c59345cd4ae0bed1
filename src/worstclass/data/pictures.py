"""Pictures (JPEG, PNG and what else Pillow reads) as one array of unsigned bytes, (n, channels, height, width).

The channel rule: where every picture is grey (modes 1, L, LA, or 16 bits of grey), images have one channel. If one has
colour or a palette, all get three (red, green, blue). Transparency is left out. 16 bits become 8 by leaving out the low
byte. A picture that a camera marked as turned is set upright. Errors name the damaged pictures.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from worstclass.data.decoded import Images
from worstclass.data.disk import new_array
from worstclass.exceptions import DatasetError, ParameterError

#: names of damaged pictures that a message lists
MOST_NAMES = 5

SUFFIXES = (".png", ".jpg", ".jpeg", ".jfif", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")

DEEP_GREY = {"I", "I;16", "I;16L", "I;16B", "I;16N"}
GREY_MODES = {"1", "L", "LA", "La"} | DEEP_GREY

_ORIENTATION = 0x0112
_TURNED_SIDEWAYS = {5, 6, 7, 8}

_DAMAGE = (OSError, SyntaxError, ValueError, IndexError, EOFError, Image.DecompressionBombError, Warning)


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that is not decoded yet: what a message calls it, and how it is opened."""

    where: str
    open: Callable[[], Image.Image]

    @classmethod
    def of(cls, where: str, read: Callable[[], bytes]) -> Picture:
        """Return the picture in a file, whose bytes are read when it is opened."""
        return cls(where, lambda: Image.open(io.BytesIO(read())))

    def header(self) -> PictureHeader:
        """Return size and kind, without decoding the pixels."""
        with _damage_named(self.where), self.open() as image:
            width, height = image.size
            if image.getexif().get(_ORIENTATION) in _TURNED_SIDEWAYS:
                width, height = height, width
            return PictureHeader(height, width, image.mode in GREY_MODES)

    def pixels(self, channels: int, size: tuple[int, int] | None = None) -> Images:
        """Return the pixels, shape (channels, height, width).

        Parameters
        ----------
        channels : 1 for grey or 3 for colour.
        size : height and width to bring it to; the sides are scaled apart, so proportions may change.
        """
        with _damage_named(self.where), self.open() as image:
            upright = ImageOps.exif_transpose(image)
            flat = _eight_bits(upright, self.where).convert("L" if channels == 1 else "RGB")
            if size is not None and flat.size != size[::-1]:
                flat = flat.resize(size[::-1], Image.Resampling.BILINEAR)
            pixels = np.asarray(flat)
        return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


@dataclass(frozen=True)
class PictureHeader:
    """Size and kind of a picture."""

    height: int
    width: int
    is_grey: bool


def is_picture(name: str) -> bool:
    """Tell by its name whether a file is a picture."""
    return name.lower().endswith(SUFFIXES)


def _eight_bits(picture: Image.Image, where: str) -> Image.Image:
    if picture.mode == "F":
        raise DatasetError(f"{where} holds fractions, not grey levels or colours. Save it with 8 or 16 bits a pixel.")
    if picture.mode not in DEEP_GREY:
        return picture
    levels = np.asarray(picture)
    if levels.size and (levels.min() < 0 or levels.max() > 0xFFFF):
        raise DatasetError(f"{where} has more than 16 bits of grey. Save it with 8 or 16 bits a pixel.")
    return Image.fromarray((levels >> 8).astype(np.uint8))


@contextmanager
def _damage_named(where: str) -> Iterator[None]:
    """Turn whatever Pillow raises on a damaged picture into an error that names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            yield
        except DatasetError:
            raise
        except _DAMAGE as error:
            text = "it is no picture that Pillow knows" if "identify image" in str(error) else str(error)
            raise DatasetError(f"{where} cannot be decoded: {text}.") from None


@dataclass(frozen=True, eq=False)
class Stacked:
    """The array, the numbers of the pictures in it, and the names of those left out."""

    images: Images
    kept: npt.NDArray[np.int64]
    skipped: tuple[str, ...]


def stack(
    pictures: Sequence[Picture],
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
    for number, picture in enumerate(pictures):
        try:
            headers[number] = picture.header()
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
            images[len(kept)] = pictures[number].pixels(channels, size)
        except DatasetError as error:
            damaged[number] = str(error)
        else:
            kept.append(number)
    if damaged and (not skip_corrupt or not kept):
        _refuse(damaged)
    skipped = tuple(pictures[number].where for number in sorted(damaged))
    return Stacked(images[: len(kept)], np.array(kept, dtype=np.int64), skipped)


def _checked_size(image_size: int | tuple[int, int] | None) -> tuple[int, int] | None:
    if image_size is None:
        return None
    sides = tuple(image_size) if isinstance(image_size, tuple | list) else (image_size, image_size)
    if len(sides) != 2 or any(isinstance(side, bool) or not isinstance(side, int) or side < 1 for side in sides):
        raise ParameterError("image_size", "the images", allowed="a side in pixels, or (height, width)", got=image_size)
    return sides[0], sides[1]


def _common_size(pictures: Sequence[Picture], headers: dict[int, PictureHeader]) -> tuple[int, int]:
    first = next(iter(headers))
    height, width = headers[first].height, headers[first].width
    for number, header in headers.items():
        if (header.height, header.width) != (height, width):
            raise DatasetError(
                f"The images differ in size: {pictures[first].where} is {height} x {width} (height x width), and "
                f"{pictures[number].where} is {header.height} x {header.width}. Give one size for all: "
                "--image-size on the command line, image_size= in Python."
            )
    return height, width


def _refuse(damaged: dict[int, str]) -> None:
    if not damaged:
        raise DatasetError("There are no images.")
    listed = [damaged[number] for number in sorted(damaged)[:MOST_NAMES]]
    more = f" (and {len(damaged) - len(listed)} more)" if len(damaged) > len(listed) else ""
    raise DatasetError(f"{' '.join(listed)}{more} Mend or remove them, or leave them out with skip_corrupt=True.")
