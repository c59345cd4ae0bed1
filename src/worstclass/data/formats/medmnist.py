"""MedMNIST 2-D sets: one npz file with the images and labels of three official parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from worstclass.data.formats.npz import NpzReader
from worstclass.data.formats.undecoded import Images, Undecoded, as_labels
from worstclass.exceptions import DatasetError


def read_part(path: Path, part: str, *, n_classes: int, image_shape: tuple[int, int, int]) -> Undecoded:
    """Read one official part: ``train``, ``val`` or ``test``.

    Parameters
    ----------
    path : the npz file.
    part : name of the part.
    n_classes : number of classes.
    image_shape : channels, height, width. The file has the channels last, or leaves a single one out.
    """
    images, labels = f"{part}_images", f"{part}_labels"
    with NpzReader(path) as arrays:
        missing = [name for name in (images, labels) if name not in arrays.names]
        if missing:
            raise DatasetError(f"{path} has no {' and no '.join(missing)}. It has {arrays.names}.")
        header = arrays.header(images)
        channels, height, width = image_shape
        allowed = [(height, width, channels)] + ([(height, width)] if channels == 1 else [])
        if header.dtype != np.uint8 or header.shape[1:] not in allowed:
            raise DatasetError(
                f"{path}: {images} must be unsigned bytes of shape (n, {height}, {width}"
                f"{f', {channels}' if channels > 1 else ''}). Got {header.dtype} of shape {header.shape}."
            )
        found = as_labels(arrays.read(labels), n_classes, n_images=header.shape[0], where=f"{path}: {labels}")

    def fill(target: Images) -> None:
        with NpzReader(path) as arrays:
            for start, rows in arrays.chunks(images):
                rows = rows.reshape(len(rows), height, width, channels)
                target[start : start + len(rows)] = rows.transpose(0, 3, 1, 2)

    return Undecoded(found, image_shape, fill)
