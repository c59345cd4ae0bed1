"""DATA on the command line: a data set's name, or the path of a file or folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from worstclass.data.registry import DATASETS, load_dataset
from worstclass.data.sources import ARRAY_SUFFIX, TABLE_SUFFIXES, Source, read_source
from worstclass.data.splits import Part, Splits, take_rows
from worstclass.exceptions import DatasetError, ParameterError, UnknownNameError


def is_named(data: str) -> bool:
    """Tell a data set's name from a path; what is neither is refused with the nearest name."""
    if data in DATASETS:
        return True
    if Path(data).suffix.lower() in (*TABLE_SUFFIXES, ARRAY_SUFFIX) or Path(data).exists():
        return False
    raise UnknownNameError("DATA", "the command", data, [*DATASETS, "or the path of a file or folder"])


def load_splits(
    data: str,
    target: str | None,
    *,
    val: float,
    test: float,
    seed: int,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    root: Path | None = None,
) -> Splits:
    """Load a named data set as it is split, or split the rows of a file or folder that has no splits of its own."""
    if is_named(data):
        if target is not None or val or image_size is not None:
            raise ParameterError(
                "--target, --val-share, --image-size",
                "fit",
                allowed="left out for a named data set, which is split already",
                got=data,
            )
        return load_dataset(data, root, seed=seed)
    return _read(data, target, image_size, skip_corrupt).splits(val=val, test=test, seed=seed)


def load_rows(
    data: str,
    target: str | None,
    *,
    seed: int,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    root: Path | None = None,
) -> Part:
    """Load the test rows of a named data set or of a folder with splits, or all rows of a file."""
    if not is_named(data):
        return _read(data, target, image_size, skip_corrupt).test_rows()
    test = load_dataset(data, root, seed=seed).test
    if test is None:
        raise DatasetError(f"The data set {data!r} has no test rows.")
    return test


def at_most(part: Part, n_rows: int, seed: int) -> Part:
    """Return the part, or a draw of the same share of every class, with at least one row of each."""
    if len(part) <= n_rows:
        return part
    rng = np.random.default_rng(seed)
    kept = []
    for label in np.unique(part.y):
        rows = np.flatnonzero(part.y == label)
        kept.append(rng.permutation(rows)[: max(1, round(n_rows * len(rows) / len(part)))])
    index = np.sort(np.concatenate(kept))
    return Part(take_rows(part.X, index), part.y[index])


def _read(data: str, target: str | None, image_size: int | None, skip_corrupt: bool) -> Source:
    if target is None and Path(data).suffix.lower() in TABLE_SUFFIXES:
        raise ParameterError(
            "--target", "the command", allowed="the column of the labels when DATA is a table", got=None
        )
    return read_source(data, target=target, image_size=image_size, skip_corrupt=skip_corrupt)
