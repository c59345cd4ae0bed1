"""Cells run side by side, each written as it ends, so that an interrupted comparison can be resumed.

Every file in the folder is a finished cell. Running the same cells into the same folder again runs only the missing and
the failed ones. A file of the same name with other settings is refused, never reused.
"""

from __future__ import annotations

import functools
import json
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import joblib

from worstclass.exceptions import ParameterError, WorstClassWarning
from worstclass.experiments.cells import Cell, CellOutcome, CellResult
from worstclass.experiments.run import Provenance

#: differences to another cell that a message lists
MAX_DIFFERENCES = 5


@dataclass(frozen=True)
class CellEvent:
    """What happened to a cell.

    Attributes
    ----------
    kind : ``"reused"`` (its file was there), ``"unreadable"`` (its file was broken; the cell is run), ``"started"``
        (only if cells run one after the other), ``"finished"`` or ``"failed"``.
    cell : the cell.
    number, total : its place among the cells, from 1, and how many there are.
    result : its result; None before it has run.
    message : what is wrong, for ``"unreadable"`` and ``"failed"``.
    """

    kind: Literal["reused", "unreadable", "started", "finished", "failed"]
    cell: Cell
    number: int
    total: int
    result: CellResult | None = None
    message: str = ""

    def __str__(self) -> str:
        line, result = f"[{self.number} of {self.total}] {self.cell.method}, seed {self.cell.seed}", self.result
        if self.kind == "finished" and result is not None and result.worst_error is not None:
            epochs = "" if result.epochs is None else f", {result.epochs:,} epochs"
            return f"{line}: finished, worst-class test error {result.worst_error:.1%}{epochs}, {result.seconds:.0f} s"
        return f"{line}: {self.kind}{f': {self.message}' if self.message else ''}"


def run_cells(
    cells: Sequence[Cell],
    run_cell: Callable[[Cell], CellOutcome],
    folder: Path,
    on_event: Callable[[CellEvent], None] | None = None,
    *,
    n_jobs: int | None = None,
    retry_failed: bool = True,
    overwrite: bool = False,
) -> list[CellResult]:
    """Run the cells whose file is not in the folder yet; return the results of all, in their order.

    Each cell is written as it ends. A cell that raises is written as failed, and the others go on. If the run is
    interrupted or killed, only the running cells are lost: the same call continues with the rest.

    Parameters
    ----------
    cells : what to run; each method and seed once.
    run_cell : runs one cell.
    folder : where the files are; created if it does not exist.
    on_event : called in this process with every ``CellEvent``.
    n_jobs : cells that run side by side, through joblib; None is 1, or what ``joblib.parallel_config`` says, -1 one
        for each core. The cores are divided between the workers. The results do not depend on it, but for rounding:
        torch may add in another order with another number of threads.
    retry_failed : run cells again that failed in an earlier run; if False, their failure is returned.
    overwrite : first remove the files of these cells, whatever their settings. Leave it out to resume such a run.

    Raises
    ------
    ParameterError
        Before anything runs, if the folder has a file of one of the cells with other settings.
    """
    _require_distinct(cells)
    folder.mkdir(parents=True, exist_ok=True)  # before hours of training, not after
    if overwrite:
        for cell in cells:
            (folder / cell.file_name).unlink(missing_ok=True)
    found = [_find(cell, folder) for cell in cells]
    send = on_event or (lambda event: None)
    events = [
        functools.partial(CellEvent, cell=cell, number=number, total=len(cells)) for number, cell in enumerate(cells, 1)
    ]
    results: dict[int, CellResult] = {}
    for place, (known, trouble) in enumerate(found):
        if known is not None and (known.status == "done" or not retry_failed):
            results[place] = known
            send(events[place]("reused", result=known))
        elif trouble:
            send(events[place]("unreadable", message=trouble))
    missing = [place for place in range(len(cells)) if place not in results]
    run = functools.partial(_run, run_cell=run_cell, folder=folder, provenance=Provenance.collect())
    started = (lambda place: send(events[place]("started"))) if joblib.effective_n_jobs(n_jobs) == 1 else None
    for place, result in _side_by_side(cells, missing, run, n_jobs, started):
        results[place] = result
        failure = "" if result.error is None else f"{result.error.type}: {result.error.message}"
        send(events[place]("failed" if failure else "finished", result=result, message=failure))
    return [results[place] for place in range(len(cells))]


def _side_by_side(
    cells: Sequence[Cell],
    places: Iterable[int],
    run: Callable[[Cell], CellResult],
    n_jobs: int | None,
    started: Callable[[int], None] | None,
) -> Iterator[tuple[int, CellResult]]:
    """Run cells by joblib; yield the place and result of each as it ends."""
    task = joblib.delayed(_run_in_worker)
    n_workers = joblib.effective_n_jobs(n_jobs)

    def tasks() -> Iterator[Any]:
        for place in places:
            if started is not None:
                started(place)
            yield task(place, cells[place], run, os.getpid(), n_workers)

    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    yield from parallel(tasks())


def _run_in_worker(
    place: int, cell: Cell, run: Callable[[Cell], CellResult], parent: int, n_workers: int
) -> tuple[int, CellResult]:
    """Run a cell with this worker's share of the cores; the threads of scikit-learn are limited by joblib."""
    if os.getpid() != parent:
        import torch

        torch.set_num_threads(max(1, min(torch.get_num_threads(), joblib.cpu_count() // n_workers)))
    return place, run(cell)


def _run(cell: Cell, run_cell: Callable[[Cell], CellOutcome], folder: Path, provenance: Provenance) -> CellResult:
    """Run and write one cell; if it raises, or its outcome cannot be kept, write its failure."""
    started = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", WorstClassWarning)
            outcome = run_cell(cell)
        result = CellResult.of(cell, outcome, seconds=time.perf_counter() - started, provenance=provenance)
        notes = dict.fromkeys([*result.notes, *(str(warning.message) for warning in caught)])
        result = result.model_copy(update={"notes": list(notes)})
        CellResult.model_validate_json(result.model_dump_json())
    except Exception as error:
        result = CellResult.of_failure(cell, error, seconds=time.perf_counter() - started, provenance=provenance)
    return CellResult.read(result.write(folder))


def _find(cell: Cell, folder: Path) -> tuple[CellResult | None, str]:
    """Return the result of a cell in the folder, and what is wrong with its file if it cannot be read."""
    file = folder / cell.file_name
    if not file.exists():
        return None, ""
    try:
        result = CellResult.read(file)
    except (OSError, ValueError) as error:
        return None, f"{file} is not a whole cell and is run again ({type(error).__name__})."
    if result.fingerprint != cell.fingerprint:
        raise ParameterError(
            "folder",
            "run_cells",
            allowed="one whose cells were made with the same settings",
            got=str(file),
            hint=f"It differs in {_differences(result.cell, cell)}. Choose another folder (--out), or delete the old "
            "cells (--overwrite).",
        )
    return result, ""


def _differences(there: Cell, wanted: Cell) -> str:
    """List the settings in which two cells differ: name, value in the file, value wanted."""
    first, second = dict(_leaves(there.to_dict())), dict(_leaves(wanted.to_dict()))
    names = [name for name in dict.fromkeys([*first, *second]) if first.get(name) != second.get(name)]
    parts = [
        f"{name} ({first.get(name, 'nothing')} in the file, {second.get(name, 'nothing')} asked for)"
        for name in names[:MAX_DIFFERENCES]
    ]
    return ", ".join(parts) + (f" and {len(names) - len(parts)} more" if len(names) > len(parts) else "")


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted names and JSON texts of all values in nested mappings."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, json.dumps(value)


def _require_distinct(cells: Sequence[Cell]) -> None:
    twice = [name for name, count in Counter(cell.file_name for cell in cells).items() if count > 1]
    if twice:
        allowed, hint = (
            "of distinct methods and seeds, on one data set",
            "Use one folder for each data set and setting.",
        )
        raise ParameterError("cells", "run_cells", allowed=allowed, got=twice, hint=hint)
