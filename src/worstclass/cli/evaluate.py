"""``worstclass evaluate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from worstclass.boosting.booster import WorstClassBooster
from worstclass.cli.models import read_model
from worstclass.cli.sources import draw_part, load_parts
from worstclass.data.labels import known_labels
from worstclass.data.splits import ALL, Part, columns_in_order
from worstclass.metrics import ClassReport, class_report
from worstclass.wrappers.abstention import AbstainingClassifier
from worstclass.wrappers.offsets import WorstClassOffsets
from worstclass.wrappers.risk_report import RiskReport


def evaluate_command(
    model: Path,
    data: str,
    *,
    target: str | None,
    network: str | None,
    reading: dict[str, Any],
    max_test_rows: int,
    seed: int,
    as_json: bool,
) -> None:
    """Load a model and report its class-wise errors, or risk and coverage; one member in memory at a time."""
    booster = read_model(model, network)
    parts = load_parts(data, target, booster.classes_, seed=seed, owner="evaluate", **reading)
    drawn = draw_part(parts, ("test", ALL), data, max_test_rows, seed)
    report = _report(booster, drawn.part)
    if as_json:
        typer.echo(json.dumps({**report.to_dict(), "rows": len(drawn.part), "available": drawn.available}, indent=1))
        return
    typer.echo(f"{drawn.count} rows")
    typer.echo(str(report))


def _report(model: Any, part: Part) -> ClassReport | RiskReport:
    """Count the errors of every class; of a model that abstains, risk and coverage."""
    labels = known_labels(part.X, part.y, model.classes_, "the target column")
    X, y = columns_in_order(part.X, getattr(model, "feature_names_in_", None)), model.classes_[labels.index]
    if isinstance(model, AbstainingClassifier):
        return model.risk_report(X, y)
    return class_report(y, model.predict(X), model.classes_, theta=_floors(model))


def _floors(model: WorstClassBooster | WorstClassOffsets) -> Any:
    """Return the floors of a model; offsets without any were made for a booster that has them."""
    if isinstance(model, WorstClassOffsets) and model.theta is None:
        return model.estimator_.theta
    return model.theta
