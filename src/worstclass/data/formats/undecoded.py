"""Images whose labels are known while their pixels still lie in a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worstclass.exceptions import DatasetError

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]


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
