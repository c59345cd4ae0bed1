"""Files below one place, named by relative paths: a folder, or an archive that is read without being unpacked.

Nothing of an archive is written to disk. An archive with a member such as ``../../x`` is refused all the same.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path, PurePosixPath

from worstclass.exceptions import DatasetError

ARCHIVE_SUFFIXES = (".zip", ".tar.gz", ".tgz", ".tar")

#: bytes that one file, or all files of a tar archive, may have unpacked; the largest official file has 548 million
MOST_BYTES = 4 << 30
#: what is packed may grow to so many bytes, or to so many times its size: a small file cannot fill the memory
SMALL_BYTES, MOST_GROWTH = 256 << 20, 200
#: memory that a member of a tar archive takes besides its content
_MEMBER_BYTES = 4096


class FileTree:
    """The files of a folder, or of a zip or tar archive, by relative names with forward slashes.

    A folder that holds all files of an archive is left out of their names.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir() and not is_archive(path.name):
            raise DatasetError(f"{path} is neither a folder nor an archive ({', '.join(ARCHIVE_SUFFIXES)}).")
        self.path = path
        self.is_folder = path.is_dir()

    def names(self) -> list[str]:
        """Return the names of all files, sorted; hidden files and folders are left out."""
        if not self.is_folder:
            return sorted(self._members)
        found, seen = [], set()
        for folder, folders, files in os.walk(self.path, followlinks=True):
            if (real := os.path.realpath(folder)) in seen:  # a link back to a folder above
                folders.clear()
                continue
            seen.add(real)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            below = Path(folder).relative_to(self.path)
            found += [(below / name).as_posix() for name in files if not name.startswith(".")]
        return sorted(found)

    def has(self, name: str) -> bool:
        """Tell whether there is a file of this name."""
        return (self.path / name).is_file() if self.is_folder else name in self._members

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        if not self.has(name):
            raise DatasetError(f"{self.path} has no file {name}.")
        try:
            return (self.path / name).read_bytes() if self.is_folder else self._members[name]()
        except MemoryError:
            raise
        except Exception as error:  # a damaged archive can fail in any way
            raise DatasetError(f"{self.where(name)} cannot be read: {error}.") from None

    def present(self, name: str) -> str | None:
        """Return the name of a file as it is there: plain, or compressed by gzip; None where it is not."""
        return next((there for there in (name, f"{name}.gz") if self.has(there)), None)

    def read_plain(self, name: str) -> bytes:
        """Return the content of a file that may be compressed by gzip, uncompressed."""
        there = self.present(name) or name
        return unpacked(self.read(there), self.where(there))

    def where(self, name: str) -> str:
        """Return how a message names a file."""
        return str(self.path / name) if self.is_folder else f"{self.path}: {name}"

    @cached_property
    def _members(self) -> dict[str, Callable[[], bytes]]:
        """The files of the archive: short name -> function that reads it."""
        is_zip = self.path.name.lower().endswith(".zip")
        try:
            files = _zip_files(self.path) if is_zip else _tar_files(self.path)
        except (DatasetError, MemoryError):
            raise
        except Exception as error:
            kind = "zip" if is_zip else "tar"
            raise DatasetError(f"{self.path} cannot be read as a {kind} archive: {error}.") from None
        parts = {name: _parts(self.path, name) for name in files}
        kept = {
            name: path for name, path in parts.items() if not any(part.startswith((".", "__MACOSX")) for part in path)
        }
        shared = len({path[0] for path in kept.values()}) == 1 and all(len(path) > 1 for path in kept.values())
        return {"/".join(path[shared:]): files[name] for name, path in kept.items()}


def is_archive(name: str) -> bool:
    """Tell by its name whether a file is an archive that ``FileTree`` reads."""
    return name.lower().endswith(ARCHIVE_SUFFIXES)


def unpacked(content: bytes, where: str) -> bytes:
    """Return the bytes of a file, decompressed if they begin like a gzip file."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            plain = stream.read(allowed_size(len(content)) + 1)
    except (zlib.error, EOFError, OSError) as error:
        raise DatasetError(f"{where} is damaged or cut short: {error}") from None
    require_allowed_size(len(plain), len(content), where)
    return plain


def allowed_size(packed: int) -> int:
    """Return the bytes that a packed file of some bytes may have unpacked."""
    return max(SMALL_BYTES, MOST_GROWTH * packed)


def require_allowed_size(unpacked: int, packed: int, where: str) -> None:
    """Refuse a file that has far more bytes unpacked than packed."""
    if unpacked > allowed_size(packed):
        raise DatasetError(f"{where} is refused: it has more than {allowed_size(packed):,} bytes unpacked.")


def require_member(info: zipfile.ZipInfo, n_bytes: int, where: str) -> None:
    """Refuse a member of a zip archive of some bytes that asks for far more memory than there are bytes."""
    require_allowed_size(info.file_size, info.compress_size, where)
    if info.compress_size > n_bytes:
        raise DatasetError(f"{where} is refused: it has {info.compress_size:,} bytes, and the archive {n_bytes:,}.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others reserve what a header asks for
        raise DatasetError(f"{where} is refused: it is compressed by another method than deflate.")


def _zip_files(path: Path) -> dict[str, Callable[[], bytes]]:
    archive = zipfile.ZipFile(path)
    files = [info for info in archive.infolist() if not info.is_dir()]
    for info in files:
        require_member(info, path.stat().st_size, f"{path}: {info.filename}")
        _limit(info.file_size, f"{path}: {info.filename}")
    return {info.filename: partial(archive.read, info) for info in files}


def _tar_files(path: Path) -> dict[str, Callable[[], bytes]]:
    """Unpack all at once: a compressed tar archive cannot be read at any other place than its start."""
    content = unpacked(path.read_bytes(), str(path))
    _limit(len(content), str(path))
    plain = memoryview(content)
    files: dict[str, Callable[[], bytes]] = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for number, member in enumerate(archive):
            require_allowed_size(number * _MEMBER_BYTES, path.stat().st_size, str(path))
            end = member.offset_data + member.size
            if member.isreg() and not member.issparse():
                if not 0 <= member.offset_data <= end <= len(plain):
                    raise DatasetError(f"{path}: {member.name} is cut short.")
                files[member.name] = partial(bytes, plain[member.offset_data : end])
    return files


def _limit(n_bytes: int, where: str) -> None:
    if n_bytes > MOST_BYTES:
        raise DatasetError(f"{where} is refused: it has more than {MOST_BYTES:,} bytes unpacked.")


def _parts(path: Path, name: str) -> tuple[str, ...]:
    """Return the folders and the name of a member; refuse one that points outside of the archive."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or "\\" in name or ":" in parts[0] or ".." in parts:
        raise DatasetError(f"{path} is refused: it has a member {name!r}, which points outside of the archive.")
    return tuple(part for part in parts if part != ".")
