"""Arrays and images in chunks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from worstclass.data.arrays import NpzReader, channels_first
from worstclass.data.chunks import Chunk, RowFormat, rows_of_chunk
from worstclass.data.pictures import Picture, is_picture
from worstclass.data.trees import open_tree
from worstclass.exceptions import DataError, DatasetError

#: the column with the paths of images
FILE = "file"
#: names of arrays of rows, in any case; with the name of a split before or after them too
ROW_NAMES = {"x", "data", "image", "images", "features"}

Array = npt.NDArray[Any]


def array_chunks(path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int | None) -> Iterator[Chunk]:
    """Read the rows of an npz file, or of a folder of npy files, by slices."""
    if rows.columns is not None:
        raise DataError(
            f"The model takes columns by name, and {path} has none. Give a table with {list(rows.columns)}."
        )
    names = sorted(file.stem for file in path.glob("*.npy")) if path.is_dir() else _npz_names(path)
    name = _row_array([key for key in names if key not in ids], path)
    shape = _shape(path, name)
    carried = {key: _whole(path, key) for key in ids}
    for key, values in carried.items():
        if values.ndim != 1 or len(values) != shape[0]:
            raise DataError(f"{path}: {key!r} must have one value for each row of {name!r}. Got shape {values.shape}.")
    start = 0
    for block in _regrouped(_parts(path, name), rows_of_chunk(shape[1:], chunk_rows)):
        X = channels_first(block)
        _require_shape(X, rows, f"{path}: {name}")
        numbers = np.arange(start + 1, start + 1 + len(X))
        kept = pd.DataFrame({key: values[start : start + len(X)] for key, values in carried.items()})
        start += len(X)
        yield Chunk(X, numbers, kept, done=start / shape[0])


def image_chunks(
    path: Path, rows: RowFormat, ids: Sequence[str], chunk_rows: int | None, image_size: int | None
) -> Iterator[Chunk]:
    """Decode the images of a folder or archive, sorted by path."""
    if rows.image_shape is None:
        raise DataError(f"The model takes rows of a table, and {path} is a folder of images.")
    if ids:
        raise DataError(f"Images have no columns to carry over, got {list(ids)}. Their paths are carried as {FILE!r}.")
    tree = open_tree(path)
    names = [name for name in tree.names() if is_picture(name)]
    if not names:
        raise DatasetError(f"{path} has no images.")
    step = rows_of_chunk(rows.image_shape, chunk_rows)
    resize = None if image_size is None else (image_size, image_size)
    for start in range(0, len(names), step):
        images: dict[int, Array] = {}
        bad: dict[int, str] = {}
        for number, name in enumerate(names[start : start + step], start=start + 1):
            try:
                picture = Picture.of(name, functools.partial(tree.read, name))
                image = picture.pixels(rows.image_shape[0], resize)
                _require_size(image, rows.image_shape, name)
                images[number] = image
            except DataError as error:
                bad[number] = str(error).rstrip(".")
        yield Chunk(
            np.stack(list(images.values())) if images else np.empty((0, *rows.image_shape), np.uint8),
            np.array(list(images), dtype=np.int64),
            pd.DataFrame({FILE: [names[number - 1] for number in images]}, dtype=object),
            bad,
            pd.DataFrame({FILE: [names[number - 1] for number in bad]}, dtype=object),
            min(1.0, (start + step) / len(names)),
        )


def _require_size(image: Array, shape: tuple[int, ...], name: str) -> None:
    if image.shape != shape:
        (height, width), (wanted_height, wanted_width) = image.shape[1:], shape[1:]
        raise DataError(
            f"{name} is {height} x {width} (height x width), and the model takes {wanted_height} x {wanted_width}; "
            f"resize images with image_size={wanted_height}"
        )


def _require_shape(X: Array, rows: RowFormat, who: str) -> None:
    if X.dtype.kind not in "biuf" or X.ndim < 2:
        raise DataError(f"{who} must be rows of numbers, shape (n, ...). Got {X.dtype} of shape {X.shape}.")
    wanted = rows.image_shape or (None if rows.n_columns is None else (rows.n_columns,))
    if wanted is not None and X.shape[1:] != wanted:
        raise DataError(f"{who}: rows have the shape {X.shape[1:]}, and the model takes {wanted}.")


def _row_array(names: Sequence[str], path: Path) -> str:
    """Return the one array that holds rows."""
    found = [name for name in names if ROW_NAMES & set(name.lower().split("_"))]
    if len(found) != 1:
        raise DatasetError(f"{path} must have one array of rows, called X. It has {list(names)}.")
    return found[0]


def _npz_names(path: Path) -> list[str]:
    with NpzReader(path) as reader:
        return reader.names


def _shape(path: Path, name: str) -> tuple[int, ...]:
    if path.is_dir():
        return _whole(path, name).shape
    with NpzReader(path) as reader:
        return reader.header(name).shape


def _parts(path: Path, name: str) -> Iterator[Array]:
    if path.is_dir():
        yield _whole(path, name)
        return
    with NpzReader(path) as reader:
        for _, part in reader.chunks(name):
            yield part


def _whole(path: Path, name: str) -> Array:
    """Return a whole array; a npy file is mapped."""
    if not path.is_dir():
        with NpzReader(path) as reader:
            return reader.read(name)
    try:
        array: Array = np.load(path / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DatasetError(f"{path / name}.npy cannot be read as an array of numbers: {error}") from None
    return array


def _regrouped(parts: Iterator[Array], step: int) -> Iterator[Array]:
    """Yield blocks of ``step`` rows from parts of any size."""
    held: list[Array] = []
    n_held = 0
    for part in parts:
        taken = 0
        while taken < len(part):
            piece = part[taken : taken + step - n_held]
            held.append(piece)
            taken, n_held = taken + len(piece), n_held + len(piece)
            if n_held == step:
                yield np.concatenate(held)
                held, n_held = [], 0
    if held:
        yield np.concatenate(held)
