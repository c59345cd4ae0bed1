"""Checkpoints: the results of a fit under way, in a folder, so that a fit that was killed can go on.

::

    DIR/seed/, round-0001/   results by the name of their step: value.json and side files, as in a model folder
    DIR/round-0002.parts/    what goes on inside a step that is not finished
    DIR/fit.json, DIR/.lock  see ``worstclass.checkpoints``

A result is written to a temporary folder, synced and renamed, so it is there as a whole or not at all. Writing may take
a fiftieth of the time: results that are large, or of short steps, wait until there is time.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from worstclass._state import Checkpoint
from worstclass.exceptions import CheckpointError, ModelFormatError, ParameterError
from worstclass.storage import files
from worstclass.storage.codec import Reader, Writer
from worstclass.storage.folder import read_part, write_part
from worstclass.storage.seal import checksums, require_sealed, sealed, sync_files
from worstclass.storage.skops_checks import bytes_of, parts_of

#: share of the time that may be spent on writing, and seconds before anything is written
SHARE, FIRST = 0.02, 10.0
#: seconds between two notes of where a long step stands
EVERY = 60.0
#: what a write is expected to take: seconds for each, and at first bytes a second, as large forests are written
PAUSE, SPEED = 0.01, 25e6

VALUE, PARTS, WRITING = "value.json", ".parts", ".writing"


@dataclass(eq=False)
class Clock:
    """What the checkpoints of one process share: when to write, what waits to be written, and whether to stop.

    Parameters
    ----------
    share : of the time, that may be spent on writing.
    first : seconds before anything is written.
    every : seconds between two notes of where a long step stands.
    can_wait : whether results may wait until there is time to write them.
    stop : set it to end the fit: after the epoch or step under way, what is finished is written, and
        ``KeyboardInterrupt`` is raised.
    """

    share: float = SHARE
    first: float = FIRST
    every: float = EVERY
    can_wait: bool = True
    stop: bool = False
    waiting: dict[Path, Mapping[str, Any]] = field(default_factory=dict, init=False)
    _started: float = field(default_factory=time.perf_counter, init=False)
    _wrote: float = field(default_factory=time.perf_counter, init=False)
    spent: float = field(default=0.0, init=False)
    _per_byte: float = field(default=1 / SPEED, init=False)

    def allows(self, seconds: float = 0.0) -> bool:
        """Tell whether there is time for a write that takes so long."""
        elapsed = time.perf_counter() - self._started
        return elapsed >= self.first and self.spent + seconds <= self.share * elapsed

    def wait(self, place: Path, result: Mapping[str, Any]) -> None:
        """Put a result among those that wait; write the oldest of them as far as there is time."""
        self.waiting[place] = result
        while self.waiting and self.allows(self._expected(next(iter(self.waiting.values())))):
            self._write_oldest()
        if not self.can_wait:
            self.waiting.clear()

    @property
    def due(self) -> bool:
        """Whether it is time to note where a step stands."""
        return time.perf_counter() - self._wrote >= self.every and self.allows()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Count the time of one write."""
        began = time.perf_counter()
        yield
        self._wrote = time.perf_counter()
        self.spent += self._wrote - began

    def flush(self) -> None:
        """Write all results that wait."""
        while self.waiting:
            self._write_oldest()

    def _expected(self, result: Mapping[str, Any]) -> float:
        """Return the seconds that writing a result is expected to take."""
        return PAUSE + bytes_of(result) * self._per_byte

    def _write_oldest(self) -> None:
        place, result = next(iter(self.waiting.items()))
        before, n_bytes = self.spent, bytes_of(result)
        write_result(place, result, self)
        del self.waiting[place]
        shutil.rmtree(_parts(place), ignore_errors=True)
        if n_bytes > 1e6:
            self._per_byte = (self.spent - before) / n_bytes


class FolderCheckpoint(Checkpoint):
    """A checkpoint in a folder.

    Parameters
    ----------
    folder : made when something is written.
    clock : when something is written.
    whole : whether it is the checkpoint of a whole fit, not of a step of one.
    """

    def __init__(self, folder: str | os.PathLike[str], clock: Clock | None = None, *, whole: bool = True) -> None:
        self.folder = Path(folder)
        self.clock = clock or Clock()
        self.whole = whole

    def __reduce__(self) -> Any:
        """Let a worker process have a clock of its own; results cannot wait there, for nobody would write them."""
        clock = partial(Clock, self.clock.share, self.clock.first, self.clock.every, can_wait=False)
        return _in_worker, (self.folder, clock, self.whole)

    def read(self, name: str) -> Any:
        """Return the result of a step; None if it is not kept, or damaged, so that it is computed again."""
        place = self.folder / name
        if not (place / VALUE).is_file():
            return None
        try:
            stored = files.read_json(place / VALUE)
            require_sealed(stored, place / VALUE)
            read_model = partial(read_part, module=None, trusted=(), keep_in_memory=True)
            return Reader(place, read_model, listed=dict(stored["files"])).decode(stored["value"])
        except (ModelFormatError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None

    def keep(self, name: str, make: Callable[[], Mapping[str, Any]]) -> None:
        """Keep the result of a finished step: now, or with later ones if there is no time to write it."""
        stop = self.clock.stop
        self.clock.wait(self.folder / name, make())
        if stop:
            self.clock.flush()
            raise KeyboardInterrupt

    def note(self, name: str, make: Callable[[], Mapping[str, Any]], *, now: bool = False) -> None:
        """Keep where a long step stands, if the last note is a minute old; ``now`` at once."""
        stop = self.clock.stop
        if now or stop or self.clock.due:
            write_result(self.folder / name, make(), self.clock)
        if stop:
            raise KeyboardInterrupt

    def child(self, name: str) -> FolderCheckpoint:
        """Return a checkpoint for what goes on inside a step."""
        return FolderCheckpoint(_parts(self.folder / name), self.clock, whole=False)


def _in_worker(folder: Path, clock: Callable[[], Clock], whole: bool) -> FolderCheckpoint:
    return FolderCheckpoint(folder, clock(), whole=whole)


def _parts(place: Path) -> Path:
    """Return the folder for what goes on inside a step."""
    return place.with_name(f"{place.name}{PARTS}")


def write_result(place: Path, result: Mapping[str, Any], clock: Clock) -> None:
    """Write a result as a whole or not at all; what cannot be stored without a pickle is computed again."""
    part = place.with_name(f"{place.name}{WRITING}")
    if any(isinstance(each, BaseEstimator) for each in parts_of(result)):
        files.import_skops()  # saving the model would take that time as well
    with clock.writing(), files_explained(place.parent):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        writer = Writer(part, write_part)
        try:
            value = writer.encode(result, place.name)
        except ParameterError:
            shutil.rmtree(part, ignore_errors=True)
            return
        writer.close()
        files.write_json(part / VALUE, sealed({"files": checksums(part), "value": value}), indent=None)
        sync_files(part)
        shutil.rmtree(place, ignore_errors=True)
        part.rename(place)


@contextmanager
def files_explained(folder: Path) -> Iterator[None]:
    """Say what to do about a full disk and the like."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint in {folder} cannot be written: {error}. What was written before is kept. Make room, or "
            "mend the folder, and run the same command again; it goes on from there."
        ) from error
