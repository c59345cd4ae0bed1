"""``worstclass compare``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from worstclass.cli.learners import network_options
from worstclass.cli.sources import at_most, is_named, load_splits
from worstclass.cli.thetas import parse_theta
from worstclass.data.registry import named_dataset
from worstclass.data.splits import Splits
from worstclass.exceptions import ParameterError
from worstclass.experiments.cells import CellEvent
from worstclass.experiments.compare import Budget, ComparisonPlan, check_plan, methods_for, run_comparison
from worstclass.experiments.comparison import Comparison
from worstclass.methods import find_method
from worstclass.report.comparison import (
    comparison_csv,
    comparison_figure,
    comparison_markdown,
    comparison_text,
)
from worstclass.report.figures import save_figure

#: passes over the training sample where no budget is given: the authors' epochs
DEFAULT_EPOCHS = 200


@dataclass(frozen=True)
class CompareRequest:
    """What was asked for; None in ``learner`` means the data's or the library's default."""

    data: str
    methods: list[str]
    n_seeds: int
    budget: str | None
    select_on: str
    out: Path
    theta: list[str]
    target: str | None
    network: str | None
    gamma: float | None
    learner: dict[str, Any]
    val_share: float
    test_share: float
    reading: dict[str, Any]
    max_test_rows: int
    overwrite: bool
    quiet: bool


def compare_command(request: CompareRequest) -> bool:
    """Run what is missing, write the table and the figure, print the table; return whether nothing failed."""
    console = Console()
    if request.n_seeds < 1:
        raise ParameterError("--seeds", "compare", allowed="a positive whole number", got=request.n_seeds)
    load = _loader(request)
    example = load(0)
    plan = _plan(request, example)
    check_plan(plan, example)
    progress = _Lines(Console(quiet=request.quiet))
    results = run_comparison(plan, load, request.out / "cells", progress, overwrite=request.overwrite)
    comparison = Comparison.from_results(results)
    files = _write(comparison, request.out)
    console.print(comparison_text(comparison), highlight=False, markup=False, soft_wrap=True)
    console.print("\n".join(f"written: {file}" for file in files), highlight=False, markup=False, soft_wrap=True)
    return not comparison.failures


def _loader(request: CompareRequest) -> Any:
    def load(seed: int) -> Splits:
        splits = load_splits(
            request.data,
            request.target,
            val=_val_share(request),
            test=request.test_share,
            seed=seed,
            **request.reading,
        )
        test = None if splits.test is None else at_most(splits.test, request.max_test_rows, seed)
        return replace(splits, test=test)

    return load


def _val_share(request: CompareRequest) -> float:
    return 0.0 if is_named(request.data) else request.val_share


def _plan(request: CompareRequest, example: Splits) -> ComparisonPlan:
    paper = named_dataset(request.data).settings if is_named(request.data) else {}
    learner = network_options(request.data, example.train.X, request.network or _network(paper), request.learner) or {}
    network = learner.pop("module")
    methods = methods_for(request.methods, example)
    needs_theta = any(find_method(name).needs_theta for name in methods)
    gamma = paper.get("booster", {}).get("gamma", "auto") if request.gamma is None else request.gamma
    epochs = paper.get("compare", {}).get("epochs", DEFAULT_EPOCHS)
    return ComparisonPlan(
        data=Path(request.data).name,
        methods=methods,
        seeds=tuple(range(request.n_seeds)),
        budget=Budget(epochs) if request.budget is None else Budget.parse(request.budget),
        network=network,
        learner=learner,
        theta=parse_theta(request.theta, request.data, example, owner="compare") if needs_theta else None,
        gamma=gamma,
        select_on=request.select_on,
        data_settings=_data_settings(request),
    )


def _network(paper: Any) -> str | None:
    """Return the network of a table without settings of its own; other data have theirs by default."""
    return None if paper.get("learner") else "mlp"


def _data_settings(request: CompareRequest) -> dict[str, Any]:
    """What fixes the rows besides the seed: a file is known by what is in it, not by its name alone."""
    settings: dict[str, Any] = {"max_test_rows": request.max_test_rows}
    if not is_named(request.data):
        settings |= {"target": request.target, "val_share": request.val_share, "test_share": request.test_share}
        settings |= {name: request.reading[name] for name in ("image_size", "skip_corrupt")}
        file = Path(request.data)
        if file.is_file():
            settings["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return settings


def _write(comparison: Comparison, folder: Path) -> list[Path]:
    texts = {
        "comparison.md": comparison_markdown(comparison),
        "comparison.csv": comparison_csv(comparison),
        "comparison.json": comparison.model_dump_json(indent=1) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    figure = save_figure(comparison_figure(comparison), folder / "comparison.png")
    return [*(folder / name for name in texts), figure]


class _Lines:
    """Tells of every cell in a line."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, event: CellEvent, /) -> None:
        what = f"[{event.number} of {event.total}] {event.cell.method}, seed {event.cell.seed}: {event.kind}"
        result = event.result
        if event.kind == "finished" and result is not None and result.worst_error is not None:
            passes = "" if result.passes is None else f", {result.passes:,} passes"
            what += f", worst-class test error {result.worst_error:.1%}{passes}, {result.seconds:.0f} s"
        elif event.message:
            what += f": {event.message}"
        self._console.print(what, highlight=False, markup=False, soft_wrap=True)
