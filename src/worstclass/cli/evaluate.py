"""``worstclass evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from worstclass.cli.sources import at_most, load_rows
from worstclass.metrics import class_report
from worstclass.persistence import load_model


def evaluate_command(
    model: Path, data: str, *, target: str | None, max_test_rows: int, seed: int, as_json: bool
) -> None:
    """Load a model and report its class-wise errors, one member in memory at a time."""
    booster = load_model(model, keep_in_memory=False)
    part = at_most(load_rows(data, target, seed=seed), max_test_rows, seed)
    report = class_report(part.y, booster.predict(part.X), labels=booster.classes_, theta=booster.theta)
    typer.echo(json.dumps(report.to_dict(), indent=1) if as_json else str(report))
