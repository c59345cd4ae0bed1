"""The user's own arrays: an npz file, or a folder of npy files, with rows and labels under the usual names.

Names, in any case: rows are ``X``, ``data``, ``images`` or ``features``, labels ``y``, ``labels``, ``target`` or
``targets``; a split is named before or after with an underscore (``train_images``, ``x_test``). Other arrays are
ignored. Images may have their channels first or last: the axis with at most four entries is taken for the channels,
the first one if both have so few. Unsigned bytes of shape (n, height, width) are grey images.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from worstclass.data.splits import ALL, SPLIT_NAMES, Part
from worstclass.data.trees import require_member
from worstclass.exceptions import DatasetError

ROWS, LABELS = "rows", "labels"
_ROLES = {
    **dict.fromkeys(("x", "data", "image", "images", "features"), ROWS),
    **dict.fromkeys(("y", "label", "labels", "target", "targets"), LABELS),
}
MOST_CHANNELS = 4


class Arrays:
    """The arrays of an npz file or of a folder of npy files, by name; arrays of objects (pickles) are refused.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "example.npz"
    >>> np.savez_compressed(path, X=np.eye(2, dtype=np.uint8))
    >>> Arrays(path).names, Arrays(path).read("X").tolist()
    (['X'], [[1, 0], [0, 1]])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir():
            self._npz = None
            self.names = sorted(file.stem for file in path.glob("*.npy"))
            return
        try:
            self._npz = np.load(path, allow_pickle=False)
            self.names = list(self._npz.files)
        except MemoryError:
            raise
        except Exception as error:  # a damaged file can fail in any way
            raise DatasetError(f"{path} cannot be read as an npz file: {error}") from None

    def read(self, name: str) -> npt.NDArray[Any]:
        """Return an array; a npy file is mapped, and writing to the array does not change the file."""
        if name not in self.names:
            raise DatasetError(f"{self.path} has no array {name!r}. It has {self.names}.")
        try:
            if self._npz is None:
                array = np.load(self.path / f"{name}.npy", mmap_mode="c", allow_pickle=False)
            else:
                self._require_bounded(name)
                array = self._npz[name]
        except (DatasetError, MemoryError):
            raise
        except Exception as error:
            raise DatasetError(
                f"{self.path}: {name} cannot be read as an array of numbers (arrays of objects are refused): {error}"
            ) from None
        if not isinstance(array, np.ndarray) or not array.ndim:
            raise DatasetError(f"{self.path}: {name} is no array of rows.")
        return array

    def _require_bounded(self, name: str) -> None:
        """Refuse an array of an npz file that asks for far more memory than the file has bytes."""
        assert self._npz is not None, "a folder has no members"
        archive = self._npz.zip
        info = archive.getinfo(f"{name}.npy" if f"{name}.npy" in archive.namelist() else name)
        require_member(info, self.path.stat().st_size, f"{self.path}: {name}")
        with archive.open(info) as stream:
            require_npy(stream, info.file_size)


def require_npy(stream: IO[bytes], n_bytes: int) -> None:
    """Refuse a npy file of some bytes whose header asks for more: numpy reserves what the header says, then reads."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"its format {version} is not known")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    wanted, there = math.prod(shape) * dtype.itemsize, n_bytes - stream.tell()
    if wanted > there or min(shape, default=0) < 0:
        raise ValueError(f"its header tells of {wanted:,} bytes {shape}, and {there:,} follow")


def read_arrays(path: Path) -> dict[str, Part]:
    """Return the parts that the arrays of a file or folder make: by split, or one called ``"all"``."""
    arrays = Arrays(path)
    return {split: _part(arrays, *names) for split, names in _names_by_split(arrays).items()}


def is_npy_folder(path: Path) -> bool:
    """Tell whether a folder has npy files that name rows or labels."""
    return any(role_of(file.stem) is not None for file in path.glob("*.npy"))


def role_of(name: str) -> tuple[str, str] | None:
    """Return split and role (rows or labels) of an array by its name; None for another name."""
    words = name.lower().split("_")
    if len(words) == 1 and words[0] in _ROLES:
        return ALL, _ROLES[words[0]]
    if len(words) == 2:
        for split, role in (words, words[::-1]):
            if split in SPLIT_NAMES and role in _ROLES:
                return SPLIT_NAMES[split], _ROLES[role]
    return None


def _names_by_split(arrays: Arrays) -> dict[str, tuple[str, str]]:
    found: dict[tuple[str, str], str] = {}
    for name in arrays.names:
        place = role_of(name)
        if place in found:
            raise DatasetError(f"{arrays.path} has two arrays for the same: {found[place]!r} and {name!r}.")
        if place is not None:
            found[place] = name
    splits = dict.fromkeys(split for split, _ in found)
    for (split, role), name in found.items():
        other = LABELS if role == ROWS else ROWS
        if (split, other) not in found:
            raise DatasetError(f"{arrays.path} has {name!r}, but no {other} for it. It has {arrays.names}.")
    if ALL in splits and len(splits) > 1:
        raise DatasetError(f"{arrays.path} has rows both in splits and apart from them: {arrays.names}.")
    if ALL not in splits and "train" not in splits:
        raise DatasetError(
            f"{arrays.path} has no rows to train on. It must have X and y, or x_train and y_train, or train_images "
            f"and train_labels. It has {arrays.names}."
        )
    return {split: (found[split, ROWS], found[split, LABELS]) for split in splits}


def _part(arrays: Arrays, rows: str, labels: str) -> Part:
    X, y = arrays.read(rows), label_array(arrays.read(labels), f"{arrays.path}: {labels}")
    if len(X) != len(y):
        raise DatasetError(f"{arrays.path}: {rows} has {len(X):,} rows, and {labels} {len(y):,}.")
    require_numbers(X, f"{arrays.path}: {rows}")
    return Part(channels_first(X), y)


def require_numbers(X: npt.NDArray[Any], where: str) -> None:
    """Refuse an array that is not rows of numbers."""
    if X.dtype.kind not in "biuf" or X.ndim < 2 or not len(X):
        raise DatasetError(f"{where} must be rows of numbers, shape (n, ...). Got {X.dtype} of shape {X.shape}.")


def label_array(values: npt.NDArray[Any], where: str) -> npt.NDArray[Any]:
    """Return one label per row: numbers as they are, text as plain strings."""
    labels = np.array(values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values)
    if labels.ndim != 1:
        raise DatasetError(f"{where} must be one label per row, shape (n,). Got shape {labels.shape}.")
    try:
        if labels.dtype.kind == "S":
            labels = np.char.decode(labels, "utf-8")
        if labels.dtype.kind == "U":
            return labels.astype(object)
    except (UnicodeDecodeError, SystemError) as error:  # SystemError: numbers that stand for no letter
        raise DatasetError(f"{where} must hold text. It cannot be read: {error}.") from None
    if labels.dtype.kind not in "biuf":
        raise DatasetError(f"{where} must hold numbers or text. Got {labels.dtype}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DatasetError(f"{where} must have a label for every row. Got {labels[~np.isfinite(labels)][0]}.")
    return labels


def channels_first(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
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
    return np.ascontiguousarray(X.transpose(0, 3, 1, 2))
