"""Files below one place, named by relative paths: a folder, or an archive that is read without being unpacked.

Nothing of an archive is ever written to disk. An archive with a member such as ``../../x`` is refused all the same.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from worstclass.exceptions import DatasetError

#: size and time of change of a file: what a decoded copy is checked against
Stamp = tuple[str, int, int]

ZIP_SUFFIXES = (".zip",)
TAR_SUFFIXES = (".tar.gz", ".tgz", ".tar")

#: bytes that one file, or all files of a tar archive, may have unpacked; the largest official file has 548 million
MOST_BYTES = 4 << 30

_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


class FileTree(ABC):
    """Files by relative names with forward slashes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of all files, sorted; hidden ones are left out."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Tell whether there is a file of this name."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return what is in a file."""

    @abstractmethod
    def stamps(self, names: Iterable[str]) -> list[Stamp]:
        """Return size and time of change of what holds the files."""

    def where(self, name: str) -> str:
        """Return how a message names a file."""
        return f"{self.path}: {name}"


class FolderTree(FileTree):
    """The files of a folder."""

    def names(self) -> list[str]:
        """Return the names of all files, sorted; hidden files and folders are left out."""
        found, seen = [], set()
        for folder, folders, files in os.walk(self.path, followlinks=True):
            status = Path(folder).stat()
            if (status.st_dev, status.st_ino) in seen:  # a link back to a folder above
                folders.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            below = Path(folder).relative_to(self.path)
            found += [(below / name).as_posix() for name in files if not name.startswith(".")]
        return sorted(found)

    def has(self, name: str) -> bool:
        """Tell whether there is a file of this name."""
        return (self.path / name).is_file()

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise DatasetError(f"{self.where(name)} cannot be read: {error.strerror or error}.") from None

    def stamps(self, names: Iterable[str]) -> list[Stamp]:
        """Return size and time of change of each file."""
        return [stamp(self.path / name, name) for name in names]

    def where(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.path / name)


class _Archive(FileTree):
    """The files of an archive; a folder that holds all of them is left out of their names."""

    _members: dict[str, Any]

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(self._members)

    def has(self, name: str) -> bool:
        """Tell whether there is a file of this name."""
        return name in self._members

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        if name not in self._members:
            raise DatasetError(f"{self.path} has no file {name}.")
        return self._content(name)

    def stamps(self, names: Iterable[str]) -> list[Stamp]:
        """Return size and time of change of the archive."""
        return [stamp(self.path, self.path.name)]

    @abstractmethod
    def _content(self, name: str) -> bytes:
        """Return what is in a file that is there."""


class ZipTree(_Archive):
    """The files of a zip archive."""

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except _DAMAGE as error:
            raise DatasetError(f"{self.path} cannot be read as a zip archive: {error}.") from None

    @cached_property
    def _members(self) -> dict[str, zipfile.ZipInfo]:  # type: ignore[override]
        members = {info.filename: info for info in self._archive.infolist() if not info.is_dir()}
        return {short: members[name] for short, name in _short_names(self.path, members).items()}

    def _content(self, name: str) -> bytes:
        info = self._members[name]
        if info.file_size > MOST_BYTES:
            raise DatasetError(f"{self.where(name)} is refused: it says that it has {info.file_size:,} bytes unpacked.")
        try:
            return self._archive.read(info)
        except _DAMAGE as error:
            raise DatasetError(f"{self.where(name)} cannot be read: {error}.") from None


class TarTree(_Archive):
    """The files of a tar archive, compressed or not; it is read once, and its content is kept in memory."""

    @cached_property
    def _members(self) -> dict[str, bytes]:  # type: ignore[override]
        try:
            with tarfile.open(self.path) as archive:
                files = _read_all(self.path, archive)
        except _DAMAGE as error:
            raise DatasetError(f"{self.path} cannot be read as a tar archive: {error}.") from None
        return {short: files[name] for short, name in _short_names(self.path, files).items()}

    def _content(self, name: str) -> bytes:
        return self._members[name]


def open_tree(path: Path) -> FileTree:
    """Return the files of a folder, a zip or a tar archive."""
    if path.is_dir():
        return FolderTree(path)
    if path.name.lower().endswith(ZIP_SUFFIXES):
        return ZipTree(path)
    if path.name.lower().endswith(TAR_SUFFIXES):
        return TarTree(path)
    raise DatasetError(f"{path} is neither a folder nor an archive ({', '.join(ZIP_SUFFIXES + TAR_SUFFIXES)}).")


def is_archive(name: str) -> bool:
    """Tell by its name whether a file is an archive that ``open_tree`` reads."""
    return name.lower().endswith(ZIP_SUFFIXES + TAR_SUFFIXES)


def unpacked(content: bytes, where: str) -> bytes:
    """Return the bytes of a file, decompressed if they begin like a gzip file."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            plain = stream.read(MOST_BYTES + 1)
    except (EOFError, zlib.error, OSError) as error:
        raise DatasetError(f"{where} is damaged or cut short: {error}") from None
    if len(plain) > MOST_BYTES:
        raise DatasetError(f"{where} is refused: it has more than {MOST_BYTES:,} bytes unpacked.")
    return plain


def stamp(path: Path, name: str) -> Stamp:
    """Return size and time of change of one file."""
    try:
        status = path.stat()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}.") from None
    return name, status.st_size, status.st_mtime_ns


def _read_all(path: Path, archive: tarfile.TarFile) -> dict[str, bytes]:
    files, total = {}, 0
    for member in archive:
        total += max(member.size, 0)
        if total > MOST_BYTES:
            raise DatasetError(f"{path} is refused: its files have more than {MOST_BYTES:,} bytes unpacked.")
        content = archive.extractfile(member) if member.isreg() else None
        if content is not None:
            files[member.name] = content.read()
        else:
            _refuse_unsafe(path, member.name)
    return files


def _short_names(path: Path, names: Iterable[str]) -> dict[str, str]:
    """Return names without a folder that they all share, hidden and macOS files left out; refuse unsafe ones."""
    kept = []
    for name in names:
        parts = _refuse_unsafe(path, name)
        if "__MACOSX" not in parts and not any(part.startswith(".") for part in parts):
            kept.append((name, parts))
    shared = len({parts[0] for _, parts in kept}) == 1 and all(len(parts) > 1 for _, parts in kept)
    return {"/".join(parts[1:] if shared else parts): name for name, parts in kept}


def _refuse_unsafe(path: Path, name: str) -> tuple[str, ...]:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or "\\" in name or ":" in parts[0] or ".." in parts:
        raise DatasetError(f"{path} is refused: it has a member {name!r}, which points outside of the archive.")
    return tuple(part for part in parts if part != ".")
