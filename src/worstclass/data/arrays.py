"""The user's own arrays: an npz file, or a folder of npy files, with rows and labels under the usual names.

Names, in any case: rows are ``X``, ``data``, ``images`` or ``features``, labels ``y``, ``labels``, ``target`` or
``targets``; a split is named before or after with an underscore (``train_images``, ``x_test``). Other arrays are left
alone. Images may have their channels first or last: the axis with at most four entries is taken for the channels, the
first one if both have so few. Unsigned bytes of shape (n, height, width) are grey images.

npz files are read array by array and part by part; arrays of objects, which would be pickles, are refused.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from worstclass.data.disk import new_array
from worstclass.data.splits import ALL, SPLIT_NAMES, Part
from worstclass.exceptions import DatasetError

ROWS, LABELS = "rows", "labels"
_ROLES = {
    **dict.fromkeys(("x", "data", "image", "images", "features"), ROWS),
    **dict.fromkeys(("y", "label", "labels", "target", "targets"), LABELS),
}
MOST_CHANNELS = 4

#: bytes decoded at a time
CHUNK_BYTES = 16 << 20

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)

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
        place = _role(name)
        if place is not None:
            split, role = place
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
    step = max(1, CHUNK_BYTES // max(1, X[:1].nbytes))
    return (slice(start, start + step) for start in range(0, len(X), step))


@dataclass(frozen=True)
class ArrayHeader:
    """Shape and type of an array, as its file says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class NpzReader:
    """The arrays of an npz file, by name.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "example.npz"
    >>> np.savez_compressed(path, X=np.eye(3, dtype=np.uint8))
    >>> with NpzReader(path) as arrays:
    ...     arrays.names, arrays.header("X").shape, arrays.read("X").tolist()
    (['X'], (3, 3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except _DAMAGE as error:
            raise DatasetError(f"{path} cannot be read as an npz file: {error}") from None

    def __enter__(self) -> NpzReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._archive.close()

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return [name.removesuffix(".npy") for name in self._archive.namelist()]

    def header(self, name: str) -> ArrayHeader:
        """Return shape and type of an array."""
        with self._open(name) as stream:
            return read_header(stream, f"{self.path}: {name}")

    def read(self, name: str) -> Array:
        """Return a whole array."""
        header = self.header(name)
        array = np.empty(header.shape, header.dtype)
        for start, rows in self.chunks(name):
            array[start : start + len(rows)] = rows
        return array

    def chunks(self, name: str) -> Iterator[tuple[int, Array]]:
        """Yield an array in parts: the number of the first row, and the rows."""
        where = f"{self.path}: {name}"
        try:
            with self._open(name) as stream:
                yield from read_chunks(stream, where)
        except _DAMAGE as error:
            if isinstance(error, DatasetError):
                raise
            raise DatasetError(f"{where} is damaged or cut short: {error}") from None

    def _open(self, name: str) -> IO[bytes]:
        if name not in self.names:
            raise DatasetError(f"{self.path} has no array {name!r}. It has {self.names}.")
        try:
            return self._archive.open(f"{name}.npy")
        except (*_DAMAGE, KeyError) as error:
            raise DatasetError(f"{self.path}: {name} cannot be read: {error}") from None


def read_header(stream: IO[bytes], where: str) -> ArrayHeader:
    """Read the header of an npy file, and refuse arrays that are no rows of numbers or text."""
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, is_fortran, dtype = read(stream)
    except _DAMAGE as error:
        raise DatasetError(f"{where} is no readable npy array: {error}") from None
    if dtype.hasobject:
        raise DatasetError(f"{where} is refused: an array of objects is a pickle, and none is run. Save it as numbers.")
    if is_fortran and len(shape) > 1:
        raise DatasetError(f"{where} lies column by column (Fortran order). Save np.ascontiguousarray of it.")
    if not shape:
        raise DatasetError(f"{where} is a single value, not rows.")
    return ArrayHeader(shape, dtype)


def read_chunks(stream: IO[bytes], where: str) -> Iterator[tuple[int, Array]]:
    """Yield the rows of an npy file in parts; the file must end where its header says."""
    header = read_header(stream, where)
    row_bytes = math.prod(header.shape[1:]) * header.dtype.itemsize
    step = max(1, CHUNK_BYTES // max(row_bytes, 1))
    for start in range(0, header.shape[0], step):
        n_rows = min(step, header.shape[0] - start)
        raw = _read_exactly(stream, n_rows * row_bytes)
        if len(raw) < n_rows * row_bytes:
            raise DatasetError(f"{where} is cut short: its header tells of {header.shape[0]:,} rows.")
        yield start, np.frombuffer(raw, header.dtype).reshape(n_rows, *header.shape[1:])
    if stream.read(1):
        raise DatasetError(f"{where} is damaged: more follows than the {header.shape[0]:,} rows its header tells of.")


def _read_exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    parts, missing = [], n_bytes
    while missing and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
