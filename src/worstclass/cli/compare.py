"""``worstclass compare``: every method under the same rules."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worstclass.cli.console import say
from worstclass.cli.options import Budget, Jobs, NetworkOptions, Quiet, SelectOn, Theta, TrainingOptions

if TYPE_CHECKING:
    from worstclass.experiments.cells import CellEvent

#: epochs of each method where no budget is given: the authors' epochs
DEFAULT_EPOCHS = 200

Out = Annotated[Path | None, typer.Option(help="Folder for the results (default: comparison-DATA).")]
Methods = Annotated[str, typer.Option(help="Names with commas between them, or all (see: worstclass methods).")]
Seeds = Annotated[int, typer.Option(help="Number of seeds: draws or splits of the data.", min=1)]
Gamma = Annotated[float | None, typer.Option(help="Edge above 1/2 of every round, for the boosting methods.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Run again what the folder has.")]


def compare(
    data: TrainingOptions,
    *,
    out: Out = None,
    methods: Methods = "all",
    seeds: Seeds = 5,
    theta: Theta = None,
    gamma: Gamma = None,
    budget: Budget = None,
    select_on: SelectOn = "worst",
    network: NetworkOptions,
    jobs: Jobs = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> int:
    """Train several methods and rank them.

    All methods have the same rows, network, budget and choice on validation rows. The same command continues an
    interrupted comparison.

    Exit code 0: done. 1: done, but a method failed. 2: bad input. 130: interrupted, results so far are kept.

    Example: worstclass compare train.csv --target diagnosis --theta 0.8 --methods ce,ours,forest
    """
    from worstclass.cli.data import (
        VAL_SHARE,
        floors_given,
        is_named,
        load_splits,
        paper_settings,
        read_rows,
        refuse_for_named,
    )
    from worstclass.cli.learners import network_options
    from worstclass.data.registry import named_dataset
    from worstclass.experiments import plan as rules
    from worstclass.experiments.ranking import Comparison
    from worstclass.methods import find_method, list_methods
    from worstclass.report.ranking import comparison_text, write_comparison

    refuse_for_named(data, "val_share")
    source = None if is_named(data.data) else read_rows(data)
    load = partial(load_splits, data, val_share=VAL_SHARE)
    example, paper = load(0, source=source), paper_settings(data.data)
    names = [name.strip() for name in methods.split(",") if name.strip()]
    chosen = rules.methods_for(names, example)
    learner = network_options(data.data, example.train.X, network)
    needs_theta = any(find_method(name).needs_theta for name in chosen)
    epochs = paper.get("compare", {}).get("epochs", DEFAULT_EPOCHS)
    plan = rules.ComparisonPlan(
        data=Path(data.data).name,
        methods=chosen,
        seeds=tuple(range(seeds)),
        budget=rules.Budget(epochs) if budget is None else rules.Budget.parse(budget),
        network=learner.pop("module"),
        learner=learner,
        theta=floors_given(theta, data.data, example.train.y) if needs_theta else None,
        gamma=paper.get("booster", {}).get("gamma", "auto") if gamma is None else gamma,
        select_on=select_on,
        seeds_change=rules.seeds_change(named_dataset(data.data) if source is None else source),
        data_settings={"max_test_rows": data.max_test_rows, **_file_settings(data)},
    )
    rules.check_plan(plan, example)
    folder = out or Path(f"comparison-{Path(data.data).stem}")
    left_out = [method.name for method in list_methods() if not method.is_installed]
    if names == ["all"] and left_out:
        text = f"left out: {', '.join(left_out)} (pip install 'worstclass[compare]' installs what they need)"
        say(text, quiet=quiet)
    ended: list[CellEvent] = []

    def show(event: CellEvent) -> None:
        ended.extend([event] if event.kind in ("reused", "finished", "failed") else [])
        say(str(event), quiet=quiet)

    try:
        results = rules.run_comparison(plan, load, folder / "cells", show, n_jobs=jobs, overwrite=overwrite)
    except KeyboardInterrupt:
        say(f"{len(ended)} results are kept in {folder / 'cells'}; the same command continues from there.")
        return 130
    comparison = Comparison.from_results(results)
    files = write_comparison(comparison, folder)
    say(comparison_text(comparison))
    say("\n".join(f"written: {file}" for file in files))
    if comparison.best is not None:
        own = {"--target": data.target, "--root": data.root, "--image-size": data.image_size}
        own |= {f"--{name.replace('_', '-')}": value for name, value in _file_settings(data).items() if "share" in name}
        say(f"To fit and save the winner: {rules.fit_command(plan, comparison.best, data.data, options=own)}")
    return 1 if comparison.failures else 0


def _file_settings(data: TrainingOptions) -> dict[str, Any]:
    """Return what fixes the rows of a file besides the seed; a file is known by its contents, not by its name."""
    from worstclass.cli.data import VAL_SHARE, is_named
    from worstclass.experiments.plan import contents_hash

    if is_named(data.data):
        return {}
    names = ("target", "test_share", "image_size", "skip_corrupt")
    share = VAL_SHARE if data.val_share is None else data.val_share
    return {**{name: getattr(data, name) for name in names}, "val_share": share, "sha256": contents_hash(data.data)}
