"""Checking a data set on disk: are the files the official ones, and do they hold the official rows?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worstclass._typing import IntArray
from worstclass.data.facts import DataFile, NamedDataset
from worstclass.data.locate import find, present_name
from worstclass.data.registry import named_dataset
from worstclass.data.trees import FileTree, unpacked
from worstclass.exceptions import DatasetError

OFFICIAL = "official file"
SAME_CONTENT = "official content, packed anew"
UNKNOWN = "no checksum known"
DIFFERENT = "not the official file"


@dataclass(frozen=True)
class FileCheck:
    """One file: where it is, and whether it is the official one."""

    name: str
    path: str
    verdict: str


@dataclass(frozen=True, eq=False)
class DatasetCheck:
    """What a check found.

    Attributes
    ----------
    dataset : the facts it was checked against.
    files : the files, none for a set that needs none.
    counts : rows of each class, by label, in each official part.
    problems : what cannot be read or does not agree with the facts; empty when all does.
    """

    dataset: NamedDataset
    files: tuple[FileCheck, ...]
    counts: Mapping[str, IntArray]
    problems: tuple[str, ...]


def check_dataset(name: str, root: str | Path | None = None, **variant: Any) -> DatasetCheck:
    """Compare the files of a data set with its facts; where files are missing, ``DatasetError`` is raised.

    Parameters
    ----------
    name : of the data set.
    root : folder with the files, as for ``load_dataset``.
    variant : ``size`` of a MedMNIST set, ``split`` of EMNIST.

    Examples
    --------
    >>> check = check_dataset("iris")
    >>> check.counts["all"].tolist(), check.problems
    ([50, 50, 50], ())
    """
    dataset = named_dataset(name, **variant)
    if dataset.built_in:
        counts = _built_in_counts(dataset)
        return DatasetCheck(dataset, (), counts, tuple(_count_problems(dataset, counts)))
    tree = find(dataset, root)
    files = tuple(_checked_files(dataset, tree))
    problems = [
        f"{file.path} has another checksum than the official one." for file in files if file.verdict == DIFFERENT
    ]
    counts = {}
    for part in dataset.counts:
        try:
            counts[part] = np.bincount(dataset.read_part(tree, part).y, minlength=dataset.n_classes)
        except DatasetError as error:
            problems.append(str(error))
    return DatasetCheck(dataset, files, counts, (*problems, *_count_problems(dataset, counts)))


def file_md5(path: Path) -> str:
    """Return the MD5 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _checked_files(dataset: NamedDataset, tree: FileTree) -> Iterator[FileCheck]:
    if not tree.is_folder:
        yield FileCheck(tree.path.name, str(tree.path), _archive_verdict(dataset, tree))
        return
    for file in dataset.files:
        name = present_name(tree, file.name)
        if name is not None:
            yield FileCheck(name, tree.where(name), _verdict(tree, file, name))


def _archive_verdict(dataset: NamedDataset, tree: FileTree) -> str:
    (download,) = [file for file in dataset.downloads if file.name == tree.path.name]
    if download.md5 is None or file_md5(tree.path) == download.md5:
        return UNKNOWN if download.md5 is None else OFFICIAL
    try:
        named = [(file, present_name(tree, file.name)) for file in dataset.files]
        verdicts = {DIFFERENT if name is None else _verdict(tree, file, name) for file, name in named}
    except DatasetError:  # no archive, or a damaged one
        return DIFFERENT
    return SAME_CONTENT if verdicts <= {OFFICIAL, SAME_CONTENT} else DIFFERENT


def _verdict(tree: FileTree, file: DataFile, name: str) -> str:
    if file.md5 is None and file.content_md5 is None:
        return UNKNOWN
    raw = tree.read(name)
    if _md5(raw) == file.md5:
        return OFFICIAL
    try:
        content = unpacked(raw, tree.where(name))
    except DatasetError:  # a damaged file
        return DIFFERENT
    return SAME_CONTENT if _md5(content) == file.content_md5 else DIFFERENT


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _built_in_counts(dataset: NamedDataset) -> dict[str, IntArray]:
    assert dataset.load is not None, "a set without files has a loader"
    splits = dataset.load(0)
    parts = {"train": splits.train, "val": splits.val, "test": splits.test}
    counts = {name: np.unique(part.y, return_counts=True)[1] for name, part in parts.items() if part is not None}
    return {"all": np.sum(list(counts.values()), axis=0)} if "all" in dataset.counts else counts


def _count_problems(dataset: NamedDataset, counts: Mapping[str, IntArray]) -> Iterator[str]:
    for part, found in counts.items():
        expected = dataset.counts[part]
        if int(found.sum()) != expected:
            yield f"{part}: {int(found.sum()):,} rows, where the official files have {expected:,}."
        if len(found) != dataset.n_classes:
            yield f"{part}: {len(found)} classes, where the official files have {dataset.n_classes}."
        elif not found.all():
            yield f"{part}: there is no row of class {int(np.argmin(found))}."
        elif dataset.balanced and int(found.sum()) == expected and len(set(found.tolist())) > 1:
            yield f"{part}: every class has {expected // dataset.n_classes:,} rows in the official files, but not here."
