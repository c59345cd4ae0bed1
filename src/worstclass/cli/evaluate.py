"""``worstclass evaluate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from worstclass.boosting.booster import WorstClassBooster
from worstclass.cli.learners import named_or_own
from worstclass.cli.sources import at_most, is_named, load_rows
from worstclass.labels import known_labels
from worstclass.metrics import class_report
from worstclass.persistence import load_model


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
    """Load a model and report its class-wise errors, one member in memory at a time."""
    booster = load_model(model, module=None if network is None else named_or_own(network), keep_in_memory=False)
    rows = load_rows(data, target, seed=seed, **reading)
    part = at_most(rows, max_test_rows, seed) if is_named(data) else rows
    labels = known_labels(part.X, part.y, booster.classes_, "the target column")
    report = class_report(
        booster.classes_[labels.index],
        booster.predict(_in_order(part.X, booster)),
        booster.classes_,
        theta=booster.theta,
    )
    if as_json:
        typer.echo(json.dumps({**report.to_dict(), "rows": len(part), "available": len(rows)}, indent=1))
        return
    typer.echo(f"{len(part):,} of {len(rows):,} rows" if len(part) < len(rows) else f"{len(rows):,} rows")
    typer.echo(str(report))


def _in_order(X: Any, booster: WorstClassBooster) -> Any:
    """Return the columns of a table in the order of training; a file may have them in another."""
    names = getattr(booster, "feature_names_in_", None)
    if names is None or not hasattr(X, "columns") or set(names) != set(X.columns):
        return X
    return X[list(names)]
