"""``worstclass predict``: the answers of a model for the rows of a file, in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from worstclass.cli.console import console, say
from worstclass.cli.options import ModelFolder, OwnNetwork, Quiet
from worstclass.exceptions import DataError

if TYPE_CHECKING:
    import pandas as pd

    from worstclass.cli.answers import Answers
    from worstclass.data.chunks import Chunk

#: bad rows that a message lists
MOST_NAMED = 5
#: rows that a model refuses, after which no more are looked for in a file that is refused anyway
MOST_SEARCHED = 20


File = Annotated[
    Path, typer.Argument(help="CSV, Parquet or npz file, or image folder; no labels needed.", show_default=False)
]
Out = Annotated[Path, typer.Option(help="File for the answers: .csv, .parquet or .jsonl.", show_default=False)]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Column to carry over (repeatable).")]
OnBad = Annotated[
    Literal["refuse", "skip", "abstain"],
    typer.Option(help="Rows that the model cannot take: refuse the file, skip them, or abstain."),
]
ChunkRows = Annotated[int | None, typer.Option(help="Rows in memory at a time.", min=1)]
ImageSize = Annotated[int | None, typer.Option(help="Resize images to this many pixels a side.", min=1)]


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

    The answer, the probability of each class, the margin, and whether the model abstained. Columns are found by name;
    columns that the model does not know are ignored. Without --id the row number is written.

    Example: worstclass predict model new.csv --id patient --out answers.csv
    """
    from worstclass.cli.answers import Answers, open_writer
    from worstclass.cli.model import open_model
    from worstclass.data.chunks import RowFormat, iter_chunks

    asked, ids = open_model(model, network), id_ or []
    answers, count = Answers(asked, ids), _Count(file, on_bad)
    chunks = iter_chunks(file, RowFormat.of(asked), ids=ids, chunk_rows=chunk_rows, image_size=image_size)
    with open_writer(out, asked.classes_, file) as write, _progress(quiet) as show:
        for chunk in chunks:
            frame = _answered(answers, chunk, count)
            if frame is not None:
                write(frame)
            show(chunk.done)
        count.refuse()
    say(f"{count}: {out}")


def _answered(answers: Answers, chunk: Chunk, count: _Count) -> pd.DataFrame | None:
    """Return the answers for a chunk; None where the file is refused, whose other rows are then only read."""
    import pandas as pd

    refused: dict[int, str] = {}
    if not (count.refuses and count.bad):
        found, refused = answers.of(chunk, limit=MOST_SEARCHED if count.refuses else None)
    bad = dict(sorted({**chunk.bad, **refused}.items()))
    count.add(bad)
    if count.refuses and count.bad:
        return None
    if bad and count.on_bad == "abstain":
        found = pd.concat([found, answers.none_for(list(bad))])
    count.written += len(found)
    count.abstained += int(found["abstained"].sum())
    return answers.with_ids(found, chunk)


@dataclass
class _Count:
    """Counts of the rows of a file, and the first bad ones."""

    file: Path
    on_bad: str
    written: int = 0
    abstained: int = 0
    bad: int = 0
    first: dict[int, str] = field(default_factory=dict)

    @property
    def refuses(self) -> bool:
        return self.on_bad == "refuse"

    def add(self, bad: dict[int, str]) -> None:
        self.bad += len(bad)
        for number, why in bad.items():
            if len(self.first) < MOST_NAMED:
                self.first[number] = why

    def refuse(self) -> None:
        """Refuse the file where it has bad rows that must not be left out, or no rows at all."""
        if self.bad and self.refuses:
            named = "; ".join(f"row {number}: {why}" for number, why in self.first.items())
            more = f"; and {self.bad - len(self.first)} more" if self.bad > len(self.first) else ""
            rows = "row" if self.bad == 1 else "rows"
            raise DataError(
                f"{self.file} has {self.bad} bad {rows}: {named}{more}. Correct them, or use --on-bad skip or "
                "--on-bad abstain."
            )
        if not self.written and not self.bad:
            raise DataError(f"{self.file} has no rows.")

    def __str__(self) -> str:
        parts = [f"{self.written:,} rows", f"{self.abstained:,} abstained"]
        if self.on_bad == "skip":
            parts.append(f"{self.bad:,} skipped")
        elif self.bad:
            parts.append(f"{self.bad:,} of them bad")
        return ", ".join(parts)


@contextmanager
def _progress(quiet: bool) -> Iterator[Any]:
    """Show a bar on a terminal; the function that is given moves it."""
    from rich.progress import Progress

    screen = console(stderr=True, quiet=quiet)
    if not screen.is_terminal:
        yield lambda done: None
        return
    with Progress(console=screen, transient=True) as bar:
        task = bar.add_task("predicting", total=1.0)
        yield lambda done: bar.update(task, completed=done)
