"""Arrays on disk: where they are kept, and how one is made that is gone when nobody uses it."""

from __future__ import annotations

import atexit
import contextlib
import errno
import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

#: environment variable that names the folder of decoded copies
CACHE_VARIABLE = "WORSTCLASS_CACHE"

#: bytes of images that are decoded in memory; more goes to disk
MEMORY_BYTES = 1 << 30

#: bytes that are left free on the disk
SPARE_BYTES = 64 << 20


def cache_folder() -> Path:
    """Return the folder of decoded copies and of arrays too large for memory."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "worstclass" / "decoded"


def create_array(path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike) -> np.memmap[Any, Any]:
    """Create an npy file and map it for writing; raise OSError where the disk has no room for it.

    Writing to a mapped file on a full disk would end the program, so the room is looked at before.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if shutil.disk_usage(path.parent).free < n_bytes + SPARE_BYTES:
        raise OSError(errno.ENOSPC, f"no room for {n_bytes:,} bytes", str(path))
    array: np.memmap[Any, Any] = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
    return array


def new_array(shape: tuple[int, ...], dtype: npt.DTypeLike, memory_bytes: int | None = None) -> npt.NDArray[Any]:
    """Return an array to be filled: in memory, or on disk where it has more than ``memory_bytes``.

    The file of an array on disk is gone when the array is no longer used. Where the cache folder cannot be written,
    the array is in memory after all.

    Parameters
    ----------
    shape, dtype : of the array.
    memory_bytes : the most that is taken in memory; None for ``MEMORY_BYTES``.
    """
    if _fits_memory(shape, dtype, memory_bytes):
        return np.empty(shape, dtype)
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=cache_folder(), prefix="array-", suffix=".npy")
        os.close(handle)
        array = create_array(Path(name), shape, dtype)
    except OSError:
        return np.empty(shape, dtype)
    try:
        Path(name).unlink()  # what is mapped stays until nobody uses it, even if the program is killed
    except OSError:  # a system that keeps files in use
        atexit.register(_remove, name)
    return array


def copy_rows(X: npt.NDArray[Any], index: npt.NDArray[np.int64], memory_bytes: int | None = None) -> npt.NDArray[Any]:
    """Return rows of an array that may lie on disk, a part at a time; a large result lies on disk too."""
    shape = (len(index), *X.shape[1:])
    if _fits_memory(shape, X.dtype, memory_bytes):
        return X[index]
    rows = new_array(shape, X.dtype, memory_bytes)
    step = max(1, (16 << 20) // max(1, X[:1].nbytes))
    for start in range(0, len(index), step):
        rows[start : start + step] = X[index[start : start + step]]
    return rows


def _fits_memory(shape: tuple[int, ...], dtype: npt.DTypeLike, memory_bytes: int | None) -> bool:
    limit = MEMORY_BYTES if memory_bytes is None else memory_bytes
    return 0 in shape or math.prod(shape) * np.dtype(dtype).itemsize <= limit


def _remove(name: str) -> None:
    with contextlib.suppress(OSError):
        Path(name).unlink()
