"""What a fit does with its ``checkpoint``: open it, refuse that of another fit, and take seeds and models from it.

::

    DIR/fit.json   parameters of the estimator and digests of its rows: another fit is refused
    DIR/.lock      held by the process that fits; the system releases it when the process ends, however it ends

Results are kept by ``worstclass.storage.checkpoint``, which is loaded only if there is a folder.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from sklearn.base import BaseEstimator

from worstclass._state import KEEPS_NOTHING, Checkpoint
from worstclass.data.fingerprints import row_hashes
from worstclass.exceptions import CheckpointError, ParameterError
from worstclass.learners.indexed import fit_labels
from worstclass.randomness import SeedTree

#: parameters that do not change what is computed, or that may change before a fit goes on
FREE = ("callbacks", "n_jobs", "device", "num_workers", "eval_batch_size", "verbose", "max_seconds", "time_limit")
FIT, SEED, LOCK = "fit.json", "seed", ".lock"


@contextmanager
def checkpoint_of(
    estimator: Any, given: Any, X: Any, y: Any, X_val: Any = None, y_val: Any = None
) -> Iterator[Checkpoint]:
    """Open the ``checkpoint`` that a fit was called with: None, a folder, or part of the checkpoint of another fit.

    A folder is locked, and refused if it is that of another fit: of other parameters or rows. If the fit fails or is
    interrupted, all results that are finished are written; if there are none, the folder is removed.
    """
    owner = type(estimator).__name__
    if given is None or type(given) is Checkpoint:
        yield KEEPS_NOTHING
        return
    from worstclass.storage.checkpoint import FolderCheckpoint

    if not isinstance(given, FolderCheckpoint | str | os.PathLike):
        raise ParameterError("checkpoint", owner, allowed="a folder, or None", got=given)
    kept = given if isinstance(given, FolderCheckpoint) else FolderCheckpoint(given)
    if not kept.whole:
        yield kept
        return
    rows = _rows_described(X=X, y=y, X_val=X_val, y_val=y_val)
    with locked(kept.folder):
        _check_same_fit(kept.folder, _described(estimator), rows, owner)
        try:
            yield kept
        except BaseException:
            kept.clock.flush()
            if all(found.parent.name == SEED for found in kept.folder.rglob("value.json")):
                shutil.rmtree(kept.folder, ignore_errors=True)
            raise


def seeds_of(estimator: Any, checkpoint: Checkpoint) -> SeedTree:
    """Return the seeds of a fit: those of its ``random_state``, or if that is open those that the checkpoint keeps."""
    kept = checkpoint.read(SEED)
    if kept is not None:
        return SeedTree(kept["entropy"])
    seeds = SeedTree.from_random_state(estimator.random_state, owner=type(estimator).__name__)
    checkpoint.note(SEED, lambda: {"entropy": seeds.entropy}, now=True)
    return seeds


def fit_kept(model: Any, X: Any, y: Any, checkpoint: Checkpoint, name: str, **options: Any) -> Any:
    """Fit a classifier, or take it from the checkpoint; one that has checkpoints of its own goes on where it was."""
    if "checkpoint" in inspect.signature(model.fit).parameters:
        return model.fit(X, y, checkpoint=checkpoint.child(name), **options)
    kept = checkpoint.read(name)
    if kept is not None:
        return kept["model"]
    fitted = fit_labels(model, X, y, **options)
    checkpoint.keep(name, lambda: {"model": fitted})
    return fitted


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system releases it when this process ends, however it ends."""
    from worstclass.storage.checkpoint import files_explained

    with files_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise CheckpointError(
            f"Another process is working in {folder}. Wait until it ends, or choose another folder."
        ) from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        lock.release()


def _check_same_fit(folder: Path, params: Any, rows: dict[str, str | None], owner: str) -> None:
    """Note which fit the folder belongs to; refuse another one."""
    from worstclass.storage.checkpoint import files_explained

    file, wanted = folder / FIT, {"estimator": owner, "params": params, "rows": rows}
    if not file.exists():
        part = file.with_suffix(".writing")
        with files_explained(folder):
            part.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
            part.replace(file)
        return
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        there = {}
    differing = [name for name in wanted if there.get(name) != wanted[name]]
    if differing:
        raise ParameterError(
            "checkpoint",
            owner,
            allowed="a new folder, or that of a fit with the same parameters and rows",
            got=str(folder),
            hint=f"It differs in {_difference(there, wanted)}. Delete the folder to start anew.",
        )


def _difference(there: Any, wanted: Any, path: str = "") -> str:
    """Name the first thing in which two descriptions differ."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        for name in {**there, **wanted}:
            if there.get(name) != wanted.get(name):
                return _difference(there.get(name), wanted.get(name), name if name in ("X", "y") else f"{path}{name}: ")
    return f"{path}{there} there, {wanted} here" if len(f"{there}{wanted}") < 200 else path.rstrip(": ")


def _described(value: Any) -> Any:
    """Describe a parameter by what JSON can hold; the same value gives the same words in another process."""
    if isinstance(value, BaseEstimator):
        params = {name: part for name, part in value.get_params(deep=False).items() if name not in FREE}
        if not isinstance(params.get("random_state", 0), int | np.integer):
            params["random_state"] = "not fixed"
        return {
            "class": f"{type(value).__module__}.{type(value).__qualname__}",
            **{name: _described(part) for name, part in params.items()},
        }
    if isinstance(value, Mapping):
        return {str(name): _described(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_described(part) for part in value]
    if hasattr(value, "__array__"):
        return _digest_of(np.asarray(value))
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _rows_described(**given: Any) -> dict[str, str | None]:
    """Return a digest of each array of rows or labels; of a data set that cannot be hashed, its length."""
    digests: dict[str, str | None] = {}
    for name, rows in given.items():
        hashed = None if rows is None else row_hashes(rows)
        digests[name] = None if rows is None else f"{len(rows)} rows" if hashed is None else _digest_of(hashed)
    return digests


def _digest_of(array: Any) -> str:
    return f"{array.shape[0] if array.ndim else 1} rows, {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"
