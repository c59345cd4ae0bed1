"""MODEL on the command line: open one, and write one with its results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worstclass.cli.data import Rows
from worstclass.cli.learners import network_factory
from worstclass.cli.options import DataOptions
from worstclass.data.splits import Splits
from worstclass.experiments.run import Provenance
from worstclass.metrics import ClassReport, class_report
from worstclass.storage import load_model, results_folder, save_model

#: parts of a data set that a certificate may rest on, the best first
HELD_OUT = ("cal", "test", "all")


def open_model(folder: Path, network: str | None) -> Any:
    """Read a model; one member is in memory at a time."""
    return load_model(folder, module=None if network is None else network_factory(network), keep_in_memory=False)


def class_reports(model: Any, splits: Splits) -> dict[str, ClassReport]:
    """Count the errors on every part that the model did not count itself."""
    parts = {"training": splits.train, "validation": splits.val, "test": splits.test}
    return {
        name: class_report(part.y, model.predict(part.X), labels=model.classes_, theta=floors_of(model))
        for name, part in parts.items()
        if part is not None and getattr(model, f"{name}_report_", None) is None
    }


def floors_of(model: Any) -> Any:
    """Return the floors that a model, or the model inside it, was made for; None where there are none."""
    theta = getattr(model, "theta", None)
    return floors_of(model.estimator_) if theta is None and hasattr(model, "estimator_") else theta


def exit_code(verdict: str | None) -> int:
    """Return 0 for a certificate that is proven, 1 for one that is not, and 2 where it cannot be judged."""
    return {"proven": 0, "not proven": 1}.get(verdict or "", 2)


def write_model(model: Any, folder: Path, results: Mapping[str, Any]) -> Path:
    """Write a model in place of the one in the folder, with its results and no others; return their folder.

    Parameters
    ----------
    model : a fitted estimator.
    folder : the model folder; made if it does not exist.
    results : file name -> JSON values, or text.
    """
    place = results_folder(save_model(model, folder))
    place.mkdir()
    for name, values in results.items():
        text = values if isinstance(values, str) else json.dumps(values, indent=1) + "\n"
        (place / name).write_text(text, encoding="utf-8")
    return place


def described(data: DataOptions, rows: Rows | None = None) -> dict[str, Any]:
    """Return what a result says of its data."""
    drawn = {} if rows is None else {"part": rows.name, "rows": len(rows.part), "available": rows.available}
    return {"name": Path(data.data).name, "target": data.target, **drawn}


def made_by(data: Mapping[str, Any], seed: int, **settings: Any) -> dict[str, Any]:
    """Return what a result says of how it was made."""
    return {"data": data, "settings": settings, "seed": seed, "provenance": Provenance.collect().model_dump()}
