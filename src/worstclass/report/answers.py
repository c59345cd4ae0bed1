"""The answers of any classifier for the rows of a file, chunk by chunk, as a CSV, Parquet or JSON lines file."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worstclass._progress import part
from worstclass._text import n_of
from worstclass.data.chunks import Chunk
from worstclass.data.labels import label_column
from worstclass.exceptions import DataError, ParameterError, WorstClassError
from worstclass.wrappers.scores import class_scores, lead

#: bad rows that a message lists, and bad rows after which a file that is refused is searched no further
MOST_NAMED, MOST_SEARCHED = 5, 20
#: the row number, where no column is carried over
ROW = "row"


@dataclass
class Answers:
    """Asks a classifier about chunks of rows, and counts.

    The columns: those carried over (else the row number), ``answer``, ``p_<class>`` for each class where the classifier
    gives probabilities, ``margin`` and ``abstained``.

    Attributes
    ----------
    model : a fitted classifier.
    ids : columns that are carried over.
    on_bad : what becomes of rows that the model cannot take: ``"refuse"``, ``"skip"`` or ``"abstain"``.
    written, abstained : rows so far.
    bad : the bad rows so far, and why.
    """

    model: Any
    ids: Sequence[str]
    on_bad: str
    written: int = 0
    abstained: int = 0
    bad: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        proba = [f"p_{label}" for label in self.model.classes_.tolist()]
        self.proba = proba if hasattr(self.model, "predict_proba") else []
        self.columns = ["answer", *self.proba, "margin", "abstained"]
        for name in self.ids:
            if name in {ROW, *self.columns} or list(self.ids).count(name) > 1:
                allowed = "columns of which the output would not have two columns of that name"
                raise ParameterError("id", "predict", allowed=allowed, got=name)

    @property
    def cut(self) -> bool:
        """Whether so many bad rows were found that no more are looked for."""
        return self.on_bad == "refuse" and len(self.bad) >= MOST_SEARCHED

    def of(self, chunk: Chunk) -> pd.DataFrame:
        """Return the answers for a chunk in the order of the file."""
        self.bad |= chunk.bad
        frames = self._ask(chunk.X, chunk.numbers)
        ids = chunk.ids
        if self.on_bad == "abstain":
            bad = [number for number in ids.index if number in self.bad]
            label = getattr(self.model, "abstain_label_", None)
            frames.append(pd.DataFrame({"answer": label, "abstained": True}, index=bad))
        frame = pd.concat([pd.DataFrame(columns=self.columns, dtype=object), *(f.astype(object) for f in frames)])
        frame = frame.sort_index().astype({**dict.fromkeys([*self.proba, "margin"], float), "abstained": bool})
        self.written += len(frame)
        self.abstained += int(frame["abstained"].sum())
        if ids.shape[1] == 0:
            ids = pd.DataFrame({ROW: ids.index}, index=ids.index)
        return pd.concat([ids.loc[frame.index], frame], axis=1)

    def _ask(self, X: Any, numbers: Any) -> list[pd.DataFrame]:
        """Ask about rows; halve those that are refused together, down to each row that is refused alone."""
        if not len(numbers) or self.cut:
            return []
        try:
            return [self._frame(X).set_axis(numbers)]
        except (WorstClassError, ValueError, TypeError) as error:
            if len(numbers) == 1:
                self.bad[int(numbers[0])] = " ".join(str(error).split()).rstrip(".")
                return []
        rows, half = getattr(X, "iloc", X), len(numbers) // 2
        return [*self._ask(rows[:half], numbers[:half]), *self._ask(rows[half:], numbers[half:])]

    def _frame(self, X: Any) -> pd.DataFrame:
        with part(0, 1 / 3):
            answers = pd.Series(label_column(self.model.predict(X)).tolist(), dtype=object)
        with part(1 / 3, 2 / 3):
            proba = np.asarray(self.model.predict_proba(X)) if self.proba else np.empty((len(answers), 0))
        with part(2 / 3, 1):
            margins = self._margins(X, proba)
        abstained = answers == self.model.abstain_label_ if hasattr(self.model, "abstain_label_") else False
        by_class = dict(zip(self.proba, proba.T, strict=True))
        return pd.DataFrame({"answer": answers, **by_class, "margin": margins, "abstained": abstained})

    def _margins(self, X: Any, scores: Any) -> Any:
        """Return the model's own margins, else the lead of the largest probability or score; None without any."""
        if hasattr(self.model, "decision_margin"):
            return np.asarray(self.model.decision_margin(X))
        if not self.proba:
            if not hasattr(self.model, "decision_function"):
                return None
            scores = class_scores(self.model, X, "decision")
        return lead(scores)

    def require_rows(self, file: Path) -> None:
        """Refuse the file if it has bad rows that must not be left out, or no rows at all."""
        n_bad = len(self.bad)
        if n_bad and self.on_bad == "refuse":
            named = [f"row {number}: {self.bad[number]}" for number in sorted(self.bad)[:MOST_NAMED]]
            named += [f"and {n_bad - MOST_NAMED} more"] if n_bad > MOST_NAMED else []
            count = f"{'at least ' if self.cut else ''}{n_of(n_bad, 'bad row')}"
            use = "Correct them, or use on_bad='skip' or on_bad='abstain'."
            raise DataError(f"{file} has {count}: {'; '.join(named)}. {use}")
        if not self.written and not n_bad:
            raise DataError(f"{file} has no rows.")

    def __str__(self) -> str:
        n_bad = len(self.bad)
        bad = {"skip": f", {n_bad:,} skipped", "abstain": f", {n_bad:,} of them bad" if n_bad else ""}
        return f"{n_of(self.written, 'row')}, {self.abstained:,} abstained{bad.get(self.on_bad, '')}"


def write_answers(frames: Iterator[pd.DataFrame], out: Path, classes: Any, source: Path) -> None:
    """Write frames to a file, one after another; it appears under its name once all is written."""
    write = {".csv": _write_csv, ".parquet": _write_parquet, ".jsonl": _write_json}
    if out.suffix.lower() not in write:
        raise ParameterError("out", "predict", allowed=f"a file that ends in {', '.join(write)}", got=str(out))
    if out.is_dir() or out.resolve() == source.resolve():
        raise ParameterError("out", "predict", allowed="a file other than the input", got=str(out))
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.unfinished")
    try:
        write[out.suffix.lower()](frames, unfinished, classes)
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_csv(frames: Iterator[pd.DataFrame], path: Path, classes: Any) -> None:
    for frame in frames:
        frame.to_csv(path, mode="a", index=False, header=not path.exists(), lineterminator="\n")


def _write_json(frames: Iterator[pd.DataFrame], path: Path, classes: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        for frame in frames:  # DataFrame.to_json rounds to 15 digits
            for record in frame.astype(object).where(frame.notna(), None).to_dict("records"):
                file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")


def _write_parquet(frames: Iterator[pd.DataFrame], path: Path, classes: Any) -> None:
    """Write columns of the types of the first frame; answers have the type of the classes."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        allowed = ".csv or .jsonl without pyarrow (pip install 'worstclass[parquet]')"
        raise ParameterError("out", "predict", allowed=allowed, got=path) from None
    first = next(frames)
    found = pa.Schema.from_pandas(first, preserve_index=False)
    types = {field.name: pa.string() if pa.types.is_null(field.type) else field.type for field in found}
    types |= {"answer": pa.array(classes.tolist()).type, "margin": pa.float64(), "abstained": pa.bool_()}
    with parquet.ParquetWriter(path, pa.schema(list(types.items()))) as writer:
        for frame in itertools.chain([first], frames):
            writer.write_table(pa.Table.from_pandas(frame, schema=writer.schema, preserve_index=False))
