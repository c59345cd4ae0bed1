"""The answers of any classifier for the rows of a file, chunk by chunk, as a CSV, Parquet or JSON lines file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worstclass.exceptions import DataError, ParameterError, WorstClassError

if TYPE_CHECKING:
    import pandas as pd

    from worstclass.data.chunks import Chunk

#: bad rows that a message lists, and rows that a model refuses after which no more are looked for
MOST_NAMED, MOST_SEARCHED = 5, 20
#: the row number, where no column is carried over
ROW = "row"
FORMATS = (".csv", ".parquet", ".jsonl")


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
    written, abstained, bad : rows so far.
    first : the first bad rows, and why.
    searched : rows that the model itself refused.
    """

    model: Any
    ids: Sequence[str]
    on_bad: str
    written: int = 0
    abstained: int = 0
    bad: int = 0
    first: dict[int, str] = field(default_factory=dict)
    searched: int = 0

    def __post_init__(self) -> None:
        self.abstain_label = getattr(self.model, "abstain_label_", None)
        proba = [f"p_{label}" for label in self.model.classes_.tolist()]
        self.proba = proba if hasattr(self.model, "predict_proba") else []
        self.columns = ["answer", *self.proba, "margin", "abstained"]
        for name in self.ids:
            if name in {ROW, *self.columns} or list(self.ids).count(name) > 1:
                allowed = "columns of which the output would not have two columns of that name"
                raise ParameterError("id", "predict", allowed=allowed, got=name)

    @property
    def refused(self) -> bool:
        """Whether the file is refused for its bad rows."""
        return self.on_bad == "refuse" and self.bad > 0

    @property
    def cut(self) -> bool:
        """Whether there may be more bad rows than were looked for."""
        return self.on_bad == "refuse" and self.searched >= MOST_SEARCHED

    def of(self, chunk: Chunk) -> pd.DataFrame:
        """Return the answers for a chunk in the order of the file."""
        import pandas as pd

        frames: list[pd.DataFrame] = []
        bad = dict(chunk.bad)
        self._ask(chunk, 0, len(chunk.numbers), frames, bad)
        self.bad += len(bad)
        for number in sorted(bad)[: MOST_NAMED - len(self.first)]:
            self.first[number] = bad[number]
        if self.on_bad == "abstain":
            frames.append(pd.DataFrame({"answer": self.abstain_label, "abstained": True}, index=list(bad)))
        frame = pd.concat([pd.DataFrame(columns=self.columns, dtype=object), *(f.astype(object) for f in frames)])
        self.written += len(frame)
        self.abstained += int(frame["abstained"].sum())
        ids = [chunk.ids.set_axis(chunk.numbers)]
        if chunk.bad_ids is not None:
            ids.append(chunk.bad_ids.set_axis(list(chunk.bad)))
        frame = frame.sort_index().astype({**dict.fromkeys([*self.proba, "margin"], float), "abstained": bool})
        kept = pd.concat(ids).loc[frame.index]
        if kept.shape[1] == 0:
            kept = pd.DataFrame({ROW: frame.index}, index=frame.index)
        return pd.concat([kept, frame], axis=1)

    def _ask(self, chunk: Chunk, start: int, end: int, frames: list[pd.DataFrame], bad: dict[int, str]) -> None:
        """Ask about rows; halve those that are refused together, down to each row that is refused alone."""
        if start == end or self.cut:
            return
        X = chunk.X.iloc[start:end] if hasattr(chunk.X, "iloc") else chunk.X[start:end]
        try:
            frames.append(self._frame(X).set_axis(chunk.numbers[start:end]))
        except (WorstClassError, ValueError, TypeError) as error:
            if end - start == 1:
                bad[int(chunk.numbers[start])] = " ".join(str(error).split()).rstrip(".")
                self.searched += 1
                return
            middle = (start + end) // 2
            self._ask(chunk, start, middle, frames, bad)
            self._ask(chunk, middle, end, frames, bad)

    def _frame(self, X: Any) -> pd.DataFrame:
        import numpy as np
        import pandas as pd

        from worstclass.data.labels import label_column

        answers = label_column(self.model.predict(X)).tolist()
        proba = np.asarray(self.model.predict_proba(X)) if self.proba else np.empty((len(answers), 0))
        abstains = hasattr(self.model, "abstain_label_")
        return pd.DataFrame(
            {
                "answer": pd.Series(answers, dtype=object),
                **dict(zip(self.proba, proba.T, strict=True)),
                "margin": self._margins(X, proba),
                "abstained": [abstains and answer == self.abstain_label for answer in answers],
            }
        )

    def _margins(self, X: Any, scores: Any) -> Any:
        """Return the model's own margins, else the lead of the largest probability or score; None without any."""
        import numpy as np

        if hasattr(self.model, "decision_margin"):
            return np.asarray(self.model.decision_margin(X))
        if not self.proba:
            scores = np.asarray(self.model.decision_function(X)) if hasattr(self.model, "decision_function") else None
            if scores is None or scores.ndim == 1:
                return None if scores is None else np.abs(scores)
        top_two = np.partition(scores, -2, axis=1)[:, -2:]
        return top_two[:, 1] - top_two[:, 0]

    def require_rows(self, file: Path) -> None:
        """Refuse the file if it has bad rows that must not be left out, or no rows at all."""
        if self.refused:
            named = "; ".join(f"row {number}: {why}" for number, why in self.first.items())
            more = f"; and {self.bad - len(self.first)} more" if self.bad > len(self.first) else ""
            count = f"{'at least ' if self.cut else ''}{self.bad} bad {'row' if self.bad == 1 else 'rows'}"
            raise DataError(
                f"{file} has {count}: {named}{more}. Correct them, or use on_bad='skip' or on_bad='abstain'."
            )
        if not self.written and not self.bad:
            raise DataError(f"{file} has no rows.")

    def __str__(self) -> str:
        bad = {"skip": f", {self.bad:,} skipped", "abstain": f", {self.bad:,} of them bad" if self.bad else ""}
        return f"{self.written:,} rows, {self.abstained:,} abstained{bad.get(self.on_bad, '')}"


@contextmanager
def open_writer(out: Path, classes: Any, source: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Give a function that writes frames; the file appears under its name once all is written."""
    suffix = out.suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError("out", "predict", allowed=f"a file that ends in {', '.join(FORMATS)}", got=str(out))
    if out.is_dir() or out.resolve() == source.resolve():
        raise ParameterError("out", "predict", allowed="a file other than the input", got=str(out))
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.unfinished")
    try:
        with ExitStack() as opened:
            if suffix == ".parquet":
                yield _parquet_writer(unfinished, classes, opened)
            else:
                file = opened.enter_context(unfinished.open("w", encoding="utf-8", newline=""))
                yield lambda frame: (_write_csv if suffix == ".csv" else _write_json)(frame, file)
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_csv(frame: pd.DataFrame, file: Any) -> None:
    frame.to_csv(file, index=False, header=file.tell() == 0, lineterminator="\n")


def _write_json(frame: pd.DataFrame, file: Any) -> None:  # DataFrame.to_json rounds to 15 digits
    for record in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        file.write(
            json.dumps(record, ensure_ascii=False, default=lambda value: getattr(value, "item", value.__str__)())
        )
        file.write("\n")


def _parquet_writer(path: Path, classes: Any, opened: ExitStack) -> Callable[[pd.DataFrame], None]:
    """Write columns of the types of the first frame; answers have the type of the classes."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        allowed = ".csv or .jsonl without pyarrow (pip install 'worstclass[parquet]')"
        raise ParameterError("out", "predict", allowed=allowed, got=path) from None
    types = {"answer": pa.array(classes.tolist()).type, "margin": pa.float64(), "abstained": pa.bool_()}
    writer: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        if writer is None:
            found = pa.Schema.from_pandas(frame, preserve_index=False)
            known = {field.name: pa.string() if pa.types.is_null(field.type) else field.type for field in found}
            writer = opened.enter_context(parquet.ParquetWriter(path, pa.schema(list({**known, **types}.items()))))
        writer.write_table(pa.Table.from_pandas(frame, schema=writer.schema, preserve_index=False))

    return write
