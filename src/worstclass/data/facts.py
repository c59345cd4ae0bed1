"""Fact sheets: what is known of a named data set, the function that reads its files, and where the files lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._typing import IntArray
from worstclass.data.arrays import label_array
from worstclass.data.splits import ALL, RHO, TABLE_SHARE, VALIDATION_SHARE, Part, Splits, long_tail_counts, share_of
from worstclass.data.trees import FileTree, is_archive
from worstclass.exceptions import DatasetError

#: environment variable that names the folder of the data sets
ROOT_VARIABLE = "WORSTCLASS_DATA"


@dataclass(frozen=True)
class Download:
    """A file as its publisher offers it: its name on disk, its addresses (the official one first), its checksum."""

    name: str
    addresses: tuple[str, ...]
    md5: str


@dataclass(frozen=True, eq=False)
class NamedDataset:
    """The facts of a data set, and the function that reads it.

    Attributes
    ----------
    name, summary : what it is called, and what it is in a line.
    n_classes : number of classes; labels are 0..n_classes-1 (1..n_classes for the artificial sets).
    counts : rows of each official part; for sets without official parts all rows, as ``"all"``.
    read : function from (files, official part) to its rows and labels; images are uint8 (n, channels, height, width).
        Files are None for a set that needs none.
    draw : function from (seed, options) to ``Splits``, for sets that are drawn and not read.
    settings : those of the paper where it has the set: keyword arguments of ``WorstClassBooster`` under ``"booster"``
        and of ``TorchLearner`` under ``"learner"``. A set without ``"learner"`` is a table.
    class_names : names of the classes, by label; empty where ``read_class_names`` reads them from the files.
    balanced : every class has the same number of rows in each official part.
    long_tail : the official parts are thinned to a long tail when they are loaded.
    files : what must be there, by its official name below the set's folder, without ``.gz``; a name that ends in a
        slash is a folder. Of each the checksum (MD5) of its uncompressed content, None if unknown. No files for sets
        that are drawn or come with scikit-learn.
    downloads : what the publisher offers.
    folder : name of the set's folder below the data root.
    layouts : folders below that, or below the root, in which archives or other libraries put the files.
    variant : the options that tell this sheet from others of the same set, as ``"--size 64"``; empty for the default.
    vary : function from options such as ``size`` or ``split`` to the fact sheet of that variant.
    licence, citation : as the publisher says.
    """

    name: str
    summary: str
    n_classes: int
    counts: Mapping[str, int]
    read: Callable[[Any, str], Part] | None = None
    draw: Callable[..., Splits] | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()
    balanced: bool = False
    long_tail: bool = False
    files: Mapping[str, str | None] = field(default_factory=dict)
    downloads: tuple[Download, ...] = ()
    folder: str = ""
    layouts: tuple[str, ...] = ()
    read_class_names: Callable[[FileTree], tuple[str, ...]] | None = None
    variant: str = ""
    vary: Callable[..., NamedDataset] | None = None
    licence: str = ""
    citation: str = ""

    @property
    def built_in(self) -> bool:
        """Whether the set needs no files."""
        return not self.files

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the rows that are cut off for the parts that the set does not have, by default."""
        if ALL in self.counts:
            return {"val": TABLE_SHARE, "test": TABLE_SHARE}
        return {} if self.draw is not None or "val" in self.counts else {"val": VALIDATION_SHARE}

    @property
    def rows(self) -> dict[str, int]:
        """Rows of each split that ``load_dataset`` makes with the default options."""
        counts = dict(self.counts)
        if self.long_tail:
            by_class = {part: [n // self.n_classes] * self.n_classes for part, n in counts.items()}
            counts = {part: int(long_tail_counts(rows, RHO).sum()) for part, rows in by_class.items()}
        whole = counts.pop(ALL if ALL in counts else "train")
        off = {part: share_of(share, whole) for part, share in self.shares.items()}
        return {"train": whole - sum(off.values()), **off, **counts}


def as_labels(values: npt.ArrayLike, n_classes: int, *, n_images: int, where: str, first: int = 0) -> IntArray:
    """Check labels that a file counts from ``first``, and return them counted from 0."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu":
        raise DatasetError(f"{where} must be one whole number per row. Got type {given.dtype}.")
    labels = label_array(given, where)
    if len(labels) != n_images:
        raise DatasetError(f"{where}: there are {n_images:,} images and {len(labels):,} labels.")
    shifted = labels.astype(np.int64) - first
    wrong = np.flatnonzero((shifted < 0) | (shifted >= n_classes))
    if len(wrong):
        raise DatasetError(
            f"{where}: labels must be in {first}..{first + n_classes - 1}. "
            f"Got {labels[wrong[0]]} in row {wrong[0] + 1}."
        )
    return shifted


def data_root(root: str | Path | None = None) -> Path:
    """Return the folder of the data sets: as given, as WORSTCLASS_DATA says, or a folder in the user's cache."""
    named = root if root is not None else os.environ.get(ROOT_VARIABLE) or "~/.cache/worstclass/data"
    return Path(named).expanduser()


def find(dataset: NamedDataset, root: str | Path | None = None) -> FileTree | None:
    """Return the files of a set, None if it needs none; an error says what is missing and where to get it."""
    if dataset.built_in:
        return None
    base = data_root(root)
    folders = [above / layout for above in (base / dataset.folder, base) for layout in ("", *dataset.layouts)]
    archives = [file.name for file in dataset.downloads if is_archive(file.name)]
    either = " or ".join([", ".join(dataset.files), *archives])
    what = f"{either} was looked for in {', '.join(str(folder) for folder in folders)}."
    for folder in folders:
        missing = [name for name in dataset.files if not _is_there(folder, name)]
        if not missing:
            return FileTree(folder)
        for name in archives:
            if (folder / name).is_file():
                return FileTree(folder / name)
        if len(missing) < len(dataset.files):
            what = f"{folder} has not all of its files: {', '.join(missing)} is missing."
    raise DatasetError(
        f"The files of the data set {dataset.name!r} are not there. {what} Get it from "
        f"{dataset.downloads[0].addresses[0]} with "
        f"`{f'worstclass datasets get {dataset.name} {dataset.variant}'.strip()}`, or put it into "
        f"{base / dataset.folder}; another folder of data sets is named by root=... or by the environment variable "
        f"{ROOT_VARIABLE}."
    )


def _is_there(folder: Path, name: str) -> bool:
    path = folder / name
    return path.is_dir() if name.endswith("/") else path.is_file() or path.with_name(f"{path.name}.gz").is_file()
