"""Map-style torch data sets as X: recognised, and their labels read, without importing torch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.exceptions import DataError

#: attributes in which data sets commonly keep their labels
LABEL_ATTRIBUTES = ("targets", "labels", "y")


def is_map_dataset(X: Any) -> bool:
    """Tell whether X is a torch ``Dataset`` that can be indexed."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(X, torch.utils.data.Dataset):
        return False
    if isinstance(X, torch.utils.data.IterableDataset) or not hasattr(X, "__len__"):
        raise DataError(
            f"X must be a map-style data set, with a length and items by index. Got {type(X).__name__}. "
            "Every epoch needs the same rows in known places; load the stream into a map-style Dataset."
        )
    return True


def labels_of(dataset: Any) -> npt.NDArray[Any]:
    """Return the labels of a data set: from ``targets``, ``labels`` or ``y``, or by reading every item once."""
    if hasattr(dataset, "dataset") and hasattr(dataset, "indices"):  # a torch Subset
        return labels_of(dataset.dataset)[np.asarray(dataset.indices, dtype=np.int64)]
    for name in LABEL_ATTRIBUTES:
        labels: Any = getattr(dataset, name, None)
        if hasattr(labels, "__len__") and len(labels) == len(dataset):
            return np.asarray(labels)
    if hasattr(dataset, "tensors") and len(dataset.tensors) > 1:
        return np.asarray(dataset.tensors[1])
    return np.array([_label(dataset[i]) for i in range(len(dataset))])


def _label(item: Any) -> Any:
    if not isinstance(item, tuple | list) or len(item) < 2:
        raise DataError("The data set's items carry no label. Pass y, or make its items (row, label) pairs.")
    return item[1].item() if hasattr(item[1], "item") else item[1]
