"""Pictures (JPEG, PNG and what else Pillow reads) as one array of unsigned bytes, (n, channels, height, width).

The channel rule: where every picture is grey (modes 1, L, LA, or 16 bits of grey), images have one channel. If one has
colour or a palette, all get three (red, green, blue). Transparency is left out. 16 bits become 8 by leaving out the low
byte. A picture that a camera marked as turned is set upright. Errors name the damaged pictures.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from worstclass._checks import is_count
from worstclass._progress import steps
from worstclass._typing import IntArray
from worstclass.data.splits import ALL, SPLIT_NAMES, Part
from worstclass.data.trees import FileTree
from worstclass.exceptions import DatasetError, ParameterError, WorstClassWarning

#: names of damaged pictures that a message lists
MOST_NAMES = 5

SUFFIXES = (".png", ".jpg", ".jpeg", ".jfif", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")

DEEP_GREY = {"I", "I;16", "I;16L", "I;16B", "I;16N"}
GREY_MODES = {"1", "L", "LA", "La"} | DEEP_GREY

#: those that the suffixes stand for; Pillow knows others, of which EPS starts a program
FORMATS = ("BMP", "DIB", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")

Images = npt.NDArray[np.uint8]
Size = int | tuple[int, int] | None


def decode_picture(
    content: Any, where: str, *, channels: int | None = None, size: tuple[int, int] | None = None
) -> Images:
    """Return the pixels of a picture, shape (channels, height, width).

    Parameters
    ----------
    content : the bytes of a file, or a Pillow image.
    where : what an error calls the picture.
    channels : 1 for grey or 3 for colour; None for what the picture has.
    size : height and width to bring it to; the sides are scaled apart, so proportions may change.
    """
    if not isinstance(content, bytes | Image.Image):
        raise DatasetError(f"{where} must be a picture. Got {type(content).__name__}.")
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            image = Image.open(io.BytesIO(content), formats=FORMATS) if isinstance(content, bytes) else content
            grey = image.mode in GREY_MODES if channels is None else channels == 1
            flat = _eight_bits(ImageOps.exif_transpose(image), where).convert("L" if grey else "RGB")
        except (DatasetError, MemoryError):
            raise
        except Exception as error:  # a damaged picture can fail in any way
            text = "it is no picture that Pillow knows" if "identify image" in str(error) else str(error)
            raise DatasetError(f"{where} cannot be decoded: {text}.") from None
    if size is not None and flat.size != size[::-1]:
        flat = flat.resize(size[::-1], Image.Resampling.BILINEAR)
    pixels = np.asarray(flat)
    return pixels[None] if grey else pixels.transpose(2, 0, 1)


def is_picture(name: str) -> bool:
    """Tell by its name whether a file is a picture."""
    return name.lower().endswith(SUFFIXES)


def _eight_bits(picture: Image.Image, where: str) -> Image.Image:
    if picture.mode not in DEEP_GREY | {"F"}:
        return picture
    levels = np.asarray(picture)
    if picture.mode == "F" or levels.min() < 0 or levels.max() > 0xFFFF:
        raise DatasetError(f"{where} holds fractions or more than 16 bits. Save it with 8 or 16 bits a pixel.")
    return Image.fromarray((levels >> 8).astype(np.uint8))


def stack(
    names: Sequence[str], read: Callable[[int], Any], *, image_size: Size = None, skip_corrupt: bool = False
) -> tuple[Images, IntArray]:
    """Decode pictures into one array of unsigned bytes, shape (n, channels, height, width).

    Parameters
    ----------
    names : what messages call the pictures.
    read : function from the number of a picture to what ``decode_picture`` takes.
    image_size : height and width that each is brought to, or one number for both; needed where sizes differ.
    skip_corrupt : leave damaged pictures out, with a warning that names them; else they are an error.

    Returns
    -------
    The array, and the numbers of the pictures in it.
    """
    size = _checked_size(image_size)
    images: dict[int, Images] = {}
    damaged: dict[int, str] = {}
    for number, name in enumerate(steps(names, len(names))):
        try:
            images[number] = decode_picture(read(number), name, size=size)
        except DatasetError as error:
            damaged[number] = str(error)
    if not images or (damaged and not skip_corrupt):
        listed = " ".join(list(damaged.values())[:MOST_NAMES])
        more = f" (and {len(damaged) - MOST_NAMES} more)" if len(damaged) > MOST_NAMES else ""
        raise DatasetError(f"{listed}{more} Mend or remove them, or leave them out with skip_corrupt=True.")
    if damaged:
        text = f"{len(damaged)} damaged pictures were left out: {', '.join(names[number] for number in damaged)}"
        warnings.warn(text, WorstClassWarning, stacklevel=3)
    first = next(iter(images))
    _, height, width = images[first].shape
    array = np.empty((len(images), max(len(image) for image in images.values()), height, width), np.uint8)
    for row, (number, image) in enumerate(images.items()):
        if image.shape[1:] != (height, width):
            raise DatasetError(
                f"The images differ in size: {names[first]} is {height} x {width} (height x width), and "
                f"{names[number]} is {image.shape[1]} x {image.shape[2]}. Give one size for all: "
                "--image-size on the command line, image_size= in Python."
            )
        array[row] = image  # a grey one becomes three equal channels where others have colour
    return array, np.array(list(images), dtype=np.int64)


def _checked_size(image_size: Size) -> tuple[int, int] | None:
    if image_size is None:
        return None
    sides = tuple(image_size) if isinstance(image_size, tuple | list) else (image_size, image_size)
    if len(sides) != 2 or not all(is_count(side) for side in sides):
        raise ParameterError("image_size", "the images", allowed="a side in pixels, or (height, width)", got=image_size)
    return sides[0], sides[1]


def read_image_folder(path: Path, *, image_size: Size = None, skip_corrupt: bool = False) -> dict[str, Part]:
    """Read pictures whose folders name their classes; return the parts by split, or one called ``"all"``.

    Parameters
    ----------
    path : a folder, or a zip or tar archive of one. Below it lies a folder for each class, or ``train``, ``val``,
        ``cal`` and ``test`` (``train`` must be there) with the classes below those. Pictures may lie deeper.
    image_size, skip_corrupt : as for ``stack``.
    """
    tree = FileTree(path)
    names = [name for name in tree.names() if is_picture(name)]
    if not names:
        raise DatasetError(f"{path} has no pictures. There must be a folder for each class, with pictures in it.")
    tops = {name.split("/")[0].lower() for name in names if "/" in name}
    has_splits = tops <= set(SPLIT_NAMES) and "train" in {SPLIT_NAMES[top] for top in tops}
    folders = [tuple(name.split("/")[:-1]) for name in names]
    if stray := [name for name, above in zip(names, folders, strict=True) if len(above) < 1 + has_splits]:
        raise DatasetError(f"{tree.where(stray[0])} lies in no folder that would name its class.")
    filled = {above[: 1 + has_splits] for above in folders}
    for folder in sorted(path.glob("*/*/" if has_splits else "*/")) if tree.is_folder else []:
        place = folder.relative_to(path).parts
        if place not in filled and not any(name.startswith(".") for name in place):
            raise DatasetError(f"{folder} has no pictures. Remove the folder if it stands for no class.")
    in_split = [SPLIT_NAMES[above[0].lower()] if has_splits else ALL for above in folders]
    placed = np.array([in_split, [above[has_splits] for above in folders]], dtype=object).T
    where = [tree.where(name) for name in names]
    images, kept = stack(where, lambda i: tree.read(names[i]), image_size=image_size, skip_corrupt=skip_corrupt)
    splits, labels = placed[kept].T
    parts = {split: Part(images[splits == split], labels[splits == split]) for split in sorted(set(splits))}
    to_train = parts.get("train", parts.get(ALL))
    missing = sorted(set(placed[:, 1]) - (set() if to_train is None else set(to_train.y)))
    if missing:
        raise DatasetError(f"{path}: there is no picture to train on of the class(es) {missing}.")
    return parts
