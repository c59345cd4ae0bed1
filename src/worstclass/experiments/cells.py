"""Cells of a comparison: one method on one draw of the data, kept as one JSON file, so that a run can be resumed.

A cell's file is written when the cell ends, at once and whole: what is in the folder is finished. Running the same
cells into the same folder again runs those that are not there yet, and those that failed. The file holds a fingerprint
of everything that defines the cell; a file of the same name made with other settings is refused, never reused.
"""

from __future__ import annotations

import functools
import hashlib
import json
import operator
import os
import re
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import pydantic

from worstclass.exceptions import ParameterError, WorstClassWarning
from worstclass.experiments.run import Provenance
from worstclass.metrics import ClassReport

#: method names that are file names as they are, on every system; others get a part of their hash
PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,79}")

#: differences to another cell that a message lists
MOST_DIFFERENCES = 5

Rate = Annotated[float, pydantic.Field(ge=0, le=1)]
Amount = Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, pydantic.Field(ge=0)]


@dataclass(frozen=True)
class Cell:
    """What is run: a method, a data set, a seed, and all settings that can change the result.

    Parameters
    ----------
    method, data : names. The name of a file says nothing of what is in it: put a hash of its contents into
        ``settings`` if it may change between runs.
    seed : fixes the draw of the data and the training.
    settings : values that JSON can hold: network, budget, options, theta and the like.

    Examples
    --------
    >>> cell = Cell("ce", "iris", seed=0, settings={"budget": {"epochs": 10}})
    >>> cell.file_name, cell.fingerprint[:8]
    ('ce-seed0.json', 'd90bf906')
    """

    method: str
    data: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", operator.index(self.seed))
        object.__setattr__(self, "settings", _as_json(self.settings))

    @property
    def file_name(self) -> str:
        """Name of the cell's file: method and seed."""
        if PLAIN_NAME.fullmatch(self.method):
            return f"{self.method}-seed{self.seed}.json"
        readable = re.sub(r"[^a-z0-9]+", "-", self.method.lower()).strip("-")[:60]
        return f"{readable}-{_sha256(self.method)[:8]}-seed{self.seed}.json"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that defines the cell."""
        return _sha256(_canonical(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"method": self.method, "data": self.data, "seed": self.seed, "settings": dict(self.settings)}


@dataclass(frozen=True)
class CellOutcome:
    """What a runner found in one cell.

    Attributes
    ----------
    test : results on the test rows.
    validation, training : results on the rows that chose and on those that fitted, where there were any.
    epochs : epochs over the training rows; None for a method that makes none.
    seconds : time of the fit; None for the time of the whole cell.
    n_members : size of an ensemble; None for a method that is none.
    notes : what a reader of the table should know, such as a bound that was missed. Warnings need not be put here:
        ``run_cells`` adds those given while the cell ran.
    extra : more values that JSON can hold.
    """

    test: ClassReport
    validation: ClassReport | None = None
    training: ClassReport | None = None
    epochs: int | None = None
    seconds: float | None = None
    n_members: int | None = None
    notes: Sequence[str] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


class CellError(pydantic.BaseModel, frozen=True):
    """Why a cell failed."""

    type: str
    message: str
    traceback: str = ""


class CellResult(pydantic.BaseModel, frozen=True):
    """The contents of a cell's file."""

    method: str
    data: str
    seed: int
    settings: dict[str, Any]
    fingerprint: str
    status: Literal["done", "failed"]
    error: CellError | None = None
    worst_error: Rate | None = None
    class_mean_error: Rate | None = None
    plain_error: Rate | None = None
    train_worst_error: Rate | None = None
    epochs: Count | None = None
    seconds: Amount
    n_members: Count | None = None
    notes: list[str] = []
    test: dict[str, Any] | None = None
    validation: dict[str, Any] | None = None
    extra: dict[str, Any] = {}
    provenance: Provenance

    @pydantic.model_validator(mode="after")
    def _is_whole(self) -> CellResult:
        errors = (self.worst_error, self.class_mean_error, self.plain_error, self.test)
        if self.status == "done" and None in errors:
            raise ValueError("a cell that is done has its test report and errors")
        if self.status == "failed" and self.error is None:
            raise ValueError("a cell that failed says why")
        if self.fingerprint != self.cell.fingerprint:
            raise ValueError("the fingerprint is not that of the settings: the file was changed by hand")
        return self

    @property
    def cell(self) -> Cell:
        """The cell that this is the result of."""
        return Cell(self.method, self.data, self.seed, self.settings)

    @classmethod
    def of(cls, cell: Cell, outcome: CellOutcome, *, seconds: float, provenance: Provenance) -> CellResult:
        """Sum up a cell that ran; ``seconds`` holds where the outcome gives no time of its own."""
        return cls(
            **cell.to_dict(),
            fingerprint=cell.fingerprint,
            status="done",
            worst_error=outcome.test.worst_error,
            class_mean_error=outcome.test.class_mean_error,
            plain_error=outcome.test.plain_error,
            train_worst_error=None if outcome.training is None else outcome.training.worst_error,
            epochs=outcome.epochs,
            seconds=seconds if outcome.seconds is None else outcome.seconds,
            n_members=outcome.n_members,
            notes=list(outcome.notes),
            test=outcome.test.to_dict(),
            validation=None if outcome.validation is None else outcome.validation.to_dict(),
            extra=dict(outcome.extra),
            provenance=provenance,
        )

    @classmethod
    def of_failure(cls, cell: Cell, error: Exception, *, seconds: float, provenance: Provenance) -> CellResult:
        """Sum up a cell that raised."""
        reason = CellError(
            type=type(error).__name__, message=str(error), traceback="".join(traceback.format_exception(error))
        )
        return cls(
            **cell.to_dict(),
            fingerprint=cell.fingerprint,
            status="failed",
            error=reason,
            seconds=seconds,
            provenance=provenance,
        )

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
        """Read a cell's file; raises ``OSError`` or ``ValueError`` where it is not a whole one."""
        return cls.model_validate_json(file.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class CellEvent:
    """What happened to a cell.

    Attributes
    ----------
    kind : ``"reused"`` (its file was there), ``"unreadable"`` (its file was there but broken; it is run),
        ``"started"``, ``"finished"`` or ``"failed"``.
    cell : the cell.
    number, total : its place among the cells, from 1, and how many there are.
    result : what is known of it now; None before it has run.
    message : what is wrong, for ``"unreadable"`` and ``"failed"``.
    """

    kind: Literal["reused", "unreadable", "started", "finished", "failed"]
    cell: Cell
    number: int
    total: int
    result: CellResult | None = None
    message: str = ""


class OnEvent(Protocol):
    """Told of every event; shows progress, for example."""

    def __call__(self, event: CellEvent, /) -> None:
        """Take note of an event."""


def run_cells(
    cells: Sequence[Cell],
    run_cell: Callable[[Cell], CellOutcome],
    folder: Path,
    on_event: OnEvent | None = None,
    *,
    retry_failed: bool = True,
    overwrite: bool = False,
) -> list[CellResult]:
    """Run the cells whose file is not in the folder yet; return the results of all, in their order.

    Each cell is written as it ends. One that raises is written as failed, and the others go on. An interruption
    (Ctrl-C) is passed on; the finished cells are in the folder, and the same call goes on from there.

    Parameters
    ----------
    cells : what to run; each method and seed once.
    run_cell : runs one.
    folder : where the files are; made if it is not there.
    on_event : told what happens to each cell.
    retry_failed : run cells again that failed in an earlier run; if False, their failure is returned.
    overwrite : first remove the files of these cells, whatever made them. To resume a run that was started so, leave
        it out.

    Raises
    ------
    ParameterError
        Before anything is run, if the folder has a file of one of the cells that was made with other settings.
    """
    _require_distinct(cells)
    folder.mkdir(parents=True, exist_ok=True)  # before hours of training, not after
    if overwrite:
        for cell in cells:
            (folder / cell.file_name).unlink(missing_ok=True)
    tell = on_event or _ignore
    found = [_find(cell, folder) for cell in cells]
    provenance = Provenance.collect()
    results = []
    for number, (cell, (known, trouble)) in enumerate(zip(cells, found, strict=True), start=1):
        event = functools.partial(CellEvent, cell=cell, number=number, total=len(cells))
        if known is not None and (known.status == "done" or not retry_failed):
            tell(event("reused", result=known))
            results.append(known)
            continue
        if trouble:
            tell(event("unreadable", message=trouble))
        tell(event("started"))
        result = CellResult.read(_run(cell, run_cell, provenance).write(folder))
        failure = "" if result.error is None else f"{result.error.type}: {result.error.message}"
        tell(event("failed" if failure else "finished", result=result, message=failure))
        results.append(result)
    return results


def _run(cell: Cell, run_cell: Callable[[Cell], CellOutcome], provenance: Provenance) -> CellResult:
    """Run one cell; what it raises, or returns that cannot be kept, is its failure."""
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
        return CellResult.of_failure(cell, error, seconds=time.perf_counter() - started, provenance=provenance)
    return result


def _find(cell: Cell, folder: Path) -> tuple[CellResult | None, str]:
    """Return what the folder has of a cell, and what is wrong with it where it cannot be read."""
    file = folder / cell.file_name
    if not file.exists():
        return None, ""
    try:
        result = CellResult.read(file)
    except (OSError, ValueError) as error:
        return None, f"{file} is not a whole cell and is made anew ({type(error).__name__})."
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


def _differences(there: Cell, asked: Cell) -> str:
    """Say where two cells differ: name, value in the file, value asked for."""
    first, second = dict(_leaves(there.to_dict())), dict(_leaves(asked.to_dict()))
    names = [name for name in dict.fromkeys([*first, *second]) if first.get(name) != second.get(name)]
    parts = [
        f"{name} ({first.get(name, 'nothing')} in the file, {second.get(name, 'nothing')} asked for)"
        for name in names[:MOST_DIFFERENCES]
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
        raise ParameterError(
            "cells",
            "run_cells",
            allowed="of distinct methods and seeds, on one data set",
            got=twice,
            hint="Use one folder for each data set and setting.",
        )


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they come back from a file: text keys, lists, plain numbers."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(settings), allow_nan=False))
    except (TypeError, ValueError) as error:
        allowed = "values that JSON can hold (text, finite numbers, booleans, None, lists, mappings)"
        raise ParameterError("settings", "Cell", allowed=allowed, got=settings, hint=f"{error}.") from None
    return plain


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _ignore(event: CellEvent, /) -> None:
    """Do nothing."""
