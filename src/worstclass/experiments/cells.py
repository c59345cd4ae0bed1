"""Cells of a comparison: one method on one seed, each written as one JSON file when it ends.

Every file is written whole or not at all. Running the same cells into the same folder again runs only the missing and
the failed ones. A file of the same name with other settings is refused, never reused.
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import shutil
import statistics
import time
import traceback
import urllib.parse
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import pydantic

from worstclass._text import duration
from worstclass.checkpoints import locked
from worstclass.exceptions import CheckpointError, ParameterError, WorkerError, WorstClassWarning
from worstclass.experiments.run import Outcome, Provenance

#: seconds to wait for a Dask scheduler
CONNECT_SECONDS = 10


@dataclass(frozen=True)
class Cell:
    """What is run: a method, a data set, a seed, and all settings that can change the result.

    Parameters
    ----------
    method, data : names. The name of a file does not identify its contents: put a hash of them into ``settings``.
    seed : fixes the draw or split of the data and the training.
    settings : values that JSON can hold: network, budget, options, theta and the like.

    Examples
    --------
    >>> Cell("ce", "iris", seed=0, settings={"budget": {"epochs": 10}}).file_name
    'ce-seed0.json'
    """

    method: str
    data: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:  # as they come back from a file: text keys, lists, plain numbers
            plain = json.loads(json.dumps(dict(self.settings), allow_nan=False))
        except (TypeError, ValueError) as error:
            allowed = "values that JSON can hold (text, finite numbers, booleans, None, lists, mappings)"
            raise ParameterError("settings", "Cell", allowed=allowed, got=self.settings, hint=f"{error}.") from None
        object.__setattr__(self, "settings", plain)
        object.__setattr__(self, "seed", operator.index(self.seed))

    @property
    def file_name(self) -> str:
        """Name of the cell's file: method and seed."""
        return f"{urllib.parse.quote(self.method, safe='+')}-seed{self.seed}.json"


class CellResult(Outcome, frozen=True):
    """The contents of a cell's file: the cell, its outcome or its error with the traceback, and what made it.

    ``notes`` are the warnings that were given while the cell ran.
    """

    method: str
    data: str
    seed: int
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()
    error: str | None = None
    traceback: str | None = None
    provenance: Provenance

    @pydantic.model_validator(mode="after")
    def _is_whole(self) -> CellResult:
        if (self.test is None) == (self.error is None):
            raise ValueError("a cell has either a test report or an error")
        return self

    @property
    def cell(self) -> Cell:
        """The cell that this is the result of."""
        return Cell(self.method, self.data, self.seed, self.settings)

    @property
    def worst_error(self) -> float | None:
        """Test error of the worst class; None for a cell that failed."""
        return None if self.test is None else self.test["worst_error"]

    @property
    def n_test(self) -> int:
        """Number of test rows."""
        return 0 if self.test is None else sum(row["total"] for row in self.test["classes"])

    def __str__(self) -> str:
        if self.worst_error is None:
            return f"failed: {self.error}"
        epochs = "" if self.epochs is None else f", {self.epochs:,} epochs"
        return f"finished, worst-class test error {self.worst_error:.1%}{epochs}, {self.seconds or 0:.0f} s"

    @classmethod
    def of(cls, cell: Cell, outcome: Outcome | Exception, **facts: Any) -> CellResult:
        """Return the result of a cell that ran or raised; ``facts`` are ``provenance``, ``seconds`` and ``notes``.

        The time of the fit goes before ``seconds``, that of the whole cell.
        """
        if isinstance(outcome, Exception):
            trace = "".join(traceback.format_exception(outcome))
            found: dict[str, Any] = {"error": f"{type(outcome).__name__}: {outcome}", "traceback": trace}
        else:
            found = {name: value for name, value in outcome if value is not None}
        return cls(**{**asdict(cell), **facts, **found})

    def write(self, folder: Path) -> None:
        """Write the cell's file into a folder, whole or not at all."""
        file = folder / self.cell.file_name
        part = folder / f".{file.name}.{os.getpid()}.part"
        try:
            part.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def read(cls, file: Path) -> CellResult:
        """Read a cell's file; raises ``OSError`` or ``ValueError`` if it is not a whole one."""
        return cls.model_validate_json(file.read_text(encoding="utf-8"))


def run_cells(
    cells: Sequence[Cell],
    run_cell: Callable[[Cell], Outcome],
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    n_jobs: int | None = None,
    cluster: str | None = None,
    by_data: bool = False,
    overwrite: bool = False,
) -> list[CellResult]:
    """Run the cells whose file is not in the folder yet; return the results of all, in their order.

    Each cell is written as it ends. A cell that raises is written as failed, and the others go on; the next call runs
    it again. A cell that another process still trains, such as the worker of a run that was killed, fails without a
    file, and that process is left alone. If the run is interrupted or killed, the same call continues with the rest.
    The folder is locked: a second process is refused.

    Parameters
    ----------
    cells : what to run; each method, data set and seed once.
    run_cell : runs one cell.
    folder : where the files are; created if it does not exist.
    progress : called in this process with a line of text for every cell that is reused, has started (only if cells run
        one after the other), has finished or has failed, with the time that the rest will take by the seconds of the
        finished cells. What has finished is written before.
    n_jobs : cells that run side by side, through joblib; None is 1, or what ``joblib.parallel_config`` says, -1 one
        for each core. joblib divides the cores between its worker processes. The results do not depend on it, but for
        rounding: torch may add in another order with another number of threads.
    cluster : address of a Dask scheduler, whose workers then run the cells instead of ``n_jobs`` processes here. The
        cell of a worker that dies is run by another one.
    by_data : whether the cells of each data set have a folder of their own inside ``folder``.
    overwrite : first remove the files of these cells, whatever their settings. Leave it out to resume such a run.

    Raises
    ------
    ParameterError
        Before anything runs, if the folder has a file of one of the cells with other settings.
    """
    files = {cell_file(cell, folder, by_data=by_data): cell for cell in cells}
    if len(files) < len(cells):
        allowed = "of distinct methods and seeds, on one data set"
        raise ParameterError("cells", "run_cells", allowed=allowed, got=sorted(cell.file_name for cell in cells))
    try:
        with locked(folder):
            return _run_missing(files, run_cell, folder, progress, n_jobs, cluster, by_data, overwrite)
    except BrokenProcessPool:
        raise WorkerError(
            "A worker process ended before its cell was finished: it was killed, or there was no memory left. The "
            "finished cells are kept, and the same command continues with the others. If memory is short, lower n_jobs."
        ) from None


def _run_missing(
    files: Mapping[Path, Cell],
    run_cell: Callable[[Cell], Outcome],
    folder: Path,
    progress: Callable[[str], None] | None,
    n_jobs: int | None,
    cluster: str | None,
    by_data: bool,
    overwrite: bool,
) -> list[CellResult]:
    """Run the cells that have no file, and return the results of all."""
    cells = list(files.values())
    _make_room(files, overwrite=overwrite)
    results = {file: result for file, cell in files.items() if (result := find_result(cell, file))}
    tell = partial(_tell, progress, list(files.items()), by_data)
    for file in results:
        tell(file, "reused")
    missing = [(file, cell) for file, cell in files.items() if file not in results]
    provenance = Provenance.collect()
    with workers(n_jobs, cluster) as n_workers:

        def tasks() -> Iterator[Any]:
            for file, cell in missing:
                if n_workers == 1 and cluster is None:
                    tell(file, "started")
                place = file.parent.absolute() if cluster is None else None  # workers may have another working folder
                yield joblib.delayed(_run)(cell, run_cell, provenance, place)

        parallel = joblib.Parallel(n_workers, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
        for result in parallel(tasks()):
            file = cell_file(result.cell, folder, by_data=by_data)
            if cluster is not None:
                result.write(file.parent)
            results[file] = result
            left = seconds_left(cells, list(results.values()), n_workers)
            tell(file, f"{result}; about {duration(left)} left" if left and not result.error else str(result))
    return [results[file] for file in files]


def _make_room(files: Iterable[Path], *, overwrite: bool) -> None:
    """Make the folders of files, before hours of training, not after; remove the files if they are overwritten."""
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        if overwrite:
            file.unlink(missing_ok=True)


def _tell(
    progress: Callable[[str], None] | None, files: Sequence[tuple[Path, Cell]], by_data: bool, file: Path, text: str
) -> None:
    """Pass a line on one of the cells on."""
    if progress is not None:
        number, cell = next((n, cell) for n, (one, cell) in enumerate(files, start=1) if one == file)
        where = f"{cell.data}, " if by_data else ""
        progress(f"[{number} of {len(files)}] {where}{cell.method}, seed {cell.seed}: {text}")


def cell_file(cell: Cell, folder: Path, *, by_data: bool = False) -> Path:
    """Return the file of a cell in a folder of results."""
    return (folder / cell.data if by_data else folder) / cell.file_name


def checkpoint_folder(file: Path) -> Path:
    """Return the folder in which the training of a cell keeps what it has finished, until the cell has its file."""
    return file.with_name(f".{file.stem}.checkpoint")


@contextlib.contextmanager
def workers(n_jobs: int | None, cluster: str | None) -> Iterator[int]:
    """Make joblib run on this machine or on a Dask cluster; give the number of cells that run at once."""
    if cluster is None:
        yield joblib.effective_n_jobs(n_jobs)
        return
    owner, hint = "run_cells", "pip install 'worstclass[cluster]' brings dask.distributed."
    try:
        from distributed import Client
    except ImportError:
        allowed = "used where dask.distributed is installed"
        raise ParameterError("cluster", owner, allowed=allowed, got=cluster, hint=hint) from None
    try:
        client = Client(cluster, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call,unused-ignore]
    except (OSError, ValueError) as error:
        hint = f"{error} Start one with `dask scheduler`, and workers with `dask worker {cluster}`."
        allowed = "the address of a Dask scheduler that runs, as tcp://host:8786"
        raise ParameterError("cluster", owner, allowed=allowed, got=cluster, hint=hint) from None
    with client, joblib.parallel_config("dask"):
        if not client.scheduler_info()["workers"]:
            hint = f"Start some with `dask worker {cluster}`."
            allowed = "the address of a Dask scheduler that has workers"
            raise ParameterError("cluster", owner, allowed=allowed, got=cluster, hint=hint)
        yield joblib.effective_n_jobs(-1)


def seconds_left(cells: Sequence[Cell], results: Sequence[CellResult], n_workers: int = 1) -> float | None:
    """Estimate the time that the cells without a result take, by the finished ones of the same method and data.

    Where a method has none yet, by the mean of all. None if nothing has finished.
    """
    taken: dict[tuple[str, str], list[float]] = {}
    for result in results:
        if result.seconds is not None and result.error is None:
            taken.setdefault((result.data, result.method), []).append(result.seconds)
    if not taken:
        return None
    means = {key: statistics.fmean(values) for key, values in taken.items()}
    typical = statistics.fmean(means.values())
    done = {(result.data, result.method, result.seed) for result in results}
    left = [cell for cell in cells if (cell.data, cell.method, cell.seed) not in done]
    return sum(means.get((cell.data, cell.method), typical) for cell in left) / n_workers


def _run(cell: Cell, run_cell: Callable[[Cell], Outcome], provenance: Provenance, folder: Path | None) -> CellResult:
    """Run one cell; if it raises, or its outcome cannot be kept, its result is that failure.

    It is written into a folder here, in the worker, where the machine is the same: then even the cell of a worker whose
    caller was killed is kept.
    """
    if folder is not None and (found := find_result(cell, folder / cell.file_name)):  # by another process, meanwhile
        return found
    started, notes = time.perf_counter(), dict[str, None]()

    def result_of(outcome: Outcome | Exception) -> CellResult:
        seconds = time.perf_counter() - started
        return CellResult.of(cell, outcome, provenance=provenance, seconds=seconds, notes=tuple(notes))

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", WorstClassWarning)
            outcome = run_cell(cell)
        notes |= dict.fromkeys(str(warning.message) for warning in caught)
        result = CellResult.model_validate_json(result_of(outcome).model_dump_json())  # as it will be read
    except CheckpointError as error:  # another process trains this cell, or the disk is full: what is kept stays
        return result_of(error)
    except Exception as error:
        result = result_of(error)
    if folder is not None:
        result.write(folder)
        shutil.rmtree(checkpoint_folder(folder / cell.file_name), ignore_errors=True)
    return result


def find_result(cell: Cell, file: Path) -> CellResult | None:
    """Return the result of a cell that is done; None if there is none, it failed or its file is broken.

    A file of other settings is refused.
    """
    try:
        result = CellResult.read(file)
    except (OSError, ValueError):
        return None
    if differing := differing_settings(cell, result):
        hint = f"It differs in {differing}. Choose another folder (--out), or delete the old cells (--overwrite)."
        raise ParameterError("folder", "run_cells", allowed="one with the same settings", got=str(file), hint=hint)
    return result if result.error is None else None


def differing_settings(cell: Cell, result: CellResult) -> str:
    """Say in which settings a result differs from a cell; empty if in none."""
    there, wanted = ({"data": one.data, **one.settings} for one in (result, cell))
    differ = [name for name in {**there, **wanted} if there.get(name) != wanted.get(name)]
    return ", ".join(f"{name} ({there.get(name)} in the file, {wanted.get(name)} asked for)" for name in differ)
