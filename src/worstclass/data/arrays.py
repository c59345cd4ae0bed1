"""The user's own arrays: an npz file, or a folder of npy files, with rows and labels under the usual names.

Names, in any case: rows are ``X``, ``data``, ``images`` or ``features``, labels ``y``, ``labels``, ``target`` or
``targets``; a split is named before or after with an underscore (``train_images``, ``x_test``). Other arrays are left
alone. Images may have their channels first or last: the axis with at most four entries is taken for the channels, the
first one if both have so few. Unsigned bytes of shape (n, height, width) are grey images.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.disk import new_array
from worstclass.data.formats.npz import NpzReader
from worstclass.data.splits import ALL, SPLIT_NAMES, Part
from worstclass.exceptions import DatasetError

ROWS, LABELS = "rows", "labels"
_ROLES = {
    **dict.fromkeys(("x", "data", "image", "images", "features"), ROWS),
    **dict.fromkeys(("y", "label", "labels", "target", "targets"), LABELS),
}
MOST_CHANNELS = 4

Array = npt.NDArray[Any]


class Arrays(ABC):
    """Arrays by name."""

    where: str
    names: list[str]

    @abstractmethod
    def read(self, name: str) -> Array:
        """Return a whole array; it may lie on disk."""


class NpzArrays(Arrays):
    """The arrays of an npz file; those with more than ``memory_bytes`` are unpacked to disk."""

    def __init__(self, path: Path, memory_bytes: int | None) -> None:
        self.where = str(path)
        self._path = path
        self._memory_bytes = memory_bytes
        with NpzReader(path) as reader:
            self.names = reader.names

    def read(self, name: str) -> Array:
        """Unpack an array part by part."""
        with NpzReader(self._path) as reader:
            header = reader.header(name)
            array = new_array(header.shape, header.dtype, self._memory_bytes)
            for start, rows in reader.chunks(name):
                array[start : start + len(rows)] = rows
        return array


class NpyFolder(Arrays):
    """The npy files of a folder, mapped into memory."""

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        self._path = path
        self.names = sorted(file.stem for file in path.glob("*.npy"))

    def read(self, name: str) -> Array:
        """Map an array; writing to it does not change the file."""
        path = self._path / f"{name}.npy"
        try:
            array: Array = np.load(path, mmap_mode="c", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise DatasetError(
                f"{path} cannot be read as an array of numbers (arrays of objects are refused): {error}"
            ) from None
        return array


def read_arrays(arrays: Arrays, memory_bytes: int | None = None) -> dict[str, Part]:
    """Return the parts that arrays make: by split, or one called ``"all"``."""
    names = _names_by_split(arrays)
    return {split: _part(arrays, *pair, memory_bytes) for split, pair in names.items()}


def is_npy_folder(path: Path) -> bool:
    """Tell whether a folder has npy files that name rows or labels."""
    return any(_role(file.stem) is not None for file in path.glob("*.npy"))


def _names_by_split(arrays: Arrays) -> dict[str, tuple[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name in arrays.names:
        told = _role(name)
        if told is not None:
            split, role = told
            if role in found.setdefault(split, {}):
                raise DatasetError(f"{arrays.where} has two arrays for the same: {found[split][role]!r} and {name!r}.")
            found[split][role] = name
    for names in found.values():
        if len(names) < 2:
            (there,) = names.values()
            lacking = LABELS if ROWS in names else ROWS
            raise DatasetError(f"{arrays.where} has {there!r}, but no {lacking} for it. It has {arrays.names}.")
    if ALL in found and len(found) > 1:
        raise DatasetError(f"{arrays.where} has rows both in splits and apart from them: {arrays.names}.")
    if ALL not in found and "train" not in found:
        raise DatasetError(
            f"{arrays.where} has no rows to train on. It must have X and y, or x_train and y_train, or train_images "
            f"and train_labels. It has {arrays.names}."
        )
    return {split: (names[ROWS], names[LABELS]) for split, names in found.items()}


def _role(name: str) -> tuple[str, str] | None:
    words = name.lower().split("_")
    if len(words) == 1 and words[0] in _ROLES:
        return ALL, _ROLES[words[0]]
    if len(words) == 2:
        for split, role in (words, words[::-1]):
            if split in SPLIT_NAMES and role in _ROLES:
                return SPLIT_NAMES[split], _ROLES[role]
    return None


def _part(arrays: Arrays, rows: str, labels: str, memory_bytes: int | None) -> Part:
    X, y = arrays.read(rows), label_array(arrays.read(labels), f"{arrays.where}: {labels}")
    if len(X) != len(y):
        raise DatasetError(f"{arrays.where}: {rows} has {len(X):,} rows, and {labels} {len(y):,}.")
    if X.dtype.kind not in "biuf" or X.ndim < 2 or not len(X):
        raise DatasetError(
            f"{arrays.where}: {rows} must be rows of numbers, shape (n, ...). Got {X.dtype} of shape {X.shape}."
        )
    return Part(channels_first(X, memory_bytes), y)


def label_array(values: Array, where: str) -> Array:
    """Return one label a row: numbers as they are, text as plain strings."""
    labels = np.array(values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values)
    if labels.ndim != 1:
        raise DatasetError(f"{where} must be one label a row, shape (n,). Got shape {labels.shape}.")
    if labels.dtype.kind == "S":
        labels = np.char.decode(labels, "utf-8")
    if labels.dtype.kind == "U":
        return labels.astype(object)
    if labels.dtype.kind not in "biuf":
        raise DatasetError(f"{where} must hold numbers or text. Got {labels.dtype}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DatasetError(f"{where} must have a label for every row. Got {labels[~np.isfinite(labels)][0]}.")
    return labels


def channels_first(X: Array, memory_bytes: int | None = None) -> Array:
    """Return images with their channels first; what is no image stays as it is.

    Examples
    --------
    >>> channels_first(np.zeros((5, 28, 28, 3))).shape, channels_first(np.zeros((5, 28, 28), np.uint8)).shape
    ((5, 3, 28, 28), (5, 1, 28, 28))
    >>> channels_first(np.zeros((5, 3, 28, 28))).shape, channels_first(np.zeros((5, 7))).shape
    ((5, 3, 28, 28), (5, 7))
    """
    if X.ndim == 3 and X.dtype == np.uint8:
        return X[:, None]
    if X.ndim != 4 or X.shape[1] <= MOST_CHANNELS or X.shape[3] > MOST_CHANNELS:
        return X
    moved = X.transpose(0, 3, 1, 2)
    array = new_array(moved.shape, X.dtype, memory_bytes)
    for rows in _steps(moved):
        array[rows] = moved[rows]
    return array


def _steps(X: Array) -> Iterator[slice]:
    step = max(1, (16 << 20) // max(1, X[:1].nbytes))
    return (slice(start, start + step) for start in range(0, len(X), step))
