"""MODEL on the command line: the folder of a model."""

from __future__ import annotations

from pathlib import Path

from worstclass.cli.learners import named_or_own
from worstclass.persistence import Model, load_model


def read_model(folder: Path, network: str | None) -> Model:
    """Read a model, of which one member is in memory at a time.

    Parameters
    ----------
    folder : where it was saved.
    network : ``package.module:callable`` of a network of the user's own that it was trained with.
    """
    return load_model(folder, module=None if network is None else named_or_own(network), keep_in_memory=False)
