"""``worstclass evaluate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from worstclass.abstention.estimator import AbstainingClassifier
from worstclass.abstention.report import RiskReport
from worstclass.boosting.booster import WorstClassBooster
from worstclass.cli.learners import named_or_own
from worstclass.cli.sources import at_most, first_part, is_named, load_parts
from worstclass.data.splits import ALL, Part
from worstclass.labels import known_labels
from worstclass.metrics import ClassReport, class_report
from worstclass.offsets.estimator import WorstClassOffsets
from worstclass.persistence import Model, load_model


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
    booster = load_model(model, module=None if network is None else named_or_own(network), keep_in_memory=False)
    parts = load_parts(data, target, booster.classes_, seed=seed, owner="evaluate", **reading)
    _, rows = first_part(parts, ("test", ALL), data)
    part = at_most(rows, max_test_rows, seed) if is_named(data) else rows
    report = _report(booster, part)
    if as_json:
        typer.echo(json.dumps({**report.to_dict(), "rows": len(part), "available": len(rows)}, indent=1))
        return
    typer.echo(f"{len(part):,} of {len(rows):,} rows" if len(part) < len(rows) else f"{len(rows):,} rows")
    typer.echo(str(report))


def _report(model: Model, part: Part) -> ClassReport | RiskReport:
    """Count the errors of every class; of a model that abstains, risk and coverage."""
    labels = known_labels(part.X, part.y, model.classes_, "the target column")
    X, y = in_order(part.X, model), model.classes_[labels.index]
    if isinstance(model, AbstainingClassifier):
        return model.risk_report(X, y)
    return class_report(y, model.predict(X), model.classes_, theta=_floors(model))


def _floors(model: WorstClassBooster | WorstClassOffsets) -> Any:
    """Return the floors of a model; offsets without any were made for a booster that has them."""
    if isinstance(model, WorstClassOffsets) and model.theta is None:
        return model.estimator_.theta
    return model.theta


def in_order(X: Any, model: Any) -> Any:
    """Return the columns of a table in the order of training; a file may have them in another."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or not hasattr(X, "columns") or set(names) != set(X.columns):
        return X
    return X[list(names)]
