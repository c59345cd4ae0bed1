"""Answers of an exported file, compared with those of the model it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from worstclass._progress import part, steps
from worstclass._text import n_of
from worstclass.data.labels import label_column
from worstclass.data.splits import count_rows, take_rows
from worstclass.exceptions import DataError, ExportError, ParameterError
from worstclass.export.inputs import InputFormat

#: rows that are asked about at once, rows that are made where none are given, and rows that an error names
BATCH, MADE_ROWS, MOST_NAMED = 256, 200, 10
#: probabilities may differ by so much: networks are computed in float32, in another order
TOLERANCE = 1e-3

#: asks a file: inputs by name -> labels, and probabilities or None
Ask = Callable[[dict[str, npt.NDArray[Any]]], tuple[npt.NDArray[Any], npt.NDArray[Any] | None]]


class Block(NamedTuple):
    """Rows to compare answers on, and their numbers where they came from; None for 1, 2, 3 and so on."""

    X: Any
    numbers: Any = None


@dataclass(frozen=True)
class ExportReport:
    """What was written, and on which rows its answers were compared.

    Attributes
    ----------
    path : the file.
    n_bytes : its size.
    inputs : type and shape of each input, as text.
    outputs : names of the outputs.
    n_rows : rows on which the file and the model answer alike.
    rows_given : whether these are rows of the user; otherwise they were made at random.
    probability_difference : the largest difference between probabilities; None where the model gives none.
    """

    path: Path
    n_bytes: int
    inputs: dict[str, str]
    outputs: tuple[str, ...]
    n_rows: int
    rows_given: bool
    probability_difference: float | None

    def __str__(self) -> str:
        inputs = ", ".join(f"{name} {what}" for name, what in self.inputs.items())
        rows = n_of(self.n_rows, "row")
        if not self.rows_given:
            rows += " made at random (none were given)"
        close = "" if (most := self.probability_difference) is None else f"; probabilities differ by at most {most:.1g}"
        return (
            f"{self.path}: {self.n_bytes / 1e6:,.1f} MB\ninputs: {inputs}\noutputs: {', '.join(self.outputs)}\n"
            f"compared on {rows}: all labels are the same{close}"
        )


@dataclass
class AnswerCheck:
    """Counts rows, and collects those that a file answers otherwise."""

    model: Any
    inputs: InputFormat
    ask: Ask
    n_rows: int = 0
    differences: list[str] = field(default_factory=list)
    probability_difference: float | None = None

    def add(self, block: Block) -> None:
        """Compare the answers for more rows."""
        X = block.X
        numbers = np.arange(count_rows(X)) + self.n_rows + 1 if block.numbers is None else np.asarray(block.numbers)
        with part(0, 1 / 3):
            expected = label_column(self.model.predict(X)).tolist()
        with part(1 / 3, 2 / 3):
            proba = np.asarray(self.model.predict_proba(X)) if hasattr(self.model, "predict_proba") else None
        with part(2 / 3, 1):
            starts = range(0, count_rows(X), BATCH)
            for start in steps(starts, len(starts)):
                rows = np.arange(start, min(start + BATCH, count_rows(X)))
                labels, given = self.ask(self.inputs.feed(take_rows(X, rows)))
                self._compare(expected[rows[0] : rows[-1] + 1], labels.tolist(), numbers[rows].tolist())
                if proba is not None and given is not None:
                    most = float(np.nan_to_num(np.abs(proba[rows] - given), nan=np.inf).max())
                    self.probability_difference = max(most, self.probability_difference or 0.0)
        self.n_rows += count_rows(X)

    def require_same(self) -> None:
        """Refuse a file that answers a row otherwise, or has other probabilities."""
        if (most := self.probability_difference or 0.0) > TOLERANCE:
            raise ExportError(
                f"The probabilities of the exported model are other than the model's, by up to {most:.2g}: a part of "
                "it is not exported as it is. Nothing was written."
            )
        if not self.differences:
            return
        n_named = min(MOST_NAMED, len(self.differences))
        more = f", and {len(self.differences) - n_named:,} more" if len(self.differences) > n_named else ""
        raise ExportError(
            f"The exported model answers {len(self.differences):,} of {n_of(self.n_rows, 'row')} otherwise: "
            f"{'; '.join(self.differences[:n_named])}{more}. Nothing was written."
        )

    def _compare(self, expected: list[Any], got: list[Any], numbers: list[int]) -> None:
        if len(expected) != len(got):
            raise ExportError(f"The exported model gives {n_of(len(got), 'answer')} for {n_of(len(expected), 'row')}.")
        for number, ours, theirs in zip(numbers, expected, got, strict=True):
            if ours != theirs:
                self.differences.append(f"row {number} ({theirs!r} in place of {ours!r})")


def write_checked(
    model: Any,
    path: str | Path,
    blocks: Iterable[Block] | None,
    make: Callable[[InputFormat, Path], tuple[Ask, tuple[str, ...]]],
    input_type: str,
    owner: str,
) -> ExportReport:
    """Make a file beside its place, compare its answers with those of the model, and put it into its place.

    Parameters
    ----------
    model, path : the fitted model, and the file.
    blocks : rows in any number of parts; None for rows made at random.
    make : writes the file of a format, and returns how to ask it and the names of its outputs.
    input_type, owner : parameter and name of the function that does all this.
    """
    if isinstance(model, type) or not hasattr(model, "classes_") or not hasattr(model, "predict"):
        raise ParameterError("model", owner, allowed="a fitted classifier", got=model, hint="Call its fit first.")
    file, rows = Path(path), iter(() if blocks is None else blocks)
    first = next(rows, None)
    if first is None and blocks is not None:
        raise DataError("There are no rows that the model can take, to compare answers on.")
    inputs = InputFormat.of(model, None if first is None else first.X, input_type, owner=owner)
    file.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{file.name}-", dir=file.parent) as folder:
        made = Path(folder) / file.name
        ask, outputs = make(inputs, made)
        found = AnswerCheck(model, inputs, ask)
        for block in [Block(inputs.made_rows(model, MADE_ROWS))] if first is None else chain([first], rows):
            found.add(block)
        found.require_same()
        made.replace(file)
    shown, size = {name: _shown(*what) for name, what in inputs.inputs.items()}, file.stat().st_size
    return ExportReport(file, size, shown, outputs, found.n_rows, first is not None, found.probability_difference)


def _shown(dtype: np.dtype[Any], shape: tuple[int, ...]) -> str:
    return f"{'text' if dtype.hasobject else dtype} ({', '.join(map(str, ('n', *shape)))})"
