"""Options that several commands share, each declared once; budgets, and numbers by class.

A command takes a group as one parameter: ``def fit(data: SplitOptions, booster: BoosterOptions, ...)``. ``expanded``
turns the fields of the group into options of the command, so a new shared option is one new field.
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from worstclass.cli import complete
from worstclass.cli.console import OptionError, as_asked
from worstclass.cli.help import show_all, with_metavar
from worstclass.cli.settings import note_effective, read_config
from worstclass.exceptions import ParameterError

ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model.", show_default=False)]
OwnNetwork = Annotated[
    str | None,
    typer.Option("--network", metavar="CODE", help="The model's own network: file.py:build."),
]
OutFolder = Annotated[
    Path,
    typer.Option(metavar="DIR", help="Folder for the model and its results.", file_okay=False, show_default=False),
]
Theta = Annotated[
    list[str] | None,
    typer.Option(metavar="FLOOR", help="Accuracy floor: 0.8, or class=0.95 (repeatable)."),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Delta = Annotated[float, typer.Option(help="Probability that the certificate is wrong.")]
AllowEqualRows = Annotated[
    bool, typer.Option("--allow-equal-rows", help="Accept rows that equal training rows by coincidence.")
]
SelectOn = Annotated[Literal["worst", "average"], typer.Option(help="The validation error that chooses.")]
Budget = Annotated[str | None, typer.Option(metavar="BUDGET", help="For each training: epochs=N,seconds=S, or one.")]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Number of trainings that run in parallel.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler whose workers train.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Target = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the labels, for a table.")]
Root = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the named data sets' files.")]
ImageSize = Annotated[int | None, typer.Option(help="Resize images to this many pixels per side.", min=1)]
MaxRows = Annotated[int, typer.Option(help="Maximum rows taken from a named data set.", min=1)]
#: options that ``expanded`` adds to commands
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Values of options; what is typed wins.",
        exists=True,
        dir_okay=False,
        is_eager=True,
        callback=read_config,
    ),
]
HelpAll = Annotated[bool, typer.Option("--help-all", hidden=True, is_eager=True, callback=show_all)]


@dataclass(frozen=True)
class DataOptions:
    """Where rows come from, and how they are read."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Name of a data set, or file or image folder.",
            show_default=False,
            autocompletion=complete.datasets,
        ),
    ]
    target: Target = None
    root: Root = None
    image_size: ImageSize = None
    skip_corrupt: Annotated[bool, typer.Option("--skip-corrupt", help="Leave out images that cannot be read.")] = False


@dataclass(frozen=True)
class HeldOutOptions(DataOptions):
    """Rows for a model that is there."""

    network: OwnNetwork = None
    max_rows: MaxRows = 10_000
    seed: Seed = 0


@dataclass(frozen=True)
class ComparedRows:
    """Rows for a model that is there, if there are any; labels are not needed."""

    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="Rows to compare answers on, as for fit.",
            show_default=False,
            autocompletion=complete.datasets,
        ),
    ] = None
    target: Target = None
    root: Root = None
    image_size: ImageSize = None
    network: OwnNetwork = None
    max_rows: MaxRows = 10_000
    seed: Seed = 0


@dataclass(frozen=True)
class SplitOptions(DataOptions):
    """Rows that are divided."""

    val_share: Annotated[float | None, typer.Option(help="Share of a file's rows held out for validation.")] = None
    test_share: Annotated[float, typer.Option(help="Share of a file's rows held out for testing.")] = 0.2


@dataclass(frozen=True)
class TuningOptions(SplitOptions):
    """Rows that tune a model that is there."""

    network: OwnNetwork = None
    seed: Seed = 0


@dataclass(frozen=True)
class SameSplitOptions(DataOptions):
    """Rows that are divided as they were when the model was fitted; what is left out is read from its record."""

    val_share: Annotated[float | None, typer.Option(help="As given to fit (default: as recorded).")] = None
    test_share: Annotated[float | None, typer.Option(help="As given to fit (default: as recorded).")] = None
    max_test_rows: Annotated[int, typer.Option(help="Maximum number of test rows.", min=1)] = 10_000
    network: OwnNetwork = None
    seed: Annotated[int | None, typer.Option(help="As given to fit (default: as recorded).", min=0)] = None


@dataclass(frozen=True)
class TrainingOptions(SplitOptions):
    """Rows that train, choose and test."""

    max_test_rows: Annotated[int, typer.Option(help="Maximum number of test rows.", min=1)] = 10_000
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out, such as an id (repeatable).")
    ] = None


@dataclass(frozen=True)
class NetworkOptions:
    """The network of every method that trains one."""

    network: Annotated[
        str | None,
        typer.Option(
            metavar="NETWORK", help="Name (mlp, cnn-small, ...) or file.py:build.", autocompletion=complete.networks
        ),
    ] = None
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None
    batch_size: Annotated[int | None, typer.Option(help="Batch size.", min=1)] = None

    def learner(self) -> dict[str, Any]:
        """Return the options of ``TorchLearner`` that were given."""
        return given(self, "lr", "batch_size", "start", "optimizer_state")


@dataclass(frozen=True)
class BoosterOptions(NetworkOptions):
    """The booster and its networks."""

    gamma: Annotated[float | None, typer.Option(help="Edge above 1/2 that every round must reach.")] = None
    n_rounds: Annotated[int | None, typer.Option("--rounds", help="Number of rounds.", min=1)] = None
    extend: Annotated[int | None, typer.Option(help="Maximum extra rounds [rounds].", min=0)] = None
    max_epochs_per_round: Annotated[int | None, typer.Option(help="Maximum epochs per round.", min=1)] = None
    patience: Annotated[int | None, typer.Option(help="Epochs without progress before a round ends.", min=1)] = None
    weighting: Annotated[
        Literal["per-class-mean", "per-instance"] | None, typer.Option(help="Row weights [per-class-mean].")
    ] = None
    start: Annotated[
        Literal["fresh", "same", "warm"] | None, typer.Option(help="Weights at the start of a round [fresh].")
    ] = None
    optimizer_state: Annotated[
        Literal["fresh", "carry"] | None, typer.Option(help="Optimizer state at the start of a round [fresh].")
    ] = None

    def booster(self) -> dict[str, Any]:
        """Return the parameters of ``WorstClassBooster`` that were given."""
        return given(self, "gamma", "n_rounds", "extend", "max_epochs_per_round", "patience", "weighting")


#: what every command has besides its own options
_COMMON = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, default, annotation in (
        ("context", inspect.Parameter.empty, typer.Context),
        ("config", None, Config),
        ("json", False, Json),
        ("help_all", False, HelpAll),
    )
]


def expanded(function: Callable[..., int | None], *, config: bool = True) -> Callable[..., None]:
    """Return the command of a function: groups become options, and the number it returns becomes the exit code.

    Every command has ``--json``, ``--help-all`` and, with ``config``, ``--config``.
    """
    found: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    parameters = inspect.signature(function, eval_str=True).parameters
    for parameter in parameters.values():
        group: Any = parameter.annotation
        if isinstance(group, type) and is_dataclass(group):
            groups[parameter.name] = group
            found += inspect.signature(group, eval_str=True).parameters.values()
        else:
            found.append(parameter)
    found += [option for option in _COMMON if option.name not in parameters and (config or option.name != "config")]
    options = sorted(found, key=lambda option: option.default is not option.empty)  # those that must be given first

    def command(**values: Any) -> None:
        note_effective(values["context"], values)
        wants_json = values.pop("json")
        for option in _COMMON:
            if option.name not in parameters:
                values.pop(option.name, None)
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        with as_asked(json=wants_json, quiet=values.get("quiet", False)):
            code = function(**values)
        if code:
            raise typer.Exit(code)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__annotations__ = {option.name: with_metavar(option.annotation) for option in options}
    keywords = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    command.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return command


def given(group: Any, *names: str) -> dict[str, Any]:
    """Return the options of a group that were given, and differ from their defaults; all of them or some."""
    options = [field for field in fields(group) if field.name in names or (not names and field.default is not MISSING)]
    return {option.name: value for option in options if (value := getattr(group, option.name)) != option.default}


def parse_budget(text: str | None) -> dict[str, Any]:
    """Read ``epochs=N``, ``seconds=S``, or both with a comma between them, as limits of ``build_method``.

    Examples
    --------
    >>> parse_budget("epochs=400,seconds=60")
    {'max_epochs': 400, 'max_seconds': 60.0}
    """
    if text is None:
        return {}
    parts = [[piece.strip() for piece in part.split("=")] for part in text.split(",")]
    with contextlib.suppress(KeyError, ValueError):
        limits = {f"max_{name}": {"epochs": int, "seconds": float}[name](amount) for name, amount in parts}
        if len(limits) == len(parts) and all(0 < amount < math.inf for amount in limits.values()):
            return limits
    allowed = "epochs=N, seconds=S, or both with a comma between them, above 0"
    raise ParameterError("budget", "the command", allowed=allowed, got=text)


def numbers_by_class(
    texts: Sequence[str], classes: Sequence[Any], option: str, allowed: str = "a number in [0, 1)"
) -> float | dict[Any, float]:
    """Read one number for all classes, or class=number; a number alone among those is for the other classes.

    Parameters
    ----------
    texts : what was given with the option, at least one text.
    classes : labels; a class is named by the text of its label.
    option : the option, for errors.
    allowed : which numbers are allowed, for errors.
    """
    from worstclass._checks import OTHERS

    labels = {str(label): label for label in classes}
    found: dict[Any, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        key = labels.get(name, name) if equals else OTHERS
        if key in found:
            raise ParameterError(option, "the command", allowed="given once for each class", got=list(texts))
        try:
            found[key] = float(value)
        except ValueError:
            allowed = f"{allowed}, or class=number"
            raise ParameterError(option, "the command", allowed=allowed, got=value) from None
    if len(texts) == 1 and "=" not in texts[0]:
        return found[OTHERS]
    missing = [name for name, label in labels.items() if label not in found]
    if missing and OTHERS not in found and set(found) <= set(classes):
        add = f"Add {option} {missing[0]}=NUMBER, or {option} others=NUMBER for all classes that are not named."
        raise OptionError(f"{option} is missing for {', '.join(missing)}. {add}")
    return found
