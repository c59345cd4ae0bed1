"""``worstclass export``: a model as one file for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from worstclass.cli.console import OptionError, say, tell, warn
from worstclass.cli.options import ComparedRows, HeldOutOptions, ModelFolder

Onnx = Annotated[Path | None, typer.Option(metavar="FILE", help="ONNX file to write.", dir_okay=False)]
Torch = Annotated[
    Path | None, typer.Option(metavar="FILE", help="torch program (.pt2) to write, of networks.", dir_okay=False)
]
CertificateFile = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="JSON of certify --json [the one kept with the model].",
        exists=True,
        dir_okay=False,
    ),
]
InputType = Annotated[
    Literal["auto", "float32", "float64", "uint8"],
    typer.Option(help="Type of the numbers that the file takes."),
]


def export(
    model: ModelFolder,
    data: ComparedRows,
    onnx: Onnx = None,
    torch: Torch = None,
    certificate: CertificateFile = None,
    input_type: InputType = "auto",
) -> None:
    """Write a model to one file for other programs.

    The file does all that predict does: preprocessing, members, vote, offsets, abstaining. It takes any number of rows.
    Its answers are compared with those of the model on every row of DATA (its test part, of a data set), or on rows
    made at random. If a label differs, nothing is written. docs/deploy.md shows how to use it.

    Exit code 0: written. 2: it cannot be exported exactly, or bad input.

    Example: worstclass export model fresh.csv --onnx model.onnx
    """
    from worstclass.cli.model import open_model
    from worstclass.cli.progress import busy
    from worstclass.export.onnx_file import write_onnx

    if onnx is None and torch is None:
        raise OptionError("Missing option --onnx or --torch. Name the file to write, for example --onnx model.onnx.")
    asked = open_model(model, data.network)
    names = set(map(str, asked.classes_.tolist()))
    options: dict[str, Any] = {"certificate": _certificate(model, certificate, names), "input_type": input_type}
    reports = []
    with busy("writing the file and comparing its answers"):
        if onnx is not None:
            reports.append(write_onnx(asked, onnx, _blocks(asked, data), **options))
        if torch is not None:
            from worstclass._checks import optional_packages

            with optional_packages("export_torch"):
                from worstclass.export.torch_file import write_torch

            reports.append(write_torch(asked, torch, _blocks(asked, data), **options))
    tell({"files": [{**asdict(report), "path": str(report.path)} for report in reports]})
    say("\n\n".join(map(str, reports)))


def _blocks(model: Any, data: ComparedRows) -> Iterator[Any] | None:
    """Return the rows of DATA, in parts; None where there is no DATA."""
    if data.data is None:
        return None
    from worstclass.cli.data import Data, find_named
    from worstclass.export.answers import Block

    if find_named(data.data) is None:
        return _rows_of_file(model, data)
    where: dict[str, Any] = {"target": data.target, "root": data.root, "image_size": data.image_size}
    named = HeldOutOptions(data.data, **where, max_rows=data.max_rows, seed=data.seed)
    return iter([Block(Data.open(named).rows(model, ("test", "all")).X)])


def _rows_of_file(model: Any, data: ComparedRows) -> Iterator[Any]:
    """Yield the rows of a file, without those that the model cannot take; labels are not needed."""
    from worstclass._progress import part
    from worstclass.data.chunks import RowFormat, iter_chunks
    from worstclass.export.answers import Block

    form, n_bad, done = RowFormat.of(model), 0, 0.0
    ids = [data.target] if data.target is not None else []
    for chunk in iter_chunks(str(data.data), form, ids=ids, image_size=data.image_size):
        n_bad += len(chunk.bad)
        with part(done, chunk.done):
            if len(chunk.X):
                yield Block(chunk.X, chunk.numbers)
        done = chunk.done
    if n_bad:
        warn(f"{n_bad:,} rows of {data.data} that the model cannot take were left out of the comparison")


def _certificate(model: Path, file: Path | None, names: set[str]) -> Any:
    """Return the record of a certificate for classes of these names: from the file, or the one kept with the model."""
    from worstclass.cli.model import CERTIFICATE
    from worstclass.exceptions import DatasetError
    from worstclass.storage import results_folder

    kept = results_folder(model) / CERTIFICATE
    if file is None and not kept.is_file():
        return None
    try:
        record = json.loads((file or kept).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DatasetError(f"{file or kept} is not JSON: {error}") from None
    if not isinstance(record, dict) or "verdict" not in record:
        raise DatasetError(f"{file or kept} is not a certificate: it has no verdict. Make it with certify --json.")
    if {row.get("name") for row in record.get("classes", [])} != names:
        raise DatasetError(f"{file or kept} is a certificate for other classes than those of the model.")
    return record
