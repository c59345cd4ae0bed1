"""``worstclass abstain``: a model that answers only where a risk is proven for every class."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from worstclass.cli.by_class import numbers_by_class
from worstclass.cli.certify import CANNOT_BE_JUDGED_CODE, EXIT_CODES, HELD_OUT
from worstclass.cli.models import CERTIFICATE, read_model, require_folder, write_model
from worstclass.cli.sources import Drawn, draw_part, is_named, load_parts
from worstclass.data.labels import known_labels
from worstclass.data.registry import named_dataset
from worstclass.exceptions import ParameterError, UnmetBoundWarning
from worstclass.experiments.run import Provenance
from worstclass.wrappers.abstention import AbstainingClassifier
from worstclass.wrappers.risk_report import RiskCertificate

OWNER = "abstain"
#: margins, as the command line calls them
MARGINS = {"auto": "auto", "mean": "mean-proba", "own": "own"}


@dataclass(frozen=True)
class AbstainRequest:
    """What was asked for."""

    model: Path
    data: str
    out: Path
    risk: list[str]
    delta: float
    margin: str
    thresholds: str
    proving: float
    target: str | None
    network: str | None
    reading: dict[str, Any]
    max_rows: int
    seed: int
    force: bool
    as_json: bool


def abstain_command(request: AbstainRequest) -> int:
    """Find when a model may answer, write it with that, show the certificate; return the exit code.

    A rule that the model has already is replaced, by rows that neither chose nor proved it.
    """
    require_folder(request.out)
    loaded: Any = read_model(request.model, request.network)
    inside = loaded
    if isinstance(loaded, AbstainingClassifier):
        inside = loaded.estimator_
        inside.seen_rows_ = loaded.seen_rows_
    parts = load_parts(request.data, request.target, inside.classes_, seed=request.seed, owner=OWNER, **request.reading)
    drawn = draw_part(parts, HELD_OUT, request.data, request.max_rows, request.seed)
    labels = known_labels(drawn.part.X, drawn.part.y, inside.classes_, "the target column")
    model = AbstainingClassifier(
        inside,
        _limits(request, inside.classes_.tolist()),
        delta=request.delta,
        margin=MARGINS[request.margin],
        cv="prefit",
        proving=request.proving,
        allow_equal_rows=request.force,
        random_state=request.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetBoundWarning)  # the certificate tells it
        model.fit(drawn.part.X, inside.classes_[labels.index])
    write_model(model, request.out)
    file = _write(request, model, drawn)
    _show(request, model.certificate_, drawn, file, silent=model.threshold_ == np.inf)
    return EXIT_CODES.get(model.certificate_.verdict, CANNOT_BE_JUDGED_CODE)


def _limits(request: AbstainRequest, classes: list[Any]) -> float | dict[Any, float]:
    if not request.risk:
        allowed = "given: the risk that is to be kept below (0.1, or class=0.02)"
        raise ParameterError("--risk", OWNER, allowed=allowed, got=None)
    names = named_dataset(request.data).class_names if is_named(request.data) else ()
    return numbers_by_class(
        request.risk, classes, owner=OWNER, option="--risk", allowed="a number in (0, 1]", class_names=names
    )


def _write(request: AbstainRequest, model: AbstainingClassifier, drawn: Drawn) -> Path:
    """Write certificate.json: the certificate, and what made it."""
    where = {"part": drawn.name, "rows": len(drawn.part), "available": drawn.available}
    values = {
        **model.certificate_.to_dict(),
        "model": request.model.name,
        "data": {"name": Path(request.data).name, "target": request.target, **where},
        "settings": {
            "risk": request.risk,
            "delta": request.delta,
            "margin": model.margin_,
            "proving": request.proving,
            "force": request.force,
        },
        "seed": request.seed,
        "provenance": Provenance.collect().model_dump(),
    }
    file = request.out / CERTIFICATE
    file.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return file


def _show(request: AbstainRequest, certificate: RiskCertificate, drawn: Drawn, file: Path, *, silent: bool) -> None:
    if request.as_json:
        typer.echo(file.read_text(encoding="utf-8"), nl=False)
        return
    typer.echo(
        f"{drawn.count} rows of {Path(request.data).name}, part: {drawn.name}; {certificate.n_choosing:,} chose when "
        f"to answer, {certificate.n_rows:,} prove"
    )
    typer.echo(str(certificate))
    if silent:
        typer.echo("So the model answers nothing. The counts are those of the rule that the tests began with.")
    typer.echo(f"model:       {request.out}\ncertificate: {file}")
