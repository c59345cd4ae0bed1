"""Image folders: one sub-folder a class, with or without a folder for each split above; also inside an archive."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from worstclass.data.pictures import Picture, is_picture, stack
from worstclass.data.splits import ALL, SPLIT_NAMES, Part
from worstclass.data.trees import FileTree, FolderTree, open_tree
from worstclass.exceptions import DatasetError


@dataclass(frozen=True, eq=False)
class ImageFolder:
    """Parts by split, or one called ``"all"``; labels are names of folders; and the names of pictures left out."""

    parts: dict[str, Part]
    skipped: tuple[str, ...]


def read_image_folder(
    path: str | Path,
    *,
    image_size: int | tuple[int, int] | None = None,
    skip_corrupt: bool = False,
    memory_bytes: int | None = None,
) -> ImageFolder:
    """Read pictures whose folders name their classes.

    Parameters
    ----------
    path : a folder, or a zip or tar archive of one. Below it lies a folder for each class, or ``train``, ``val``,
        ``cal`` and ``test`` (``train`` must be there) with the classes below those. Pictures may lie deeper.
    image_size : as for ``worstclass.data.pictures.stack``, as are the others.
    """
    tree = open_tree(Path(path))
    names = [name for name in tree.names() if is_picture(name)]
    if not names:
        raise DatasetError(f"{path} has no pictures. There must be a folder for each class, with pictures in it.")
    placed = sorted(_placed(tree, names), key=lambda picture: (picture.split, picture.name))
    _refuse_empty_folders(tree, placed)
    stacked = stack(
        [Picture.of(tree.where(place.name), partial(tree.read, place.name)) for place in placed],
        image_size=image_size,
        skip_corrupt=skip_corrupt,
        memory_bytes=memory_bytes,
    )
    labels = np.array([placed[number].label for number in stacked.kept], dtype=object)
    splits = np.array([placed[number].split for number in stacked.kept])
    parts = {}
    for split in sorted(set(splits.tolist())):  # the pictures of a split lie next to each other: no copy
        rows = np.flatnonzero(splits == split)
        part = slice(int(rows[0]), int(rows[-1]) + 1)
        parts[split] = Part(stacked.images[part], labels[part])
    _refuse_lost_classes(tree, placed, parts)
    return ImageFolder(parts, stacked.skipped)


@dataclass(frozen=True)
class _Placed:
    name: str
    split: str
    label: str


def _placed(tree: FileTree, names: list[str]) -> list[_Placed]:
    """Return split and class of each picture."""
    folders = [name.split("/")[:-1] for name in names]
    is_split = _has_splits(folders)
    for name, found in zip(names, folders, strict=True):
        if len(found) < 1 + is_split:
            raise DatasetError(f"{tree.where(name)} lies in no folder that would name its class.")
    if not is_split:
        return [_Placed(name, ALL, found[0]) for name, found in zip(names, folders, strict=True)]
    return [_Placed(name, SPLIT_NAMES[found[0].lower()], found[1]) for name, found in zip(names, folders, strict=True)]


def _has_splits(folders: list[list[str]]) -> bool:
    tops = {found[0].lower() for found in folders if found}
    return tops <= set(SPLIT_NAMES) and "train" in {SPLIT_NAMES[top] for top in tops}


def _refuse_empty_folders(tree: FileTree, placed: list[_Placed]) -> None:
    """Refuse a class folder without pictures: it may be a class whose pictures were forgotten."""
    if not isinstance(tree, FolderTree):
        return
    used = {picture.name.rsplit("/", 1)[0] + "/" for picture in placed}
    pattern = "*/" if placed[0].split == ALL else "*/*/"
    for folder in sorted(tree.path.glob(pattern)):
        name = folder.relative_to(tree.path).as_posix() + "/"
        if not any(part.startswith(".") for part in name.split("/")) and not any(u.startswith(name) for u in used):
            raise DatasetError(f"{folder} has no pictures. Remove the folder if it stands for no class.")


def _refuse_lost_classes(tree: FileTree, placed: list[_Placed], parts: dict[str, Part]) -> None:
    to_train = parts.get("train", parts.get(ALL))
    known = set() if to_train is None else set(to_train.y.tolist())
    missing = sorted({picture.label for picture in placed} - known)
    if missing:
        raise DatasetError(f"{tree.path}: there is no picture to train on of the class(es) {missing}.")
