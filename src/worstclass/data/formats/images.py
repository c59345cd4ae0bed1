"""Pictures in files (JPEG, PNG and what else Pillow reads), decoded to unsigned bytes.

The channel rule: where every picture is grey (modes 1, L, LA, or 16 bits of grey), images have one channel. As soon as
one has colour or a palette, all get three (red, green, blue). Transparency is left out. 16 bits become 8 by
leaving out the low byte. A picture that a camera marked as turned is set upright.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from worstclass.exceptions import DatasetError

SUFFIXES = (".png", ".jpg", ".jpeg", ".jfif", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")

GREY = {"1", "L", "LA", "La"}
DEEP_GREY = {"I", "I;16", "I;16L", "I;16B", "I;16N"}

_ORIENTATION = 0x0112
_TURNED_SIDEWAYS = {5, 6, 7, 8}

_DAMAGE = (OSError, SyntaxError, ValueError, IndexError, EOFError, Image.DecompressionBombError, Warning)


@dataclass(frozen=True)
class PictureHeader:
    """Size and kind of a picture, read without decoding it."""

    height: int
    width: int
    is_grey: bool


def is_picture(name: str) -> bool:
    """Tell by its name whether a file is a picture."""
    return name.lower().endswith(SUFFIXES)


def read_picture_header(content: bytes, where: str) -> PictureHeader:
    """Return size and kind of a picture."""
    with _damage_told(where), Image.open(io.BytesIO(content)) as picture:
        width, height = picture.size
        if picture.getexif().get(_ORIENTATION) in _TURNED_SIDEWAYS:
            width, height = height, width
        return PictureHeader(height, width, picture.mode in GREY | DEEP_GREY)


def decode_picture(
    content: bytes, where: str, *, channels: int, size: tuple[int, int] | None = None
) -> npt.NDArray[np.uint8]:
    """Decode the bytes of a file to shape (channels, height, width); see ``picture_array``."""
    with _damage_told(where), Image.open(io.BytesIO(content)) as picture:
        return picture_array(picture, where, channels=channels, size=size)


def picture_array(
    picture: Image.Image, where: str, *, channels: int, size: tuple[int, int] | None = None
) -> npt.NDArray[np.uint8]:
    """Return a picture as an array of shape (channels, height, width).

    Parameters
    ----------
    picture : a Pillow image.
    where : what an error calls it.
    channels : 1 for grey or 3 for colour.
    size : height and width to bring it to; the sides are scaled apart, so proportions may change.
    """
    with _damage_told(where):
        upright = _eight_bits(ImageOps.exif_transpose(picture), where).convert("L" if channels == 1 else "RGB")
        if size is not None and upright.size != size[::-1]:
            upright = upright.resize(size[::-1], Image.Resampling.BILINEAR)
        pixels = np.asarray(upright)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


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
def _damage_told(where: str) -> Iterator[None]:
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
