"""DATA on the command line: a data set's name, or the path of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from worstclass.data.registry import DATASETS, load_dataset
from worstclass.data.splits import Part, Splits, make_splits, take_rows
from worstclass.data.tables import read_table
from worstclass.exceptions import DatasetError, ParameterError, UnknownNameError


def is_named(data: str) -> bool:
    """Tell a data set's name from a path; what is neither is refused with the nearest name."""
    if data in DATASETS:
        return True
    if Path(data).suffix.lower() == ".csv" or Path(data).exists():
        return False
    raise UnknownNameError("DATA", "the command", data, [*DATASETS, "or the path of a CSV file"])


def load_splits(data: str, target: str | None, *, val: float, test: float, seed: int) -> Splits:
    """Load a named data set as it is split, or split the rows of a file."""
    if is_named(data):
        if target is not None or val:
            raise ParameterError(
                "--target, --val-share",
                "fit",
                allowed="left out for a named data set, which is split already",
                got=data,
            )
        return load_dataset(data, seed=seed)
    part = read_part(data, target)
    return make_splits(part.X, part.y, val=val, test=test, seed=seed)


def load_rows(data: str, target: str | None, *, seed: int) -> Part:
    """Load the test rows of a named data set, or all rows of a file."""
    if not is_named(data):
        return read_part(data, target)
    test = load_dataset(data, seed=seed).test
    if test is None:
        raise DatasetError(f"The data set {data!r} has no test rows.")
    return test


def read_part(data: str, target: str | None) -> Part:
    """Read all rows of a file."""
    if target is None:
        raise ParameterError(
            "--target", "the command", allowed="the column of the labels when DATA is a file", got=None
        )
    return read_table(data, target)


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
