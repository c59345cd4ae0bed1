"""``worstclass compare``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from worstclass.cli.learners import network_options
from worstclass.cli.sources import at_most, is_named, load_splits
from worstclass.cli.thetas import parse_theta
from worstclass.data.registry import named_dataset
from worstclass.data.sources import read_source
from worstclass.data.splits import Splits
from worstclass.exceptions import ParameterError
from worstclass.experiments.grid import CellEvent
from worstclass.experiments.plan import (
    Budget,
    ComparisonPlan,
    check_plan,
    fit_command,
    methods_for,
    run_comparison,
    seeds_change,
)
from worstclass.experiments.ranking import Comparison
from worstclass.methods import find_method, list_methods
from worstclass.report.figures import save_figure
from worstclass.report.ranking import comparison_csv, comparison_figure, comparison_markdown, comparison_text

#: epochs over the training sample where no budget is given: the authors' epochs
DEFAULT_EPOCHS = 200
#: share of a file's rows that chooses, where none is given
DEFAULT_VAL_SHARE = 0.2
#: exit code of a command that the user interrupted
INTERRUPTED = 130


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
    val_share: float | None
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
    left_out = [method.name for method in list_methods() if not method.is_installed]
    if request.methods == ["all"] and left_out:
        progress.say(f"left out: {', '.join(left_out)} (pip install 'worstclass[compare]' brings what they need)")
    try:
        results = run_comparison(plan, load, request.out / "cells", progress, overwrite=request.overwrite)
    except KeyboardInterrupt:
        kept = f"The {progress.n_finished} results finished so far are in {request.out / 'cells'}"
        typer.echo(f"interrupted. {kept}; the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    comparison = Comparison.from_results(results)
    files = _write(comparison, request.out)
    console.print(comparison_text(comparison), highlight=False, markup=False, soft_wrap=True)
    if comparison.best is not None:
        command = fit_command(plan, comparison.best, request.data, options={"--target": request.target})
        console.print(f"fit and save the best: {command}", highlight=False, markup=False, soft_wrap=True)
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
            owner="compare",
            **request.reading,
        )
        test = None if splits.test is None else at_most(splits.test, request.max_test_rows, seed)
        return replace(splits, test=test)

    return load


def _val_share(request: CompareRequest) -> float | None:
    return DEFAULT_VAL_SHARE if request.val_share is None and not is_named(request.data) else request.val_share


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
        seeds_change=_seeds_change(request),
        data_settings=_data_settings(request),
    )


def _seeds_change(request: CompareRequest) -> Any:
    if is_named(request.data):
        return seeds_change(named_dataset(request.data))
    reading = {name: request.reading[name] for name in ("image_size", "skip_corrupt")}
    return seeds_change(read_source(request.data, target=request.target, **reading))


def _network(paper: Any) -> str | None:
    """Return the network of a table without settings of its own; other data have theirs by default."""
    return None if paper.get("learner") else "mlp"


def _data_settings(request: CompareRequest) -> dict[str, Any]:
    """What fixes the rows besides the seed: a file is known by what is in it, not by its name alone."""
    settings: dict[str, Any] = {"max_test_rows": request.max_test_rows}
    if not is_named(request.data):
        settings |= {"target": request.target, "val_share": _val_share(request), "test_share": request.test_share}
        settings |= {name: request.reading[name] for name in ("image_size", "skip_corrupt")}
        settings["sha256"] = _sha256(Path(request.data))
    return settings


def _sha256(path: Path) -> str:
    """Return the hash of a file's contents; of a folder, that of the names and sizes of all files in it."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listing = "\n".join(f"{file.relative_to(path).as_posix()} {file.stat().st_size}" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()


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
        self.n_finished = 0

    def __call__(self, event: CellEvent, /) -> None:
        self.n_finished += event.kind in ("reused", "finished", "failed")
        what = f"[{event.number} of {event.total}] {event.cell.method}, seed {event.cell.seed}: {event.kind}"
        result = event.result
        if event.kind == "finished" and result is not None and result.worst_error is not None:
            epochs = "" if result.epochs is None else f", {result.epochs:,} epochs"
            what += f", worst-class test error {result.worst_error:.1%}{epochs}, {result.seconds:.0f} s"
        elif event.message:
            what += f": {event.message}"
        self.say(what)

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
