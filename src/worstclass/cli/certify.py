"""``worstclass certify``: a gate that opens when every floor is proven."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from worstclass.certificates.certificate import NOT_PROVEN, PROVEN, Certificate
from worstclass.certificates.held_out import certify
from worstclass.cli.by_class import numbers_by_class
from worstclass.cli.models import read_model
from worstclass.cli.sources import draw_part, is_named, load_parts
from worstclass.data.labels import known_labels
from worstclass.data.registry import named_dataset
from worstclass.data.splits import ALL
from worstclass.exceptions import ParameterError
from worstclass.wrappers.abstention import AbstainingClassifier
from worstclass.wrappers.risk_report import RiskCertificate

#: exit codes by verdict; 2 also stands for bad input
EXIT_CODES = {PROVEN: 0, NOT_PROVEN: 1}
CANNOT_BE_JUDGED_CODE = 2

#: parts of a data set that a certificate may rest on, the best first
HELD_OUT = ("cal", "test", ALL)


def certify_command(
    model: Path,
    data: str,
    *,
    target: str | None,
    network: str | None,
    reading: dict[str, Any],
    delta: float,
    require: Sequence[str],
    max_rows: int,
    seed: int,
    force: bool,
    as_json: bool,
) -> int:
    """Load a model, certify it on held-out rows, show the certificate; return the exit code.

    Of a model that abstains, its own limits are proven where no floor is asked for.
    """
    booster = read_model(model, network)
    own_limits = booster if isinstance(booster, AbstainingClassifier) and not require else None
    class_names = named_dataset(data).class_names if is_named(data) else ()
    floors = parse_require(require, booster.classes_.tolist(), class_names) if own_limits is None else None
    parts = load_parts(data, target, booster.classes_, seed=seed, owner="certify", **reading)
    drawn = draw_part(parts, HELD_OUT, data, max_rows, seed)
    labels = known_labels(drawn.part.X, drawn.part.y, booster.classes_, "the target column")
    X, y = drawn.part.X, booster.classes_[labels.index]
    certificate: Certificate | RiskCertificate
    if own_limits is not None:
        certificate = own_limits.certify(X, y, delta=delta, allow_equal_rows=force)
    else:
        certificate = certify(booster, X, y, delta=delta, require=floors, allow_equal_rows=force)
    if as_json:
        rows = {"data": Path(data).name, "part": drawn.name, "available": drawn.available}
        typer.echo(json.dumps({**certificate.to_dict(), "model": str(model), **rows, "seed": seed}, indent=1))
    else:
        typer.echo(f"{drawn.count} rows of {Path(data).name}, part: {drawn.name}")
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
    return numbers_by_class(
        texts, classes, owner="certify", option="--require", allowed="a number in [0, 1)", class_names=class_names
    )
