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
from worstclass.data.facts import Download, NamedDataset, data_root, find
from worstclass.data.registry import named_dataset
from worstclass.data.trees import FileTree
from worstclass.exceptions import DatasetError, ParameterError

OFFICIAL = "official file"
UNKNOWN = "no checksum known"
DIFFERENT = "not the official file"

#: called with a file's name, the bytes it has, and the bytes it will have (None if the server does not say)
Progress = Callable[[str, int, int | None], None]

CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 30.0

_FAILURES = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError)


@dataclass(frozen=True, eq=False)
class DatasetCheck:
    """What a check found.

    Attributes
    ----------
    dataset : the facts it was checked against.
    files : path of each file, and whether it is the official one; none for a set that needs none.
    counts : rows of each class, by label, in each official part.
    problems : what cannot be read or does not agree with the facts; empty when all does.
    """

    dataset: NamedDataset
    files: Mapping[str, str]
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
    if dataset.draw is not None:
        counts = {part: np.bincount(rows.y)[1:] for part, rows in dataset.draw(0).parts.items()}
        return DatasetCheck(dataset, {}, counts, tuple(_count_problems(dataset, counts)))
    assert dataset.read is not None, "a set that is not drawn has a reader"
    tree = find(dataset, root)
    files = {} if tree is None else _verdicts(dataset, tree)
    problems = [f"{path} has another checksum than the official one." for path in files if files[path] == DIFFERENT]
    counts = {}
    for part in dataset.counts:
        try:
            counts[part] = np.bincount(dataset.read(tree, part).y, minlength=dataset.n_classes)
        except DatasetError as error:
            problems.append(str(error))
    return DatasetCheck(dataset, files, counts, (*problems, *_count_problems(dataset, counts)))


def file_md5(path: Path) -> str:
    """Return the MD5 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _verdicts(dataset: NamedDataset, tree: FileTree) -> dict[str, str]:
    """Compare files with the official ones, by content: they may be packed anew. An archive is judged as a whole."""
    if tree.is_folder:
        there = {name: tree.present(name) for name in dataset.files}
        return {tree.where(path): _verdict(dataset, tree, name) for name, path in there.items() if path is not None}
    is_official = file_md5(tree.path) in [file.md5 for file in dataset.downloads]
    same = is_official or all(_verdict(dataset, tree, name) == OFFICIAL for name in dataset.files)
    return {str(tree.path): OFFICIAL if same else DIFFERENT}


def _verdict(dataset: NamedDataset, tree: FileTree, name: str) -> str:
    expected = dataset.files[name]
    if expected is None:
        return UNKNOWN
    try:
        found = hashlib.md5(tree.read_plain(name), usedforsecurity=False).hexdigest()
    except DatasetError:  # damaged, or not in the archive
        return DIFFERENT
    return OFFICIAL if found == expected else DIFFERENT


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
            _receive(file, address, part, progress or (lambda name, done, total: None))
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


def _receive(file: Download, address: str, part: Path, progress: Progress) -> None:
    """Receive what the part of an earlier try lacks, or the whole file; remove it if its checksum is wrong."""
    start = part.stat().st_size if part.is_file() else 0
    headers = {"User-Agent": f"worstclass/{__version__}", "Range": f"bytes={start}-"}
    try:
        response = urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not start:
            raise
        part.unlink()  # nothing follows: it is complete, or longer than the file
        return _receive(file, address, part, progress)
    with response:
        done = start if response.status == http.HTTPStatus.PARTIAL_CONTENT else 0  # else the whole file comes
        length = response.headers.get("Content-Length") or ""
        total = done + int(length) if length.isdecimal() else None
        with part.open("ab" if done else "wb") as stream:
            progress(file.name, done, total)
            while piece := response.read(CHUNK_BYTES):
                stream.write(piece)
                done += len(piece)
                progress(file.name, done, total)
    if total is not None and done != total:
        raise urllib.error.URLError(f"the connection ended after {done:,} of {total:,} bytes")
    if file_md5(part) != file.md5:
        part.unlink()
        raise urllib.error.URLError("the download has another checksum than the official file, and was removed")
