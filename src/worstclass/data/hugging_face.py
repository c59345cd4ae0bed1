"""Data sets of the Hugging Face ``datasets`` library, known by their attributes; the library is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worstclass.data.arrays import label_array
from worstclass.data.pictures import stack
from worstclass.data.sources import categories_for_text
from worstclass.data.splits import SPLIT_NAMES, Part, Splits
from worstclass.exceptions import DataError, DatasetError

LABEL_COLUMNS = ("label", "labels", "target", "class", "fine_label", "y")
IMAGE_COLUMNS = ("image", "img", "images", "picture")


def from_hugging_face(
    dataset: Any, *, image: str | None = None, label: str | None = None, **options: Any
) -> Part | Splits:
    """Turn a data set into arrays: a single one into a part, a dictionary of splits into splits.

    Parameters
    ----------
    dataset : has ``features``, ``len()``, rows by number and columns by name; or is a mapping of such.
    image : column of pictures (Pillow images or encoded bytes); by default the first of ``IMAGE_COLUMNS`` that is
        there. A data set without one is a table, and X is a data frame.
    label : column of labels; by default the first of ``LABEL_COLUMNS`` that is there. Where its feature has names,
        they are the labels.
    options : ``image_size`` and ``skip_corrupt``, as for ``worstclass.data.pictures.stack``.
    """
    if isinstance(dataset, Mapping):
        splits = {SPLIT_NAMES[name.lower()]: rows for name, rows in dataset.items() if name.lower() in SPLIT_NAMES}
        if "train" not in splits:
            raise DatasetError(f"The data set has no split to train on. It has {list(dataset)}.")
        parts: dict[str, Any] = {
            name: from_hugging_face(rows, image=image, label=label, **options) for name, rows in splits.items()
        }
        return Splits(**parts)
    if not hasattr(dataset, "features") or not hasattr(dataset, "__len__"):
        raise DataError(
            "The data set must have features and a length, as those of the datasets library. "
            f"Got {type(dataset).__name__}; a streamed one has no length, so load it whole."
        )
    columns = list(dataset.features)
    label, image = _column(columns, label, LABEL_COLUMNS), _column(columns, image, IMAGE_COLUMNS)
    if label is None or not len(dataset):
        raise DatasetError(f"The data set has no rows, or no column that is known as labels: {columns}. Pass label=.")
    y = label_array(np.asarray(list(dataset[label])), f"the column {label!r}")
    if names := getattr(dataset.features[label], "names", None):
        if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= len(names):
            allowed = f"a label in 0..{len(names) - 1} in every row; -1 stands for none"
            raise DatasetError(f"The column {label!r} must have {allowed}.")
        y = np.array(names, dtype=object)[y]
    if image is None:
        import pandas as pd

        table = pd.DataFrame({name: list(dataset[name]) for name in columns if name != label})
        return Part(categories_for_text(table, "the data set"), y)

    def content(number: int) -> Any:
        value = dataset[number][image]
        return value.get("bytes") if isinstance(value, Mapping) else value

    where = [f"row {number} of the column {image!r}" for number in range(len(dataset))]
    images, kept = stack(where, content, **options)
    return Part(images, y[kept])


def _column(columns: list[str], given: str | None, usual: tuple[str, ...]) -> str | None:
    if given is not None and given not in columns:
        raise DatasetError(f"The data set has no column {given!r} for the {usual[0]}s. It has {columns}.")
    return given or next((name for name in usual if name in columns), None)
