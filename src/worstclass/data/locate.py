"""Finding the files of a named data set on disk."""

from __future__ import annotations

import os
from pathlib import Path

from worstclass.data.facts import NamedDataset
from worstclass.data.trees import FileTree, is_archive
from worstclass.exceptions import DatasetError

#: environment variable that names the folder of the data sets
ROOT_VARIABLE = "WORSTCLASS_DATA"


def data_root(root: str | Path | None = None) -> Path:
    """Return the folder of the data sets: as given, as WORSTCLASS_DATA says, or a folder in the user's cache."""
    named = root if root is not None else os.environ.get(ROOT_VARIABLE) or "~/.cache/worstclass/data"
    return Path(named).expanduser()


def locate(dataset: NamedDataset, root: str | Path | None = None) -> FileTree | None:
    """Return the files of a set, in a folder or in the publisher's archive; None where they are not all there."""
    for folder in _folders(dataset, data_root(root)):
        if folder.is_dir() and not _missing(dataset, folder):
            return FileTree(folder)
        for name in _archives(dataset):
            if (folder / name).is_file():
                return FileTree(folder / name)
    return None


def find(dataset: NamedDataset, root: str | Path | None = None) -> FileTree:
    """Return the files of a set, or raise an error that says what is missing and where to get it."""
    found = locate(dataset, root)
    if found is None:
        raise DatasetError(_missing_message(dataset, data_root(root)))
    return found


def present_name(tree: FileTree, name: str) -> str | None:
    """Return the name of a file as it is there: plain, or compressed by gzip; None where it is not."""
    return next((there for there in (name, f"{name}.gz") if tree.has(there)), None)


def _folders(dataset: NamedDataset, root: Path) -> list[Path]:
    """Return the folders in which the files of a set may lie, in the order in which they are searched."""
    return [base / layout for base in (root / dataset.folder, root) for layout in ("", *dataset.layouts)]


def _archives(dataset: NamedDataset) -> list[str]:
    return [download.name for download in dataset.downloads if is_archive(download.name)]


def _missing(dataset: NamedDataset, folder: Path) -> list[str]:
    """Return the names of the files that a folder lacks."""
    names = [file.name for file in dataset.files]
    tree = FileTree(folder)
    return [name for name in names if not (folder / name).is_dir() and present_name(tree, name) is None]


def _missing_message(dataset: NamedDataset, root: Path) -> str:
    """Say what is missing, where it was searched for, and how to get it."""
    folders = _folders(dataset, root)
    lacking = {folder: _missing(dataset, folder) for folder in folders if folder.is_dir()}
    partly = next((folder for folder, missing in lacking.items() if len(missing) < len(dataset.files)), None)
    if partly is not None:
        what = f"{partly} has not all of its files: {', '.join(lacking[partly])} is missing."
    else:
        either = " or ".join([", ".join(file.name for file in dataset.files), *_archives(dataset)])
        what = f"{either} was looked for in {', '.join(str(folder) for folder in folders)}."
    address = dataset.downloads[0].addresses[0] if dataset.downloads else dataset.homepage
    return (
        f"The files of the data set {dataset.name!r} are not there. {what} Get it from {address} with "
        f"`{dataset.get_command}`, or put it into {root / dataset.folder}; another folder of data "
        f"sets is named by root=... or by the environment variable {ROOT_VARIABLE}."
    )
