"""``worstclass predict``: the answers of a model for the rows of a file, in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from worstclass.cli.console import say, tell
from worstclass.cli.options import ImageSize, ModelFolder, OwnNetwork, Quiet

if TYPE_CHECKING:
    import pandas as pd

File = Annotated[Path, typer.Argument(help="Table, npz file or image folder, without labels.", show_default=False)]
Out = Annotated[Path, typer.Option(metavar="FILE", help="For the answers: .csv, .parquet, .jsonl.", show_default=False)]
Ids = Annotated[list[str] | None, typer.Option("--id", metavar="COLUMN", help="Column to carry over (repeatable).")]
OnBad = Annotated[
    Literal["refuse", "skip", "abstain"],
    typer.Option(help="For rows that the model cannot take."),
]
ChunkRows = Annotated[int | None, typer.Option(help="Rows in memory at a time.", min=1)]


def predict(
    model: ModelFolder,
    file: File,
    out: Out,
    id_: Ids = None,
    on_bad: OnBad = "refuse",
    chunk_rows: ChunkRows = None,
    network: OwnNetwork = None,
    image_size: ImageSize = None,
    quiet: Quiet = False,
) -> None:
    """Write the answer for every row of a file.

    The file has these columns: those of --id, else "row", the row number; "answer", the class; "p_CLASS", the
    probability of each class, if the model gives any (after "worstclass offsets" those of the model before it, so the
    answer need not have the largest); "margin", by how much the answer leads the next class, in the model's scores
    (larger is surer); "abstained", true if the model gives no answer. Columns of the input are found by name, and
    those that the model does not know are ignored.

    Example: worstclass predict model new.csv --id patient --out answers.csv
    """
    from worstclass._progress import part
    from worstclass.cli.model import open_model
    from worstclass.cli.progress import busy
    from worstclass.data.chunks import RowFormat, iter_chunks
    from worstclass.report.answers import Answers, write_answers

    answers = Answers(open_model(model, network), id_ or [], on_bad)
    rows = RowFormat.of(answers.model)
    chunks = iter_chunks(file, rows, ids=id_ or [], chunk_rows=chunk_rows, image_size=image_size)

    def frames() -> Iterator[pd.DataFrame]:
        done = 0.0
        for chunk in chunks:
            with part(done, chunk.done):
                yield answers.of(chunk)
            done = chunk.done
        answers.require_rows(file)

    with busy(f"asking about the rows of {file.name}"):
        write_answers(frames(), out, answers.model.classes_, file)
    tell({"out": str(out), "written": answers.written, "abstained": answers.abstained, "bad": len(answers.bad)})
    say(f"{answers}: {out}")
