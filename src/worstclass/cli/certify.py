"""``worstclass certify``: a gate that opens when every floor is proven."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from worstclass.cli.console import OptionError, say, tell
from worstclass.cli.options import AllowEqualRows, Delta, HeldOutOptions, ModelFolder, numbers_by_class

Require = Annotated[
    list[str] | None,
    typer.Option(metavar="FLOOR", help="Floor to prove: 0.8, or class=0.95 (repeatable)."),
]
Save = Annotated[bool, typer.Option("--save", help="Keep the certificate with the model, for export.")]


def certify(
    model: ModelFolder,
    data: HeldOutOptions,
    require: Require = None,
    delta: Delta = 0.05,
    allow_equal_rows: AllowEqualRows = False,
    save: Save = False,
) -> int:
    """Prove on held-out rows that every class meets its floor.

    The rows are DATA's calibration part, else its test part, else all rows. A model that abstains can be certified
    without --require: its risk limits are proven then.

    Exit code 0: proven. 1: not proven. 2: too few rows to judge, or bad input.

    Example: worstclass certify model fresh.csv --target diagnosis --require 0.8
    """
    from worstclass.certificates.held_out import certify as certify_floors
    from worstclass.cli.model import CERTIFICATE, exit_code, open_with_rows
    from worstclass.cli.progress import busy
    from worstclass.storage import results_folder

    (asked, rows), name = open_with_rows(model, data), Path(data.data).name
    options: dict[str, Any] = {"delta": delta, "allow_equal_rows": allow_equal_rows}
    if require:
        floors = numbers_by_class(require, asked.classes_.tolist(), "--require")
        with busy(f"asking about {rows}"):
            certificate: Any = certify_floors(asked, rows.X, rows.y, require=floors, **options)
    elif hasattr(asked, "certify"):
        with busy(f"asking about {rows}"):
            certificate = asked.certify(rows.X, rows.y, **options)
    else:
        raise OptionError("Missing option --require. Give the accuracy floor to prove, for example --require 0.8.")
    where = {"data": name, "part": rows.name, "available": rows.available, "seed": data.seed}
    record = {**certificate.to_dict(), "model": str(model), **where}
    tell(record)
    say(f"{rows} of {name}, part: {rows.name}\n{certificate}")
    if save:
        file = results_folder(model) / CERTIFICATE
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({**record, "model": model.name}, indent=1) + "\n", encoding="utf-8")
    return exit_code(certificate.verdict)
