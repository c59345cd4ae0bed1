"""Images of official files: labels known while the pixels still lie in a file, and decoded copies of them on disk.

The second load maps a decoded copy into memory instead of unpacking again.

A copy is one folder whose name holds a hash of the sizes and times of change of the files it was made from, so a file
that changed finds no copy. It is written under another name and then renamed: there is never half a copy. Where the
cache folder cannot be written, images are decoded into memory each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.disk import cache_folder, create_array
from worstclass.data.trees import Stamp
from worstclass.exceptions import DatasetError

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]

#: changed when the same files are decoded to other arrays
VERSION = 1


@dataclass(frozen=True, eq=False)
class Undecoded:
    """Labels, and a function that decodes the images into an array, which may lie in memory or on disk.

    Attributes
    ----------
    labels : int64, shape (n,), from 0.
    image_shape : channels, height, width.
    fill : decodes all images into the array it is given, uint8 of shape (n, channels, height, width).
    class_names : names that the files tell, by label.
    """

    labels: Labels
    image_shape: tuple[int, int, int]
    fill: Callable[[Images], None]
    class_names: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the array of all images."""
        return (len(self.labels), *self.image_shape)


def as_labels(values: npt.ArrayLike, n_classes: int, *, n_images: int, where: str, first: int = 0) -> Labels:
    """Check labels that a file counts from ``first``, and return them counted from 0."""
    labels = np.asarray(values)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DatasetError(
            f"{where}: the labels must be one whole number a row. Got shape {labels.shape}, type {labels.dtype}."
        )
    if len(labels) != n_images:
        raise DatasetError(f"{where}: there are {n_images:,} images and {len(labels):,} labels.")
    shifted = labels.astype(np.int64) - first
    wrong = np.flatnonzero((shifted < 0) | (shifted >= n_classes))
    if len(wrong):
        raise DatasetError(
            f"{where}: labels must be in {first}..{first + n_classes - 1}. "
            f"Got {labels[wrong[0]]} in row {wrong[0] + 1}."
        )
    return shifted


@dataclass(frozen=True, eq=False)
class DecodedPart:
    """Images and labels of one official part, and the names that its files have for the classes."""

    images: Images
    labels: Labels
    class_names: tuple[str, ...] = ()


def decoded(name: str, place: Path, stamps: list[Stamp], read: Callable[[], Undecoded]) -> DecodedPart:
    """Return images from the copy in the cache; make the copy first if there is none.

    Images of a copy are mapped: pages are read when they are used, and writing to the array changes neither the copy
    nor what other users of it see.

    Parameters
    ----------
    name : of the set, its variant and its part; part of a folder's name.
    place : the folder or archive that holds the files.
    stamps : sizes and times of change of the files.
    read : called where there is no copy.
    """
    family = f"{name}-{_hash(str(place.absolute()))}-"
    folder = cache_folder() / f"{family}{_hash(json.dumps([VERSION, *stamps]))}"
    part = _open_copy(folder)
    if part is not None:
        return part
    undecoded = read()
    try:
        _make_copy(folder, undecoded)
    except OSError:
        return _in_memory(undecoded)
    _remove_older(folder, family)
    part = _open_copy(folder)
    return _in_memory(undecoded) if part is None else part


def _open_copy(folder: Path) -> DecodedPart | None:
    try:
        images: Any = np.load(folder / "images.npy", mmap_mode="c", allow_pickle=False)
        labels: npt.NDArray[Any] = np.load(folder / "labels.npy", allow_pickle=False)
        class_names = tuple(json.loads((folder / "class_names.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, EOFError):
        return None
    if images.dtype != np.uint8 or labels.dtype != np.int64 or len(images) != len(labels):
        return None
    return DecodedPart(images, labels, class_names)


def _make_copy(folder: Path, undecoded: Undecoded) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix="making-"))
    try:
        if 0 in undecoded.shape:
            np.save(made / "images.npy", np.empty(undecoded.shape, np.uint8))
        else:
            images = create_array(made / "images.npy", undecoded.shape, np.uint8)
            undecoded.fill(images)
            images.flush()
            del images
        np.save(made / "labels.npy", undecoded.labels)
        (made / "class_names.json").write_text(json.dumps(undecoded.class_names), encoding="utf-8")
        if folder.exists():  # it could not be opened
            shutil.rmtree(folder)
        with contextlib.suppress(OSError):  # another process was faster
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _in_memory(undecoded: Undecoded) -> DecodedPart:
    images = np.empty(undecoded.shape, np.uint8)
    undecoded.fill(images)
    return DecodedPart(images, undecoded.labels, undecoded.class_names)


def _remove_older(folder: Path, family: str) -> None:
    for older in folder.parent.glob(f"{family}*"):
        if older != folder:
            shutil.rmtree(older, ignore_errors=True)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
