"""Finding the files of a named data set on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worstclass.data.facts import NamedDataset
from worstclass.data.trees import FileTree, FolderTree, Stamp, is_archive, open_tree
from worstclass.exceptions import DatasetError

#: environment variable that names the folder of the data sets
ROOT_VARIABLE = "WORSTCLASS_DATA"


@dataclass(frozen=True, eq=False)
class Found:
    """The files of a set: of a folder, or inside the publisher's archive."""

    dataset: NamedDataset
    tree: FileTree

    def stamps(self) -> list[Stamp]:
        """Return sizes and times of change of all files that are read."""
        if not isinstance(self.tree, FolderTree):
            return self.tree.stamps(())
        names = [present_name(self.tree, file.name) for file in self.dataset.files if not file.name.endswith("/")]
        folders = tuple(file.name for file in self.dataset.files if file.name.endswith("/"))
        if folders:
            names += [name for name in self.tree.names() if name.startswith(folders)]
        return self.tree.stamps(name for name in names if name is not None)


def data_root(root: str | Path | None = None) -> Path:
    """Return the folder of the data sets: as given, as WORSTCLASS_DATA says, or a folder in the user's cache."""
    if root is not None:
        return Path(root).expanduser()
    named = os.environ.get(ROOT_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "worstclass" / "data"


def folders_to_search(dataset: NamedDataset, root: Path) -> list[Path]:
    """Return the folders in which the files of a set may lie, in the order in which they are looked at."""
    bases = [root / dataset.folder, root]
    return [base / layout if layout else base for base in bases for layout in ("", *dataset.layouts)]


def locate(dataset: NamedDataset, root: str | Path | None = None) -> Found | None:
    """Return the files of a set; None where there are none or not all of them."""
    for folder in folders_to_search(dataset, data_root(root)):
        if folder.is_dir() and not missing_files(dataset, FolderTree(folder)):
            return Found(dataset, FolderTree(folder))
        for archive in _archives(dataset, folder):
            return Found(dataset, open_tree(archive))
    return None


def find(dataset: NamedDataset, root: str | Path | None = None) -> Found:
    """Return the files of a set, or raise an error that says what is missing and where to get it."""
    found = locate(dataset, root)
    if found is None:
        raise DatasetError(missing_message(dataset, data_root(root)))
    return found


def missing_files(dataset: NamedDataset, tree: FolderTree) -> list[str]:
    """Return the names of the files that a folder lacks."""
    missing = []
    for file in dataset.files:
        there = (tree.path / file.name).is_dir() if file.name.endswith("/") else present_name(tree, file.name)
        if not there:
            missing.append(file.name)
    return missing


def present_name(tree: FileTree, name: str) -> str | None:
    """Return the name of a file as it is there: plain, or compressed by gzip; None where it is not."""
    return next((there for there in (name, f"{name}.gz") if tree.has(there)), None)


def missing_message(dataset: NamedDataset, root: Path) -> str:
    """Say what is missing, where it was looked for, and how to get it."""
    folders = folders_to_search(dataset, root)
    partly = [(folder, missing_files(dataset, FolderTree(folder))) for folder in folders if folder.is_dir()]
    partly = [(folder, missing) for folder, missing in partly if len(missing) < len(dataset.files)]
    if partly:
        folder, missing = partly[0]
        what = f"{folder} has not all of its files: {', '.join(missing)} is missing."
    else:
        what = f"{_either(dataset)} was looked for in {', '.join(str(folder) for folder in folders)}."
    address = dataset.downloads[0].addresses[0] if dataset.downloads else dataset.homepage
    return (
        f"The files of the data set {dataset.name!r} are not there. {what} Get it from {address} with "
        f"`{dataset.get_command}`, or put it into {root / dataset.folder}; another folder of data "
        f"sets is named by root=... or by the environment variable {ROOT_VARIABLE}."
    )


def _either(dataset: NamedDataset) -> str:
    names = [download.name for download in dataset.downloads if is_archive(download.name)]
    files = ", ".join(file.name for file in dataset.files)
    return " or ".join([files, *names])


def _archives(dataset: NamedDataset, folder: Path) -> Iterator[Path]:
    for download in dataset.downloads:
        if is_archive(download.name) and (folder / download.name).is_file():
            yield folder / download.name
