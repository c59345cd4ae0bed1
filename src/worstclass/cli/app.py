"""The commands and their options. Heavy imports wait inside the commands, so that --help answers at once.

Exit codes: 0 done; 1 done, but the bound is not met; 2 bad input or another error that is told in one message.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from worstclass._version import __version__
from worstclass.cli.datasets import datasets_app
from worstclass.cli.options import (
    BatchSize,
    Data,
    Delta,
    Extend,
    Force,
    Gamma,
    ImageSize,
    Json,
    LearningRate,
    Margin,
    MaxEpochsPerRound,
    MaxRows,
    MaxTestRows,
    ModelFolder,
    Network,
    OffsetGoal,
    OffsetScores,
    OwnNetwork,
    Patience,
    Quiet,
    Root,
    Rounds,
    RoundStart,
    RowWeights,
    Seed,
    SelectBy,
    SelectOn,
    SkipCorrupt,
    Target,
    TestShare,
    Thresholds,
    Way,
    Weighting,
)
from worstclass.exceptions import WorstClassError

#: exit code after Ctrl-C
INTERRUPTED = 130
Request = TypeVar("Request")

app = typer.Typer(
    name="worstclass",
    help="Train classifiers in which no class is sacrificed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(datasets_app, name="datasets")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Train classifiers in which no class is sacrificed."""


@app.command()
def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the model, run.json, the report and its figures.")],
    theta: Annotated[
        list[str] | None,
        typer.Option(help="Accuracy floor: 0.8, or class=0.95 (repeat it; 'others' stands for the rest)."),
    ] = None,
    target: Target = None,
    root: Root = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    network: Network = None,
    gamma: Gamma = None,
    rounds: Rounds = None,
    extend: Extend = None,
    max_epochs_per_round: MaxEpochsPerRound = None,
    patience: Patience = None,
    weighting: RowWeights = Weighting.PER_CLASS_MEAN,
    start: RoundStart = None,
    lr: LearningRate = None,
    batch_size: BatchSize = None,
    val_share: Annotated[
        float | None, typer.Option(help="Share of a file's rows that chooses the prefix of the vote; none by default.")
    ] = None,
    test_share: TestShare = 0.2,
    max_test_rows: MaxTestRows = 10_000,
    offsets: Annotated[
        OffsetScores | None,
        typer.Option(
            help="Then tune decision offsets on the validation part, added to the mean probabilities of the members "
            "(mean), to the shares of the votes (vote), or to the former where members give them (auto)."
        ),
    ] = None,
    offsets_goal: Annotated[
        OffsetGoal | None,
        typer.Option(
            help="worst (the default): the least error of the worst class. floors: every class meets theta at few "
            "errors in all."
        ),
    ] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Boost until every class meets the floor; write the model, run.json and a report."""
    from worstclass.cli.fit import FitRequest, fit_command

    request = FitRequest(
        data=data,
        out=out,
        theta=theta or [],
        target=target,
        network=network,
        booster={
            "gamma": gamma,
            "n_rounds": rounds,
            "extend": extend,
            "max_epochs_per_round": max_epochs_per_round,
            "patience": patience,
            "weighting": weighting.value,
        },
        learner={"lr": lr, "batch_size": batch_size, "start": None if start is None else start.value},
        val_share=val_share,
        test_share=test_share,
        reading={"root": root, "image_size": image_size, "skip_corrupt": skip_corrupt},
        max_test_rows=max_test_rows,
        seed=seed,
        quiet=quiet,
        offsets=None if offsets is None else offsets.value,
        offsets_goal=None if offsets_goal is None else offsets_goal.value,
    )
    if not _or_interrupted(fit_command, request):
        raise typer.Exit(1)


@app.command()
def evaluate(
    model: ModelFolder,
    data: Data,
    target: Target = None,
    network: OwnNetwork = None,
    root: Root = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    max_test_rows: Annotated[
        int, typer.Option(help="Test on at most so many rows of a named data set.", min=1)
    ] = 10_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Report the error of every class on a data set's test rows, or on all rows of a file."""
    from worstclass.cli.evaluate import evaluate_command

    evaluate_command(
        model,
        data,
        target=target,
        network=network,
        reading={"root": root, "image_size": image_size, "skip_corrupt": skip_corrupt},
        max_test_rows=max_test_rows,
        seed=seed,
        as_json=json,
    )


@app.command()
def certify(
    model: ModelFolder,
    data: Data,
    target: Target = None,
    network: OwnNetwork = None,
    root: Root = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    delta: Delta = 0.05,
    require: Annotated[
        list[str] | None,
        typer.Option(help="Accuracy floor to prove: 0.8, or class=0.95 (repeat it; a number alone is for the rest)."),
    ] = None,
    max_rows: MaxRows = 10_000,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Prove that every class meets its floor, on held-out rows: those of DATA's cal part, else its test part, else all.

    Of a model that abstains, without --require: that the risk of every class is below the limit it was made for.

    Exit code 0: proven. 1: not proven. 2: cannot be judged with so few rows, or bad input.
    """
    from worstclass.cli.certify import certify_command

    code = certify_command(
        model,
        data,
        target=target,
        network=network,
        reading={"root": root, "image_size": image_size, "skip_corrupt": skip_corrupt},
        delta=delta,
        require=require or [],
        max_rows=max_rows,
        seed=seed,
        force=force,
        as_json=json,
    )
    if code:
        raise typer.Exit(code)


@app.command()
def offsets(
    model: ModelFolder,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the model with offsets; may be that of the model.")],
    scores: Annotated[
        OffsetScores,
        typer.Option(
            help="What offsets are added to: mean probabilities of the members, shares of the votes, or (auto) the "
            "former where members give them."
        ),
    ] = OffsetScores.AUTO,
    theta: Annotated[
        list[str] | None,
        typer.Option(help="Floors to meet at few errors: 0.8, or class=0.95 (repeat it). Without: the worst class."),
    ] = None,
    slack: Annotated[
        float | None,
        typer.Option(
            help="Standard errors by which the worst class may stay above the least there is, in exchange for offsets "
            "that rest on more rows; by default 1, and 0 for two classes."
        ),
    ] = None,
    target: Target = None,
    root: Root = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    network: OwnNetwork = None,
    val_share: Annotated[
        float | None, typer.Option(help="Use only the validation part that fit cut from this file with this share.")
    ] = None,
    test_share: Annotated[float, typer.Option(help="As it was given to fit; with --val-share.")] = 0.2,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Tune decision offsets of a model on held-out rows: DATA's validation part, or all rows of a file.

    Exit code 0: done, and floors asked for are met. 1: done, but not every floor is met. 2: bad input.
    """
    from worstclass.cli.offsets import OffsetsRequest, offsets_command

    request = OffsetsRequest(
        model=model,
        data=data,
        out=out,
        scores=scores.value,
        theta=theta or [],
        slack=slack,
        target=target,
        network=network,
        val_share=val_share,
        test_share=test_share,
        reading={"root": root, "image_size": image_size, "skip_corrupt": skip_corrupt},
        seed=seed,
        force=force,
    )
    if not offsets_command(request):
        raise typer.Exit(1)


@app.command()
def abstain(
    model: ModelFolder,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the model that abstains; may be that of the model.")],
    risk: Annotated[
        list[str] | None,
        typer.Option(
            help="Share of the answered rows of a class that may be wrong: 0.1, or class=0.02 (repeat it; a number "
            "alone is for the rest; 1 asks for nothing)."
        ),
    ] = None,
    delta: Delta = 0.05,
    margin: Annotated[
        Margin,
        typer.Option(
            help="The margin of an answer: by the mean probabilities of the members (mean), by the votes or by the "
            "scores with offsets (own), or the former where members give them and there are no offsets (auto)."
        ),
    ] = Margin.AUTO,
    thresholds: Annotated[
        Thresholds, typer.Option(help="One margin to exceed for all answers, or one for each answer.")
    ] = Thresholds.COMMON,
    proving: Annotated[float, typer.Option(help="Share of the rows that prove; the others choose.")] = 0.8,
    target: Target = None,
    root: Root = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    network: OwnNetwork = None,
    max_rows: MaxRows = 10_000,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Let a model answer only where it is proven to be right often enough in every class; write it so.

    Held-out rows choose and prove: those of DATA's cal part, else its test part, else all. Exit code 0: proven. 1: not
    proven, and the model that is written answers nothing. 2: the same, because there are too few rows; or bad input.
    """
    from worstclass.cli.abstain import AbstainRequest, abstain_command

    request = AbstainRequest(
        model=model,
        data=data,
        out=out,
        risk=risk or [],
        delta=delta,
        margin=margin.value,
        thresholds=thresholds.value,
        proving=proving,
        target=target,
        network=network,
        reading={"root": root, "image_size": image_size, "skip_corrupt": skip_corrupt},
        max_rows=max_rows,
        seed=seed,
        force=force,
        as_json=json,
    )
    code = abstain_command(request)
    if code:
        raise typer.Exit(code)


@app.command()
def compare(
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; default: comparison-DATA in the current folder.")
    ] = None,
    methods: Annotated[
        str, typer.Option(help="Names with commas between them, or all; see worstclass methods.")
    ] = "all",
    seeds: Annotated[int, typer.Option(help="Draws or splits of the data, and starts of every method.", min=1)] = 5,
    budget: Annotated[
        str | None,
        typer.Option(help="What each training may spend: epochs=N, seconds=S, or both (epochs=1,seconds=1)."),
    ] = None,
    select_on: SelectBy = SelectOn.WORST,
    theta: Annotated[
        list[str] | None,
        typer.Option(help="Accuracy floor for the methods that have one: 0.8, or class=0.95 (repeat it)."),
    ] = None,
    target: Target = None,
    root: Root = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    network: Annotated[str | None, typer.Option(help="Network of all methods that train one.")] = None,
    gamma: Annotated[float | None, typer.Option(help="For the methods whose rounds follow from it.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate of the networks.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows a step of the networks.", min=1)] = None,
    val_share: Annotated[
        float | None, typer.Option(help="Share of a file's rows that chooses; 0.2 by default.")
    ] = None,
    test_share: TestShare = 0.2,
    max_test_rows: MaxTestRows = 10_000,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Run again what the folder has.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train every method under the same rules; an interrupted comparison goes on where it was."""
    from worstclass.cli.compare import CompareRequest, compare_command

    request = CompareRequest(
        data=data,
        methods=[name.strip() for name in methods.split(",") if name.strip()],
        n_seeds=seeds,
        budget=budget,
        select_on=select_on.value,
        out=out or Path(f"comparison-{Path(data).stem}"),
        theta=theta or [],
        target=target,
        network=network,
        gamma=gamma,
        learner={"lr": lr, "batch_size": batch_size},
        val_share=val_share,
        test_share=test_share,
        reading={"root": root, "image_size": image_size, "skip_corrupt": skip_corrupt},
        max_test_rows=max_test_rows,
        overwrite=overwrite,
        quiet=quiet,
    )
    if not compare_command(request):
        raise typer.Exit(1)


@app.command()
def theta(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the chosen model and theta.json.")],
    way: Annotated[
        Way,
        typer.Option(
            help="grid: the candidate of the least worst-class validation error. baseline: the same, above what a "
            "baseline reaches. goal: whether the goal can be met, and the nearest floors if not. best: the highest "
            "floor that can be met."
        ),
    ] = Way.GRID,
    candidates: Annotated[
        str | None, typer.Option(help="Thetas of the grid: 0.5,0.6,0.7 (default: 0.1 to 0.9).")
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(help="The goal: 0.8, or class=0.95 (repeat it; 'others' stands for the rest)."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="A method's name (worstclass methods), or a worst-class error: ce, 0.35.")
    ] = None,
    select_on: SelectBy = SelectOn.WORST,
    target: Target = None,
    root: Root = None,
    image_size: ImageSize = None,
    skip_corrupt: SkipCorrupt = False,
    network: Network = None,
    gamma: Gamma = None,
    rounds: Rounds = None,
    extend: Extend = None,
    patience: Patience = None,
    max_epochs_per_round: MaxEpochsPerRound = None,
    weighting: RowWeights = Weighting.PER_CLASS_MEAN,
    start: RoundStart = None,
    lr: LearningRate = None,
    batch_size: BatchSize = None,
    budget: Annotated[
        str | None, typer.Option(help="What each fit may spend: epochs=N, seconds=S, or both (epochs=1,seconds=1).")
    ] = None,
    resolution: Annotated[float | None, typer.Option(help="Step between thetas (baseline, goal, best).")] = None,
    n_jobs: Annotated[int | None, typer.Option(help="Number of fits that run in parallel (grid, baseline).")] = None,
    val_share: Annotated[float, typer.Option(help="Share of the rows that chooses, where none are set apart.")] = 0.2,
    test_share: TestShare = 0.2,
    max_test_rows: MaxTestRows = 10_000,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Choose the accuracy floor on validation rows; write the model fitted at it, and theta.json.

    Exit code 0: chosen, and a goal is met. 1: the goal cannot be met (the nearest floors are shown and written), or
    no floor at all. 2: bad input.
    """
    from worstclass.cli.theta import ThetaRequest, theta_command

    request = ThetaRequest(
        data=data,
        out=out,
        way=way.value,
        candidates=candidates,
        goal=goal or [],
        baseline=baseline,
        target=target,
        network=network,
        booster={
            "gamma": gamma,
            "n_rounds": rounds,
            "extend": extend,
            "max_epochs_per_round": max_epochs_per_round,
            "patience": patience,
            "weighting": weighting.value,
        },
        learner={"lr": lr, "batch_size": batch_size, "start": None if start is None else start.value},
        budget=budget,
        search={"select_on": select_on.value, "resolution": resolution, "n_jobs": n_jobs},
        val_share=val_share,
        test_share=test_share,
        reading={"root": root, "image_size": image_size, "skip_corrupt": skip_corrupt},
        max_test_rows=max_test_rows,
        seed=seed,
        quiet=quiet,
    )
    if not _or_interrupted(theta_command, request):
        raise typer.Exit(1)


@app.command()
def methods(
    json: Json = False,
) -> None:
    """List the methods that can be compared, one line each."""
    from worstclass.cli.methods import methods_command

    methods_command(as_json=json)


def _or_interrupted(command: Callable[[Request], bool], request: Request) -> bool:
    """Run a command that keeps what it can when it is interrupted; say so where there was nothing to keep.

    typer would end with the exit code alone.
    """
    try:
        return command(request)
    except KeyboardInterrupt:
        typer.echo("interrupted before a round was finished: nothing is written", err=True)
        raise typer.Exit(INTERRUPTED) from None


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; errors made on purpose are told in one message, without a trace."""
    try:
        app(args=arguments)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    except (WorstClassError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        return 2
    except Exception:  # not 1, which would say that a floor is not met or not proven
        typer.echo(
            f"{traceback.format_exc()}error: this should have been told in one sentence; please report it.", err=True
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(run())
