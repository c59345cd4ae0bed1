"""``worstclass certify``: a gate that opens when every floor is proven."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from worstclass.certificates.certificate import NOT_PROVEN, PROVEN
from worstclass.certificates.held_out import certify
from worstclass.cli.sources import at_most, is_named
from worstclass.data.registry import load_dataset, named_dataset
from worstclass.data.sources import TABLE_SUFFIXES, read_source
from worstclass.data.splits import Part
from worstclass.exceptions import DatasetError, ParameterError
from worstclass.floors import OTHERS
from worstclass.persistence import load_model

#: exit codes by verdict; 2 also stands for bad input
EXIT_CODES = {PROVEN: 0, NOT_PROVEN: 1}
CANNOT_BE_JUDGED_CODE = 2

#: parts of a data set that a certificate may rest on, the best first
HELD_OUT = ("cal", "test")


def certify_command(
    model: Path,
    data: str,
    *,
    target: str | None,
    reading: dict[str, Any],
    delta: float,
    require: Sequence[str],
    max_rows: int,
    seed: int,
    force: bool,
    as_json: bool,
) -> int:
    """Load a model, certify it on held-out rows, show the certificate; return the exit code."""
    booster = load_model(model, keep_in_memory=False)
    class_names = named_dataset(data).class_names if is_named(data) else ()
    floors = parse_require(require, booster.classes_.tolist(), class_names)
    name, rows = _held_out_rows(data, target, seed, **reading)
    part = at_most(rows, max_rows, seed) if is_named(data) else rows
    certificate = certify(booster, part.X, part.y, delta=delta, require=floors, force=force)
    if as_json:
        where = {"model": str(model), "data": Path(data).name, "part": name, "available": len(rows), "seed": seed}
        typer.echo(json.dumps({**certificate.to_dict(), **where}, indent=1))
    else:
        count = f"{len(part):,} of {len(rows):,}" if len(part) < len(rows) else f"{len(rows):,}"
        typer.echo(f"{count} rows of {Path(data).name}, part: {name}")
        typer.echo(str(certificate))
    return EXIT_CODES.get(certificate.verdict or "", CANNOT_BE_JUDGED_CODE)


def parse_require(
    texts: Sequence[str], classes: Sequence[Any], class_names: Sequence[str] = ()
) -> float | dict[Any, float]:
    """Read one number for all classes, or class=number; a number among those stands for the other classes.

    A class is named as its label reads, or by one of ``class_names``, which are for the labels 0, 1, ...
    """
    if not texts:
        allowed = "given: the accuracy floor that is to be proven (0.8, or class=0.95)"
        raise ParameterError("--require", "certify", allowed=allowed, got=None)
    if len(texts) == 1 and "=" not in texts[0]:
        return _number(texts[0])
    labels = {**{name: number for number, name in enumerate(class_names)}, **{str(label): label for label in classes}}
    floors: dict[Any, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        key = labels.get(name, name) if equals else OTHERS
        if key in floors:
            raise ParameterError("--require", "certify", allowed="given once for each class", got=list(texts))
        floors[key] = _number(value)
    return floors


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        allowed = "a number in [0, 1), or class=number"
        raise ParameterError("--require", "certify", allowed=allowed, got=text) from None


def _held_out_rows(
    data: str, target: str | None, seed: int, *, root: Path | None, image_size: int | None, skip_corrupt: bool
) -> tuple[str, Part]:
    """Return the calibration part of a data set, else its test part; or all rows of data without parts."""
    if is_named(data):
        if target is not None:
            allowed = "left out for a named data set, which has labels"
            raise ParameterError("--target", "certify", allowed=allowed, got=target)
        splits = load_dataset(data, root, seed=seed)
        parts = {"cal": splits.cal, "test": splits.test}
        found = [(name, part) for name in HELD_OUT if (part := parts[name]) is not None]
    else:
        found = _rows_of_path(data, target, image_size=image_size, skip_corrupt=skip_corrupt)
    if not found:
        raise DatasetError(f"{data!r} has neither a calibration nor a test part. A certificate needs held-out rows.")
    return found[0]


def _rows_of_path(data: str, target: str | None, **pictures: Any) -> list[tuple[str, Part]]:
    if target is None and Path(data).suffix.lower() in TABLE_SUFFIXES:
        allowed = "the column of the labels when DATA is a table"
        raise ParameterError("--target", "certify", allowed=allowed, got=None)
    parts = read_source(data, target=target, **pictures).parts
    return [(name, parts[name]) for name in (*HELD_OUT, "all") if name in parts]
