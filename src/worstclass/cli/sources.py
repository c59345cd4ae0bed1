"""DATA on the command line: a data set's name, or the path of a file or folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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
    val: float | None,
    test: float,
    seed: int,
    owner: str,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    root: Path | None = None,
) -> Splits:
    """Load a named data set as it is split, or split the rows of a file or folder that has no splits of its own.

    The labels of a named data set are the names of its classes.
    """
    if is_named(data):
        _refuse_idle({"--target": target, "--val-share": val, "--image-size": image_size}, data, owner)
        return load_dataset(data, root, seed=seed).with_names()
    return _read(data, target, image_size, skip_corrupt, owner).splits(val=val or 0.0, test=test, seed=seed)


def load_parts(
    data: str,
    target: str | None,
    classes: npt.NDArray[Any],
    *,
    seed: int,
    owner: str,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    root: Path | None = None,
) -> dict[str, Part]:
    """Load the parts of a data set for a model of the given classes, by name; ``"all"`` of a file without parts.

    The labels of a named data set are numbers where the model's are, and the names of its classes otherwise.
    """
    if not is_named(data):
        return dict(_read(data, target, image_size, skip_corrupt, owner).parts)
    _refuse_idle({"--target": target, "--image-size": image_size}, data, owner)
    splits = load_dataset(data, root, seed=seed)
    if classes.dtype.kind not in "iu":
        splits = splits.with_names()
    parts = {"train": splits.train, "val": splits.val, "cal": splits.cal, "test": splits.test}
    return {name: part for name, part in parts.items() if part is not None}


@dataclass(frozen=True)
class Drawn:
    """Rows that a command works on.

    Attributes
    ----------
    name : of the part of the data that they are from.
    part : the rows.
    available : how many the part has.
    """

    name: str
    part: Part
    available: int

    @property
    def count(self) -> str:
        """How many there are, in words."""
        n_rows = len(self.part)
        return f"{n_rows:,} of {self.available:,}" if n_rows < self.available else f"{n_rows:,}"


def draw_part(parts: dict[str, Part], wanted: Sequence[str], data: str, max_rows: int, seed: int) -> Drawn:
    """Return the first of the wanted parts that is there; of a named data set at most so many of its rows."""
    name, rows = first_part(parts, wanted, data)
    return Drawn(name, at_most(rows, max_rows, seed) if is_named(data) else rows, len(rows))


def first_part(parts: dict[str, Part], wanted: Sequence[str], data: str) -> tuple[str, Part]:
    """Return the first of the wanted parts that is there, with its name."""
    for name in wanted:
        if name in parts:
            return name, parts[name]
    raise DatasetError(f"{data!r} has no part for this: wanted is {' or '.join(wanted)}, there are {list(parts)}.")


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


def _refuse_idle(options: dict[str, Any], data: str, owner: str) -> None:
    """Refuse options that would do nothing."""
    given = {name: value for name, value in options.items() if value is not None}
    if given:
        allowed = f"left out for {data!r}, a named data set, which has labels, splits and sizes of its own"
        raise ParameterError(", ".join(given), owner, allowed=allowed, got=" ".join(map(str, given.values())))


def _read(data: str, target: str | None, image_size: int | None, skip_corrupt: bool, owner: str) -> Source:
    if target is None and Path(data).suffix.lower() in TABLE_SUFFIXES:
        raise ParameterError("--target", owner, allowed="the column of the labels when DATA is a table", got=None)
    return read_source(data, target=target, image_size=image_size, skip_corrupt=skip_corrupt)
