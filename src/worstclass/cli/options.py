"""Options and arguments that commands have in common, and the values they may take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Weighting(StrEnum):
    """How class weights become row weights."""

    PER_CLASS_MEAN = "per-class-mean"
    PER_INSTANCE = "per-instance"


class Start(StrEnum):
    """Weights of the network at the start of a round."""

    FRESH = "fresh"
    SAME = "same"
    WARM = "warm"


class OffsetScores(StrEnum):
    """What decision offsets are added to."""

    AUTO = "auto"
    MEAN = "mean"
    VOTE = "vote"


class OffsetGoal(StrEnum):
    """What decision offsets are for."""

    WORST = "worst"
    FLOORS = "floors"


class Thresholds(StrEnum):
    """Which margin an answer has to exceed."""

    COMMON = "common"
    BY_ANSWER = "by-answer"


class Margin(StrEnum):
    """The margin of an answer."""

    AUTO = "auto"
    MEAN = "mean"
    OWN = "own"


class SelectOn(StrEnum):
    """The validation error that chooses."""

    WORST = "worst"
    AVERAGE = "average"


class Way(StrEnum):
    """How theta is chosen."""

    GRID = "grid"
    BASELINE = "baseline"
    GOAL = "goal"
    BEST = "best"


# the data and the model

Data = Annotated[
    str,
    typer.Argument(
        help="A data set's name (see: worstclass datasets), or the path of a CSV, Parquet or npz file or a "
        "folder of images."
    ),
]
ModelFolder = Annotated[Path, typer.Argument(help="Folder of a model.")]
Target = Annotated[str | None, typer.Option(help="Column of the labels, for a table.")]
Root = Annotated[Path | None, typer.Option(help="Folder with the files of named data sets (WORSTCLASS_DATA).")]
OwnNetwork = Annotated[
    str | None, typer.Option("--network", help="package.module:callable of a model trained with a network of your own.")
]
ImageSize = Annotated[int | None, typer.Option(help="Bring images to this many pixels a side.", min=1)]
SkipCorrupt = Annotated[bool, typer.Option("--skip-corrupt", help="Leave out images that cannot be read.")]
Seed = Annotated[int, typer.Option(help="Fixes everything random.", min=0)]


# what several commands ask for

Network = Annotated[str | None, typer.Option(help="Train this network (mlp, cnn-small, ...), not the data's default.")]
Gamma = Annotated[float | None, typer.Option(help="Edge beyond one half that each round must reach.")]
Rounds = Annotated[int | None, typer.Option(help="Number of rounds T.", min=1)]
Extend = Annotated[int | None, typer.Option(help="Rounds that may be added after T (default: T).", min=0)]
MaxEpochsPerRound = Annotated[int | None, typer.Option(help="Maximum epochs per round.", min=1)]
Patience = Annotated[int | None, typer.Option(help="Passes without progress before a round is given up.", min=1)]
RowWeights = Annotated[Weighting, typer.Option(help="Row weights.")]
RoundStart = Annotated[Start | None, typer.Option(help="Network weights at the start of a round (fresh).")]
LearningRate = Annotated[float | None, typer.Option(help="Learning rate of the network.")]
BatchSize = Annotated[int | None, typer.Option(help="Rows a step of the network.", min=1)]
TestShare = Annotated[float, typer.Option(help="Share of a file's rows that is only tested on.")]
MaxTestRows = Annotated[int, typer.Option(help="Test on at most so many rows.", min=1)]
MaxRows = Annotated[int, typer.Option(help="Use at most so many rows of a named data set.", min=1)]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Go on although the model was trained on some of the rows.")]
Delta = Annotated[float, typer.Option(help="Probability with which the promise may fail.")]
SelectBy = Annotated[SelectOn, typer.Option(help="The validation error that chooses.")]
