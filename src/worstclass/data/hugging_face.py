"""Data sets of the Hugging Face ``datasets`` library, known by their attributes; the library is not needed."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from worstclass.data.arrays import label_array
from worstclass.data.pictures import Picture, Size, stack
from worstclass.data.sources import categories_for_text
from worstclass.data.splits import SPLIT_NAMES, Part, Splits
from worstclass.exceptions import DataError, DatasetError

LABEL_COLUMNS = ("label", "labels", "target", "class", "fine_label", "y")
IMAGE_COLUMNS = ("image", "img", "images", "picture")


def from_hugging_face(
    dataset: Any,
    *,
    image: str | None = None,
    label: str | None = None,
    image_size: Size = None,
    skip_corrupt: bool = False,
) -> Part | Splits:
    """Turn a data set into arrays: a single one into a part, a dictionary of splits into splits.

    Parameters
    ----------
    dataset : has ``features``, ``len()``, rows by number and columns by name; or is a mapping of such.
    image : column of pictures (Pillow images or encoded bytes); by default the first of ``IMAGE_COLUMNS`` that is
        there. A data set without one is a table, and X is a data frame.
    label : column of labels; by default the first of ``LABEL_COLUMNS`` that is there. Where its feature has names,
        they are the labels.
    image_size, skip_corrupt : as for ``worstclass.data.pictures.stack``.
    """
    options: dict[str, Any] = {"image_size": image_size, "skip_corrupt": skip_corrupt}
    if not isinstance(dataset, Mapping):
        return _part(dataset, image, label, options)
    parts: dict[str, Any] = {}
    for name, rows in dataset.items():
        use = SPLIT_NAMES.get(name.lower())
        if use is not None and use not in parts:
            parts[use] = _part(rows, image, label, options)
    if "train" not in parts:
        raise DatasetError(f"The data set has no split to train on. It has {list(dataset)}.")
    return Splits(**parts)


def _part(dataset: Any, image: str | None, label: str | None, options: Mapping[str, Any]) -> Part:
    if not hasattr(dataset, "features") or not hasattr(dataset, "__len__"):
        raise DataError(
            "The data set must have features and a length, as those of the datasets library. "
            f"Got {type(dataset).__name__}; a streamed one has no length, so load it whole."
        )
    if not len(dataset):
        raise DatasetError("The data set has no rows.")
    features: Mapping[str, Any] = dataset.features
    label = _column(features, label, LABEL_COLUMNS)
    if label is None:
        raise DatasetError(f"The data set has no column of labels that is known as one: {list(features)}. Pass label=.")
    y = _labels(dataset, features, label)
    image = _column(features, image, IMAGE_COLUMNS)
    if image is None:
        import pandas as pd

        columns = {name: list(dataset[name]) for name in features if name != label}
        return Part(categories_for_text(pd.DataFrame(columns), "the data set"), y)
    names = [f"row {number} of the column {image!r}" for number in range(len(dataset))]
    pictures = [Picture(name, partial(_open, dataset, image, number)) for number, name in enumerate(names)]
    images, kept = stack(pictures, **options)
    return Part(images, y[kept])


def _column(features: Mapping[str, Any], given: str | None, usual: tuple[str, ...]) -> str | None:
    if given is not None and given not in features:
        raise DatasetError(f"The data set has no column {given!r} for the {usual[0]}s. It has {list(features)}.")
    return given or next((name for name in usual if name in features), None)


def _labels(dataset: Any, features: Mapping[str, Any], label: str) -> npt.NDArray[Any]:
    values = label_array(np.asarray(list(dataset[label])), f"the column {label!r}")
    names = getattr(features[label], "names", None)
    if not names:
        return values
    if values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= len(names):
        raise DatasetError(
            f"The column {label!r} must have a label in 0..{len(names) - 1} in every row; -1 stands for none."
        )
    return np.asarray(np.array(names, dtype=object)[values])


def _open(dataset: Any, column: str, number: int) -> Image.Image:
    """Return the picture of a row: a Pillow image, or encoded bytes where the data set does not decode them."""
    value = dataset[number][column]
    if isinstance(value, Image.Image):
        return value.copy()
    content = value.get("bytes") if isinstance(value, Mapping) else value
    if not isinstance(content, bytes):
        raise DatasetError(f"row {number} of the column {column!r} must be a picture. Got {type(value).__name__}.")
    return Image.open(io.BytesIO(content))
