"""The user's own data, by path: an image folder, an npz file, a folder of npy files, a CSV or Parquet table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worstclass.data.splits import ALL, Part, Splits, make_splits
from worstclass.data.trees import is_archive
from worstclass.exceptions import DatasetError, ParameterError, WorstClassWarning

TABLE_SUFFIXES = (".csv", ".parquet", ".pq")
ARRAY_SUFFIX = ".npz"


@dataclass(frozen=True, eq=False)
class Source:
    """Rows that were read.

    Attributes
    ----------
    parts : by split where the data has splits of its own, with ``"train"`` among them; else one part, ``"all"``.
    skipped : names of damaged pictures that were left out.
    memory_bytes : the most that is copied into memory of rows that lie on disk.
    """

    parts: Mapping[str, Part]
    skipped: tuple[str, ...] = ()
    memory_bytes: int | None = None

    def splits(self, *, val: float = 0.0, cal: float = 0.0, test: float = 0.2, seed: int = 0) -> Splits:
        """Return the splits: those that the data has as they are, others cut from its training rows in these shares."""
        whole = self.parts[ALL if ALL in self.parts else "train"]
        shares = {
            name: 0.0 if name in self.parts else share for name, share in (("val", val), ("cal", cal), ("test", test))
        }
        own = {name: part for name, part in self.parts.items() if name not in (ALL, "train")}
        if not any(shares.values()):
            return Splits.from_parts({"train": whole, **own})
        cut = make_splits(whole.X, whole.y, **shares, seed=seed, memory_bytes=self.memory_bytes)
        return Splits(cut.train, own.get("val", cut.val), own.get("cal", cut.cal), own.get("test", cut.test))


def read_source(
    path: str | Path,
    *,
    target: str | None = None,
    image_size: int | tuple[int, int] | None = None,
    skip_corrupt: bool = False,
    memory_bytes: int | None = None,
) -> Source:
    """Read data from a path.

    Parameters
    ----------
    path : a folder of pictures by class (or an archive of one), a folder of npy files, an npz, CSV or Parquet file.
    target : column of the labels; for tables, and only for those.
    image_size : height and width to bring pictures to, or one number for both; needed where they differ in size.
    skip_corrupt : leave damaged pictures out, with a warning that names them; else they are an error.
    memory_bytes : images with more bytes together are decoded to disk and mapped; None for 1 GiB.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = Path(tempfile.mkdtemp()) / "mine.npz"
    >>> np.savez(path, X=np.zeros((10, 28, 28, 3), np.uint8), y=np.arange(10) % 2)
    >>> splits = read_source(path).splits(test=0.2)
    >>> splits.train.X.shape, splits.test.X.shape
    ((8, 3, 28, 28), (2, 3, 28, 28))
    """
    path = Path(path)
    is_table = path.suffix.lower() in TABLE_SUFFIXES
    if not is_table and not path.exists():
        raise DatasetError(f"There is no file or folder {path}.")
    if not is_table and target is not None:
        raise ParameterError("target", "read_source", allowed="left out unless the data is a table", got=target)
    if is_table or _is_arrays(path):
        if image_size is not None:
            allowed = "left out unless the data is a folder of pictures"
            raise ParameterError("image_size", "read_source", allowed=allowed, got=image_size)
        parts = {ALL: _table(path, target)} if is_table else _array_parts(path, memory_bytes)
        return Source(parts, memory_bytes=memory_bytes)
    if not path.is_dir() and not is_archive(path.name):
        raise DatasetError(
            f"{path} is of no kind that is read: an image folder or an archive of one, a folder with X.npy and y.npy, "
            f"or a file {', '.join((ARRAY_SUFFIX, *TABLE_SUFFIXES))}."
        )
    return _pictures(path, image_size, skip_corrupt, memory_bytes)


def _table(path: Path, target: str | None) -> Part:
    from worstclass.data.tables import read_table

    if target is None:
        raise ParameterError(
            "target", "read_source", allowed="the column of the labels when the data is a table", got=None
        )
    return read_table(path, target)


def _is_arrays(path: Path) -> bool:
    from worstclass.data.arrays import is_npy_folder

    return is_npy_folder(path) if path.is_dir() else path.suffix.lower() == ARRAY_SUFFIX


def _array_parts(path: Path, memory_bytes: int | None) -> dict[str, Part]:
    from worstclass.data.arrays import Arrays, NpyFolder, NpzArrays, read_arrays

    arrays: Arrays = NpyFolder(path) if path.is_dir() else NpzArrays(path, memory_bytes)
    return read_arrays(arrays, memory_bytes)


def _pictures(
    path: Path, image_size: int | tuple[int, int] | None, skip_corrupt: bool, memory_bytes: int | None
) -> Source:
    from worstclass.data.image_folder import read_image_folder

    found = read_image_folder(path, image_size=image_size, skip_corrupt=skip_corrupt, memory_bytes=memory_bytes)
    if found.skipped:
        warnings.warn(
            f"{len(found.skipped)} damaged pictures were left out: {', '.join(found.skipped)}",
            WorstClassWarning,
            stacklevel=3,
        )
    return Source(found.parts, found.skipped, memory_bytes)
