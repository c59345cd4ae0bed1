"""``worstclass compare``: every method under the same rules."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worstclass.cli import complete
from worstclass.cli import options as opt
from worstclass.cli.console import OptionError, note, option_of, say, tell
from worstclass.cli.resume import remember
from worstclass.cli.settings import write_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worstclass.cli.data import Data
    from worstclass.experiments.plan import ComparisonPlan

Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results [comparison-DATA].")]
Methods = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="all, or a,b,+file.py:own (see: worstclass methods).",
        autocompletion=complete.methods,
    ),
]
Seeds = Annotated[int, typer.Option(help="Number of seeds: draws or splits of the data.", min=1)]
Gamma = Annotated[float | None, typer.Option(help="Edge above 1/2 of every round, for boosting.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Run again what the folder has.")]


def compare(
    data: opt.TrainingOptions,
    *,
    out: Out = None,
    methods: Methods = "all",
    seeds: Seeds = 5,
    theta: opt.Theta = None,
    gamma: Gamma = None,
    budget: opt.Budget = None,
    select_on: opt.SelectOn = "worst",
    network: opt.NetworkOptions,
    jobs: opt.Jobs = None,
    cluster: opt.Cluster = None,
    overwrite: Overwrite = False,
    quiet: opt.Quiet = False,
) -> int:
    """Train several methods and rank them.

    All methods have the same rows, network, budget and choice on validation rows. The same command continues an
    interrupted comparison.

    Exit code 0: done. 1: done, but a method failed. 2: bad input. 130: interrupted, results so far are kept.

    Example: worstclass compare train.csv --target diagnosis --theta 0.8 --methods ce,ours,forest
    """
    from worstclass.cli.data import VAL_SHARE, Data
    from worstclass.cli.model import network_options, own_methods
    from worstclass.cli.progress import training_lines
    from worstclass.experiments import plan as rules
    from worstclass.experiments.ranking import Comparison
    from worstclass.methods import DEFAULT_EPOCHS, find_method
    from worstclass.report.page import write_page
    from worstclass.report.ranking import comparison_text, write_comparison

    opened = Data.open(data, val_share=VAL_SHARE)
    example, paper = opened.splits(seed=0), opened.settings
    own, names = own_methods(methods)
    chosen = rules.methods_for(names, example) if names or not own else ()
    learner = network_options(opened, example.train.X, network)
    needs_theta = any(find_method(name).needs_theta for name in chosen)
    if theta and not needs_theta:
        raise OptionError("--theta cannot be used here: none of the methods needs an accuracy floor.")
    plan = rules.ComparisonPlan(
        data=Path(data.data).name,
        methods=chosen,
        seeds=tuple(range(seeds)),
        **(opt.parse_budget(budget) or {"max_epochs": paper.get("compare", {}).get("epochs", DEFAULT_EPOCHS)}),
        network=learner.pop("module"),
        learner=learner,
        theta=opened.floors(theta, example.train.y) if needs_theta else None,
        gamma=paper.get("booster", {}).get("gamma", "auto") if gamma is None else gamma,
        select_on=select_on,
        seeds_change=rules.seeds_change(opened.source),
        data_settings={"max_test_rows": data.max_test_rows} if opened.is_named else _file_settings(opened),
        own=own,
    )
    rules.check_plan(plan, example)
    for left_out in _left_out(chosen if names == ["all"] else None):
        note(f"left out: {left_out}", quiet=quiet)
    folder = out or Path(f"comparison-{Path(data.data).stem}")
    remember(folder)
    cells = folder / "cells"
    try:
        with training_lines(quiet) as show:
            run = partial(rules.run_comparison, plan, opened.splits, cells, show)
            results = run(n_jobs=jobs, cluster=cluster, overwrite=overwrite)
    except KeyboardInterrupt:
        n_kept = len(list(cells.glob("*.json")))
        note(f"{n_kept} results are kept in {cells}; the same command continues from there.")
        return 130
    comparison = Comparison.from_results(results)
    write_settings(folder)
    files = [*write_comparison(comparison, folder), write_page(folder)]
    winner = fit_command(plan, comparison.best, data, network, theta) if comparison.best in chosen else None
    tell({**comparison.model_dump(mode="json"), "files": list(map(str, files)), "fit_command": winner})
    say(comparison_text(comparison))
    say("\n".join(f"written: {file}" for file in files))
    if winner is not None:
        say(f"To fit and save the winner: {winner}")
    return 1 if comparison.failures else 0


def _left_out(all_chosen: Sequence[str] | None) -> list[str]:
    """Say what a comparison leaves out and why; ``all_chosen`` is what ``all`` stands for, None if names were given."""
    from worstclass._checks import is_installed
    from worstclass.exceptions import install_command
    from worstclass.methods import list_methods

    told = []
    if all_chosen is not None:
        missing = {one.name: one.requires for one in list_methods() if one.requires and not one.is_installed}
        if missing:
            told.append(f"{', '.join(missing)} ({install_command(*missing.values())} installs what they need)")
        if "auto" not in all_chosen:
            told.append("auto (its network and epochs are its own; to compare it, name it in --methods)")
    if not is_installed("matplotlib"):
        told.append(f"comparison.png ({install_command('matplotlib')} installs what it needs)")
    return told


def _file_settings(opened: Data) -> dict[str, Any]:
    """Return what fixes the rows of a file besides the seed; a file is known by its contents, not by its name."""
    from worstclass.experiments.plan import contents_hash

    read = {name: value for name, value in asdict(opened.options).items() if name not in ("data", "root")}
    return {**read, "val_share": opened.val_share, "sha256": contents_hash(opened.options.data)}


def fit_command(
    plan: ComparisonPlan, name: str, data: opt.TrainingOptions, network: opt.NetworkOptions, theta: list[str] | None
) -> str:
    """Write the command line that fits and saves one method as a comparison did on its first seed."""
    from worstclass.methods import find_method

    method = find_method(name)
    own = (f"{key}={value}" for key, value in plan.options(method).items() if value != method.options[key])
    validates = method.kind != "table" or method.needs_theta  # the others would only lose the validation rows
    val_share = plan.data_settings.get("val_share") if validates else None
    options: dict[str, Any] = {"method": name, **opt.given(data), "val_share": val_share}
    options |= {"theta": theta if method.needs_theta else None, "set": list(own)}
    if method.kind == "network":
        options |= {**opt.given(network), "max_epochs": plan.max_epochs}
    if method.kind != "table":
        options["max_seconds"] = plan.max_seconds
    if method.kind == "network" and "cv" not in method.options:  # what makes folds has a rule of its own
        options["select_on"] = plan.select_on
    words = ["worstclass", "fit", data.data]
    for option, value in {**options, "seed": plan.seeds[0], "out": "model"}.items():
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            words += [option_of(option)] if one is True else [option_of(option), str(one)]
    return shlex.join(words)
