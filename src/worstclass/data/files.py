"""Official files on disk: are they the published ones with the published rows; and how they are downloaded.

An earlier part of a download is resumed, and no file is in place before its checksum is right: it also tells that two
parts belong together.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worstclass._typing import IntArray
from worstclass._version import __version__
from worstclass.data.facts import DataFile, Download, NamedDataset, data_root, find, present_name
from worstclass.data.registry import named_dataset
from worstclass.data.trees import FileTree, unpacked
from worstclass.exceptions import DatasetError, ParameterError

OFFICIAL = "official file"
SAME_CONTENT = "official content, packed anew"
UNKNOWN = "no checksum known"
DIFFERENT = "not the official file"

#: called with a file's name, the bytes it has, and the bytes it will have (None if the server does not say)
Progress = Callable[[str, int, int | None], None]

CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 30.0

_FAILURES = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError)


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


def _checked_files(dataset: NamedDataset, tree: FileTree) -> list[FileCheck]:
    if not tree.is_folder:
        return [FileCheck(tree.path.name, str(tree.path), _archive_verdict(dataset, tree))]
    named = [(file, present_name(tree, file.name)) for file in dataset.files]
    return [FileCheck(name, tree.where(name), _verdict(tree, file, name)) for file, name in named if name is not None]


def _archive_verdict(dataset: NamedDataset, tree: FileTree) -> str:
    if file_md5(tree.path) in [file.md5 for file in dataset.downloads]:
        return OFFICIAL
    try:
        verdicts = {_verdict(tree, file, present_name(tree, file.name) or file.name) for file in dataset.files}
    except DatasetError:  # no archive, a damaged one, or one that lacks a file
        return DIFFERENT
    return SAME_CONTENT if verdicts <= {OFFICIAL, SAME_CONTENT} else DIFFERENT


def _verdict(tree: FileTree, file: DataFile, name: str) -> str:
    if file.md5 is None and file.content_md5 is None:
        return UNKNOWN
    raw = tree.read(name)
    if _md5(raw) == file.md5:
        return OFFICIAL
    try:
        return SAME_CONTENT if _md5(unpacked(raw, tree.where(name))) == file.content_md5 else DIFFERENT
    except DatasetError:  # a damaged file
        return DIFFERENT


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _built_in_counts(dataset: NamedDataset) -> dict[str, IntArray]:
    assert dataset.load is not None, "a set without files has a loader"
    parts = dataset.load(0).parts
    counts = {name: np.unique(part.y, return_counts=True)[1] for name, part in parts.items()}
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


def get_dataset(
    dataset: NamedDataset,
    root: str | Path | None = None,
    *,
    mirror: str | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Download the files of a data set into its folder below ``root``; return their paths.

    Parameters
    ----------
    dataset : its facts, as ``named_dataset`` returns them.
    root : folder of the data sets, as for ``load_dataset``.
    mirror : address of a folder that has the files under their official names, instead of the official address.
    progress : called for every piece that arrives.
    """
    if mirror is not None and urllib.parse.urlsplit(mirror).scheme not in ("http", "https"):
        raise ParameterError(
            "mirror", "get_dataset", allowed="an address that begins with http:// or https://", got=mirror
        )
    folder = data_root(root) / dataset.folder
    folder.mkdir(parents=True, exist_ok=True)
    return [fetch(file, folder, mirror=mirror, progress=progress) for file in dataset.downloads]


def fetch(file: Download, folder: Path, *, mirror: str | None = None, progress: Progress | None = None) -> Path:
    """Download one file, unless it is there; resume a part that an earlier try left."""
    target, part = folder / file.name, folder / f"{file.name}.part"
    if target.is_file():
        if file_md5(target) != file.md5:
            raise DatasetError(f"{target} is there, but is not the official file. Remove it to get it anew.")
        return target
    addresses = file.addresses if mirror is None else (f"{mirror.rstrip('/')}/{file.name}",)
    failures = []
    for address in addresses:
        try:
            _fetch_part(file, address, part, progress or (lambda name, done, total: None))
        except _FAILURES as error:
            failures.append(f"{address}: {error}")
            continue
        part.replace(target)
        return target
    kept = " The part that arrived is kept for the next try." if part.is_file() else ""
    raise DatasetError(
        f"{file.name} could not be downloaded ({'; '.join(failures)}).{kept} If this machine has no access to it, get "
        f"{addresses[0]} by other means and put it into {folder}."
    )


def _fetch_part(file: Download, address: str, part: Path, progress: Progress) -> None:
    start = part.stat().st_size if part.is_file() else 0
    try:
        _receive(file.name, address, part, start, progress)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not start:
            raise
        _receive(file.name, address, part, 0, progress)
    if file_md5(part) != file.md5:
        part.unlink()
        raise urllib.error.URLError("the download has another checksum than the official file, and was removed")


def _receive(name: str, address: str, part: Path, start: int, progress: Progress) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": f"worstclass/{__version__}"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        done = start if response.status == http.HTTPStatus.PARTIAL_CONTENT else 0  # else the whole file comes
        length = response.headers.get("Content-Length") or ""
        total = done + int(length) if length.isdecimal() else None
        with part.open("ab" if done else "wb") as stream:
            progress(name, done, total)
            while piece := response.read(CHUNK_BYTES):
                stream.write(piece)
                done += len(piece)
                progress(name, done, total)
    if total is not None and done != total:
        raise urllib.error.URLError(f"the connection ended after {done:,} of {total:,} bytes")
