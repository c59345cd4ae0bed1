"""``worstclass theta``: choose the accuracy floor."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from worstclass.cli import complete
from worstclass.cli import options as opt
from worstclass.cli.console import OptionError, refuse_given, say, stopped_gently, tell, warn
from worstclass.cli.resume import forget, remember, tell_how_to_go_on

#: what the ways need, each an option of its name
NEEDED = {
    "goal": "the floors to meet, for example --goal 0.8",
    "baseline": "a method or a worst-class error to improve on, for example --baseline logistic",
}

Way = Annotated[
    Literal["grid", "baseline", "goal", "best"],
    typer.Option(metavar="WAY", help="grid, baseline, goal or best, as told above."),
]
Candidates = Annotated[str | None, typer.Option(metavar="LIST", help="Thetas of the grid: 0.5,0.6 [0.1 to 0.9].")]
Goal = Annotated[list[str] | None, typer.Option(metavar="FLOOR", help="The goal: 0.8, or class=0.95 (repeatable).")]
Baseline = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Method or worst-class error: ce, 0.35.", autocompletion=complete.method),
]
Resolution = Annotated[float | None, typer.Option(help="Step between floors (goal, best).")]


def theta(
    data: opt.TrainingOptions,
    out: opt.OutFolder,
    *,
    way: Way = "grid",
    candidates: Candidates = None,
    goal: Goal = None,
    baseline: Baseline = None,
    select_on: opt.SelectOn = "worst",
    resolution: Resolution = None,
    booster: opt.BoosterOptions,
    budget: opt.Budget = None,
    jobs: opt.Jobs = None,
    seed: opt.Seed = 0,
    allow_equal_rows: opt.AllowEqualRows = False,
    quiet: opt.Quiet = False,
) -> int:
    """Choose the accuracy floor on validation rows, and save the model.

    --way grid: least worst-class error. baseline: the same, above a baseline. goal: whether the goal can be met, else
    the nearest floors. best: the highest that can be met.

    Exit code 0: chosen. 1: the goal cannot be met, or interrupted. 2: bad input.

    Example: worstclass theta train.csv --target diagnosis --out model
    """
    import numpy as np

    from worstclass.cli.data import VAL_SHARE, Data
    from worstclass.cli.model import build_estimator, default_booster, made_by, newest_part, write_model, write_report
    from worstclass.cli.progress import busy, training_lines
    from worstclass.exceptions import SelectionInterrupted
    from worstclass.experiments.run import class_reports
    from worstclass.selection import select_theta

    _check_way(way, goal=goal, baseline=baseline)
    thetas = None if candidates is None else [_number_or_name(text) for text in candidates.split(",")]
    opened = Data.open(data, val_share=VAL_SHARE, unused=("target", "ignore", "image_size"))
    splits = opened.splits(seed)
    train, val = splits.train, splits.val
    rows = (train.X, train.y) if val is None else (train.X, train.y, val.X, val.y)
    name = default_booster(opened, train.X, booster.network)
    limits = opt.parse_budget(budget)
    model = build_estimator(name, opened, train.X, booster, theta=0.0, select_on=select_on, random_state=seed, **limits)
    kept = remember(out)
    try:
        n_fits = None if thetas is None or way in ("goal", "best") else len(thetas)
        with stopped_gently(kept.clock), training_lines(quiet, n_fits) as show:
            selection = select_theta(
                model,
                *rows,
                way=way,
                candidates=thetas,
                baseline=None if baseline is None else _number_or_name(baseline),
                goal=opt.numbers_by_class(goal, np.unique(train.y).tolist(), "--goal") if goal else None,
                val_share=opened.val_share,
                resolution=resolution,
                n_jobs=jobs,
                progress=show,
                # rows of a file that was divided just now are different rows, however equal they look
                allow_equal_rows=allow_equal_rows or "val" not in getattr(opened.source, "parts", {"val"}),
                checkpoint=kept,
            )
    except SelectionInterrupted as interrupt:
        selection = interrupt.selection
    except BaseException:
        tell_how_to_go_on(out)
        raise
    chosen = selection.booster
    with busy("counting errors"):
        tested = class_reports(chosen, splits, ["test"]).get("test")
    settings = {"budget": budget, "select_on": select_on, "resolution": resolution, "val_share": opened.val_share}
    record = {
        **made_by(data, seed, **opt.given(booster), **settings, test_share=data.test_share),
        "gamma": chosen.gamma_,
        "n_rounds": chosen.n_rounds_,
        **selection.to_dict(),
        "test": None if tested is None else tested.to_dict(),
    }
    place = write_model(chosen, out, {"theta.json": record})
    page = write_report(chosen, out, *newest_part(splits))
    tell({**record, "out": str(out)})
    say(f"\n{selection}", "red" if not selection.met else "green" if chosen.bound_met_ else "yellow")
    if tested is not None:
        say("\ntest rows", "bold")
        say(str(tested))
    say(f"\nmodel:  {out}\nchoice: {place / 'theta.json'}\nreport: {page}")
    if selection.interrupted:
        warn(f"interrupted: the model is the best so far. To go on: worstclass resume {out}")
    else:
        forget(out)
    return 0 if selection.met else 1


def _check_way(way: str, **given: Any) -> None:
    """Refuse a way without the option of its name, and such an option without its way."""
    for name, value in given.items():
        if way == name and not value:
            raise OptionError(f"Missing option --{name}. --way {name} needs {NEEDED[name]}.")
        if way != name and value:
            refuse_given([name], f"it goes with --way {name}.")


def _number_or_name(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
