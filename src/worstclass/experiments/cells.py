"""Cells of a comparison: one method on one seed, and its result as one JSON file.

A file is written whole or not at all, and holds a fingerprint of everything that defines its cell.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from worstclass.exceptions import ParameterError
from worstclass.experiments.run import Provenance
from worstclass.metrics import ClassReport

#: method names that are file names as they are, on every system; others get a part of their hash
PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,79}")

Rate = Annotated[float, pydantic.Field(ge=0, le=1)]
Amount = Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, pydantic.Field(ge=0)]


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
        """SHA-256 of everything that defines the cell."""
        return _sha256(json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"method": self.method, "data": self.data, "seed": self.seed, "settings": dict(self.settings)}


@dataclass(frozen=True)
class CellOutcome:
    """The result of running one cell.

    Attributes
    ----------
    test : report on the test rows.
    validation, training : reports on the validation and training rows; None if there is none.
    n_train : number of rows that trained or chose: training and validation rows. None if unknown.
    epochs : epochs over the training rows; None for a method that makes none.
    seconds : time of the fit; None for the time of the whole cell.
    n_members : size of an ensemble; None for a method that is none.
    notes : what a reader of the table should know. ``run_cells`` adds the warnings that were given while the cell ran.
    extra : more values that JSON can hold.
    """

    test: ClassReport
    validation: ClassReport | None = None
    training: ClassReport | None = None
    n_train: int | None = None
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
    n_train: Count | None = None
    n_test: Count | None = None
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
        """Return the result of a cell that ran; ``seconds`` is used if the outcome has no time of its own."""
        return cls(
            **cell.to_dict(),
            fingerprint=cell.fingerprint,
            status="done",
            worst_error=outcome.test.worst_error,
            class_mean_error=outcome.test.class_mean_error,
            plain_error=outcome.test.plain_error,
            train_worst_error=None if outcome.training is None else outcome.training.worst_error,
            n_train=outcome.n_train,
            n_test=sum(row.total for row in outcome.test.rows),
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
        """Return the result of a cell that raised."""
        trace = "".join(traceback.format_exception(error))
        return cls(
            **cell.to_dict(),
            fingerprint=cell.fingerprint,
            status="failed",
            error=CellError(type=type(error).__name__, message=str(error), traceback=trace),
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
        """Read a cell's file; raises ``OSError`` or ``ValueError`` if it is not a whole one."""
        return cls.model_validate_json(file.read_text(encoding="utf-8"))


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they come back from a file: text keys, lists, plain numbers."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(settings), allow_nan=False))
    except (TypeError, ValueError) as error:
        allowed = "values that JSON can hold (text, finite numbers, booleans, None, lists, mappings)"
        raise ParameterError("settings", "Cell", allowed=allowed, got=settings, hint=f"{error}.") from None
    return plain


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
