"""MODEL on the command line: the folder of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worstclass.cli.learners import named_or_own
from worstclass.exceptions import ParameterError
from worstclass.storage import load_model, save_model

#: what is proven of a model, beside it
CERTIFICATE = "certificate.json"


def read_model(folder: Path, network: str | None) -> Any:
    """Read a model, of which one member is in memory at a time.

    Parameters
    ----------
    folder : where it was saved.
    network : ``package.module:callable`` of a network of the user's own that it was trained with.
    """
    return load_model(folder, module=None if network is None else named_or_own(network), keep_in_memory=False)


def require_folder(folder: Path) -> None:
    """Refuse a file where a folder is to be written, before any work is done."""
    if folder.exists() and not folder.is_dir():
        allowed = "a folder, or a path where there is nothing"
        raise ParameterError("--out", "the command", allowed=allowed, got=str(folder))


def write_model(model: Any, folder: Path) -> None:
    """Write a model in place of the one that is there; what was certified of that one goes with it."""
    folder.mkdir(parents=True, exist_ok=True)
    save_model(model, folder)
    (folder / CERTIFICATE).unlink(missing_ok=True)
