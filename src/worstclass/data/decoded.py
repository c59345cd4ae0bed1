"""Decoded copies of official files: the second load maps them into memory instead of unpacking again.

A copy is one folder whose name holds a hash of the sizes and times of change of the files it was made from, so a file
that changed finds no copy. It is written under another name and then renamed: there is never half a copy. Where the
cache folder cannot be written, images are decoded into memory each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.disk import cache_folder, create_array
from worstclass.data.formats.undecoded import Images, Labels, Undecoded
from worstclass.data.trees import Stamp

#: changed when the same files are decoded to other arrays
VERSION = 1


@dataclass(frozen=True, eq=False)
class DecodedPart:
    """Images and labels of one official part, and the names that its files have for the classes."""

    images: Images
    labels: Labels
    class_names: tuple[str, ...] = ()


def decoded(name: str, place: Path, stamps: list[Stamp], read: Callable[[], Undecoded]) -> DecodedPart:
    """Return images from the copy in the cache; make the copy first if there is none.

    Images of a copy are mapped: pages are read when they are used, and writing to the array changes neither the copy
    nor what other users of it see.

    Parameters
    ----------
    name : of the set, its variant and its part; part of a folder's name.
    place : the folder or archive that holds the files.
    stamps : sizes and times of change of the files.
    read : called where there is no copy.
    """
    family = f"{name}-{_hash(str(place.absolute()))}-"
    folder = cache_folder() / f"{family}{_hash(json.dumps([VERSION, *stamps]))}"
    part = _open_copy(folder)
    if part is not None:
        return part
    undecoded = read()
    try:
        _make_copy(folder, undecoded)
    except OSError:
        return _in_memory(undecoded)
    _remove_older(folder, family)
    part = _open_copy(folder)
    return _in_memory(undecoded) if part is None else part


def _open_copy(folder: Path) -> DecodedPart | None:
    try:
        images: Any = np.load(folder / "images.npy", mmap_mode="c", allow_pickle=False)
        labels: npt.NDArray[Any] = np.load(folder / "labels.npy", allow_pickle=False)
        class_names = tuple(json.loads((folder / "class_names.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, EOFError):
        return None
    if images.dtype != np.uint8 or labels.dtype != np.int64 or len(images) != len(labels):
        return None
    return DecodedPart(images, labels, class_names)


def _make_copy(folder: Path, undecoded: Undecoded) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix="making-"))
    try:
        if 0 in undecoded.shape:
            np.save(made / "images.npy", np.empty(undecoded.shape, np.uint8))
        else:
            images = create_array(made / "images.npy", undecoded.shape, np.uint8)
            undecoded.fill(images)
            images.flush()
            del images
        np.save(made / "labels.npy", undecoded.labels)
        (made / "class_names.json").write_text(json.dumps(undecoded.class_names), encoding="utf-8")
        if folder.exists():  # it could not be opened
            shutil.rmtree(folder)
        with contextlib.suppress(OSError):  # another process was faster
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _in_memory(undecoded: Undecoded) -> DecodedPart:
    images = np.empty(undecoded.shape, np.uint8)
    undecoded.fill(images)
    return DecodedPart(images, undecoded.labels, undecoded.class_names)


def _remove_older(folder: Path, family: str) -> None:
    for older in folder.parent.glob(f"{family}*"):
        if older != folder:
            shutil.rmtree(older, ignore_errors=True)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
