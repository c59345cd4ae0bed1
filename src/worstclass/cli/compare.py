"""``worstclass compare``: every method under the same rules."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worstclass.cli.console import console, say
from worstclass.cli.options import MaxTestRows, NetworkOptions, Quiet, SelectOn, SplitOptions, Theta

if TYPE_CHECKING:
    from worstclass.data.splits import Splits

#: epochs of each method where no budget is given: the authors' epochs
DEFAULT_EPOCHS = 200
#: share of a file's rows held out for validation where none is given
VAL_SHARE = 0.2

Out = Annotated[Path | None, typer.Option(help="Folder for the results (default: comparison-DATA).")]
Methods = Annotated[str, typer.Option(help="Names with commas between them, or all (see: worstclass methods).")]
Seeds = Annotated[int, typer.Option(help="Number of seeds: draws or splits of the data.", min=1)]
BudgetOption = Annotated[str | None, typer.Option(help="Budget of each training: epochs=N, seconds=S or both.")]
Gamma = Annotated[float | None, typer.Option(help="Edge above 1/2 of every round, for the boosting methods.")]
Jobs = Annotated[int | None, typer.Option(help="Number of trainings that run in parallel.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Run again what the folder has.")]


def compare(
    data: SplitOptions,
    *,
    out: Out = None,
    methods: Methods = "all",
    seeds: Seeds = 5,
    theta: Theta = None,
    gamma: Gamma = None,
    budget: BudgetOption = None,
    select_on: SelectOn = "worst",
    network: NetworkOptions,
    jobs: Jobs = None,
    max_test_rows: MaxTestRows = 10_000,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> int:
    """Train several methods and rank them.

    All methods have the same rows, network, budget and choice on validation rows. The same command continues an
    interrupted comparison.

    Exit code 0: done. 1: done, but a method failed. 2: bad input. 130: interrupted, results so far are kept.

    Example: worstclass compare train.csv --target diagnosis --theta 0.8 --methods ce,ours,forest
    """
    from worstclass.cli.library import plan_module, ranking_module, renamed, report_module
    from worstclass.methods import list_methods

    rules, load = plan_module(), _Loader(data, max_test_rows)
    example = load(0)
    names = [name.strip() for name in methods.split(",") if name.strip()]
    plan = _plan(data, network, example, names, seeds, budget, select_on, theta, gamma, max_test_rows)
    rules.check_plan(plan, example)
    folder = out or Path(f"comparison-{Path(data.data).stem}")
    progress = _Lines(quiet)
    left_out = [method.name for method in list_methods() if not method.is_installed]
    if names == ["all"] and left_out:
        progress.say(f"left out: {', '.join(left_out)} (pip install 'worstclass[compare]' installs what they need)")
    try:
        options = renamed(rules.run_comparison, n_jobs=jobs)
        results = rules.run_comparison(plan, load, folder / "cells", progress, overwrite=overwrite, **options)
    except KeyboardInterrupt:
        say(f"{progress.n_finished} results are kept in {folder / 'cells'}; the same command continues from there.")
        return 130
    comparison = ranking_module().Comparison.from_results(results)
    files = _write(comparison, folder, report_module())
    say(report_module().comparison_text(comparison))
    say("\n".join(f"written: {file}" for file in files))
    if comparison.best is not None:
        say(f"To fit and save the winner: {_fit_command(plan, comparison.best, data)}")
    return 1 if comparison.failures else 0


class _Loader:
    """Loads the splits of a seed; workers get a copy."""

    def __init__(self, data: SplitOptions, max_test_rows: int) -> None:
        self._data = data
        self._max_test_rows = max_test_rows

    def __call__(self, seed: int) -> Splits:
        from worstclass.cli.data import load_splits

        return load_splits(self._data, seed, val_share=VAL_SHARE, max_test_rows=self._max_test_rows)


def _plan(
    data: SplitOptions,
    network: NetworkOptions,
    example: Splits,
    names: list[str],
    n_seeds: int,
    budget: str | None,
    select_on: str,
    theta: list[str] | None,
    gamma: float | None,
    max_test_rows: int,
) -> Any:
    from worstclass.cli.by_class import floors_given
    from worstclass.cli.data import paper_settings
    from worstclass.cli.learners import network_options
    from worstclass.cli.library import plan_module, renamed
    from worstclass.methods import find_method

    rules, paper = plan_module(), paper_settings(data.data)
    default = None if paper.get("learner") or getattr(example.train.X, "ndim", 2) > 2 else "mlp"
    learner = network_options(data.data, example.train.X, network.network or default, network.learner()) or {}
    methods = rules.methods_for(names, example)
    needs_theta = any(find_method(name).needs_theta for name in methods)
    epochs = paper.get("compare", {}).get("epochs", DEFAULT_EPOCHS)
    return rules.ComparisonPlan(
        data=Path(data.data).name,
        methods=methods,
        seeds=tuple(range(n_seeds)),
        budget=rules.Budget(epochs) if budget is None else rules.Budget.parse(budget),
        network=learner.pop("module"),
        learner=learner,
        theta=floors_given(theta, data.data, example.train.y) if needs_theta else None,
        gamma=paper.get("booster", {}).get("gamma", "auto") if gamma is None else gamma,
        select_on=select_on,
        data_settings=_data_settings(data, max_test_rows),
        **renamed(rules.ComparisonPlan, seeds_change=_seeds_change(data)),
    )


def _seeds_change(data: SplitOptions) -> str | None:
    """Tell what another seed changes in the rows; None where the library does not ask."""
    from worstclass.cli.data import is_named, read_rows
    from worstclass.cli.library import plan_module
    from worstclass.data.registry import named_dataset

    known = getattr(plan_module(), "seeds_change", None)
    if known is None:
        return None
    return str(known(named_dataset(data.data) if is_named(data.data) else read_rows(data)))


def _data_settings(data: SplitOptions, max_test_rows: int) -> dict[str, Any]:
    """Return what fixes the rows besides the seed; a file is known by its contents, not by its name."""
    from worstclass.cli.data import is_named

    settings: dict[str, Any] = {"max_test_rows": max_test_rows}
    if not is_named(data.data):
        share = VAL_SHARE if data.val_share is None else data.val_share
        settings |= {"target": data.target, "val_share": share, "test_share": data.test_share}
        settings |= {"image_size": data.image_size, "skip_corrupt": data.skip_corrupt}
        settings["sha256"] = _sha256(Path(data.data))
    return settings


def _sha256(path: Path) -> str:
    """Return the hash of a file's contents; of a folder, that of the names and sizes of all files in it."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listing = "\n".join(f"{file.relative_to(path).as_posix()} {file.stat().st_size}" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def _fit_command(plan: Any, name: str, data: SplitOptions) -> str:
    """Return the command that fits and saves a method as the comparison did on its first seed."""
    from worstclass.cli.data import is_named
    from worstclass.cli.library import fit_command

    options: dict[str, Any] = {"--target": data.target, "--root": data.root, "--image-size": data.image_size}
    if not is_named(data.data):
        options["--val-share"] = VAL_SHARE if data.val_share is None else data.val_share
        options["--test-share"] = None if data.test_share == 0.2 else data.test_share
    return fit_command(plan, name, data.data, options)


def _write(comparison: Any, folder: Path, report: Any) -> list[Path]:
    from worstclass.report.figures import save_figure

    texts = {
        "comparison.md": report.comparison_markdown(comparison),
        "comparison.csv": report.comparison_csv(comparison),
        "comparison.json": comparison.model_dump_json(indent=1) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    figure = save_figure(report.comparison_figure(comparison), folder / "comparison.png")
    return [*(folder / name for name in texts), figure]


class _Lines:
    """Prints a line for every cell."""

    def __init__(self, quiet: bool) -> None:
        self._console = console(quiet=quiet)
        self.n_finished = 0

    def __call__(self, event: Any, /) -> None:
        self.n_finished += event.kind in ("reused", "finished", "failed")
        line = f"[{event.number} of {event.total}] {event.cell.method}, seed {event.cell.seed}: {event.kind}"
        result = event.result
        if event.kind == "finished" and result is not None and result.worst_error is not None:
            epochs = "" if result.epochs is None else f", {result.epochs:,} epochs"
            line += f", worst-class test error {result.worst_error:.1%}{epochs}, {result.seconds:.0f} s"
        elif event.message:
            line += f": {event.message}"
        self.say(line)

    def say(self, text: str) -> None:
        self._console.print(text)
