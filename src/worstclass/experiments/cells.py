"""Cells of a comparison: one method on one seed, each written as one JSON file when it ends.

Every file is written whole or not at all. Running the same cells into the same folder again runs only the missing and
the failed ones. A file of the same name with other settings is refused, never reused.
"""

from __future__ import annotations

import json
import operator
import os
import time
import traceback
import urllib.parse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import joblib
import pydantic

from worstclass.exceptions import ParameterError, WorstClassWarning
from worstclass.experiments.run import Provenance, Report


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


class CellOutcome(pydantic.BaseModel, frozen=True):
    """The result of running one cell.

    Attributes
    ----------
    test : report on the test rows; None only for a cell that failed.
    validation, training : reports on the validation and training rows; None if there is none.
    n_train : number of rows that trained or chose: training and validation rows. None if unknown.
    epochs : epochs over the training rows; None for a method that makes none.
    seconds : time of the fit; None for the time of the whole cell.
    n_members : size of an ensemble; None for a method that is none.
    notes : what a reader of the table should know. ``run_cells`` adds the warnings that were given while the cell ran.
    extra : more values that JSON can hold.
    """

    test: Report | None = None
    validation: Report | None = None
    training: Report | None = None
    n_train: int | None = None
    epochs: int | None = None
    seconds: float | None = None
    n_members: int | None = None
    notes: list[str] = []
    extra: dict[str, Any] = {}


class CellResult(CellOutcome, frozen=True):
    """The contents of a cell's file: the cell, its outcome or its error with the traceback, and what made it."""

    method: str
    data: str
    seed: int
    settings: dict[str, Any]
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

    @classmethod
    def of(cls, cell: Cell, outcome: CellOutcome | Exception, *, seconds: float, provenance: Provenance) -> CellResult:
        """Return the result of a cell that ran or raised; ``seconds`` is used if the outcome has no time of its own."""
        if isinstance(outcome, Exception):
            trace = "".join(traceback.format_exception(outcome))
            values: dict[str, Any] = {"error": f"{type(outcome).__name__}: {outcome}", "traceback": trace}
        else:
            values = dict(outcome)
        values["seconds"] = seconds if values.get("seconds") is None else values["seconds"]
        return cls(**asdict(cell), provenance=provenance, **values)

    def write(self, folder: Path) -> Path:
        """Write the cell's file into a folder, whole or not at all."""
        file = folder / self.cell.file_name
        part = folder / f".{file.name}.{os.getpid()}.part"
        try:
            part.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
        return file

    @classmethod
    def read(cls, file: Path) -> CellResult:
        """Read a cell's file; raises ``OSError`` or ``ValueError`` if it is not a whole one."""
        return cls.model_validate_json(file.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class CellEvent:
    """What happened to a cell.

    Attributes
    ----------
    kind : ``"reused"`` (its file was there), ``"started"`` (only if cells run one after the other), ``"finished"`` or
        ``"failed"``.
    cell : the cell.
    number, total : its place among the cells, from 1, and how many there are.
    result : its result; None before it has run.
    """

    kind: Literal["reused", "started", "finished", "failed"]
    cell: Cell
    number: int
    total: int
    result: CellResult | None = None

    def __str__(self) -> str:
        line, result = f"[{self.number} of {self.total}] {self.cell.method}, seed {self.cell.seed}", self.result
        if self.kind == "finished" and result is not None and result.worst_error is not None:
            epochs = "" if result.epochs is None else f", {result.epochs:,} epochs"
            return f"{line}: finished, worst-class test error {result.worst_error:.1%}{epochs}, {result.seconds:.0f} s"
        return f"{line}: {self.kind}{f': {result.error}' if result is not None and result.error else ''}"


def run_cells(
    cells: Sequence[Cell],
    run_cell: Callable[[Cell], CellOutcome],
    folder: Path,
    on_event: Callable[[CellEvent], None] | None = None,
    *,
    n_jobs: int | None = None,
    overwrite: bool = False,
) -> list[CellResult]:
    """Run the cells whose file is not in the folder yet; return the results of all, in their order.

    Each cell is written as it ends. A cell that raises is written as failed, and the others go on; the next call runs
    it again. If the run is interrupted or killed, only the running cells are lost: the same call continues with the
    rest.

    Parameters
    ----------
    cells : what to run; each method and seed once.
    run_cell : runs one cell.
    folder : where the files are; created if it does not exist.
    on_event : called in this process with every ``CellEvent``.
    n_jobs : cells that run side by side, through joblib; None is 1, or what ``joblib.parallel_config`` says, -1 one
        for each core. joblib divides the cores between its worker processes. The results do not depend on it, but for
        rounding: torch may add in another order with another number of threads.
    overwrite : first remove the files of these cells, whatever their settings. Leave it out to resume such a run.

    Raises
    ------
    ParameterError
        Before anything runs, if the folder has a file of one of the cells with other settings.
    """
    names = [cell.file_name for cell in cells]
    if len(set(names)) < len(names):
        allowed = "of distinct methods and seeds, on one data set"
        raise ParameterError("cells", "run_cells", allowed=allowed, got=sorted(names))
    folder.mkdir(parents=True, exist_ok=True)  # before hours of training, not after
    for name in names if overwrite else ():
        (folder / name).unlink(missing_ok=True)
    results = {cell.file_name: result for cell in cells if (result := _find(cell, folder)) is not None}

    def send(kind: Any, cell: Cell, result: CellResult | None = None) -> None:
        if on_event is not None:
            on_event(CellEvent(kind, cell, names.index(cell.file_name) + 1, len(cells), result))

    for result in results.values():
        send("reused", result.cell, result)
    missing = [cell for cell in cells if cell.file_name not in results]
    alone, provenance = joblib.effective_n_jobs(n_jobs) == 1, Provenance.collect()

    def tasks() -> Iterator[Any]:
        for cell in missing:
            if alone:
                send("started", cell)
            yield joblib.delayed(_run)(cell, run_cell, folder, provenance)

    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    for result in parallel(tasks()):
        results[result.cell.file_name] = result
        send("failed" if result.error else "finished", result.cell, result)
    return [results[name] for name in names]


def _run(cell: Cell, run_cell: Callable[[Cell], CellOutcome], folder: Path, provenance: Provenance) -> CellResult:
    """Run and write one cell; if it raises, or its outcome cannot be kept, write its failure."""
    started = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", WorstClassWarning)
            outcome = run_cell(cell)
        notes = dict.fromkeys([*outcome.notes, *(str(warning.message) for warning in caught)])
        outcome = outcome.model_copy(update={"notes": list(notes)})
        result = CellResult.of(cell, outcome, seconds=time.perf_counter() - started, provenance=provenance)
        CellResult.model_validate_json(result.model_dump_json())
    except Exception as error:
        result = CellResult.of(cell, error, seconds=time.perf_counter() - started, provenance=provenance)
    return CellResult.read(result.write(folder))


def _find(cell: Cell, folder: Path) -> CellResult | None:
    """Return the result of a cell that is done; None if there is none, it failed or its file is broken."""
    file = folder / cell.file_name
    try:
        result = CellResult.read(file)
    except (OSError, ValueError):
        return None
    there, wanted = ({"data": one.data, **one.settings} for one in (result, cell))
    differ = [name for name in {**there, **wanted} if there.get(name) != wanted.get(name)]
    if differ:
        values = ", ".join(f"{name} ({there.get(name)} in the file, {wanted.get(name)} asked for)" for name in differ)
        hint = f"It differs in {values}. Choose another folder (--out), or delete the old cells (--overwrite)."
        raise ParameterError("folder", "run_cells", allowed="one with the same settings", got=str(file), hint=hint)
    return result if result.error is None else None
