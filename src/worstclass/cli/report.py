"""``worstclass report``: the report page of a folder of results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from worstclass.cli import options as opt
from worstclass.cli.console import say, tell

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The --out folder of a command.", show_default=False)]


@dataclass(frozen=True)
class ShownRows:
    """Rows with labels that the page of a model shows, if there are any."""

    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Rows to ask the model about (default: as kept).", show_default=False),
    ] = None
    target: opt.Target = None
    root: opt.Root = None
    image_size: opt.ImageSize = None
    skip_corrupt: Annotated[bool, typer.Option("--skip-corrupt", help="Leave out images that cannot be read.")] = False
    network: opt.OwnNetwork = None
    max_rows: opt.MaxRows = 10_000
    seed: opt.Seed = 0


def report(folder: Folder, rows: ShownRows) -> None:
    """Write the report page of a model, a comparison or a reproduction.

    One HTML file that opens offline. It is made of the results in the folder. With DATA, confusions, examples, columns
    and regions are those of the test part of a data set, or of all rows of a file. Errors and verdict are, too, if the
    model has seen none of these rows.

    Example: worstclass report model
    """
    from worstclass.cli.model import open_with_rows, rows_name, write_report
    from worstclass.data.seen_rows import row_overlap
    from worstclass.report.page import write_page

    if rows.data is None:
        page = write_page(folder)
    else:
        model, part = open_with_rows(folder, rows, ("test", "all"))
        seen = row_overlap(part.X, getattr(model, "seen_rows_", None)).n_reused
        name = f"{rows_name(part, rows)} ({seen:,} of them seen before)" if seen else rows_name(part, rows)
        page = write_report(model, folder, part, name, fresh=not seen)
    tell({"report": str(page)})
    say(f"report: {page}")
