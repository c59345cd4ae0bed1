"""The answers of any classifier as a table, and the files that they are written to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worstclass.cli.errors import ConflictingOptions
from worstclass.exceptions import ParameterError, WorstClassError

if TYPE_CHECKING:
    import pandas as pd

    from worstclass._typing import FloatArray
    from worstclass.data.chunks import Chunk

#: the row number, where no column is carried over
ROW = "row"
Write = Callable[["pd.DataFrame"], None]


class Answers:
    """Asks a classifier about chunks of rows.

    The columns: those carried over (else the row number), ``answer``, ``p_<class>`` for each class where the classifier
    gives probabilities, ``margin`` and ``abstained``.
    """

    def __init__(self, model: Any, ids: Sequence[str]) -> None:
        self.model = model
        self.classes = model.classes_
        self.abstain_label = getattr(model, "abstain_label_", None)
        names = {ROW, "answer", "margin", "abstained", *(f"p_{label}" for label in self.classes.tolist())}
        for name in ids:
            if name in names or list(ids).count(name) > 1:
                raise ConflictingOptions(f"--id {name}", "the output would have two columns of that name.")

    def of(self, chunk: Chunk, limit: int | None = None) -> tuple[pd.DataFrame, dict[int, str]]:
        """Return the answers for the rows that the classifier takes, by row number, and why it refuses the others.

        ``limit`` ends the search for rows that it refuses after so many.
        """
        import pandas as pd

        frames = [pd.DataFrame({"answer": [], "abstained": []}, dtype=object)]
        refused: dict[int, str] = {}

        def ask(start: int, end: int) -> None:
            """Halve rows that are refused together, down to each row that is refused alone."""
            if start == end or (limit is not None and len(refused) >= limit):
                return
            X = chunk.X.iloc[start:end] if hasattr(chunk.X, "iloc") else chunk.X[start:end]
            try:
                frames.append(self._frame(X).set_axis(chunk.numbers[start:end]))
            except (WorstClassError, ValueError, TypeError) as error:
                if end - start == 1:
                    refused[int(chunk.numbers[start])] = " ".join(str(error).split()).rstrip(".")
                    return
                middle = (start + end) // 2
                ask(start, middle)
                ask(middle, end)

        ask(0, len(chunk.numbers))
        return pd.concat(frames[1:] or frames), refused

    def none_for(self, rows: Sequence[int]) -> pd.DataFrame:
        """Return rows without an answer."""
        import pandas as pd

        label = [self.abstain_label] * len(rows)
        return pd.DataFrame({"answer": label, "abstained": True}, index=list(rows)).astype({"answer": object})

    def with_ids(self, frame: pd.DataFrame, chunk: Chunk) -> pd.DataFrame:
        """Return answers in the order of the file, behind the columns carried over."""
        import pandas as pd

        frame = frame.sort_index()
        kept = [chunk.ids.set_axis(chunk.numbers)]
        if chunk.bad_ids is not None:
            kept.append(chunk.bad_ids.set_axis(list(chunk.bad)))
        ids = pd.concat(kept).loc[frame.index]
        if ids.shape[1] == 0:
            ids = pd.DataFrame({ROW: frame.index}, index=frame.index)
        numbers = dict.fromkeys([name for name in self.columns if name not in ("answer", "abstained")], "float64")
        typed = frame.reindex(columns=self.columns).astype({**numbers, "abstained": bool})
        return pd.concat([ids, typed], axis=1)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, without those carried over."""
        proba = [f"p_{label}" for label in self.classes.tolist()] if hasattr(self.model, "predict_proba") else []
        return ["answer", *proba, "margin", "abstained"]

    def _frame(self, X: Any) -> pd.DataFrame:
        import numpy as np
        import pandas as pd

        from worstclass.data.labels import label_column

        answers = label_column(self.model.predict(X)).tolist()
        proba = np.asarray(self.model.predict_proba(X)) if hasattr(self.model, "predict_proba") else None
        frame = pd.DataFrame({"answer": pd.Series(answers, dtype=object)})
        if proba is not None:
            frame[[f"p_{label}" for label in self.classes.tolist()]] = proba
        frame["margin"] = _margins(self.model, X, proba)
        abstains = hasattr(self.model, "abstain_label_")
        frame["abstained"] = [abstains and answer == self.abstain_label for answer in answers]
        return frame


def _margins(model: Any, X: Any, proba: FloatArray | None) -> Any:
    """Return the model's own margins, else the lead of the largest probability or score; None where it has neither."""
    import numpy as np

    if hasattr(model, "decision_margin"):
        return np.asarray(model.decision_margin(X))
    scores = proba
    if scores is None:
        scores = np.asarray(model.decision_function(X)) if hasattr(model, "decision_function") else None
    if scores is None or scores.ndim == 1:
        return None if scores is None else np.abs(scores)
    top_two = np.partition(scores, -2, axis=1)[:, -2:]
    return top_two[:, 1] - top_two[:, 0]


@contextmanager
def open_writer(out: Path, classes: Any, source: Path) -> Iterator[Write]:
    """Give a function that writes frames; the file appears under its name once all is written."""
    writers = {".csv": _csv_writer, ".parquet": _parquet_writer, ".jsonl": _jsonl_writer}
    if out.suffix.lower() not in writers:
        allowed = f"a file that ends in {', '.join(writers)}"
        raise ParameterError("--out", "predict", allowed=allowed, got=str(out))
    if out.is_dir() or out.resolve() == source.resolve():
        raise ParameterError("--out", "predict", allowed="a file other than the input", got=str(out))
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.unfinished")
    try:
        with writers[out.suffix.lower()](unfinished, classes) as write:
            yield write
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _csv_writer(path: Path, classes: Any) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="") as file:
        yield lambda frame: frame.to_csv(file, index=False, header=file.tell() == 0, lineterminator="\n")


@contextmanager
def _jsonl_writer(path: Path, classes: Any) -> Iterator[Write]:
    def write(frame: pd.DataFrame) -> None:
        plain = frame.astype(object).where(frame.notna(), None)
        for record in plain.to_dict("records"):
            file.write(json.dumps(record, ensure_ascii=False, default=_as_json) + "\n")

    with path.open("w", encoding="utf-8") as file:
        yield write


def _as_json(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


@contextmanager
def _parquet_writer(path: Path, classes: Any) -> Iterator[Write]:
    """Write columns of the types of the first frame; answers have the type of the classes."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        raise ParameterError(
            "--out", "predict", allowed=".csv or .jsonl without pyarrow (pip install 'worstclass[parquet]')", got=path
        ) from None
    opened: list[Any] = []

    def write(frame: pd.DataFrame) -> None:
        if not opened:
            types = {"answer": pa.array(classes.tolist()).type, "margin": pa.float64(), "abstained": pa.bool_()}
            found = pa.Schema.from_pandas(frame, preserve_index=False)
            fields = [pa.field(field.name, types.get(field.name, _known(pa, field.type))) for field in found]
            opened.append(parquet.ParquetWriter(path, pa.schema(fields)))
        opened[0].write_table(pa.Table.from_pandas(frame, schema=opened[0].schema, preserve_index=False))

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()


def _known(pa: Any, kind: Any) -> Any:
    """Return the type of a column; one of which no value is known yet is text."""
    return pa.string() if pa.types.is_null(kind) else kind
