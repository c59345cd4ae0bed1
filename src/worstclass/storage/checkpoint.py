"""Checkpoints: the results of a fit under way, in a folder, so that a fit that was killed can go on.

::

    DIR/fit.json             parameters of the estimator and digests of its rows: another fit is refused
    DIR/seed/, round-0001/   results by the name of their step: value.json and side files, as in a model folder
    DIR/round-0002.parts/    what goes on inside a step that is not finished
    DIR/lock                 held by the process that fits; the system releases it when the process ends

A result is written to a temporary folder, synced and renamed, so it is there as a whole or not at all. Writing may take
a fiftieth of the time: results of short steps are written several at a time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from sklearn.base import BaseEstimator

from worstclass._state import KEEPS_NOTHING, Checkpoint
from worstclass.data.fingerprints import row_hashes
from worstclass.exceptions import CheckpointError, ModelFormatError, ParameterError
from worstclass.randomness import SeedTree
from worstclass.storage import files
from worstclass.storage.codec import Reader, Writer
from worstclass.storage.folder import _read, _write

#: share of the time that may be spent on writing, and seconds before anything is written
SHARE, FIRST = 0.02, 2.0
#: seconds between two notes of where a long step stands
EVERY = 60.0
#: parameters that do not change what is computed, or that may change before a fit goes on
FREE = ("callbacks", "n_jobs", "device", "num_workers", "eval_batch_size", "verbose", "max_seconds", "time_limit")

FIT, VALUE, LOCK, PARTS, WRITING = "fit.json", "value.json", "lock", ".parts", ".writing"


@dataclass(eq=False)
class Clock:
    """What the checkpoints of one process share: time, time spent on writing, and whether the user wants to stop."""

    share: float = SHARE
    first: float = FIRST
    every: float = EVERY
    started: float = field(default_factory=time.perf_counter)
    spent: float = 0.0
    wrote: float = field(default_factory=time.perf_counter)
    seconds_each: float = 0.0
    stop: bool = False

    def allows(self, n_results: int) -> bool:
        """Tell whether there is time to write so many results."""
        elapsed = time.perf_counter() - self.started
        return elapsed >= self.first and self.spent + n_results * self.seconds_each <= self.share * elapsed

    @property
    def due(self) -> bool:
        """Whether it is time to note where a step stands."""
        return time.perf_counter() - self.wrote >= self.every and self.allows(1)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Count the time of one write."""
        began = time.perf_counter()
        yield
        self.wrote = time.perf_counter()
        self.seconds_each = self.wrote - began
        self.spent += self.seconds_each


class FolderCheckpoint(Checkpoint):
    """A checkpoint in a folder.

    Parameters
    ----------
    folder : made when something is written.
    clock : when something is written.
    whole : whether it is the checkpoint of a whole fit, not of a step of one.
    """

    def __init__(self, folder: str | Path, clock: Clock | None = None, *, whole: bool = True) -> None:
        self.folder = Path(folder)
        self.clock = clock or Clock()
        self.whole = whole
        self._waiting: dict[str, Mapping[str, Any]] = {}

    def __reduce__(self) -> Any:
        """Let a worker process have a clock of its own."""
        clock = Clock(self.clock.share, self.clock.first, self.clock.every)
        return partial(FolderCheckpoint, self.folder, clock, whole=self.whole), ()

    def read(self, name: str) -> Any:
        """Return the result of a step; None if it is not kept, or damaged, so that it is computed again."""
        place = self.folder / name
        if not (place / VALUE).is_file():
            return None
        try:
            stored = files.read_json(place / VALUE)
            if stored["files"] != _digests(place):
                raise ModelFormatError(f"{place} was changed.")
            return Reader(place, partial(_read, module=None, trusted=(), keep_in_memory=True)).decode(stored["value"])
        except (ModelFormatError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None

    def keep(self, name: str, result: Mapping[str, Any]) -> None:
        """Keep the result of a finished step: now, or with later ones if there is no time to write it."""
        self._waiting[name] = result
        if self.clock.stop or self.clock.allows(len(self._waiting)):
            self.flush()
        self._stop_if_wanted()

    def note(self, name: str, make: Callable[[], Mapping[str, Any]], *, now: bool = False) -> None:
        """Keep where a long step stands, if the last note is a minute old; ``now`` at once."""
        if now or self.clock.stop or self.clock.due:
            self._write(name, make())
        self._stop_if_wanted()

    def child(self, name: str) -> FolderCheckpoint:
        """Return a checkpoint for what goes on inside a step."""
        return FolderCheckpoint(self.folder / f"{name}{PARTS}", self.clock, whole=False)

    def flush(self) -> None:
        """Write all results that wait."""
        for name in list(self._waiting):
            self._write(name, self._waiting[name])
            del self._waiting[name]
            shutil.rmtree(self.folder / f"{name}{PARTS}", ignore_errors=True)

    def _stop_if_wanted(self) -> None:
        if self.clock.stop:
            raise KeyboardInterrupt

    def _write(self, name: str, result: Mapping[str, Any]) -> None:
        """Write a result as a whole or not at all; what cannot be stored without a pickle is computed again."""
        place, part = self.folder / name, self.folder / f"{name}{WRITING}"
        with self.clock.writing(), _files_explained(self.folder):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            writer = Writer(part, _write)
            try:
                value = writer.encode(result, name)
            except ParameterError:
                shutil.rmtree(part, ignore_errors=True)
                return
            writer.close()
            files.write_json(part / VALUE, {"files": _digests(part), "value": value}, indent=None)
            _synced(part)
            shutil.rmtree(place, ignore_errors=True)
            part.rename(place)


@contextmanager
def checkpoint_of(
    estimator: Any, given: Any, X: Any, y: Any, X_val: Any = None, y_val: Any = None
) -> Iterator[Checkpoint]:
    """Open the ``checkpoint`` that a fit was called with: None, a folder, or part of the checkpoint of another fit.

    A folder is locked, and refused if it is that of another fit: of other parameters or rows. At the end of the fit, or
    if it fails or is interrupted, all results that are finished are written.
    """
    owner = type(estimator).__name__
    if given is None or type(given) is Checkpoint:
        yield KEEPS_NOTHING
        return
    if not isinstance(given, FolderCheckpoint | str | os.PathLike):
        raise ParameterError("checkpoint", owner, allowed="a folder, or None", got=given)
    kept = given if isinstance(given, FolderCheckpoint) else FolderCheckpoint(given)
    with _locked(kept.folder) if kept.whole else nullcontext():
        if kept.whole:
            _check_same_fit(kept.folder, _described(estimator), _rows_described(X=X, y=y, X_val=X_val, y_val=y_val), owner)
        try:
            yield kept
        finally:
            kept.flush()


def seeds_of(estimator: Any, checkpoint: Checkpoint) -> SeedTree:
    """Return the seeds of a fit: those of its ``random_state``, or if that is open those that the checkpoint keeps."""
    kept = checkpoint.read("seed")
    if kept is not None:
        return SeedTree(kept["entropy"])
    seeds = SeedTree.from_random_state(estimator.random_state, owner=type(estimator).__name__)
    checkpoint.note("seed", lambda: {"entropy": seeds.entropy}, now=True)
    return seeds


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system releases it when this process ends, however it ends."""
    with _files_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise CheckpointError(
            f"Another process is fitting into {folder}. Wait until it ends, or choose another folder."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _files_explained(folder: Path) -> Iterator[None]:
    """Say what to do about a full disk and the like."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint in {folder} cannot be written: {error}. What was written before is kept. Make room, or "
            "mend the folder, and run the same command again; it goes on from there."
        ) from error


def _check_same_fit(folder: Path, params: Any, rows: dict[str, str | None], owner: str) -> None:
    """Note which fit the folder belongs to; refuse another one."""
    file, wanted = folder / FIT, {"estimator": owner, "params": params, "rows": rows}
    if not file.exists():
        part = file.with_suffix(WRITING)
        with _files_explained(folder):
            files.write_json(part, wanted)
            part.replace(file)
        return
    there = files.read_json(file)
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
        return {"class": files.name_of(value), **{name: _described(part) for name, part in params.items()}}
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
    return f"{array.shape[0] if array.ndim else 1} rows, {hashlib.sha256(np.ascontiguousarray(array)).hexdigest()[:16]}"


def _digests(folder: Path) -> dict[str, str]:
    """Return the digest of every side file of a result."""
    found = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != VALUE)
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in found}


def _synced(folder: Path) -> None:
    """Wait until the files of a folder are on the disk."""
    for file in [*folder.rglob("*"), folder]:
        if file.is_file() or os.name == "posix":  # folders can be synced on POSIX alone
            handle = os.open(file, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
