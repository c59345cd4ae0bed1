"""Checksums: what a folder holds is what was written, or an error says which file is not.

``model.json`` lists the SHA-256 of the other files, and carries that of its own contents. Only ``history.json`` is not
in the list, as it tells how long training took: it carries its own checksum and that of its ``model.json``. They tell
damage and files that are mixed up, not who wrote them: whoever can change the files can change the checksums too.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from worstclass.exceptions import ModelFormatError

CARD, HISTORY = "model.json", "history.json"
SEAL = "sha256"
REMEDY = "Copy the whole folder again, or save the model again."


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a JSON file with their own checksum."""
    contents = {key: value for key, value in values.items() if key != SEAL}
    written = json.dumps(contents, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**contents, SEAL: digest_of(written.encode())}


def require_sealed(values: Mapping[str, Any], file: Path) -> None:
    """Refuse contents of a JSON file that are not those of which it has the checksum."""
    try:
        whole = values[SEAL] == sealed(values)[SEAL]
    except (LookupError, RecursionError, TypeError, ValueError):
        whole = False
    if not whole:
        raise ModelFormatError(f"{file} is damaged or was changed: its checksum is wrong. {REMEDY}")


def require_names(names: Any, file: Path) -> None:
    """Refuse a list of files with a name that leads out of the folder."""
    for name in names:
        parts = PurePosixPath(name).parts
        if not parts or parts[0] == "/" or ".." in parts or "\\" in name or ":" in name or "\0" in name:
            raise ModelFormatError(f"{file} lists {name!r}, which is not a file inside its folder.")


def require_digest(content: bytes, digest: str | None, file: Path) -> None:
    """Refuse the content of a file that has another checksum; None stands for one that is not known."""
    if digest is not None and digest_of(content) != digest:
        raise ModelFormatError(f"{file} is damaged, or belongs to another model: its checksum is wrong. {REMEDY}")


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the files of a model, by their names; ``model.json`` stands for a model inside it."""
    found = {}
    for name in [name for name in names_of(folder) if name != HISTORY]:
        with (folder / name).open("rb") as stream:
            found[name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def names_of(folder: Path, above: str = "") -> Iterator[str]:
    """Yield the names of the files below a folder, sorted; of a model inside it that of its ``model.json`` alone."""
    for path in sorted(folder.iterdir()):
        name = f"{above}{path.name}"
        if path.is_symlink():
            continue
        if not path.is_dir():
            yield name
        elif (path / CARD).is_file():
            yield f"{name}/{CARD}"
        else:
            yield from names_of(path, f"{name}/")


def sync_files(folder: Path) -> None:
    """Wait until all files below a folder, and the folders, are on the disk."""
    for path in folder.iterdir():
        if path.is_dir():
            sync_files(path)
        else:
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Wait until the names of the files in a folder are on the disk, where the system can tell."""
    if os.name == "nt":  # Windows has no such call for folders
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network drives have none either
            raise
    finally:
        os.close(number)
