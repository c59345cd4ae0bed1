"""``worstclass theta``: choose the accuracy floor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from worstclass.cli.console import console, say
from worstclass.cli.options import BoosterOptions, MaxTestRows, Quiet, Seed, SelectOn, SplitOptions

if TYPE_CHECKING:
    from worstclass.data.splits import Splits
    from worstclass.metrics import ClassReport


#: share of the rows held out for validation where none is given
VAL_SHARE = 0.2

Out = Annotated[Path, typer.Option(help="Folder for the chosen model and theta.json.", show_default=False)]
Way = Annotated[
    Literal["grid", "baseline", "goal", "best"],
    typer.Option(
        help="grid: least worst-class validation error. baseline: the same, above a baseline. goal: whether the goal "
        "can be met, else the nearest floors. best: the highest floor that can be met."
    ),
]
Candidates = Annotated[str | None, typer.Option(help="Thetas of the grid: 0.5,0.6,0.7 (default: 0.1 to 0.9).")]
Goal = Annotated[list[str] | None, typer.Option(help="The goal: 0.8, or class=0.95 (repeatable).")]
Baseline = Annotated[str | None, typer.Option(help="A method's name or a worst-class error: ce, 0.35.")]
BudgetOption = Annotated[str | None, typer.Option(help="Budget of each fit: epochs=N, seconds=S or both.")]
Resolution = Annotated[float | None, typer.Option(help="Step between floors (goal, best).")]
Jobs = Annotated[int | None, typer.Option(help="Number of fits that run in parallel.")]


def theta(
    data: SplitOptions,
    out: Out,
    *,
    way: Way = "grid",
    candidates: Candidates = None,
    goal: Goal = None,
    baseline: Baseline = None,
    select_on: SelectOn = "worst",
    resolution: Resolution = None,
    booster: BoosterOptions,
    budget: BudgetOption = None,
    n_jobs: Jobs = None,
    max_test_rows: MaxTestRows = 10_000,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Choose the accuracy floor.

    Validation rows choose it; the model fitted at it is saved.

    Exit code 0: chosen, and a goal is met. 1: the goal cannot be met, or the search was interrupted. 2: bad input.

    Example: worstclass theta train.csv --target diagnosis --out model
    """
    from worstclass.cli.by_class import floors_by_class
    from worstclass.cli.data import load_splits
    from worstclass.cli.learners import build_estimator, default_method
    from worstclass.cli.library import held_out_was_checked, renamed
    from worstclass.cli.model import described, require_folder, write_model
    from worstclass.exceptions import SelectionInterrupted
    from worstclass.experiments.run import Provenance
    from worstclass.selection import select_theta

    require_folder(out)
    _check_way(way, goal, baseline, candidates)
    thetas = None if candidates is None else _numbers(candidates)
    share = VAL_SHARE if data.val_share is None else data.val_share
    splits = load_splits(data, seed, val_share=VAL_SHARE, cuts_named=True)
    floors = floors_by_class(goal, sorted(set(splits.train.y.tolist())), "--goal") if goal else None
    name = default_method(data.data, splits.train.X, booster.network)
    model = build_estimator(name, data.data, splits.train.X, booster, theta=0.0, seed=seed, **_limits(budget))
    out.mkdir(parents=True, exist_ok=True)  # before hours of training, not after
    rows = (splits.train.X, splits.train.y)
    held_out = (None, None) if splits.val is None else (splits.val.X, splits.val.y)
    search: dict[str, Any] = {
        "way": way,
        "candidates": thetas,
        "baseline": None if baseline is None else _number_or_name(baseline),
        "goal": floors,
        "select_on": select_on,
        "val_share": share,
        "resolution": resolution,
        "progress": _Lines(quiet),
        **renamed(select_theta, n_jobs=n_jobs),
    }
    try:
        with held_out_was_checked(select_theta) as options:
            selection = select_theta(model, *rows, *held_out, **(search | options))
    except SelectionInterrupted as interrupt:
        selection = interrupt.selection
    test = _tested(selection.booster, splits, max_test_rows, seed)
    settings = {**booster.booster(), **booster.learner(), "select_on": select_on, "resolution": resolution}
    record = {
        "data": described(data, test_share=data.test_share),
        "settings": {**settings, "network": booster.network, "budget": budget, "val_share": share},
        "seed": seed,
        "gamma": selection.booster.gamma_,
        "n_rounds": selection.booster.n_rounds_,
        **selection.to_dict(),
        "test": None if test is None else test.to_dict(),
        "provenance": Provenance.collect().model_dump(),
    }
    place = write_model(selection.booster, out, {"theta.json": record})
    met = selection.met
    say(f"\n{selection}", "red" if not met else "green" if selection.booster.bound_met_ else "yellow")
    if test is not None:
        say("\ntest rows", "bold")
        say(str(test))
    say(f"\nmodel:  {out}\nchoice: {place / 'theta.json'}")
    return 0 if met else 1


def _check_way(way: str, goal: Any, baseline: Any, candidates: Any) -> None:
    """Refuse options that the way of choosing lacks, or has no use for."""
    from worstclass.cli.errors import ConflictingOptions, MissingOption

    needed = {"goal": ("--goal", goal, "0.8"), "baseline": ("--baseline", baseline, "ce")}
    for other, (option, value, example) in needed.items():
        if way == other and not value:
            raise MissingOption(option, f"--way {way} needs it, for example {option} {example}.")
        if way != other and value:
            raise ConflictingOptions(option, f"it belongs to --way {other}, and the way is {way}.")
    if candidates is not None and way not in ("grid", "baseline"):
        raise ConflictingOptions("--candidates", f"it belongs to --way grid or baseline, and the way is {way}.")


def _limits(budget: str | None) -> dict[str, Any]:
    from worstclass.cli.library import plan_module

    if budget is None:
        return {}
    limits = plan_module().Budget.parse(budget)
    return {"max_epochs": limits.epochs, "max_seconds": limits.seconds}


def _tested(booster: Any, splits: Splits, max_rows: int, seed: int) -> ClassReport | None:
    """Report on rows that neither trained nor chose; None where there are none."""
    from worstclass.cli.data import at_most
    from worstclass.metrics import class_report

    if splits.test is None:
        return None
    part = at_most(splits.test, max_rows, seed)
    return class_report(part.y, booster.predict(part.X), labels=booster.classes_, theta=booster.theta)


def _numbers(text: str) -> Sequence[float]:
    from worstclass.exceptions import ParameterError

    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        allowed = "numbers in [0, 1) with commas between them"
        raise ParameterError("--candidates", "theta", allowed=allowed, got=text) from None


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


class _Lines:
    """Prints a line for every fit of the search."""

    def __init__(self, quiet: bool) -> None:
        self._console = console(quiet=quiet)

    def __call__(self, record: Any, /) -> None:
        from worstclass.cli.library import candidate_of, short_theta

        record = candidate_of(record)
        if record is None:
            return
        line = f"theta {short_theta(record.theta)}: {record.status}, {record.rounds} of {record.planned_rounds} rounds"
        if record.worst_error is not None:
            line += f", worst-class validation error {record.worst_error:.1%}"
        self._console.print(f"{line} ({record.why})" if record.why else line)
