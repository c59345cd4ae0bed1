"""MODEL on the command line: the folder of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def in_order(X: Any, model: Any) -> Any:
    """Return the columns of a table in the order of training; a file may have them in another."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or not hasattr(X, "columns") or set(names) != set(X.columns):
        return X
    return X[list(names)]
