"""Downloading official files: an earlier part is resumed, and no file is in place before its checksum is right.

Only a file with a known checksum is resumed, since nothing else would tell that two parts belong together.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from worstclass._version import __version__
from worstclass.data.check import file_md5
from worstclass.data.facts import Download, NamedDataset
from worstclass.data.locate import data_root
from worstclass.exceptions import DatasetError, ParameterError

#: called with a file's name, the bytes it has, and the bytes it will have (None if the server does not say)
Progress = Callable[[str, int, int | None], None]

CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 30.0

_FAILURES = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError)


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
        if file.md5 is not None and file_md5(target) != file.md5:
            raise DatasetError(f"{target} is there, but is not the official file. Remove it to get it anew.")
        return target
    addresses = file.addresses if mirror is None else (f"{mirror.rstrip('/')}/{file.name}",)
    failures = []
    for address in addresses:
        try:
            _fetch_part(file, address, part, progress or (lambda name, done, total: None))
        except _FAILURES as error:
            failures.append(f"{address}: {_reason(error)}")
            continue
        part.replace(target)
        return target
    kept = " The part that arrived is kept for the next try." if part.is_file() else ""
    raise DatasetError(
        f"{file.name} could not be downloaded ({'; '.join(failures)}).{kept} If this machine has no access to it, get "
        f"{addresses[0]} by other means and put it into {folder}."
    )


def _fetch_part(file: Download, address: str, part: Path, progress: Progress) -> None:
    start = part.stat().st_size if file.md5 is not None and part.is_file() else 0
    try:
        _receive(file.name, address, part, start, progress)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not start:
            raise
        _receive(file.name, address, part, 0, progress)
    if file.md5 is not None and file_md5(part) != file.md5:
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


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    return str(getattr(error, "reason", None) or error or type(error).__name__)
