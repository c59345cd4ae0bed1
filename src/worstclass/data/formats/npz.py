"""npz and npy files, read array by array and part by part; arrays of objects, which would be pickles, are refused."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from worstclass.exceptions import DatasetError

#: bytes decoded at a time
CHUNK_BYTES = 16 << 20

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


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

    def read(self, name: str) -> npt.NDArray[Any]:
        """Return a whole array."""
        header = self.header(name)
        array = np.empty(header.shape, header.dtype)
        for start, rows in self.chunks(name):
            array[start : start + len(rows)] = rows
        return array

    def chunks(self, name: str) -> Iterator[tuple[int, npt.NDArray[Any]]]:
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


def read_chunks(stream: IO[bytes], where: str) -> Iterator[tuple[int, npt.NDArray[Any]]]:
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
